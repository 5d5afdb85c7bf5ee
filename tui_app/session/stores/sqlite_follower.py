"""Following a session in this machine's file that another window writes."""

import time
from pathlib import Path

from tui_app.session.lock import holder
from tui_app.session.stores.sqlite_connection import connect

_LOOK_S = 0.2
"""Seconds between two checks; one takes a few microseconds."""


class SqliteFollower:
    """Detects changes of the file by SQLite's ``data_version``.

    Args:
        database: The sessions file.
        lock_file: Lock of the session.

    Raises:
        sqlite3.Error: if the file cannot be used.
    """

    def __init__(self, database: Path, lock_file: Path) -> None:
        self._lock_file = lock_file
        self._db = connect(database, read_only=True)
        self._seen = self._version()

    def wait(self, timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        while (version := self._version()) == self._seen:
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_LOOK_S, left))
        self._seen = version
        return True

    def holder(self) -> str:
        return holder(self._lock_file)

    def close(self) -> None:
        self._db.close()

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])
