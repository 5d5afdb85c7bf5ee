"""What every store says of a session as a whole: a line of the list, or that there is none."""

from dataclasses import dataclass

from tui_app.context.storage_errors import StorageError


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One line of the list of sessions."""

    id: str
    title: str
    cwd: str
    model: str
    created: float
    updated: float
    events: int
    messages: int
    """Requests and responses of the whole history, whether or not the context still holds them: system
    prompts, prompts, answers, and the results of each answer as one. Summaries are not counted."""
    tokens: int
    """Estimated tokens of the agent view: the last request and what was said since. Without instructions
    and tools before the first request."""


class SessionNotFound(LookupError):
    """No session has this id; the message names it."""


class SessionDeleted(StorageError):
    """A session was deleted while it was open."""

    def __init__(self, session: str) -> None:
        super().__init__(
            f"The session {session} was deleted meanwhile.",
            "What is said in it from now on cannot be kept. Start a new one with /new.",
        )
