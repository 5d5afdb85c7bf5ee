"""All sessions in one SQLite file: append-only events, never updated, never deleted by a compaction."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tui_app.events import Payload, Record, SessionStart, UsageInfo, UserMessage
from tui_app.session import side_queries
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.database import connect, identity, make_sure
from tui_app.session.heads import Head, spoken_line
from tui_app.session.info import SessionDeleted, SessionInfo, SessionNotFound
from tui_app.session.lock import WriterLock, holder
from tui_app.session.ports import Event
from tui_app.session.rows import payload_of, plain, record_of, row_of
from tui_app.session.sizes import count_messages, tokens_after, view_tokens
from tui_app.session.visibility import AFTERWARDS

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
        return side_queries.figures(self._db, session, after)

    def sizes(self) -> dict[str, int]:
        """Bytes of each session's log, by id."""
        return side_queries.sizes(self._db)

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        """Session, number, time and beginning of the prompts of a folder, newest first."""
        return side_queries.prompts(self._db, cwd, most, chars)


def _info(row: Sequence[Any]) -> SessionInfo:
    """The columns stand in the order of the fields."""
    return SessionInfo(**dict(zip(SessionInfo.__dataclass_fields__, row, strict=True)))
