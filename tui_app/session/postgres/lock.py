"""One writer for each session, over all machines: an advisory lock of the server, freed with its connection.

The lock belongs to the very connection that writes: losing one is losing the other. Writing is fenced:
whoever takes the lock raises the session's epoch, and a writer whose epoch has passed writes no more.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from tui_app.context.storage_errors import StorageError
from tui_app.session.info import SessionDeleted
from tui_app.session.lock import Overtaken, SessionLocked
from tui_app.session.postgres.wire import Connection, this_window
from tui_app.session.postgres.writing import tell

if TYPE_CHECKING:
    from tui_app.session.postgres.store import PostgresStore

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


def take(db: Connection, session: str) -> Hold:
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
