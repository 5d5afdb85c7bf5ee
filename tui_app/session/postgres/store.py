"""Sessions on a PostgreSQL server: the same events as in the file, and one writer over all machines."""

import json
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from tui_app.context.storage_errors import StorageError
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Payload,
    Record,
    SessionStart,
    ToolResult,
    UsageInfo,
    UserMessage,
    payload_to_json,
)
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.event_heads import AFTERWARDS, Head, payload_of, plain, record_of, row_of, spoken_line
from tui_app.session.location import Server
from tui_app.session.lock import Overtaken, SessionLocked
from tui_app.session.port import Event, SessionDeleted, SessionInfo, SessionNotFound
from tui_app.session.postgres import schema
from tui_app.session.postgres.wire import Connection, Wire, this_window
from tui_app.session.stats import COUNTED, FIGURES
from tui_app.session.store import count_messages, tokens_after, view_tokens

# The index of words: what is looked for, and in what, as PostgreSQL takes it.
#
# Words are cut here and not by a text search configuration, so that both stores find the same: letters and
# digits without accents and case, in any language, also inside of paths and names.

_WORD = re.compile(r"[^\W_]+")
_LONGEST = 256
"""Characters of a word that count."""
_MOST_BYTES = 900_000
"""Of words and their places in one event; the server takes a million."""
_MOST_PLACES = 64
_LAST_PLACE = 16_383


def said(payload: Payload) -> str:
    """What an event says: the text of a message, or the summary of a compaction."""
    match payload:
        case UserMessage(text=text) | AssistantMessage(text=text) | ToolResult(text=text):
            return text
        case CompactionComplete(summary=summary):
            return summary
        case _:
            return ""


def vector(text: str) -> str | None:
    """The words of a text with their places, as a ``tsvector``; None where it has none."""
    places: dict[str, list[int]] = {}
    size = 0
    for place, word in enumerate(_words(text), start=1):
        known = places.get(word)
        if known is None:
            size += len(word.encode()) + 8
            if size > _MOST_BYTES:
                break
            known = places[word] = []
        if len(known) < _MOST_PLACES and place <= _LAST_PLACE:
            size += 2
            known.append(place)
    return " ".join(_entry(word, at) for word, at in places.items()) or None


def words_query(words: Iterable[str]) -> str:
    """Any of these words, or a longer one that begins with it, as a ``tsquery``; empty for no words."""
    wanted = []
    for word in words:
        *whole, last = list(_words(word)) or [""]
        if last:
            wanted.append(" & ".join([*(f"'{each}'" for each in whole), f"'{last}':*"]))
    return " | ".join(f"({each})" for each in wanted)


def phrases(terms: Iterable[tuple[Sequence[str], bool]]) -> str:
    """All of these, each its words side by side, as a ``tsquery``; empty for none.

    Args:
        terms: Words, and whether the last one may go on.
    """
    wanted = []
    for words, begins in terms:
        cut = [each for word in words for each in _words(word)]
        if cut:
            cut[-1:] = [f"'{cut[-1]}':*" if begins else f"'{cut[-1]}'"]
            wanted.append(" <-> ".join([*(f"'{each}'" for each in cut[:-1]), cut[-1]]))
    return " & ".join(f"({each})" for each in wanted)


def _words(text: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFKD", text)
    if not plain.isascii():
        plain = "".join(char for char in plain if not unicodedata.combining(char))
        plain = plain.encode("utf-8", "replace").decode()
    for match in _WORD.finditer(plain.casefold()):
        yield match[0][:_LONGEST]


def _entry(word: str, places: list[int]) -> str:
    return f"'{word}':{','.join(map(str, places))}" if places else f"'{word}'"


# What is read from the server, each as a function of a connection: also in the middle of a transaction.

_INFO = "id, title, cwd, model, created, updated, last, messages, tokens"
_HEADS_AT_ONCE, _RECORDS_AT_ONCE = 4_000, 200
_BEHIND_ALL = 2**31 - 1


def sessions(db: Connection) -> list[SessionInfo]:
    """All sessions, the one used last first."""
    query = f"SELECT {_INFO} FROM plimsoll.sessions ORDER BY updated DESC, place DESC"
    return [_info(row) for row in db.execute(query.encode())]


def info(db: Connection, session: str) -> SessionInfo:
    """One session, by its id or an unambiguous beginning of it. Raises ``SessionNotFound``."""
    query = f"SELECT {_INFO} FROM plimsoll.sessions WHERE starts_with(id, %s) ORDER BY length(id), id LIMIT 2"
    # No database holds a NUL, so no id does.
    rows = db.execute(query.encode(), (session,)).fetchall() if session and "\0" not in session else []
    fitting = [_info(row) for row in rows]
    exact = [found for found in fitting if found.id == session]
    if len(exact or fitting) != 1:
        found = "no session" if not fitting else "more than one session"
        raise SessionNotFound(f"There is {found} with the id {session!r}. See: plimsoll sessions")
    return (exact or fitting)[0]


def heads(db: Connection, session: str, after: int) -> list[Head]:
    """The next light rows behind a log number; none at the end."""
    query = (
        "SELECT seq, type, time, head FROM plimsoll.events WHERE session = %s AND seq > %s"
        " ORDER BY seq LIMIT %s"
    )
    rows = db.execute(query, (session, min(after, _BEHIND_ALL), _HEADS_AT_ONCE)).fetchall()
    return [Head.from_text(*_typed_head(row)) for row in rows]


def all_heads(db: Connection, session: str) -> Iterator[Head]:
    """All light rows, in order."""
    after = 0
    while part := heads(db, session, after):
        yield from part
        after = part[-1].seq


def records(db: Connection, session: str, after: int) -> list[tuple[Record, str | None]]:
    """The next whole events behind a log number with their messages; none at the end."""
    query = (
        "SELECT seq, type, time, data, message FROM plimsoll.events WHERE session = %s AND seq > %s"
        " ORDER BY seq LIMIT %s"
    )
    rows = db.execute(query, (session, after, _RECORDS_AT_ONCE)).fetchall()
    return [(record_of(session, row[:4]), _text(row[4])) for row in rows]


def record(db: Connection, session: str, seq: int) -> Record | None:
    """One whole event."""
    query = "SELECT seq, type, time, data FROM plimsoll.events WHERE session = %s AND seq = %s"
    row = db.execute(query, (session, min(seq, _BEHIND_ALL))).fetchone()
    return record_of(session, row) if row else None


def message(db: Connection, session: str, seq: int) -> str | None:
    """The message an event carries."""
    query = "SELECT message FROM plimsoll.events WHERE session = %s AND seq = %s"
    row = db.execute(query, (session, min(seq, _BEHIND_ALL))).fetchone()
    return _text(row[0]) if row else None


def last_of(db: Connection, session: str, kind: str) -> Record | None:
    """The newest event of a type."""
    query = (
        "SELECT seq, type, time, data FROM plimsoll.events WHERE session = %s AND type = %s"
        " ORDER BY seq DESC LIMIT 1"
    )
    row = db.execute(query, (session, kind)).fetchone()
    return record_of(session, row) if row else None


def found(db: Connection, wanted: str, limit: int) -> list[tuple[str, int, str, float, str, str, Payload]]:
    """Messages and summaries of any session that a ``tsquery`` fits, the best first.

    Each with its session, number, type, time, and the title and folder of the session.
    """
    query = (
        "SELECT session, seq, type, time, title, cwd, data FROM plimsoll.events"
        " JOIN plimsoll.sessions ON plimsoll.sessions.id = session, CAST(%s AS tsquery) AS wanted"
        " WHERE words @@ wanted ORDER BY ts_rank(words, wanted, 1) DESC, time DESC, seq DESC LIMIT %s"
    )
    return [
        (str(session), int(str(seq)), str(kind), float(str(time)), str(title), str(cwd),
         payload_of(str(session), seq, kind, data))
        for session, seq, kind, time, title, cwd, data in db.execute(query, (wanted, limit))
    ]  # fmt: skip


def matching(db: Connection, session: str, words: Iterable[str], limit: int) -> list[tuple[int, Payload]]:
    """Messages and summaries that hold a word; long ones must hold it more often to rank as high."""
    wanted = words_query(words)
    if not wanted:
        return []
    query = (
        "SELECT seq, type, data FROM plimsoll.events, CAST(%s AS tsquery) AS wanted"
        " WHERE session = %s AND words @@ wanted ORDER BY ts_rank(words, wanted, 1) DESC, seq DESC LIMIT %s"
    )
    rows = db.execute(query, (wanted, session, limit)).fetchall()
    return [(int(str(seq)), payload_of(session, seq, kind, data)) for seq, kind, data in rows]


def figures(db: Connection, session: str, after: int) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Figures of the counted events behind a log number."""
    query = (
        "SELECT seq, type, figures FROM plimsoll.events WHERE session = %s AND seq > %s AND type = ANY(%s)"
        " ORDER BY seq"
    )
    rows = db.execute(query, (session, after, list(COUNTED))).fetchall()
    empty: dict[str, Any] = dict.fromkeys(FIGURES)
    return [
        (int(str(seq)), str(kind), {**empty, **json.loads(str(text or "{}"))}) for seq, kind, text in rows
    ]


def prompts(db: Connection, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
    """Beginnings of the newest prompts of a folder."""
    query = (
        "SELECT events.session, seq, time, data FROM plimsoll.events"
        " JOIN plimsoll.sessions ON sessions.id = events.session"
        " WHERE cwd = %s AND type = %s ORDER BY time DESC, seq DESC LIMIT %s"
    )
    rows = db.execute(query, (cwd, UserMessage.TYPE, most)).fetchall()
    return [
        (str(session), int(str(seq)), float(str(time)), json.loads(str(data)).get("text", "")[:chars])
        for session, seq, time, data in rows
    ]


def sizes(db: Connection) -> dict[str, int]:
    """Bytes of each session's log, by id."""
    query = (
        "SELECT session, SUM(octet_length(head) + octet_length(data) + COALESCE(octet_length(message), 0))"
        " FROM plimsoll.events GROUP BY session"
    )
    return {str(session): int(str(size)) for session, size in db.execute(query)}


def _info(row: Sequence[Any]) -> SessionInfo:
    """The columns stand in the order of the fields."""
    return SessionInfo(**dict(zip(SessionInfo.__dataclass_fields__, row, strict=True)))


def _typed_head(row: Sequence[Any]) -> tuple[int, str, float, str]:
    return row[0], row[1], row[2], row[3]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


# What is written to the server: a few statements within a transaction of the caller's.

CHANNEL = "plimsoll"
"""Where news of every session is told; the text is the session's id."""
_INSERT = (
    "INSERT INTO plimsoll.events (session, seq, type, time, head, data, message, figures, words)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, CAST(%s AS tsvector))"
)


def storable(text: str) -> str:
    """What is only shown, as the server can hold it: a NUL becomes an escape, as half characters do."""
    return plain(text).replace("\0", "\\x00")


def insert(db: Connection, session: str, events: Sequence[Event], *, last: int) -> list[Record]:
    """Write events behind a log number, and keep the session's line up to date.

    Args:
        db: Within a transaction that holds the session's row.
        session: Its id.
        events: What to write.
        last: Number of the newest event so far.

    Raises:
        SessionDeleted: if the session is no longer there.
    """
    records = [
        Record(seq=last + offset, time=time, session=session, data=payload)
        for offset, (payload, _, time) in enumerate(events, start=1)
    ]
    rows = [_row(record, event[1]) for record, event in zip(records, events, strict=True)]
    if rows:
        with db.cursor() as cursor:
            cursor.executemany(_INSERT, rows)
        _touch(db, session, records)
        tell(db, session)
    return records


def tell(db: Connection, session: str) -> None:
    """Let everybody who follows a session look at it, once this is committed."""
    db.execute("SELECT pg_notify(%s, %s)", (CHANNEL, session))


def _row(record: Record, message: str | None) -> tuple[object, ...]:
    return (*row_of(record, message), _figures(record.data), vector(said(record.data)))


def _figures(payload: Payload) -> str | None:
    """The numbers by themselves: reading them must not read the texts beside them."""
    if payload.TYPE not in COUNTED:
        return None
    data = payload_to_json(payload)
    return json.dumps({name: data[name] for name in FIGURES if name in data})


def _touch(db: Connection, session: str, records: Sequence[Record]) -> None:
    kinds = [record.data.TYPE for record in records]
    prompts = (record.data.text for record in records if isinstance(record.data, UserMessage))
    row: Any = db.execute("SELECT tokens FROM plimsoll.sessions WHERE id = %s", (session,)).fetchone()
    if row is None:
        raise SessionDeleted(session)
    used = next((record.time for record in reversed(records) if record.data.TYPE not in AFTERWARDS), None)
    db.execute(
        "UPDATE plimsoll.sessions SET last = %s, updated = COALESCE(%s, updated),"
        " messages = messages + %s, tokens = %s,"
        " title = CASE WHEN title = '' THEN %s ELSE title END WHERE id = %s",
        (
            records[-1].seq,
            used,
            count_messages(kinds),
            _tokens(db, session, int(row[0]), [record.data for record in records]),
            storable(spoken_line(next(prompts, ""))),
            session,
        ),
    )


def _tokens(db: Connection, session: str, before: int, events: Sequence[Payload]) -> int:
    """Tokens of the view behind events that have just been written."""
    tokens = tokens_after(before, events)
    if tokens is not None:
        return tokens
    last = last_of(db, session, UsageInfo.TYPE)
    usage = last.data if last is not None and isinstance(last.data, UsageInfo) else None
    return view_tokens(fold_agent_view(all_heads(db, session)), usage)


# One writer for each session, over all machines: an advisory lock of the server, freed with its connection.
#
# The lock belongs to the very connection that writes: losing one is losing the other. Writing is fenced:
# whoever takes the lock raises the session's epoch, and a writer whose epoch has passed writes no more.

_HOLDERS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((classid::bigint << 32) | objid::bigint) = %s"
)


def key_of(session: str) -> int:
    """The lock's number: 64 bits that hardly any other session, or other use of the database, has."""
    digest = blake2b(f"plimsoll session {session}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(slots=True)
class Hold:
    """A session that is ours to write."""

    session: str
    epoch: int
    last: int
    """Number of the newest event that we know of."""
    backend: int
    """The server's process that holds the lock for us."""
    lost: StorageError | None = None
    """Why nothing more can be written; None while it can."""


def holder_of(db: Connection, session: str) -> str:
    """Who writes a session, in words; empty when nobody does."""
    if db.execute(_HOLDERS, (key_of(session),)).fetchone() is None:
        return ""
    row = db.execute("SELECT writer FROM plimsoll.sessions WHERE id = %s", (session,)).fetchone()
    return str(row[0]) if row and row[0] else "another window"


def lock_take(db: Connection, session: str) -> Hold:
    """Become the writer of a session.

    Raises:
        SessionLocked: if somebody else is.
        SessionDeleted: if there is no such session.
    """
    if not _try(db, session):
        raise SessionLocked(holder_of(db, session) or "another window")
    row = db.execute(
        "UPDATE plimsoll.sessions SET epoch = epoch + 1, writer = %s WHERE id = %s RETURNING epoch, last",
        (this_window(), session),
    ).fetchone()
    if row is None:
        _free(db, session)
        raise SessionDeleted(session)
    tell(db, session)
    return Hold(session, int(str(row[0])), int(str(row[1])), db.info.backend_pid)


def take_again(db: Connection, hold: Hold) -> int:
    """Become the writer again on a new connection, if nobody else was meanwhile.

    Returns:
        Number of the newest event on the server.

    Raises:
        Overtaken: if somebody else was, or is.
        SessionDeleted: if the session is gone.
    """
    if not _try(db, hold.session):
        _end_our_own(db, hold)
        if not _try(db, hold.session):
            raise Overtaken(holder_of(db, hold.session))
    query = "SELECT epoch, last, writer FROM plimsoll.sessions WHERE id = %s"
    row = db.execute(query, (hold.session,)).fetchone()
    if row is None:
        _free(db, hold.session)
        raise SessionDeleted(hold.session)
    if int(str(row[0])) != hold.epoch:
        _free(db, hold.session)
        raise Overtaken(str(row[2]))
    hold.backend = db.info.backend_pid
    return int(str(row[1]))


def borrow(db: Connection, session: str) -> None:
    """Become the writer until the transaction ends: what is written besides must not overtake anybody.

    Raises:
        SessionLocked: if somebody writes it.
    """
    row = db.execute("SELECT pg_try_advisory_xact_lock(%s)", (key_of(session),)).fetchone()
    if not (row and row[0]):
        raise SessionLocked(holder_of(db, session) or "another window")


def let_go(db: Connection, hold: Hold) -> None:
    """Let others write."""
    db.execute(
        "UPDATE plimsoll.sessions SET writer = '' WHERE id = %s AND epoch = %s", (hold.session, hold.epoch)
    )
    _free(db, hold.session)
    tell(db, hold.session)


def _try(db: Connection, session: str) -> bool:
    row = db.execute("SELECT pg_try_advisory_lock(%s)", (key_of(session),)).fetchone()
    return bool(row and row[0])


def _free(db: Connection, session: str) -> None:
    db.execute("SELECT pg_advisory_unlock(%s)", (key_of(session),))


def _end_our_own(db: Connection, hold: Hold) -> None:
    """Where the server has not noticed yet that our old connection is gone, tell it so."""
    db.execute(
        f"SELECT pg_terminate_backend(pid, 2000) FROM ({_HOLDERS}) AS holders WHERE pid = %s".encode(),
        (key_of(hold.session), hold.backend),
    )


@dataclass(slots=True)
class ServerLock:
    """The right to write a session on the server."""

    store: "PostgresStore"
    _held: bool = field(default=True)

    def release(self) -> None:
        """Let others write; without the server there is nothing to let go of."""
        if self._held:
            self._held = False
            self.store.let_go()


# Reading sessions from the server; whatever is read is read once more where the connection was lost.


class PostgresReader:
    """The half of the store that changes nothing; see ``SessionStore``.

    Args:
        server: Which database.
        read_only: Change nothing, not even the schema.

    Raises:
        StorageError: if the server cannot be used, or was used by a newer version.
    """

    path = None

    def __init__(self, server: Server, *, read_only: bool) -> None:
        self._wire = Wire(server, read_only=read_only)
        try:
            with self._wire.told():
                (schema.check if read_only else schema.migrate)(self._wire.db, server)
        except BaseException:
            self._wire.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def holder(self, session: str, _file: Path) -> str:
        """See ``SessionStore``; the lock file is not needed."""
        return self._wire.ask(lambda db: holder_of(db, session))

    def sessions(self) -> list[SessionInfo]:
        """See ``SessionStore``."""
        return self._wire.ask(sessions)

    def info(self, session: str) -> SessionInfo:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: info(db, session))

    def heads(self, session: str, after: int = 0) -> Iterator[Head]:
        """See ``SessionStore``."""
        while part := self._wire.ask(partial(heads, session=session, after=after)):
            yield from part
            after = part[-1].seq

    def record(self, session: str, seq: int) -> Record | None:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: record(db, session, seq))

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        """See ``SessionStore``."""
        after = 0
        while part := self._wire.ask(partial(records, session=session, after=after)):
            yield from part
            after = part[-1][0].seq

    def message(self, session: str, seq: int) -> str | None:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: message(db, session, seq))

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        """See ``SessionStore``."""
        wanted = list(words)
        return self._wire.ask(lambda db: matching(db, session, wanted, limit))

    def found(self, wanted: str, limit: int) -> list[tuple[str, int, str, float, str, str, Payload]]:
        """Messages and summaries of any session that a ``tsquery`` fits, the best first; see ``queries``."""
        return self._wire.ask(lambda db: found(db, wanted, limit))

    def last_of(self, session: str, kind: str) -> Record | None:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: last_of(db, session, kind))

    def figures(self, session: str, after: int = 0) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """See ``SessionStore``."""
        yield from self._wire.ask(lambda db: figures(db, session, after))

    def sizes(self) -> dict[str, int]:
        """See ``SessionStore``."""
        return self._wire.ask(sizes)

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: prompts(db, storable(cwd), most, chars))


T = TypeVar("T")
_PATIENCE_S = 5.0
"""Seconds in which a lost connection may come back before the person hears of it."""


def has_log(server: Server) -> bool:
    """Whether sessions were ever kept on a server. Raises ``StorageError``."""
    wire = Wire(server, read_only=True)
    try:
        return wire.ask(schema.version_of) > 0
    finally:
        wire.close()


class PostgresStore(PostgresReader):
    """See ``SessionStore``.

    Args:
        server: Which database.
        read_only: For the screen, which reads texts while the engine writes.

    Raises:
        StorageError: if the server cannot be used, or was used by a newer version.
    """

    def __init__(self, server: Server, *, read_only: bool = False) -> None:
        super().__init__(server, read_only=read_only)
        self._hold: Hold | None = None

    def lock(self, session: str, file: Path) -> ServerLock:
        """See ``SessionStore``; the lock file is not needed."""

        def take(db: Connection) -> Hold:
            with db.transaction():
                return lock_take(db, session)

        self._hold = self._wire.ask(take)
        return ServerLock(self)

    def let_go(self) -> None:
        """Give the lock back, where there is one to give back."""
        hold, self._hold = self._hold, None
        if hold is not None and hold.lost is None and hold.backend == self._wire.backend:
            # A lock whose connection is gone is free already.
            with suppress(psycopg.Error):
                let_go(self._wire.db, hold)

    def create(self, start: SessionStart, *, time: float, events: Sequence[Event] = ()) -> str:
        """See ``SessionStore``."""
        row = (storable(start.title), storable(start.cwd), storable(start.model), time, time)

        def begin(db: Connection) -> str:
            with db.transaction():
                session = secrets.token_hex(4)
                # Ids of many machines meet here: one that is taken is drawn again.
                while not _insert_session(db, session, row):
                    session = secrets.token_hex(4)
                insert(db, session, [(start, None, time), *events], last=0)
                return session

        with self._wire.told():
            return begin(self._living())

    def append(self, session: str, payload: Payload, message: str | None, *, time: float) -> Record:
        """See ``SessionStore``.

        Raises:
            SessionDeleted: if the session is no longer there; nothing is written then.
            SessionLocked: if somebody else writes it, and we never did.
            StorageError: if the server cannot be reached, or somebody else writes the session by now.
        """
        return self.append_many(session, [(payload, message, time)])[0]

    def append_many(self, session: str, events: Sequence[Event]) -> list[Record]:
        """See ``SessionStore``.

        Raises:
            SessionDeleted: if the session is no longer there.
            SessionLocked: if somebody else writes it, and we never did.
            StorageError: if the server cannot be reached, or somebody else writes the session by now.
        """
        hold = self._hold if self._hold is not None and self._hold.session == session else None

        def write(db: Connection) -> list[Record]:
            with db.transaction():
                return insert(db, session, events, last=_last(db, session, hold))

        if hold is None:
            with self._wire.told():
                return write(self._living())
        records = self._held(hold, write, events)
        hold.last += len(records)
        return records

    def set_title(self, session: str, title: str) -> None:
        """See ``SessionStore``."""
        self._set("UPDATE plimsoll.sessions SET title = %s WHERE id = %s", session, storable(title))

    def set_model(self, session: str, model: str) -> None:
        """See ``SessionStore``."""
        self._set("UPDATE plimsoll.sessions SET model = %s WHERE id = %s", session, storable(model))

    def delete(self, session: str) -> None:
        """See ``SessionStore``."""

        def remove(db: Connection) -> None:
            with db.transaction():
                # First the row, for which a writer of the session waits.
                db.execute("SELECT 1 FROM plimsoll.sessions WHERE id = %s FOR UPDATE", (session,))
                db.execute("DELETE FROM plimsoll.events WHERE session = %s", (session,))
                db.execute("DELETE FROM plimsoll.sessions WHERE id = %s", (session,))
                tell(db, session)

        self._wire.ask(remove)

    def _set(self, query: str, session: str, value: str) -> None:
        def change(db: Connection) -> None:
            with db.transaction():
                db.execute(query.encode(), (value, session))
                tell(db, session)

        self._wire.ask(change)

    def _living(self) -> Connection:
        if not self._wire.alive:
            self._wire.renew()
        return self._wire.db

    def _held(
        self, hold: Hold, write: Callable[[Connection], list[Record]], events: Sequence[Event]
    ) -> list[Record]:
        """Write what only the holder of the lock may, also where the connection is lost over it."""
        if hold.lost is not None:
            raise hold.lost
        with self._wire.told():
            if hold.backend != self._wire.backend and self._regain(hold) != hold.last:
                raise self._end(hold, Overtaken("this window, but unseen,"))
            try:
                return write(self._wire.db)
            except psycopg.OperationalError:
                if self._wire.alive:
                    raise
            except (SessionDeleted, Overtaken) as error:
                raise self._end(hold, error) from None
            # The answer may be lost, and not what it was about: nobody but us can have written meanwhile.
            if self._regain(hold) == hold.last:
                return write(self._wire.db)
            return [
                Record(seq=hold.last + offset, time=time, session=hold.session, data=payload)
                for offset, (payload, _, time) in enumerate(events, start=1)
            ]

    def _regain(self, hold: Hold) -> int:
        """Connect and lock again; number of the newest event. Whoever came meanwhile ends the writing."""
        if not self._wire.alive:
            self._wire.renew_within(_PATIENCE_S)
        try:
            return take_again(self._wire.db, hold)
        except (SessionDeleted, Overtaken) as error:
            raise self._end(hold, error) from None

    def _end(self, hold: Hold, why: StorageError) -> StorageError:
        hold.lost = why
        return why


def _insert_session(db: Connection, session: str, row: tuple[object, ...]) -> bool:
    query = (
        "INSERT INTO plimsoll.sessions (id, title, cwd, model, created, updated)"
        " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
    )
    return db.execute(query, (session, *row)).rowcount == 1


def _last(db: Connection, session: str, hold: Hold | None) -> int:
    """Number of the newest event of a session, which nobody else writes until the transaction ends."""
    query = "SELECT last, epoch, writer FROM plimsoll.sessions WHERE id = %s FOR UPDATE"
    row = db.execute(query, (session,)).fetchone()
    if row is None:
        raise SessionDeleted(session)
    if hold is None:
        borrow(db, session)
    elif (int(str(row[0])), int(str(row[1]))) != (hold.last, hold.epoch):
        raise Overtaken(str(row[2]))
    return int(str(row[0]))


# Following a session that another machine writes: the server says when there is something new.

_AGAIN_S = 0.5
"""Seconds between two attempts to connect again."""


class ServerFollower:
    """Listens on a connection of its own.

    Args:
        server: Which database.
        session: Whole id of the session.

    Raises:
        StorageError: if the server cannot be used.
    """

    def __init__(self, server: Server, session: str) -> None:
        self._session = session
        self._wire = Wire(server, read_only=True)
        with self._wire.told():
            self._listen()

    @property
    def _hears(self) -> bool:
        """Whether the connection is the one that listens."""
        return self._wire.alive and self._wire.backend == self._listening

    def wait(self, timeout_s: float) -> bool:
        """Wait for news of the session; after a lost connection there may always be some."""
        try:
            if not self._hears:
                if not self._wire.alive:
                    self._wire.renew()
                self._listen()
                return True
            # All that has come is taken: several events of one moment are looked at once.
            news = list(self._wire.db.notifies(timeout=timeout_s, stop_after=1))
        except (psycopg.Error, StorageError):
            time.sleep(min(timeout_s, _AGAIN_S))
            return False
        return any(each.payload == self._session for each in news)

    def holder(self) -> str:
        """Who writes the session.

        Raises:
            StorageError: if the server cannot be asked.
        """
        return self._wire.ask(lambda db: holder_of(db, self._session))

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def _listen(self) -> None:
        self._wire.db.execute(f"LISTEN {CHANNEL}".encode())
        self._listening = self._wire.backend
