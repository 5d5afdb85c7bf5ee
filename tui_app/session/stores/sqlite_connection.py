"""The connection to the sessions file, or the reason why there is none."""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from tui_app.context.storage_errors import StorageError, storage_explained
from tui_app.files import make_private, write_bytes_atomic
from tui_app.session.stores.migrations import check, migrate
from tui_app.session.stores.word_index import add_index_words

_WAIT_S = 60.0
"""Seconds to wait for other programs' work on the file: a hundred of them may start at the same moment."""

_NO_MEMORY = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""SQLite's errors when it cannot create the shared memory of readers and writers."""

_CRAMPED = ("busy_timeout=2000", "locking_mode=EXCLUSIVE", "temp_store=MEMORY", "journal_mode=MEMORY")
"""Settings for writing a file that cannot use any more of its disk."""

_RESERVE, RESERVED_FROM = 1 << 19, 1 << 20
"""Bytes reserved on the disk so that there is room to delete; the file size from which they are reserved."""

SYNCHRONOUS = "FULL"
"""A commit that returned must survive a power cut: nothing shown as done may be lost."""


def connect(path: Path, *, read_only: bool, cramped: bool = False) -> sqlite3.Connection:
    """Open the sessions file in autocommit mode, outside of explicit transactions.

    Args:
        path: The file; it and its folder are created with owner-only permissions.
        read_only: Create and change nothing.
        cramped: Write without using more of the disk, with exclusive access. A crash damages the file.

    Raises:
        StorageError: if the file is no database, is not ours, cannot be written, or is missing when reading.
        sqlite3.DatabaseError: if a newer version wrote it.
        OSError: if it cannot be created.
    """
    log = path.with_name(f"{path.name}-wal")
    # In this order: another program may be creating both.
    if has_events(log) and not has_events(path):
        # SQLite would delete the log.
        raise StorageError(
            f"The sessions file {path} is missing, and {log.name} holds what was written last.",
            "To bring it back: plimsoll doctor --repair.",
        )
    if not read_only:
        make_private(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    elif not path.exists():
        raise missing_file_error(path)
    with storage_explained(path):
        db = open_file(path, "ro" if read_only else "rw")
        try:
            add_index_words(db)
            if cramped:
                for setting in _CRAMPED:
                    db.execute(f"PRAGMA {setting}").fetchone()
            check(db)
            if not read_only:
                db.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
                if not cramped:
                    _write_ahead(db)
                migrate(db)
                # An event of a session that is not in the list would never be seen again.
                db.execute("PRAGMA foreign_keys=ON")
        except UnicodeDecodeError:
            # SQLite quotes bytes that are not UTF-8.
            db.close()
            raise sqlite3.DatabaseError("Could not decode to UTF-8") from None
        except BaseException:
            db.close()
            raise
    return db


def lossy(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def has_events(path: Path) -> bool:
    """Return whether a file contains a log. Interrupting the very first start leaves an empty file."""
    # Another process may remove the file meanwhile, as SQLite does with its write-ahead log.
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def open_file(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to a file. For reading, this also works on a full or read-only disk.

    Raises:
        sqlite3.Error: if it cannot be opened.
    """

    def opened(how: str) -> sqlite3.Connection:
        uri = f"{path.absolute().as_uri()}?{how}"
        db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT_S)
        # Damaged text is reported where it is decoded; the rest of the file stays readable.
        db.text_factory = lossy
        return db

    db = opened(f"mode={mode}")
    if mode != "ro":
        return db
    try:
        # Readers share memory on the disk with writers.
        db.execute("PRAGMA user_version")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _NO_MEMORY:
            return db
        db.close()
        with_log = has_events(path.with_name(f"{path.name}-wal"))
        db = opened("mode=rw&vfs=unix-excl" if with_log else "mode=ro&immutable=1")
    return db


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log, which readers and a writer share.

    If two programs create a file at the same moment, SQLite reports at once that it is locked: it does not
    wait when a reader becomes the only writer.

    Raises:
        sqlite3.OperationalError: if another program locks the file for longer than any start takes.
    """
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def identity(path: Path) -> tuple[int, int]:
    """Return device and inode, which distinguish files of the same name; zeros if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return 0, 0


def missing_file_error(path: Path) -> StorageError:
    """Return the error for a sessions file that disappeared."""
    return StorageError(
        f"The sessions file {path} was deleted or moved while it was open.",
        "Everything saved is where the file is now. Move it back, then start again.",
    )


def reserve_of(path: Path) -> Path:
    """Return the file that reserves disk space. Deleting it makes room for deleting sessions."""
    return path.with_name(f"{path.name}-reserve")


def keep_back(path: Path) -> None:
    """Reserve disk space if there is enough."""
    # This import loads the compression libraries, and the first frame waits for this module.
    import shutil

    with suppress(OSError):
        if not reserve_of(path).exists() and shutil.disk_usage(path.parent).free > 4 * _RESERVE:
            write_bytes_atomic(reserve_of(path), bytes(_RESERVE))
