"""The PostgreSQL server: its connection, reopened when lost, its errors as sentences, and the schema."""

import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tui_app.context.storage_errors import StorageError
from tui_app.records import frozen
from tui_app.session.stores.migrations import read_steps
from tui_app.session.stores.word_index import vector
from tui_app.settings.spec import SessionServer
from tui_app.system.secrets import MASK, mask_secrets

T = TypeVar("T")
Connection = psycopg.Connection[tuple[object, ...]]
KEPT = "Everything saved before is kept there."
_WAIT_S = 60.0
_NO_SLOT = ("too many clients already", "remaining connection slots are reserved", "too many connections for")
"""Messages of a server whose connections, or those of a role or database, are all in use."""
_DEFAULTS = {
    "connect_timeout": "5",
    "client_encoding": "utf8",
    # An unplugged cable is detected within half a minute instead of hours.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
_PREPARE = """
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
SET search_path = plimsoll;
SET synchronous_commit = on; SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s';
"""
"""Let the server too detect a dead connection soon, and have its disk hold a commit that returned."""


def this_machine() -> str:
    return socket.gethostname().encode("ascii", "replace").decode()[:40]


def this_window() -> str:
    """Return what other windows call this one."""
    return f"another window, on {this_machine()}"


@lru_cache(maxsize=256)
def _translated(query: str) -> bytes:
    return query.replace("?", "%s").encode()


@frozen
class PostgresDb:
    """A connection that accepts the statements of every store (``?`` as placeholder)."""

    connection: Connection

    def execute(self, query: str, values: Sequence[object] = (), /) -> "psycopg.Cursor[tuple[Any, ...]]":
        return self.connection.execute(_translated(query), values)

    def executemany(self, query: str, rows: Sequence[Sequence[object]], /) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(_translated(query), rows)


class Wire:
    """One connection to the server.

    Args:
        server: The server.
        read_only: Have the server refuse every change.

    Raises:
        StorageError: if the server cannot be used.
    """

    def __init__(self, server: SessionServer, *, read_only: bool) -> None:
        self.server = server
        self._read_only = read_only
        with self.explaining():
            # The driver has no code for this. In another language the message counts as any other error.
            self.db = self._connect_within(_WAIT_S, lambda text: any(each in text for each in _NO_SLOT))
            """The current connection, which may be lost."""

    @property
    def alive(self) -> bool:
        """Whether the connection is not known to be lost."""
        return not self.db.closed

    @property
    def backend(self) -> int:
        """Process id of the server's backend for this connection; 0 if the connection is lost."""
        return self.db.info.backend_pid if self.alive else 0

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Run a read; repeat it once on a new connection if the old one turns out to be lost.

        Raises:
            StorageError: if the server cannot be asked.
        """
        with self.explaining():
            if self.alive:
                try:
                    return work(self.db)
                except psycopg.OperationalError:
                    if self.alive:
                        raise
            self.renew()
            return work(self.db)

    def renew(self, seconds: float = 0.0) -> None:
        """Reconnect, retrying for some seconds, because a restarting server needs a moment.

        Raises:
            psycopg.Error: if it did not work in that time.
        """
        self.db.close()
        self.db = self._connect_within(seconds, lambda _: True)

    def _connect_within(self, seconds: float, passes: Callable[[str], bool]) -> Connection:
        """Connect; retry for some seconds if the error may be temporary."""
        until, pause = time.monotonic() + seconds, 0.1
        while True:
            try:
                return self._connect()
            except psycopg.OperationalError as error:
                if time.monotonic() > until or not passes(str(error)):
                    raise
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(2 * pause, seconds / 30)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn the driver's errors into ``StorageError``."""
        try:
            yield
        except psycopg.Error as error:
            raise explained(error, self.server) from None

    def close(self) -> None:
        self.db.close()

    def _connect(self) -> Connection:
        given = conninfo_to_dict(self.server.url)
        options = {
            **_DEFAULTS,
            "application_name": f"plimsoll process {os.getpid()} on {this_machine()}",
            **given,
        }
        db = psycopg.connect(autocommit=True, **options)  # type: ignore[arg-type]
        try:
            if (encoding := db.info.parameter_status("server_encoding")) != "UTF8":
                raise StorageError(
                    f"The database {self.server.shown} has the encoding {encoding}.",
                    "Sessions need one with UTF8: createdb --encoding UTF8 --template template0 NAME",
                )
            db.execute(_PREPARE + ("SET default_transaction_read_only = on" if self._read_only else ""))
        except BaseException:
            db.close()
            raise
        return db


def open_wire(server: SessionServer, *, read_only: bool) -> tuple[Wire, int]:
    """Connect to a server and check or migrate its schema; return the connection and the schema's version.

    Args:
        server: The server.
        read_only: Have the server refuse every change; otherwise the schema is migrated.

    Raises:
        StorageError: if the server cannot be used, or a newer version used it.
    """
    wire = Wire(server, read_only=read_only)
    try:
        with wire.explaining():
            return wire, (check if read_only else migrate)(wire.db, server)
    except BaseException:
        wire.close()
        raise


def explained(error: psycopg.Error, server: SessionServer) -> StorageError:
    """Turn an error of the driver into a sentence without secrets."""
    where = f"the session server {server.shown}"
    match error:
        case psycopg.errors.DiskFull():
            return StorageError(
                f"The disk of {where} is full.", f"{KEPT} Free some disk space there, then try again."
            )
        case psycopg.errors.ReadOnlySqlTransaction():
            return StorageError(f"On {where} nothing can be written: it is read-only.", KEPT)
        case psycopg.errors.InsufficientPrivilege():
            return StorageError(
                f"On {where} we may not do this: {_reason(error, server)}.",
                "Its owner must grant that; see docs/shared-sessions.md.",
            )
        case psycopg.ProgrammingError() if error.sqlstate is None:
            # The driver's message about an address may quote its password.
            return StorageError(
                f"The address {server.shown} is not understood.", "Correct the setting store."
            )
        case psycopg.OperationalError():
            return StorageError(
                f"T{where[1:]} cannot be reached: {_reason(error, server)}.",
                f"{KEPT} Check the network and the server, then try again.",
            )
        case _:
            return StorageError(f"T{where[1:]} refused: {_reason(error, server)}.", KEPT)


def _reason(error: psycopg.Error, server: SessionServer) -> str:
    """Return the driver's message on one line, without the hint it adds after an address."""
    lines = str(error).removeprefix("connection failed: ").splitlines()
    text = " ".join(line for line in lines if not line.startswith("\t"))
    reason = error.diag.message_primary or text or type(error).__name__
    for secret in sorted(server.secrets, key=len, reverse=True):
        reason = reason.replace(secret, MASK)
    return mask_secrets(" ".join(reason.split())).rstrip(".")


_TURN = 0x506C696D736F6C6C
"""Key of the advisory lock that lets one process at a time migrate: "Plimsoll"."""
_THERE = "SELECT count(*) FROM pg_tables WHERE schemaname = 'plimsoll' AND tablename = 'version'"
"""Reads the catalog itself: ``to_regclass`` uses a cache that waiting for a lock does not refresh."""

MIGRATIONS = read_steps("postgres.sql")
"""Statements that migrate from version N to N+1."""
_CUT_BY_PAIRS = 6
"""The first version whose index finds words inside scripts without spaces."""
WITH_SNAPSHOTS = 5
"""The first version with a table of snapshots."""


def version_of(db: Connection) -> int:
    """Return the schema version; 0 if our schema does not exist yet."""
    if not _one(db, _THERE):
        return 0
    return int(str(_one(db, "SELECT number FROM plimsoll.version")))


def check(db: Connection, server: SessionServer) -> int:
    """Return the schema version.

    Raises:
        StorageError: if a newer version of the program made it.
    """
    version = version_of(db)
    if version > len(MIGRATIONS):
        raise StorageError(
            f"The sessions on {server.shown} have schema {version}, this program knows {len(MIGRATIONS)}.",
            "Nothing was changed. Update Plimsoll on this machine.",
        )
    return version


def migrate(db: Connection, server: SessionServer) -> int:
    """Migrate the schema to this version: all steps or none, one process at a time.

    Returns:
        That version.

    Raises:
        StorageError: if a newer version of the program made the schema.
        psycopg.Error: if the server refuses.
    """
    if check(db, server) == len(MIGRATIONS):
        return len(MIGRATIONS)
    with db.transaction():
        # Released when the transaction ends, however it ends.
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
        version = check(db, server)
        if not version:
            # Not "if not exists": a role that may only use an existing schema is refused that too.
            if not _one(db, "SELECT count(*) FROM pg_namespace WHERE nspname = 'plimsoll'"):
                db.execute("CREATE SCHEMA plimsoll")
            db.execute("CREATE TABLE plimsoll.version (number integer NOT NULL)")
            db.execute("INSERT INTO plimsoll.version VALUES (0)")
        for step in MIGRATIONS[version:]:
            for statement in step:
                db.execute(statement.encode())
        if version < _CUT_BY_PAIRS:
            _index_again(db)
        db.execute("UPDATE plimsoll.version SET number = %s", (len(MIGRATIONS),))
    return len(MIGRATIONS)


def _index_again(db: Connection) -> None:
    """Split everything that is not plain ASCII into words again, 500 events at a time."""
    place: tuple[object, object] = ("", 0)
    query = (
        "SELECT session, seq, data FROM plimsoll.events WHERE (session, seq) > (%s, %s) AND words IS NOT NULL"
        r" AND (data LIKE '%%\\u%%' OR octet_length(data) > length(data)) ORDER BY session, seq LIMIT 500"
    )
    while rows := db.execute(query, place).fetchall():
        for session, seq, data in rows:
            payload = json.loads(str(data))
            words = vector(str(payload.get("text") or payload.get("summary") or ""))
            db.execute(
                "UPDATE plimsoll.events SET words = %s::tsvector WHERE session = %s AND seq = %s",
                (words, session, seq),
            )
        place = (rows[-1][0], rows[-1][1])


def _one(db: Connection, query: str) -> object:
    row = db.execute(query.encode()).fetchone()
    return row[0] if row else None


class SideLine:
    """Asks a server over a separate connection per question, in a thread of its own.

    May be used from any thread.

    Args:
        server: The server; its schema is migrated.
        patience_s: Maximum seconds per question, connecting included.
    """

    def __init__(self, server: SessionServer, patience_s: float) -> None:
        self._server, self._patience_s = server, patience_s

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Run some work on a connection; repeat it once on a new one if the connection was lost.

        Raises:
            StorageError: if the server cannot be asked, or did not answer in time. It may still do the work.
        """
        answer: Future[T] = Future()

        def serve() -> None:
            try:
                with closing(open_wire(self._server, read_only=False)[0]) as wire:
                    answer.set_result(wire.ask(work))
            except BaseException as error:  # raised in the caller's thread
                answer.set_exception(error)

        # A daemon, so that the program can end while a question is open.
        threading.Thread(target=serve, daemon=True).start()
        try:
            return answer.result(self._patience_s)
        except TimeoutError:
            raise StorageError(
                f"The session server {self._server.shown} has not answered in {self._patience_s:g} seconds.",
                "Everything saved before is kept there. Try again when it answers.",
            ) from None
