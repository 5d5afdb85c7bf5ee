"""The store of sessions as the rest of the program sees it, whatever database is behind it; its errors."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tui_app.context.storage_errors import StorageError, storage_error
from tui_app.events import Payload, Record, SessionStart
from tui_app.records import frozen
from tui_app.session.lock import SessionLocked

if TYPE_CHECKING:
    from tui_app.session.agent_view import AgentView
    from tui_app.session.event_heads import Head
    from tui_app.session.stats import StatsFold

Event = tuple[Payload, str | None, float]
"""What happened, the pydantic-ai message it carries as JSON text, and when, in seconds since the epoch."""


class WriteLock(Protocol):
    """The right to write one session, which ends with the process that holds it."""

    def release(self) -> None:
        """Let others write; releasing twice is harmless."""


class SessionStore(Protocol):
    """Sessions and their events. Not thread-safe: open one per thread.

    What goes wrong with the database is a ``sqlite3.Error``; a ``StorageError`` can be shown as it is.
    """

    @property
    def path(self) -> Path | None:
        """The file, where there is one."""

    def close(self) -> None: ...

    def lock(self, session: str, file: Path) -> WriteLock:
        """Become the one writer of a session.

        Args:
            session: Whole id of the session.
            file: Lock file in the session's folder, for a store on this machine.

        Raises:
            SessionLocked: if it is written elsewhere; the text says where, as far as that is known.
            OSError: if the lock file cannot be made.
        """

    def holder(self, session: str, file: Path) -> str:
        """Who writes a session, in words; empty when nobody does. Takes the lock file as ``lock`` does."""

    def create(
        self,
        start: SessionStart,
        *,
        time: float,
        events: Sequence[Event] = (),
        check: Callable[[], None] | None = None,
    ) -> str:
        """Begin a session with its first event, and with more: all or no session; returns its id.

        Args:
            start: The first event.
            time: Seconds since the epoch.
            events: The others.
            check: Raises where none is to begin; no other process begins one with a check meanwhile.
        """

    def append(self, session: str, payload: Payload, message: str | None, *, time: float) -> Record:
        """Write one event; it survives a power cut when this returns. Raises ``SessionDeleted``."""

    def append_many(self, session: str, events: Sequence[Event]) -> list[Record]:
        """Write several events: all of them or none. Raises ``SessionDeleted``."""

    def set_title(self, session: str, title: str) -> None: ...

    def set_model(self, session: str, model: str) -> None:
        """Note which model a session goes on with."""

    def sessions(self, *, hidden: bool = False) -> "list[SessionInfo]":
        """All sessions, the one used last first.

        Args:
            hidden: Whether those of sub-agents are among them.
        """

    def children(self, session: str) -> list[str]:
        """Ids of the hidden sessions in which sub-agents of a session work, or have worked."""

    def info(self, session: str) -> "SessionInfo":
        """One session, by its id or an unambiguous beginning of it.

        Raises:
            SessionNotFound: if there is none, or more than one fits.
        """

    def delete(self, session: str) -> None:
        """Delete a session, with those of its sub-agents."""

    def heads(self, session: str, after: int = 0) -> "Iterator[Head]":
        """Light rows of a session behind a log number (0: all), in order."""

    def newest(self, session: str, types: Collection[str]) -> "Iterator[Head]":
        """Light rows of some types, the newest first; no more are read than are asked for."""

    def heads_of(self, session: str, seqs: Collection[int]) -> "list[Head]":
        """Light rows of some log numbers, as far as there are such events, in any order."""

    def agent_view(self, session: str) -> "AgentView":
        """What the next request of a session is built from, as of its newest event."""

    def kept_stats(self, session: str) -> "StatsFold":
        """The figures of a session as they were kept last; what came since is to be folded."""

    def kept_ledger(self, session: str) -> str:
        """What was kept of the session's ledger, as JSON; empty where nothing was."""
        ...

    def keep_ledger(self, session: str, ledger: str) -> None:
        """Keep what the session's ledger has come to; where that fails, it is folded anew the next time."""
        ...

    def record(self, session: str, seq: int) -> Record | None: ...

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        """All events of a session with their messages, in order."""

    def message(self, session: str, seq: int) -> str | None:
        """The pydantic-ai message an event carries, as JSON text."""

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        """Messages and summaries that hold a word, or a longer one beginning with it; the best fits first.

        Args:
            session: Which session.
            words: Letters, digits and underscores; case does not matter.
            limit: Events to return at most.
        """

    def last_of(self, session: str, kind: str) -> Record | None: ...

    def figures(self, session: str, after: int = 0) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """Number, type and figures of the events behind a log number that ``/stats`` counts."""

    def sizes(self) -> dict[str, int]:
        """Bytes of each session's log, by id."""

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        """Session, number, time and beginning of the prompts of a folder, newest first.

        Args:
            cwd: The folder.
            most: Prompts to return at most.
            chars: Characters of each.
        """


class Follower(Protocol):
    """Tells a read-only reader when a session has grown. For one thread at a time."""

    def wait(self, timeout_s: float) -> bool:
        """Wait until there may be something new, for so many seconds at most; whether there may."""

    def holder(self) -> str:
        """Who writes the session, in words; empty when nobody does."""

    def close(self) -> None: ...


# A session in the list, and errors about one.


@frozen(kw_only=True)
class SessionInfo:
    """One line of the list of sessions."""

    id: str
    title: str
    cwd: str
    model: str
    created: float
    """When it was made here: an imported conversation is older."""
    updated: float
    events: int
    messages: int
    """Of the whole history, whether or not the context still holds them: system prompts, prompts, answers,
    and each result by itself. Summaries are not counted."""
    tokens: int
    """Estimated tokens of the agent view: the last request and what was said since. Without instructions
    and tools before the first request."""

    @property
    def used(self) -> float:
        """When it was last used; importing it is a use."""
        return max(self.created, self.updated)


class SessionNotFound(LookupError):
    """No session has this id; the message names it."""


class SessionDeleted(StorageError):
    """A session was deleted while it was open."""

    def __init__(self, session: str) -> None:
        super().__init__(
            f"The session {session} was deleted meanwhile.",
            "New messages in it cannot be kept. Start a new one with /new.",
        )


def explained(error: BaseException, database: Path | None) -> str:
    """Say why something was not possible.

    Args:
        error: What was raised.
        database: The sessions file, where it is known.

    Returns:
        The reason in words; empty for an error that should never happen, whose words are for a log.
    """
    match error:
        case SessionNotFound():
            return str(error.args[0])
        case SessionLocked():
            return f"The session is open in {error}, and only one may write it. Close it there first."
        case sqlite3.Error() | OSError() | MemoryError() if told := storage_error(error, database):
            return str(told)
        case sqlite3.Error():
            return f"The sessions file {database or ''}".rstrip() + f" cannot be used: {error}."
        case OSError() if error.strerror:
            return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
        case _:
            return ""
