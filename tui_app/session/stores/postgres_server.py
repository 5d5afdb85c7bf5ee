"""The PostgreSQL server: the connection, opened again when lost; its errors as sentences; the schema."""

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
"""What the server says when all its connections are taken, or all of a role or database."""
_DEFAULTS = {
    "connect_timeout": "5",
    "client_encoding": "utf8",
    # A cable that was pulled out is noticed in half a minute, not in hours.
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
"""The server, too, must notice soon that we are gone; and a commit that returned is on its disk."""


def this_machine() -> str:
    return socket.gethostname().encode("ascii", "replace").decode()[:40]


def this_window() -> str:
    """What other windows call this one."""
    return f"another window, on {this_machine()}"


@lru_cache(maxsize=256)
def _translated(query: str) -> bytes:
    return query.replace("?", "%s").encode()


@frozen
class PostgresDb:
    """A connection that understands the statements of every store."""

    connection: Connection

    def execute(self, query: str, values: Sequence[object] = (), /) -> "psycopg.Cursor[tuple[Any, ...]]":
        return self.connection.execute(_translated(query), values)

    def executemany(self, query: str, rows: Sequence[Sequence[object]], /) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(_translated(query), rows)


class Wire:
    """One connection to the server.

    Args:
        server: Where to connect.
        read_only: Let the server refuse every change.

    Raises:
        StorageError: if the server cannot be used.
    """

    def __init__(self, server: SessionServer, *, read_only: bool) -> None:
        self.server = server
        self._read_only = read_only
        with self.explaining():
            # The driver gives no code for it. In another language it is an error like any other.
            self.db = self._connect_within(_WAIT_S, lambda said: any(each in said for each in _NO_SLOT))
            """The connection as it is, lost or not."""

    @property
    def alive(self) -> bool:
        """Whether the connection is not known to be lost."""
        return not self.db.closed

    @property
    def backend(self) -> int:
        """Number of the server's process that serves us; 0 when the connection is lost."""
        return self.db.info.backend_pid if self.alive else 0

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Read something; once more on a new connection where the old one turns out to be lost.

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
        """Connect again, trying for some seconds: a server that starts again needs a moment.

        Raises:
            psycopg.Error: if it did not work in that time.
        """
        self.db.close()
        self.db = self._connect_within(seconds, lambda _: True)

    def _connect_within(self, seconds: float, passes: Callable[[str], bool]) -> Connection:
        """Connect, trying again for some seconds where an error may pass."""
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
        """Turn the driver's errors into explanations."""
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
    """A connection to a server whose schema is of a version that this program knows, and that version.

    Args:
        server: Where to connect.
        read_only: Let the server refuse every change; else the schema is brought to this version.

    Raises:
        StorageError: if the server cannot be used, or was used by a newer version.
    """
    wire = Wire(server, read_only=read_only)
    try:
        with wire.explaining():
            return wire, (check if read_only else migrate)(wire.db, server)
    except BaseException:
        wire.close()
        raise


def explained(error: psycopg.Error, server: SessionServer) -> StorageError:
    """An error of the driver as a sentence without secrets."""
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
            # What is wrong with an address may quote its password.
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
    """The driver's own words in one line, without the question it asks below an address."""
    lines = str(error).removeprefix("connection failed: ").splitlines()
    told = " ".join(line for line in lines if not line.startswith("\t"))
    said = error.diag.message_primary or told or type(error).__name__
    for secret in sorted(server.secrets, key=len, reverse=True):
        said = said.replace(secret, MASK)
    return mask_secrets(" ".join(said.split())).rstrip(".")


_TURN = 0x506C696D736F6C6C
"""Key of the lock under which one process at a time migrates: "Plimsoll"."""
_THERE = "SELECT count(*) FROM pg_tables WHERE schemaname = 'plimsoll' AND tablename = 'version'"
"""Asks the tables themselves: ``to_regclass`` answers from a cache that waiting for a lock does not renew."""

MIGRATIONS = read_steps("postgres.sql")
"""Statements that lead from version N to N+1."""
_CUT_BY_PAIRS = 6
"""The first version whose index finds words inside of scripts without spaces."""
WITH_SNAPSHOTS = 5
"""The first version that has a table of them."""


def version_of(db: Connection) -> int:
    """Version of the schema; 0 where there is nothing of ours yet."""
    if not _one(db, _THERE):
        return 0
    return int(str(_one(db, "SELECT number FROM plimsoll.version")))


def check(db: Connection, server: SessionServer) -> int:
    """Version of the schema, which must be one that this program knows.

    Raises:
        StorageError: if it was made by a newer version of the program.
    """
    version = version_of(db)
    if version > len(MIGRATIONS):
        raise StorageError(
            f"The sessions on {server.shown} have schema {version}, this program knows {len(MIGRATIONS)}.",
            "Nothing was changed. Update Plimsoll on this machine.",
        )
    return version


def migrate(db: Connection, server: SessionServer) -> int:
    """Bring the schema to this version: all steps or none, one process at a time.

    Returns:
        That version.

    Raises:
        StorageError: if it was made by a newer version of the program.
        psycopg.Error: if the server refuses.
    """
    if check(db, server) == len(MIGRATIONS):
        return len(MIGRATIONS)
    with db.transaction():
        # Freed with the transaction, however that ends.
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
        version = check(db, server)
        if not version:
            # Asked first: who may only use the schema of another may not say "if not exists" either.
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
    """Cut the words anew of all that is not plain ASCII, some events at a time."""
    place: tuple[object, object] = ("", 0)
    query = (
        "SELECT session, seq, data FROM plimsoll.events WHERE (session, seq) > (%s, %s) AND words IS NOT NULL"
        r" AND (data LIKE '%%\\u%%' OR octet_length(data) > length(data)) ORDER BY session, seq LIMIT 500"
    )
    while rows := db.execute(query, place).fetchall():
        for session, seq, data in rows:
            said = json.loads(str(data))
            words = vector(str(said.get("text") or said.get("summary") or ""))
            db.execute(
                "UPDATE plimsoll.events SET words = %s::tsvector WHERE session = %s AND seq = %s",
                (words, session, seq),
            )
        place = (rows[-1][0], rows[-1][1])


def _one(db: Connection, query: str) -> object:
    row = db.execute(query.encode()).fetchone()
    return row[0] if row else None


class SideLine:
    """Asks a server over a connection of its own for each question, in a thread that holds nobody up.

    May be used from any thread.

    Args:
        server: Which database; its schema is brought to this version.
        patience_s: Seconds a question may take, connecting included.
    """

    def __init__(self, server: SessionServer, patience_s: float) -> None:
        self._server, self._patience_s = server, patience_s

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Do something with a connection; once more on a new one where that turns out to be lost.

        Raises:
            StorageError: if the server cannot be asked, or has not answered in time; it may still do it.
        """
        answer: Future[T] = Future()

        def serve() -> None:
            try:
                with closing(open_wire(self._server, read_only=False)[0]) as wire:
                    answer.set_result(wire.ask(work))
            except BaseException as error:  # raised where the question was asked
                answer.set_exception(error)

        # The program may end while a question is open.
        threading.Thread(target=serve, daemon=True).start()
        try:
            return answer.result(self._patience_s)
        except TimeoutError:
            raise StorageError(
                f"The session server {self._server.shown} has not answered in {self._patience_s:g} seconds.",
                "Everything saved before is kept there. Try again when it answers.",
            ) from None
