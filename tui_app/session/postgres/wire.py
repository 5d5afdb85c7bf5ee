"""The connection to the server: opened, watched, opened again, and its errors as sentences."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from tui_app.context.secrets import MASK, mask_secrets
from tui_app.context.storage_errors import StorageError
from tui_app.extras import install_command
from tui_app.session.location import Server

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise StorageError(
        "Sessions are set to be kept on a PostgreSQL server, but its driver is not installed.",
        f"Take the setting store away, or install it with: {install_command('postgres')}",
    ) from error

T = TypeVar("T")
Connection = psycopg.Connection[tuple[object, ...]]
KEPT = "Everything saved before is kept there."
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
SET synchronous_commit = on; SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '60s';
"""
"""The server, too, must notice soon that we are gone; and a commit that returned is on its disk."""


def this_machine() -> str:
    """The name this machine goes by on others."""
    return socket.gethostname().encode("ascii", "replace").decode()[:40]


def this_window() -> str:
    """What other windows call this one."""
    return f"another window, on {this_machine()}"


@lru_cache(maxsize=256)
def _translated(query: str) -> bytes:
    return query.replace("?", "%s").encode()


@dataclass(frozen=True, slots=True)
class PostgresDb:
    """A connection that understands the statements of every store."""

    connection: Connection

    def execute(self, query: str, values: Sequence[object] = (), /) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run one statement, in which ``?`` stands for a value."""
        return self.connection.execute(_translated(query), values)

    def executemany(self, query: str, rows: Sequence[Sequence[object]], /) -> None:
        """Run one statement for each row of values."""
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

    def __init__(self, server: Server, *, read_only: bool) -> None:
        self.server = server
        self._read_only = read_only
        with self.told():
            self._db = self._connect()

    @property
    def alive(self) -> bool:
        """Whether the connection is not known to be lost."""
        return not self._db.closed

    @property
    def db(self) -> Connection:
        """The connection as it is, lost or not."""
        return self._db

    @property
    def backend(self) -> int:
        """Number of the server's process that serves us; 0 when the connection is lost."""
        return self._db.info.backend_pid if self.alive else 0

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Read something; once more on a new connection where the old one turns out to be lost.

        Raises:
            StorageError: if the server cannot be asked.
        """
        with self.told():
            if self.alive:
                try:
                    return work(self._db)
                except psycopg.OperationalError:
                    if self.alive:
                        raise
            self.renew()
            return work(self._db)

    def renew(self) -> None:
        """Connect again. Raises ``psycopg.Error``."""
        self._db.close()
        self._db = self._connect()

    def renew_within(self, seconds: float) -> None:
        """Connect again, trying for some seconds: a server that starts again needs a moment.

        Raises:
            psycopg.Error: if it did not work in that time.
        """
        until = time.monotonic() + seconds
        while True:
            try:
                self.renew()
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn the driver's errors into explanations."""
        try:
            yield
        except psycopg.Error as error:
            raise explained(error, self.server) from None

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _connect(self) -> Connection:
        given = conninfo_to_dict(self.server.url)
        options = {
            **_DEFAULTS,
            "application_name": f"plimsoll process {os.getpid()} on {this_machine()}",
            **given,
        }
        db = psycopg.connect(autocommit=True, **options)  # type: ignore[arg-type]
        try:
            _check_encoding(db, self.server)
            db.execute(_PREPARE + ("SET default_transaction_read_only = on" if self._read_only else ""))
        except BaseException:
            db.close()
            raise
        return db


def _check_encoding(db: Connection, server: Server) -> None:
    if (encoding := db.info.parameter_status("server_encoding")) != "UTF8":
        raise StorageError(
            f"The database {server.shown} has the encoding {encoding}.",
            "Sessions need one with UTF8: createdb --encoding UTF8 --template template0 NAME",
        )


def explained(error: psycopg.Error, server: Server) -> StorageError:
    """An error of the driver as a sentence without secrets."""
    where = f"the session server {server.shown}"
    match error:
        case psycopg.errors.DiskFull():
            return StorageError(f"The disk of {where} is full.", f"{KEPT} Make room there, then try again.")
        case psycopg.errors.ReadOnlySqlTransaction():
            return StorageError(f"On {where} nothing can be written: it lets us only read.", KEPT)
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


def _reason(error: psycopg.Error, server: Server) -> str:
    """The driver's own words in one line."""
    said = error.diag.message_primary or str(error) or type(error).__name__
    for secret in sorted(server.secrets, key=len, reverse=True):
        said = said.replace(secret, MASK)
    return mask_secrets(" ".join(said.split())).rstrip(".")
