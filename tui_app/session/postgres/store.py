"""Sessions on a PostgreSQL server: the same events as in the file, and one writer over all machines."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import psycopg

from tui_app.context.storage_errors import StorageError
from tui_app.events import Payload, Record, SessionStart
from tui_app.session.info import SessionDeleted
from tui_app.session.location import Server
from tui_app.session.lock import Overtaken
from tui_app.session.ports import Event
from tui_app.session.postgres import lock as locks
from tui_app.session.postgres import schema, writing
from tui_app.session.postgres.reading import PostgresReader
from tui_app.session.postgres.wire import Connection, Wire
from tui_app.session.postgres.writing import storable

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
        self._hold: locks.Hold | None = None

    def lock(self, session: str, file: Path) -> locks.ServerLock:
        """See ``SessionStore``; the lock file is not needed."""

        def take(db: Connection) -> locks.Hold:
            with db.transaction():
                return locks.take(db, session)

        self._hold = self._wire.ask(take)
        return locks.ServerLock(self)

    def let_go(self) -> None:
        """Give the lock back, where there is one to give back."""
        hold, self._hold = self._hold, None
        if hold is not None and hold.lost is None and hold.backend == self._wire.backend:
            # A lock whose connection is gone is free already.
            with suppress(psycopg.Error):
                locks.let_go(self._wire.db, hold)

    def create(self, start: SessionStart, *, time: float, events: Sequence[Event] = ()) -> str:
        """See ``SessionStore``."""
        row = (storable(start.title), storable(start.cwd), storable(start.model), time, time)

        def begin(db: Connection) -> str:
            with db.transaction():
                session = secrets.token_hex(4)
                # Ids of many machines meet here: one that is taken is drawn again.
                while not _insert_session(db, session, row):
                    session = secrets.token_hex(4)
                writing.insert(db, session, [(start, None, time), *events], last=0)
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
                return writing.insert(db, session, events, last=_last(db, session, hold))

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
                writing.tell(db, session)

        self._wire.ask(remove)

    def _set(self, query: str, session: str, value: str) -> None:
        def change(db: Connection) -> None:
            with db.transaction():
                db.execute(query.encode(), (value, session))
                writing.tell(db, session)

        self._wire.ask(change)

    def _living(self) -> Connection:
        if not self._wire.alive:
            self._wire.renew()
        return self._wire.db

    def _held(
        self, hold: locks.Hold, write: Callable[[Connection], list[Record]], events: Sequence[Event]
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

    def _regain(self, hold: locks.Hold) -> int:
        """Connect and lock again; number of the newest event. Whoever came meanwhile ends the writing."""
        if not self._wire.alive:
            self._wire.renew_within(_PATIENCE_S)
        try:
            return locks.take_again(self._wire.db, hold)
        except (SessionDeleted, Overtaken) as error:
            raise self._end(hold, error) from None

    def _end(self, hold: locks.Hold, why: StorageError) -> StorageError:
        hold.lost = why
        return why


def _insert_session(db: Connection, session: str, row: tuple[object, ...]) -> bool:
    query = (
        "INSERT INTO plimsoll.sessions (id, title, cwd, model, created, updated)"
        " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
    )
    return db.execute(query, (session, *row)).rowcount == 1


def _last(db: Connection, session: str, hold: locks.Hold | None) -> int:
    """Number of the newest event of a session, which nobody else writes until the transaction ends."""
    query = "SELECT last, epoch, writer FROM plimsoll.sessions WHERE id = %s FOR UPDATE"
    row = db.execute(query, (session,)).fetchone()
    if row is None:
        raise SessionDeleted(session)
    if hold is None:
        locks.borrow(db, session)
    elif (int(str(row[0])), int(str(row[1]))) != (hold.last, hold.epoch):
        raise Overtaken(str(row[2]))
    return int(str(row[0]))
