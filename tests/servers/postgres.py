"""A private PostgreSQL cluster in a temporary folder, on loopback, run by an unprivileged user.

Needs Debian's ``postgresql`` package. ``initdb`` refuses to run as root, so under root everything runs as
that package's user ``postgres``. The server is a child process and is stopped by its process id.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

START_LIMIT_S = 60.0
USER, PASSWORD = "mate", "tide-table-4711"
_LIBRARIES = Path("/usr/lib/postgresql")


@dataclass
class Cluster:
    """A server that can be stopped and started again."""

    folder: Path
    port: int
    _process: "subprocess.Popen[bytes] | None" = field(default=None)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")

    def url(self, database: str, *, user: str = USER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
        """Initialise the cluster, with durability switched off for speed."""
        (self.folder / "password").write_text(PASSWORD)
        _give(self.folder)
        subprocess.run(
            [
                *_unprivileged(), str(_program("initdb")), "--pgdata", str(self.folder / "data"),
                "--username", USER, "--pwfile", str(self.folder / "password"), "--auth",
                "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync",
            ],
            check=True, stdout=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        command = [
            *_unprivileged(), str(_program("postgres")), "-D", str(self.folder / "data"), "-p",
            str(self.port), "-h", "127.0.0.1", "-k", str(self.folder), "-F",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        until = time.monotonic() + START_LIMIT_S
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise RuntimeError(f"PostgreSQL does not start:\n{self.log[-2000:]}") from None
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT closes every connection cleanly, SIGQUIT simulates a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(START_LIMIT_S)
            self._process = None

    def cut(self, database: str) -> int:
        """Terminate all connections to a database, and return their number."""
        name = database.rpartition("/")[2]
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            return len(db.execute(query, (name,)).fetchall())

    def database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"log_{secrets.token_hex(4)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)


@contextlib.contextmanager
def running_postgres() -> Iterator[Cluster]:
    """Run a cluster for the duration of the block."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-postgres-"))
    cluster = Cluster(folder, _free_port())
    try:
        cluster.create()
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> Path:
    found = sorted(_LIBRARIES.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise RuntimeError("These tests need a PostgreSQL server: apt-get install postgresql")
    return found[-1]


def _unprivileged() -> list[str]:
    if os.geteuid():
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]


def _give(folder: Path) -> None:
    if os.geteuid():
        return
    user = pwd.getpwnam("postgres")
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
