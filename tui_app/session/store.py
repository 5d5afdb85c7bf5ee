"""All sessions in one SQLite file: append-only events, never updated, never deleted by a compaction."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tui_app.context.storage_errors import StorageError, storage_error
from tui_app.events import (
    AssistantMessage,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    MemoryInbox,
    Payload,
    Record,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    SystemMessage,
    ToolResult,
    UsageInfo,
    UserMessage,
    ViewRewrite,
)
from tui_app.files import make_private
from tui_app.session.agent_view import AgentView, fold_agent_view
from tui_app.session.event_heads import (
    AFTERWARDS,
    CARRYING,
    Head,
    payload_of,
    plain,
    record_of,
    row_of,
    spoken_line,
)
from tui_app.session.lock import WriterLock, holder
from tui_app.session.migrations import check, migrate
from tui_app.session.model_state import Known
from tui_app.session.port import Event, SessionDeleted, SessionInfo, SessionNotFound
from tui_app.session.stats import COUNTED, FIGURES

# The connection to the sessions file: ours, of this version, and durable, or an explanation why not.


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open the sessions file; statements are committed one by one unless a transaction is begun.

    Args:
        path: The file; it and its folder are created with owner-only rights.
        read_only: Create and change nothing.

    Raises:
        StorageError: if the file is no database, none of ours, or cannot be written.
        sqlite3.DatabaseError: if it comes from a newer version.
        OSError: if it cannot be created.
    """
    if not read_only:
        make_private(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)
    try:
        check(db)
        if not read_only:
            _prepare(db)
    except sqlite3.Error as error:
        db.close()
        if (told := storage_error(error, path)) is not None:
            raise told from error
        raise
    return db


def identity(path: Path) -> tuple[int, int]:
    """What tells a file apart from another one of its name.

    Raises:
        OSError: if there is none.
    """
    found = path.stat()
    return found.st_dev, found.st_ino


def make_sure(path: Path, opened: tuple[int, int]) -> None:
    """Make sure that the file that was opened still has its name.

    What is written into one that was deleted would be gone with the program, and nothing would say so.

    Raises:
        StorageError: if it was deleted, moved, or replaced.
    """
    try:
        there = identity(path) == opened
    except OSError:
        there = False
    if not there:
        raise StorageError(
            f"The sessions file {path} was deleted or moved while it was open.",
            "What was saved until then is where the file is now. Bring it back, then start again.",
        )


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode=WAL")
    # A commit that returned must survive a power cut: nothing shown as done may be lost.
    db.execute("PRAGMA synchronous=FULL")
    migrate(db)
    # Events of a session that is not listed would never be seen again.
    db.execute("PRAGMA foreign_keys=ON")


# What is read from the sessions file besides the log itself, each event's part of it alone.

_PATHS = ", ".join(f"'$.{name}'" for name in FIGURES)


def figures(db: sqlite3.Connection, session: str, after: int) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Figures of the counted events behind a log number; their texts stay in the database."""
    query = (
        f"SELECT seq, type, json_extract(data, {_PATHS}) FROM events"
        f" WHERE session = ? AND seq > ? AND type IN ({', '.join('?' * len(COUNTED))}) ORDER BY seq"
    )
    for seq, kind, found in db.execute(query, (session, after, *COUNTED)):
        yield seq, kind, dict(zip(FIGURES, json.loads(found), strict=True))


def prompts(db: sqlite3.Connection, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
    """Session, number, time and beginning of the prompts of a folder, newest first."""
    query = (
        "SELECT events.session, seq, time, substr(json_extract(data, '$.text'), 1, ?)"
        " FROM events JOIN sessions ON sessions.id = events.session"
        " WHERE cwd = ? AND type = ? ORDER BY time DESC, seq DESC LIMIT ?"
    )
    return db.execute(query, (chars, plain(cwd), UserMessage.TYPE, most)).fetchall()


def sizes(db: sqlite3.Connection) -> dict[str, int]:
    """Bytes of each session's log, by id; ``LENGTH`` of a text would count characters."""
    size = " + ".join(
        f"COALESCE(LENGTH(CAST({column} AS BLOB)), 0)" for column in ("head", "data", "message")
    )
    return dict(db.execute(f"SELECT session, SUM({size}) FROM events GROUP BY session").fetchall())


# How big a session is, as the list shows it: kept up to date with every event that is written.


def count_messages(kinds: Iterable[str]) -> int:
    """Count messages among events: what is an item of the model's view, each tool result by itself.

    Args:
        kinds: Types of events.
    """
    return sum(kind in CARRYING for kind in kinds)


def tokens_after(tokens: int, events: Iterable[Payload]) -> int | None:
    """Tokens of the view once more has happened.

    Args:
        tokens: Tokens before.
        events: What happened, in order.

    Returns:
        None when the view was rewritten, so that it must be counted anew.
    """
    rewritten = False
    for data in events:
        match data:
            case UsageInfo(usage=usage):
                tokens, rewritten = int(usage["total"]), False
            case UserMessage() | AssistantMessage() | ToolResult() | SystemMessage() | MemoryInbox():
                tokens += sum(data.tokens.values())
            case CompactionUndone() | CompactionRedone() | SessionClear() | SessionRewind() | ViewRewrite():
                rewritten = True
            case RewriteUndone() | SessionRestored() | CompactionAcknowledged() | CompactionEdited():
                rewritten = True
            case CompactionComplete(outcome="success"):
                rewritten = True
            case _:
                pass
    return None if rewritten else tokens


def view_tokens(view: AgentView, last: UsageInfo | None) -> int:
    """Count a view, with what the last request carried besides.

    Args:
        view: The messages that are sent.
        last: What was measured with the last request; None before the first.
    """
    known = Known(last, factor=(last.factor if last is not None else None) or 1.0)
    return known.usage(view, "").total


_HEAD_COLUMNS = "seq, type, time, head"
_INFO = (
    "SELECT id, title, cwd, model, created, updated,"
    " (SELECT COALESCE(MAX(seq), 0) FROM events WHERE session = sessions.id), messages, tokens FROM sessions"
)


class Store:
    """The sessions of one data directory. Not thread-safe: open one per thread.

    Args:
        path: The database file; it and its folder are created with owner-only rights.
        read_only: For the screen, which reads texts while the engine writes.

    Raises:
        StorageError: if the file is no database, none of ours, or cannot be written.
        sqlite3.DatabaseError: if it comes from a newer version.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._db = connect(path, read_only=read_only)
        self._opened = identity(path)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def lock(self, _session: str, file: Path) -> WriterLock:
        """Become the one writer of a session; on one machine its lock file says who that is."""
        return WriterLock(file)

    def holder(self, _session: str, file: Path) -> str:
        """Who writes a session, in words; its lock file says so."""
        return holder(file)

    def create(self, start: SessionStart, *, time: float, events: Sequence[Event] = ()) -> str:
        """Begin a session with its first event, and with more: all of them or no session.

        Returns:
            Its id, eight hexadecimal digits.
        """
        session = secrets.token_hex(4)
        with self._transaction():
            self._db.execute(
                "INSERT INTO sessions (id, title, cwd, model, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
                (session, plain(start.title), plain(start.cwd), start.model, time, time),
            )
            self._write(session, [(start, None, time), *events])
        return session

    def append(self, session: str, payload: Payload, message: str | None, *, time: float) -> Record:
        """Write one event; it is on disk when this returns.

        Args:
            session: Which session.
            payload: What happened.
            message: The pydantic-ai message it carries, as JSON text.
            time: Seconds since the epoch.

        Raises:
            SessionDeleted: if the session is no longer there; nothing is written then.
        """
        return self.append_many(session, [(payload, message, time)])[0]

    def append_many(self, session: str, events: Sequence[Event]) -> list[Record]:
        """Write several events in one transaction: all of them or none.

        Raises:
            SessionDeleted: if the session is no longer there.
        """
        with self._transaction():
            return self._write(session, events)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block or nothing; the writer of another process is waited for."""
        make_sure(self.path, self._opened)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            # A full disk has rolled back by itself already.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _write(self, session: str, events: Sequence[Event]) -> list[Record]:
        query = "SELECT (SELECT MAX(seq) FROM events WHERE session = sessions.id) FROM sessions WHERE id = ?"
        row = self._db.execute(query, (session,)).fetchone()
        if row is None:
            raise SessionDeleted(session)
        first = (row[0] or 0) + 1
        records = [
            Record(seq=first + offset, time=time, session=session, data=payload)
            for offset, (payload, _, time) in enumerate(events)
        ]
        self._db.executemany(
            "INSERT INTO events (session, seq, type, time, head, data, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [row_of(record, event[1]) for record, event in zip(records, events, strict=True)],
        )
        if records:
            self._touch(session, records)
        return records

    def _touch(self, session: str, records: Sequence[Record]) -> None:
        kinds = [record.data.TYPE for record in records]
        messages = count_messages(kinds)
        used = next((record.time for record in reversed(records) if record.data.TYPE not in AFTERWARDS), None)
        prompts = (record.data.text for record in records if isinstance(record.data, UserMessage))
        self._db.execute(
            "UPDATE sessions SET updated = COALESCE(?, updated), messages = messages + ?, tokens = ?,"
            " title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
            (
                used,
                messages,
                self._tokens(session, [record.data for record in records]),
                plain(spoken_line(next(prompts, ""))),
                session,
            ),
        )

    def _tokens(self, session: str, events: Sequence[Payload]) -> int:
        """Tokens of the view behind events that have just been written."""
        row = self._db.execute("SELECT tokens FROM sessions WHERE id = ?", (session,)).fetchone()
        tokens = tokens_after(row[0], events)
        if tokens is not None:
            return tokens
        last = self.last_of(session, UsageInfo.TYPE)
        usage = last.data if last is not None and isinstance(last.data, UsageInfo) else None
        return view_tokens(fold_agent_view(self.heads(session)), usage)

    def set_title(self, session: str, title: str) -> None:
        """Name a session; the list shows it."""
        self._db.execute("UPDATE sessions SET title = ? WHERE id = ?", (plain(title), session))

    def set_model(self, session: str, model: str) -> None:
        """Note which model a session goes on with."""
        self._db.execute("UPDATE sessions SET model = ? WHERE id = ?", (model, session))

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the one used last first."""
        return [_info(row) for row in self._db.execute(f"{_INFO} ORDER BY updated DESC, rowid DESC")]

    def info(self, session: str) -> SessionInfo:
        """One session, by its id or an unambiguous beginning of it.

        Raises:
            SessionNotFound: if there is none, or more than one fits.
        """
        low = plain(session)
        rows = self._db.execute(f"{_INFO} WHERE id BETWEEN ? AND ?", (low, f"{low}\x7f"))
        fitting = [_info(row) for row in rows] if session else []
        exact = [info for info in fitting if info.id == session]
        if len(exact or fitting) != 1:
            found = "no session" if not fitting else "more than one session"
            raise SessionNotFound(f"There is {found} with the id {session!r}. See: plimsoll sessions")
        return (exact or fitting)[0]

    def delete(self, session: str) -> None:
        """Delete a session for good; only ever on a person's own request."""
        with self._transaction():
            self._db.execute("DELETE FROM events WHERE session = ?", (session,))
            self._db.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def heads(self, session: str, after: int = 0) -> Iterator[Head]:
        """Light rows of a session, in order."""
        query = f"SELECT {_HEAD_COLUMNS} FROM events WHERE session = ? AND seq > ? ORDER BY seq"
        with closing(self._db.execute(query, (session, after))) as rows:
            for row in rows:
                yield Head.from_text(*row)

    def record(self, session: str, seq: int) -> Record | None:
        """One whole event."""
        query = "SELECT seq, type, time, data FROM events WHERE session = ? AND seq = ?"
        row = self._db.execute(query, (session, seq)).fetchone()
        return record_of(session, row) if row else None

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        """All events of a session with their messages, in order."""
        query = "SELECT seq, type, time, data, message FROM events WHERE session = ? ORDER BY seq"
        with closing(self._db.execute(query, (session,))) as rows:
            for row in rows:
                yield record_of(session, row[:4]), row[4]

    def message(self, session: str, seq: int) -> str | None:
        """The pydantic-ai message an event carries, as JSON text."""
        query = "SELECT message FROM events WHERE session = ? AND seq = ?"
        row = self._db.execute(query, (session, seq)).fetchone()
        return row[0] if row else None

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        """Messages and summaries that hold a word, or a longer one beginning with it; the best fits first.

        Args:
            session: Which session.
            words: Letters, digits and underscores; case does not matter.
            limit: Events to return at most.
        """
        wanted = " OR ".join(f'"{word}"*' for word in words)
        if not wanted:
            return []
        query = (
            "SELECT seq, type, data FROM said JOIN events ON events.rowid = said.rowid"
            " WHERE said MATCH ? ORDER BY bm25(said, 0.0, 1.0) LIMIT ?"
        )
        rows = self._db.execute(query, (f'session : "{session}" AND text : ({wanted})', limit))
        return [(seq, payload_of(session, seq, kind, data)) for seq, kind, data in rows]

    def last_of(self, session: str, kind: str) -> Record | None:
        """The newest event of a type."""
        query = (
            "SELECT seq, type, time, data FROM events WHERE session = ? AND type = ?"
            " ORDER BY seq DESC LIMIT 1"
        )
        row = self._db.execute(query, (session, kind)).fetchone()
        return record_of(session, row) if row else None

    def figures(self, session: str, after: int = 0) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """Figures of the counted events behind a log number."""
        return figures(self._db, session, after)

    def sizes(self) -> dict[str, int]:
        """Bytes of each session's log, by id."""
        return sizes(self._db)

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        """Session, number, time and beginning of the prompts of a folder, newest first."""
        return prompts(self._db, cwd, most, chars)


def _info(row: Sequence[Any]) -> SessionInfo:
    """The columns stand in the order of the fields."""
    return SessionInfo(**dict(zip(SessionInfo.__dataclass_fields__, row, strict=True)))


# Following a session of this machine's file, which another window writes.

_LOOK_S = 0.2
"""Seconds between two looks; one costs a few microseconds."""


class FileFollower:
    """Sees by SQLite's own counter that the file has changed.

    Args:
        database: The sessions file.
        lock_file: Lock of the session.

    Raises:
        sqlite3.Error: if the file cannot be used.
    """

    def __init__(self, database: Path, lock_file: Path) -> None:
        self._lock_file = lock_file
        self._db = connect(database, read_only=True)
        self._seen = self._version()

    def wait(self, timeout_s: float) -> bool:
        """Wait for a change of the file, by whatever session."""
        until = time.monotonic() + timeout_s
        while (version := self._version()) == self._seen:
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_LOOK_S, left))
        self._seen = version
        return True

    def holder(self) -> str:
        """Who writes the session."""
        return holder(self._lock_file)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])
