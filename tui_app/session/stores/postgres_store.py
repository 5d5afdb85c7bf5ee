"""The store of sessions on a PostgreSQL server: the events of the file, one writer for all machines."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from tui_app.context.storage_errors import StorageError
from tui_app.events import Payload, Record, payload_to_json
from tui_app.session.event_rows import EventRow, event_text, payload_of, plain
from tui_app.session.lock import Overtaken, SessionLocked
from tui_app.session.stats import COUNTED
from tui_app.session.stats_rows import FIGURES
from tui_app.session.stores import postgres_server as schema
from tui_app.session.stores.postgres_server import Connection, PostgresDb, Wire, this_window
from tui_app.session.stores.sql_store import IS_HIDDEN, Db, Dialect
from tui_app.session.stores.store import Event, SessionDeleted, SessionStore
from tui_app.session.stores.word_index import LONGEST, index_words, vector
from tui_app.settings.spec import SessionServer


def phrase(words: Iterable[str], *, begins: bool) -> str:
    """Express adjacent words as a ``tsquery``; empty for none.

    Args:
        words: As in the index.
        begins: Whether the last word is a prefix.
    """
    lexemes = [f"'{word[:LONGEST]}'" for word in words]
    return f"({' <-> '.join(lexemes)}{':*' if begins else ''})" if lexemes else ""


def channel_of(session: str) -> str:
    """Return the channel's name for a session. Only those who know the session's id can listen."""
    return f"plimsoll_{session}"


def storable(text: str) -> str:
    """Make a text that is only displayed storable: NUL is escaped, as lone surrogates are."""
    return plain(text).replace("\0", "\\x00")


def _figures(payload: Payload, _row: EventRow) -> str | None:
    """Return the numbers for a column of their own, so that reading them does not read the texts."""
    if payload.TYPE not in COUNTED:
        return None
    data = payload_to_json(payload)
    return json.dumps({name: data[name] for name in FIGURES if name in data})


POSTGRES = Dialect(
    text=storable,
    last="last",
    keeps_last=True,
    place="place",
    figures="figures",
    beside={"figures": _figures, "words": lambda payload, _row: vector(event_text(payload))},
)


def notify_followers(db: Connection, session: str) -> None:
    """Notify all followers of a session when the transaction commits."""
    db.execute("SELECT pg_notify(%s, '')", (channel_of(session),))


_HOLDERS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((classid::bigint << 32) | objid::bigint) = %s"
)


def key_of(session: str) -> int:
    """Return the session's lock number: 64 bits of a hash, so other uses of the database hardly collide."""
    digest = blake2b(f"plimsoll session {session}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(slots=True)
class WriterHold:
    """A session that this process has locked for writing."""

    session: str
    epoch: int
    last: int
    """Log number of the newest event that we know of."""
    backend: int
    """Process id of the server's backend that has the lock for us."""
    lost: StorageError | None = None
    """Why nothing more can be written; None while writing is possible."""


def holder_of(db: Connection, session: str) -> str:
    """Describe the writer of a session; empty if there is none."""
    if db.execute(_HOLDERS, (key_of(session),)).fetchone() is None:
        return ""
    row = db.execute("SELECT writer FROM plimsoll.sessions WHERE id = %s", (session,)).fetchone()
    return str(row[0]) if row and row[0] else "another window"


def lock_take(db: Connection, session: str) -> WriterHold:
    """Become the writer of a session.

    Raises:
        SessionLocked: if another process is the writer.
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
    notify_followers(db, session)
    return WriterHold(session, int(str(row[0])), int(str(row[1])), db.info.backend_pid)


def take_again(db: Connection, hold: WriterHold) -> int:
    """Become the writer again on a new connection, unless another process was the writer meanwhile.

    Returns:
        Log number of the newest event on the server.

    Raises:
        Overtaken: if another process was the writer, or is.
        SessionDeleted: if the session no longer exists.
    """
    if not _try(db, hold.session):
        # The server may not have noticed yet that our old connection is gone.
        db.execute(
            f"SELECT pg_terminate_backend(pid, 2000) FROM ({_HOLDERS}) AS holders WHERE pid = %s".encode(),
            (key_of(hold.session), hold.backend),
        )
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
    """Become the writer until the transaction ends, so that this write cannot overtake another writer.

    Raises:
        SessionLocked: if another process writes the session.
    """
    row = db.execute("SELECT pg_try_advisory_xact_lock(%s)", (key_of(session),)).fetchone()
    if not (row and row[0]):
        raise SessionLocked(holder_of(db, session) or "another window")


def release(db: Connection, hold: WriterHold) -> None:
    db.execute(
        "UPDATE plimsoll.sessions SET writer = '' WHERE id = %s AND epoch = %s", (hold.session, hold.epoch)
    )
    _free(db, hold.session)
    notify_followers(db, hold.session)


def _try(db: Connection, session: str) -> bool:
    row = db.execute("SELECT pg_try_advisory_lock(%s)", (key_of(session),)).fetchone()
    return bool(row and row[0])


def _free(db: Connection, session: str) -> None:
    db.execute("SELECT pg_advisory_unlock(%s)", (key_of(session),))


@dataclass(slots=True)
class ServerLock:
    """The right to write a session on the server."""

    store: "PostgresStore"
    _held: bool = field(default=True)

    def release(self) -> None:
        """Let others write; does nothing if the connection is lost."""
        if self._held:
            self._held = False
            self.store.release_all()


T = TypeVar("T")
_PATIENCE_S = 5.0
"""Seconds for which a lost connection is retried before an error reaches the user."""


def has_log(server: SessionServer) -> bool:
    """Return whether a server has ever stored sessions. Raises ``StorageError``."""
    with closing(Wire(server, read_only=True)) as wire:
        return wire.ask(schema.version_of) > 0


class PostgresStore(SessionStore):
    """See ``SessionStore``. A read is repeated once if the connection was lost.

    Args:
        server: The server.
        read_only: For the screen, which reads while the engine writes: do not even migrate the schema.

    Raises:
        StorageError: if the server cannot be used, or a newer version used it.
    """

    path = None
    dialect = POSTGRES

    def __init__(self, server: SessionServer, *, read_only: bool = False) -> None:
        self._hold: WriterHold | None = None
        self._wire, version = schema.open_wire(server, read_only=read_only)
        super().__init__(read_only=read_only, snapshots=version >= schema.WITH_SNAPSHOTS)

    def close(self) -> None:
        self._wire.close()

    def holder(self, session: str, _file: Path) -> str:
        return self._wire.ask(lambda db: holder_of(db, session))

    def lock(self, session: str, file: Path) -> ServerLock:

        def take(db: Connection) -> WriterHold:
            with db.transaction():
                return lock_take(db, session)

        self._hold = self._wire.ask(take)
        return ServerLock(self)

    def release_all(self) -> None:
        hold, self._hold = self._hold, None
        if hold is not None and hold.lost is None and hold.backend == self._wire.backend:
            # If the connection is lost, the server has freed the lock already.
            with suppress(psycopg.Error):
                release(self._wire.db, hold)

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        phrases = (phrase(index_words(word, ends=False), begins=True) for word in words)
        tsquery = " | ".join(filter(None, phrases))
        if not tsquery:
            return []
        query = (
            "SELECT seq, type, data FROM events, CAST(? AS tsquery) AS wanted"
            " WHERE session = ? AND words @@ wanted ORDER BY ts_rank(words, wanted, 1) DESC, seq DESC LIMIT ?"
        )
        rows = self._ask(lambda db: db.execute(query, (tsquery, session, limit)).fetchall())
        return [(seq, payload_of(session, seq, kind, data)) for seq, kind, data in rows]

    def found(
        self, terms: Iterable[tuple[Sequence[str], bool]], limit: int, sessions: Collection[str] | None = None
    ) -> list[Sequence[Any]]:
        """Return rows of messages that match all phrases, best first, with the columns of ``search``.

        Args:
            terms: Adjacent words of the index, and whether the last one is a prefix.
            limit: Maximum number of rows.
            sessions: Full ids of the sessions to search; None for all.

        Raises:
            StorageError: if the server cannot be reached.
        """
        tsquery = " & ".join(filter(None, (phrase(words, begins=begins) for words, begins in terms)))
        of = f" AND NOT {IS_HIDDEN}" if sessions is None else " AND session = ANY(?)"
        ids = () if sessions is None else (list(sessions),)
        query = (
            "SELECT session, seq, type, time, title, cwd, data FROM events"
            " JOIN sessions ON sessions.id = session, CAST(? AS tsquery) AS wanted"
            f" WHERE words @@ wanted{of} ORDER BY ts_rank(words, wanted, 1) DESC, time DESC, seq DESC LIMIT ?"
        )
        return self._ask(lambda db: db.execute(query, (tsquery, *ids, limit)).fetchall()) if tsquery else []

    def _append(self, session: str, events: Sequence[Event]) -> list[Record]:
        """Write events.

        Raises:
            SessionDeleted: if the session no longer exists.
            SessionLocked: if another process writes it, and this one never did.
            StorageError: if the server cannot be reached, or another process has become the writer.
        """
        hold = self._hold if self._hold is not None and self._hold.session == session else None

        def write(db: Connection) -> list[Record]:
            with db.transaction():
                # The row stays locked until the transaction ends, so no other process writes the session.
                query = "SELECT last, epoch, writer FROM plimsoll.sessions WHERE id = %s FOR UPDATE"
                row = db.execute(query, (session,)).fetchone()
                if row is None:
                    raise SessionDeleted(session)
                if hold is None:
                    borrow(db, session)
                elif (int(str(row[0])), int(str(row[1]))) != (hold.last, hold.epoch):
                    raise Overtaken(str(row[2]))
                return self._write(PostgresDb(db), session, events)

        if hold is None:
            with self._wire.explaining():
                return write(self._living())
        records = self._write_held(hold, write, events)
        hold.last += len(records)
        return records

    def _ask(self, work: Callable[[Db], T]) -> T:
        return self._wire.ask(lambda db: work(PostgresDb(db)))

    def _change(self, work: Callable[[Db], T], session: str = "") -> T:
        def change(db: Connection) -> T:
            with db.transaction():
                done = work(PostgresDb(db))
                if session:
                    notify_followers(db, session)
                return done

        if session:
            return self._wire.ask(change)
        # Not repeated: that could create two sessions.
        with self._wire.explaining():
            return change(self._living())

    def _announce(self, session: str) -> None:
        notify_followers(self._wire.db, session)

    def _begin_alone(self, db: Db) -> None:
        db.execute("SELECT pg_advisory_xact_lock(?)", (key_of(""),))

    def _living(self) -> Connection:
        if not self._wire.alive:
            self._wire.renew()
        return self._wire.db

    def _write_held(
        self, hold: WriterHold, write: Callable[[Connection], list[Record]], events: Sequence[Event]
    ) -> list[Record]:
        """Write as the holder of the lock, reconnecting if the connection is lost."""
        if hold.lost is not None:
            raise hold.lost
        with self._wire.explaining():
            if hold.backend != self._wire.backend and self._regain(hold) != hold.last:
                raise self._end(hold, Overtaken("this window, but unseen,"))
            try:
                return write(self._wire.db)
            except psycopg.OperationalError:
                if self._wire.alive:
                    raise
            except (SessionDeleted, Overtaken) as error:
                raise self._end(hold, error) from None
            # Perhaps only the reply was lost. No other process can have written meanwhile.
            if self._regain(hold) == hold.last:
                return write(self._wire.db)
            return [
                Record(seq=hold.last + offset, time=time, session=hold.session, data=payload)
                for offset, (payload, _, time) in enumerate(events, start=1)
            ]

    def _regain(self, hold: WriterHold) -> int:
        """Reconnect and lock again; return the newest log number. If another writer came, writing ends."""
        if not self._wire.alive:
            self._wire.renew(_PATIENCE_S)
        try:
            return take_again(self._wire.db, hold)
        except (SessionDeleted, Overtaken) as error:
            raise self._end(hold, error) from None

    def _end(self, hold: WriterHold, why: StorageError) -> StorageError:
        hold.lost = why
        return why
