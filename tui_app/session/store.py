"""All sessions in one SQLite file: append-only events, never updated, never deleted by a compaction."""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.events import (
    Payload,
    Record,
    SessionStart,
    UsageInfo,
    UserMessage,
    payload_from_json,
    payload_to_json,
)
from tui_app.session.atomic import make_private
from tui_app.session.heads import Head, first_line, head_of
from tui_app.session.migrations import migrate

_HEAD_COLUMNS = "seq, type, time, head"


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
    tokens: int
    """Size of the last request; 0 before the first."""


class SessionNotFound(LookupError):
    """No session has this id; the message names it."""


class Store:
    """The sessions of one data directory. Not thread-safe: open one per thread.

    Args:
        path: The database file; it and its folder are created with owner-only rights.
        read_only: For the screen, which reads texts while the engine writes.

    Raises:
        sqlite3.DatabaseError: if the file is no database or comes from a newer version.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        if not read_only:
            make_private(path.parent)
            path.touch(mode=0o600, exist_ok=True)
        uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
        self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)
        if not read_only:
            self._db.execute("PRAGMA journal_mode=WAL")
            # A commit that returned must survive a power cut: nothing shown as done may be lost.
            self._db.execute("PRAGMA synchronous=FULL")
            migrate(self._db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def create(self, start: SessionStart, *, time: float) -> str:
        """Begin a session with its first event.

        Returns:
            Its id, eight hexadecimal digits.
        """
        session = secrets.token_hex(4)
        with self._transaction():
            self._db.execute(
                "INSERT INTO sessions (id, title, cwd, model, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
                (session, _plain(start.title), _plain(start.cwd), start.model, time, time),
            )
            self._write(session, [(start, None, time)])
        return session

    def append(self, session: str, payload: Payload, message: str | None, *, time: float) -> Record:
        """Write one event; it is on disk when this returns.

        Args:
            session: Which session.
            payload: What happened.
            message: The pydantic-ai message it carries, as JSON text.
            time: Seconds since the epoch.
        """
        return self.append_many(session, [(payload, message, time)])[0]

    def append_many(self, session: str, events: Sequence[tuple[Payload, str | None, float]]) -> list[Record]:
        """Write several events in one transaction: all of them or none."""
        with self._transaction():
            return self._write(session, events)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block or nothing; the writer of another process is waited for."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            # A full disk has rolled back by itself already.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _write(self, session: str, events: Sequence[tuple[Payload, str | None, float]]) -> list[Record]:
        row = self._db.execute("SELECT MAX(seq) FROM events WHERE session = ?", (session,)).fetchone()
        first = (row[0] or 0) + 1
        records = [
            Record(seq=first + offset, time=time, session=session, data=payload)
            for offset, (payload, _, time) in enumerate(events)
        ]
        self._db.executemany(
            "INSERT INTO events (session, seq, type, time, head, data, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [_row(record, event[1]) for record, event in zip(records, events, strict=True)],
        )
        if records:
            self._touch(session, records)
        return records

    def _touch(self, session: str, records: Sequence[Record]) -> None:
        counted = {"user.message", "assistant.message", "tool.result"}
        messages = sum(record.data.TYPE in counted for record in records)
        prompts = (record.data.text for record in records if isinstance(record.data, UserMessage))
        self._db.execute(
            "UPDATE sessions SET updated = ?, messages = messages + ?,"
            " title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
            (records[-1].time, messages, _plain(first_line(next(prompts, ""))), session),
        )
        for usage in (record.data.usage for record in records if isinstance(record.data, UsageInfo)):
            self._db.execute("UPDATE sessions SET tokens = ? WHERE id = ?", (usage["total"], session))

    def set_title(self, session: str, title: str) -> None:
        """Name a session; the list shows it."""
        self._db.execute("UPDATE sessions SET title = ? WHERE id = ?", (_plain(title), session))

    def set_model(self, session: str, model: str) -> None:
        """Note which model a session goes on with."""
        self._db.execute("UPDATE sessions SET model = ? WHERE id = ?", (model, session))

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the one used last first."""
        query = (
            "SELECT id, title, cwd, model, created, updated,"
            " (SELECT COALESCE(MAX(seq), 0) FROM events WHERE session = sessions.id), messages, tokens"
            " FROM sessions ORDER BY updated DESC, rowid DESC"
        )
        return [_info(row) for row in self._db.execute(query)]

    def info(self, session: str) -> SessionInfo:
        """One session, by its id or an unambiguous beginning of it.

        Raises:
            SessionNotFound: if there is none, or more than one fits.
        """
        fitting = [info for info in self.sessions() if info.id.startswith(session)] if session else []
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
        return _record(session, row) if row else None

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        """All events of a session with their messages, in order."""
        query = "SELECT seq, type, time, data, message FROM events WHERE session = ? ORDER BY seq"
        with closing(self._db.execute(query, (session,))) as rows:
            for row in rows:
                yield _record(session, row[:4]), row[4]

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
        return [(seq, payload_from_json(kind, json.loads(data))) for seq, kind, data in rows]

    def last_of(self, session: str, kind: str) -> Record | None:
        """The newest event of a type."""
        query = (
            "SELECT seq, type, time, data FROM events WHERE session = ? AND type = ?"
            " ORDER BY seq DESC LIMIT 1"
        )
        row = self._db.execute(query, (session, kind)).fetchone()
        return _record(session, row) if row else None


def _plain(text: str) -> str:
    """Text that SQLite can hold: half a surrogate pair (a pasted half character) becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _row(record: Record, message: str | None) -> tuple[object, ...]:
    head = head_of(record.seq, record.time, record.data).to_text()
    data = json.dumps(payload_to_json(record.data), ensure_ascii=True, separators=(",", ":"))
    return (record.session, record.seq, record.data.TYPE, record.time, head, data, message)


def _record(session: str, row: Sequence[object]) -> Record:
    seq, kind, time, data = row
    payload = payload_from_json(str(kind), json.loads(str(data)))
    return Record(seq=int(str(seq)), time=float(str(time)), session=session, data=payload)


def _info(row: Sequence[object]) -> SessionInfo:
    session, title, cwd, model, created, updated, events, messages, tokens = row
    return SessionInfo(
        id=str(session),
        title=str(title),
        cwd=str(cwd),
        model=str(model),
        created=float(str(created)),
        updated=float(str(updated)),
        events=int(str(events)),
        messages=int(str(messages)),
        tokens=int(str(tokens)),
    )
