"""The store of sessions: everything read and written, for either database, and its errors."""

import json
import logging
import re
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tui_app.context.storage_errors import StorageError, storage_error
from tui_app.events import Payload, Record, SessionStart, UsageInfo, UserMessage, data_of
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.event_heads import Head, prompt_line
from tui_app.session.event_rows import AFTERWARDS, CARRYING, DamagedEvent, payload_of, record_of, row_of
from tui_app.session.lock import SessionLocked
from tui_app.session.stats import StatsFold
from tui_app.session.stores.sql_store import (
    BEHIND_ALL,
    DAMAGED,
    FORWARD,
    HEADS_AT_ONCE,
    IS_HIDDEN,
    LEDGER,
    STATS,
    Db,
    Dialect,
    Folded,
    catch_up,
    figures,
    find_heads,
    heads_of,
    last_of,
    load_folds,
    put_parts,
    save_folds,
    tokens_after,
    unsealed,
    view_tokens,
)
from tui_app.session.views.agent_view import AgentView

T = TypeVar("T")
Event = tuple[Payload, str | None, float]
"""An event, the pydantic-ai message it carries as JSON text, and its time in seconds since the epoch."""
EVERY = 256
"""Approximate number of events between two snapshots."""
_log = logging.getLogger(__name__)
_FEW, _RECORDS_AT_ONCE = 64, 200
_SESSION_ID = re.compile(r"[0-9a-f]{4,32}")
_BEGIN = (
    "INSERT INTO sessions (id, title, cwd, model, created, updated) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)


def is_session_id(text: str) -> bool:
    """Return whether it is a session id as this program makes them. Nothing else may be in a path."""
    return _SESSION_ID.fullmatch(text) is not None


@frozen(kw_only=True)
class SessionInfo:
    """One row of the session list."""

    id: str
    title: str
    cwd: str
    model: str
    created: float
    """When the session was created here; an imported conversation is older."""
    updated: float
    events: int
    messages: int
    """Messages of the whole history, in the context or not.

    Counts system prompts, prompts, answers and every tool result. Summaries are not counted.
    """
    tokens: int
    """Estimated tokens of the agent view: the last measurement plus what was added since.

    Excludes instructions and tools until something was measured.
    """

    @property
    def used(self) -> float:
        """When the session was last used; importing counts as a use."""
        return max(self.created, self.updated)


_COLUMNS = tuple(SessionInfo.__dataclass_fields__)


class WriteLock(Protocol):
    """The right to write one session. It ends with the process that has it."""

    def release(self) -> None:
        """Let others write. Releasing twice is harmless."""


class Follower(Protocol):
    """Notifies a read-only reader when a session has grown. For one thread at a time."""

    def wait(self, timeout_s: float) -> bool:
        """Wait at most that many seconds for news; return whether there may be some."""

    def holder(self) -> str:
        """Describe the writer of the session; empty if there is none."""

    def close(self) -> None: ...


class SessionStore(ABC):
    """The sessions of one database and their events. Not thread-safe: open one per thread.

    Database failures are raised as ``sqlite3.Error``; a ``StorageError`` can be shown to the user as it is.
    """

    dialect: Dialect
    path: Path | None
    """The database file; None for a server."""

    def __init__(self, *, read_only: bool, snapshots: bool) -> None:
        self._read_only = read_only
        self._snapshots = snapshots
        """Whether the database has a table of snapshots. Older ones opened for reading have none."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def lock(self, session: str, file: Path) -> WriteLock:
        """Become the only writer of a session.

        Args:
            session: Full id of the session.
            file: Lock file in the session's folder, for a store on this machine.

        Raises:
            SessionLocked: if another process writes the session; its text names the place if known.
            OSError: if the lock file cannot be created.
        """

    @abstractmethod
    def holder(self, session: str, file: Path) -> str:
        """Describe the writer of a session; empty if there is none. Uses the same lock file as ``lock``."""

    @abstractmethod
    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        """Return messages and summaries with a word that starts with one of these, best match first.

        Args:
            session: Full id of the session.
            words: Letters, digits and underscores; case does not matter.
            limit: Maximum number of events.
        """

    @abstractmethod
    def _ask(self, work: Callable[[Db], T]) -> T:
        """Run a read; repeat it once if the connection was lost."""

    @abstractmethod
    def _change(self, work: Callable[[Db], T], session: str = "") -> T:
        """Run a change in one transaction.

        Args:
            work: May run twice if it concerns a session.
            session: Id of the session; empty if it does not exist yet.
        """

    def _announce(self, session: str) -> None:  # noqa: B027 - followers of a file look at the file
        """Notify followers of a session of the events being written, once they are committed."""

    def _begin_alone(self, db: Db) -> None:  # noqa: B027 - a file has one writer at a time
        """Keep other processes from creating a session with a check until the transaction ends."""

    def _infos(self, rest: str, *values: object) -> list[SessionInfo]:
        columns = ", ".join(self.dialect.last if name == "events" else name for name in _COLUMNS)
        query = f"SELECT {columns} FROM sessions {rest}"
        rows = self._ask(lambda db: db.execute(query, values).fetchall())
        return [SessionInfo(**dict(zip(_COLUMNS, row, strict=True))) for row in rows if is_session_id(row[0])]

    def sessions(self, *, hidden: bool = False) -> list[SessionInfo]:
        """Return all sessions, most recently used first.

        Args:
            hidden: Include the sessions of subagents.
        """
        which = "" if hidden else f"WHERE NOT {IS_HIDDEN}"
        listed = self._infos(f"{which} ORDER BY {self.dialect.place} DESC")
        return sorted(listed, key=attrgetter("used"), reverse=True)

    def children(self, session: str) -> list[str]:
        """Return the ids of the hidden sessions of a session's subagents, running or finished."""
        return self._ask(partial(_children, session=session))

    def info(self, session: str) -> SessionInfo:
        """Return one session by its id or an unambiguous prefix.

        Raises:
            SessionNotFound: if none matches, or more than one.
        """
        prefix, found = self.dialect.text(session), list[SessionInfo]()
        if session:
            beginning = ("WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 2", len(prefix), prefix)
            found = self._infos("WHERE id = ?", prefix) or self._infos(*beginning)
        if len(found) != 1:
            which = "no session" if not found else "more than one session"
            raise SessionNotFound(f"There is {which} with the id {session!r}. See: plimsoll sessions")
        return found[0]

    def heads(self, session: str, after: int = 0) -> Iterator[Head]:
        """Iterate over the heads of a session after a log number (0: all), in order."""
        return self._pages(session, FORWARD, min(after, BEHIND_ALL))

    def newest(self, session: str, types: Collection[str]) -> Iterator[Head]:
        """Iterate over the heads of some types, newest first; reads no more than the caller takes."""
        where = "type = '{}' AND seq < ? ORDER BY seq DESC LIMIT ?"
        runs = (self._pages(session, where.format(kind), BEHIND_ALL) for kind in types)
        return merge(*runs, key=attrgetter("seq"), reverse=True)

    def _pages(self, session: str, where: str, at: int) -> Iterator[Head]:
        most = _FEW
        while part := self._ask(partial(find_heads, session=session, where=where, values=(at, most))):
            yield from part
            # Small first pages: a caller that needs only the first few does not wait for thousands.
            at, most = part[-1].seq, min(most * 4, HEADS_AT_ONCE)

    def heads_of(self, session: str, seqs: Collection[int]) -> list[Head]:
        """Return the heads with these log numbers, in any order; missing ones are left out."""
        return self._ask(lambda db: heads_of(db, session, seqs))

    def agent_view(self, session: str) -> AgentView:
        """Return the state that the next request of a session is built from, as of its newest event."""
        folded = self._ask(lambda db: self._loaded(db, session))
        self._ask(lambda db: catch_up(db, folded))
        if not self._read_only and folded.view.last - folded.stored > 2 * EVERY:
            self._save(session, folded)
        return folded.view

    def kept_stats(self, session: str) -> StatsFold:
        """Return the saved figures of a session; newer events are not folded in yet."""
        with suppress(*DAMAGED):
            return StatsFold.from_text(self._kept(session, STATS))
        return StatsFold()

    def record(self, session: str, seq: int) -> Record | None:
        row = self._row_of(session, seq, "seq, type, time, data")
        return record_of(session, row) if row else None

    def message(self, session: str, seq: int) -> str | None:
        """Return the pydantic-ai message that an event carries, as JSON text."""
        row = self._row_of(session, seq, "message")
        return row[0] if row else None

    def _row_of(self, session: str, seq: int, columns: str) -> Any:
        query = f"SELECT {columns} FROM events WHERE session = ? AND seq = ?"
        return self._ask(lambda db: db.execute(query, (session, min(seq, BEHIND_ALL))).fetchone())

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        """Iterate over all events of a session with their messages, in order."""
        after, columns = 0, "seq, type, time, data, message"
        query = f"SELECT {columns} FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"

        def read(db: Db, after: int) -> list[tuple[Record, str | None]]:
            rows = db.execute(query, (session, after, _RECORDS_AT_ONCE)).fetchall()
            return [(record_of(session, row[:4]), row[4]) for row in rows]

        while part := self._ask(partial(read, after=after)):
            yield from part
            after = part[-1][0].seq

    def last_of(self, session: str, kind: str) -> Record | None:
        return self._ask(lambda db: last_of(db, session, kind))

    def figures(self, session: str, after: int = 0) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """Yield the log number, type and figures of the events after a log number that ``/stats`` counts."""
        return iter(self._ask(lambda db: figures(db, self.dialect, session, after)))

    def sizes(self) -> dict[str, int]:
        """Return the size of each session's log in bytes, by id."""
        query = "SELECT id, bytes FROM sessions"
        rows = self._ask(lambda db: db.execute(query).fetchall())
        return {session: size for session, size in rows if is_session_id(session)}

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        """Return the session, log number, time and first characters of a folder's prompts, newest first.

        Args:
            cwd: The folder.
            most: Maximum number of prompts.
            chars: Maximum number of characters of each.
        """
        query = (
            "SELECT session, seq, time, data FROM events JOIN sessions ON sessions.id = session"
            f" WHERE cwd = ? AND type = ? AND NOT {IS_HIDDEN} ORDER BY time DESC, seq DESC LIMIT ?"
        )
        values = (self.dialect.text(cwd), UserMessage.TYPE, most)
        rows = self._ask(lambda db: db.execute(query, values).fetchall())
        recent: list[tuple[str, int, float, str]] = []
        for session, seq, time, data in rows:
            # A damaged prompt is left out.
            with suppress(DamagedEvent):
                payload = payload_of(session, seq, UserMessage.TYPE, data)
                recent.append((session, seq, time, getattr(payload, "text", "")[:chars]))
        return recent

    def create(
        self,
        start: SessionStart,
        *,
        time: float,
        events: Sequence[Event] = (),
        check: Callable[[], None] | None = None,
    ) -> str:
        """Create a session with its first event and more, in one transaction; return its id.

        Args:
            start: The first event.
            time: Seconds since the epoch.
            events: The other events.
            check: Raises if no session may be created. Meanwhile no other process creates one with a check.
        """
        row = (*map(self.dialect.text, (start.title, start.cwd, start.model)), time, time)

        def begin(db: Db) -> str:
            if check is not None:
                self._begin_alone(db)
                check()
            session = secrets.token_hex(4)
            # On a server, ids of many machines meet: draw again if one is taken.
            while db.execute(_BEGIN, (session, *row)).rowcount != 1:
                session = secrets.token_hex(4)
            self._write(db, session, [(start, None, time), *events])
            return session

        session = self._change(begin)
        self._keep(session, 1, len(events) + 1)
        return session

    def append(self, session: str, payload: Payload, message: str | None, *, time: float) -> Record:
        """Write one event. When this returns, it survives a power cut. Raises ``SessionDeleted``."""
        return self.append_many(session, [(payload, message, time)])[0]

    def append_many(self, session: str, events: Sequence[Event]) -> list[Record]:
        """Write several events, all or none. Raises ``SessionDeleted``."""
        records = self._append(session, events)
        if records:
            self._keep(session, records[0].seq, records[-1].seq)
        return records

    def _append(self, session: str, events: Sequence[Event]) -> list[Record]:
        return self._change(lambda db: self._write(db, session, events), session)

    def set_title(self, session: str, title: str) -> None:
        query, values = "UPDATE sessions SET title = ? WHERE id = ?", (self.dialect.text(title), session)
        self._change(lambda db: db.execute(query, values), session)

    def set_model(self, session: str, model: str) -> None:
        """Record the model a session continues with."""
        query, values = "UPDATE sessions SET model = ? WHERE id = ?", (self.dialect.text(model), session)
        self._change(lambda db: db.execute(query, values), session)

    def delete(self, session: str) -> None:
        """Delete a session and those of its subagents."""

        def remove(db: Db) -> None:
            for each in (*_children(db, session), session):
                # First lock the session's row, which writers lock, too.
                db.execute("UPDATE sessions SET title = title WHERE id = ?", (each,))
                for table, key in (("snapshots", "session"), ("events", "session"), ("sessions", "id")):
                    db.execute(f"DELETE FROM {table} WHERE {key} = ?", (each,))

        self._change(remove, session)

    def _write(self, db: Db, session: str, events: Sequence[Event]) -> list[Record]:
        """Append events and update the session's row, within the caller's transaction."""
        query = f"SELECT {self.dialect.last}, tokens FROM sessions WHERE id = ?"
        if (row := db.execute(query, (session,)).fetchone()) is None:
            raise SessionDeleted(session)
        last, tokens = row
        records = [
            Record(seq=seq, time=time, session=session, data=payload)
            for seq, (payload, _, time) in enumerate(events, last + 1)
        ]
        if not records:
            return []
        extras = self.dialect.beside
        rows = [row_of(record, message) for record, (_, message, _) in zip(records, events, strict=True)]
        columns = ("session", "seq", "type", "time", "head", "data", "message", *extras)
        db.executemany(
            f"INSERT INTO events ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
            [
                (*row, *(make(record.data, row) for make in extras.values()))
                for row, record in zip(rows, records, strict=True)
            ],
        )
        payloads = [record.data for record in records]
        prompts = (data.text for data in payloads if isinstance(data, UserMessage))
        db.execute(
            f"UPDATE sessions SET {'last = ?, ' if self.dialect.keeps_last else ''}"
            " updated = COALESCE(?, updated), messages = messages + ?, bytes = bytes + ?, tokens = ?,"
            " title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
            (
                *([records[-1].seq] if self.dialect.keeps_last else []),
                next((each.time for each in reversed(records) if each.data.TYPE not in AFTERWARDS), None),
                sum(data.TYPE in CARRYING for data in payloads),
                sum(len(text.encode()) for row in rows for text in row[4:] if text is not None),
                self._tokens(db, session, tokens, payloads),
                self.dialect.text(prompt_line(next(prompts, ""))),
                session,
            ),
        )
        self._announce(session)
        return records

    def _tokens(self, db: Db, session: str, before: int, events: Sequence[Payload]) -> int:
        tokens = tokens_after(before, events)
        if tokens is not None:
            return tokens
        usage = data_of(last_of(db, session, UsageInfo.TYPE), UsageInfo)
        folded = self._loaded(db, session)
        catch_up(db, folded)
        return view_tokens(folded.view, usage)

    def kept_ledger(self, session: str) -> str:
        """Return the saved ledger of the session as JSON; empty if none was saved."""
        return self._kept(session, LEDGER)

    def _kept(self, session: str, part: int) -> str:
        query = "SELECT data FROM snapshots WHERE session = ? AND part = ?"
        row = self._ask(lambda db: db.execute(query, (session, part)).fetchone()) if self._snapshots else None
        with suppress(ValueError):
            return unsealed(session, part, str(row[0])) if row else ""
        return ""

    def keep_ledger(self, session: str, ledger: str) -> None:
        """Save the session's ledger. If that fails, it is rebuilt from the log the next time."""
        try:
            if self._snapshots:
                self._change(lambda db: put_parts(db, session, {LEDGER: ledger}))
        except sqlite3.Error as error:
            _log.warning("The ledger of %s could not be kept: %s", session, error)

    def _loaded(self, db: Db, session: str) -> Folded:
        return (
            load_folds(db, session, partial(self.heads_of, session)) if self._snapshots else Folded(session)
        )

    def _keep(self, session: str, first: int, last: int) -> None:
        """Save a snapshot if the events just written cross a multiple of ``EVERY``."""
        if first // EVERY < (last + 1) // EVERY:
            self._save(session)

    def _save(self, session: str, folded: Folded | None = None) -> None:
        """Save the folds of a log. If that fails, more events are folded the next time."""

        def fold(db: Db) -> Folded:
            known = folded or self._loaded(db, session)
            catch_up(db, known)
            for seq, kind, found in figures(db, self.dialect, session, known.stats.last):
                known.stats.apply(seq, kind, found)
            return known

        try:
            known = self._ask(fold)
            # What one more event can undo has to be folded from before it, so no snapshot now.
            if not known.view.cuts:
                self._change(lambda db: save_folds(db, known))
        except sqlite3.Error as error:
            _log.warning("No snapshot of %s could be kept: %s", session, error)


def _children(db: Db, session: str) -> list[str]:
    head = json.dumps({"s": session}, separators=(",", ":"))
    query = (
        "SELECT sessions.id FROM sessions JOIN events ON events.session = sessions.id AND events.seq = 1"
        f" WHERE events.head = ? AND {IS_HIDDEN}"
    )
    return [row[0] for row in db.execute(query, (head,)).fetchall() if is_session_id(row[0])]


class SessionNotFound(LookupError):
    """No unique session has this id; the message names it."""


class SessionDeleted(StorageError):
    """Raised when a session was deleted while it was open."""

    def __init__(self, session: str) -> None:
        super().__init__(
            f"The session {session} was deleted meanwhile.",
            "New messages in it cannot be kept. Start a new one with /new.",
        )


def explained(error: BaseException, database: Path | None) -> str:
    """Return the reason for an error as a sentence for the user.

    Args:
        error: What was raised.
        database: The sessions file, if known.

    Returns:
        The reason; empty for an unexpected error, whose text belongs in a log.
    """
    match error:
        case SessionNotFound() | Refusal():
            return str(error.args[0])
        case SessionLocked():
            return f"The session is open in {error}, and only one may write it. Close it there first."
        case sqlite3.Error() | OSError() | MemoryError() if reason := storage_error(error, database):
            return str(reason)
        case sqlite3.Error():
            return f"The sessions file {database or ''}".rstrip() + f" cannot be used: {error}."
        case OSError() if error.strerror:
            return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
        case _:
            return ""
