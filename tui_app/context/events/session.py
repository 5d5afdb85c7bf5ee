"""Events of the session as a whole: beginning, changes of course, errors, end."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tui_app.context.events.base import ErrorKind, Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart(Payload):
    """A session began, or was imported from another tool."""

    TYPE: ClassVar[str] = "session.start"
    cwd: str
    model: str
    policy: str = "plimsoll"
    title: str = ""
    imported_from: str = ""
    """Format name when the session is an import, else empty."""
    imported_file: str = ""
    """Path of the file it was imported from; empty when it is no import."""
    forked_from: str = ""
    """Id of the session that this one begins as; empty when it is no fork."""
    forked_at: int = 0
    """Log number of the prompt in front of which it left that session; 0 where it took everything over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange(Payload):
    """The conversation goes on with another model."""

    TYPE: ClassVar[str] = "session.model_change"
    old: str
    new: str
    limit: int = 0
    cut: bool = False
    """Whether the person chose to have each request cut to fit, instead of compacting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange(Payload):
    """The conversation goes on under another policy, also when it is resumed."""

    TYPE: ClassVar[str] = "session.policy_change"
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClear(Payload):
    """The agent view was emptied; the log keeps everything."""

    TYPE: ClassVar[str] = "session.clear"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRewind(Payload):
    """The agent view ends before message ``to`` again; the log keeps what came after."""

    TYPE: ClassVar[str] = "session.rewind"
    to: int
    """Log number of the first message that leaves the view."""
    failed: bool = False
    """The prompt was never answered and went back to the editor."""
    again: bool = False
    """The prompt is sent once more and does not go back to the editor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRestored(Payload):
    """A rewind or a clear was taken back: the agent view is again what it was before."""

    TYPE: ClassVar[str] = "session.restored"
    cut: int
    """Log number of the event that is undone."""
    tokens_before: int = 0
    tokens_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCreated(Payload):
    """A checkpoint file was written."""

    TYPE: ClassVar[str] = "checkpoint.created"
    number: int
    title: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(Payload):
    """Something went wrong, said for a person."""

    TYPE: ClassVar[str] = "error"
    kind: ErrorKind
    message: str
    """One sentence: what happened and why."""
    hint: str = ""
    """What to do next."""
    retryable: bool = False
    limit: int | None = None
    requested: int | None = None
    detail: str = ""
    """Raw text of the provider or the exception; shown on demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd(Payload):
    """The session was closed."""

    TYPE: ClassVar[str] = "session.end"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(Payload):
    """What waits to be sent, oldest first; ``paused`` after a cancelled turn."""

    TYPE: ClassVar[str] = "queue.changed"
    STORED: ClassVar[bool] = False
    prompts: tuple[str, ...]
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPressure(Payload):
    """The process holds more memory than it may, and something is done about it."""

    TYPE: ClassVar[str] = "memory.pressure"
    STORED: ClassVar[bool] = False
    rss_mb: int
    """Megabytes of its resident set."""
    limit_mb: int
    """Megabytes it may have."""
    action: Literal["drop", "compact"]
    """Whether caches are dropped, or the history is compacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Payload):
    """Something worth knowing that is no error: shown quietly, never over the prompt."""

    TYPE: ClassVar[str] = "notice"
    STORED: ClassVar[bool] = False
    text: str
    passing: bool = False
    """Whether it only answers what was just asked for, so that nobody has to read it later."""
