"""The connection to the sessions file, or an explanation why there is none."""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from tui_app.context.storage_errors import StorageError, storage_explained
from tui_app.files import make_private, write_bytes_atomic
from tui_app.session.stores.migrations import check, migrate
from tui_app.session.stores.word_index import add_index_words

_WAIT_S = 60.0
"""Seconds that other programs' work on the file is waited for: a hundred may begin in the same moment."""

_NO_MEMORY = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it cannot make the memory that readers and writers share."""

_CRAMPED = ("busy_timeout=2000", "locking_mode=EXCLUSIVE", "temp_store=MEMORY", "journal_mode=MEMORY")
"""How a file is written that cannot take any more of its disk."""

_RESERVE, RESERVED_FROM = 1 << 19, 1 << 20
"""Bytes that are kept back on the disk, so that there is room to delete; beside a file of this size."""

SYNCHRONOUS = "FULL"
"""A commit that returned must survive a power cut: nothing shown as done may be lost."""


def connect(path: Path, *, read_only: bool, cramped: bool = False) -> sqlite3.Connection:
    """Open the sessions file; statements are committed one by one unless a transaction is begun.

    Args:
        path: The file; it and its folder are created with owner-only rights.
        read_only: Create and change nothing.
        cramped: Write without taking any more of the disk, alone: a crash in the middle damages the file.

    Raises:
        StorageError: if the file is no database, none of ours, cannot be written, or is not there to be read.
        sqlite3.DatabaseError: if it comes from a newer version.
        OSError: if it cannot be created.
    """
    log = path.with_name(f"{path.name}-wal")
    # In this order: another program may be making both.
    if has_events(log) and not has_events(path):
        # SQLite would delete it.
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
                # Events of a session that is not listed would never be seen again.
                db.execute("PRAGMA foreign_keys=ON")
        except UnicodeDecodeError:
            # SQLite quotes what it cannot make sense of.
            db.close()
            raise sqlite3.DatabaseError("Could not decode to UTF-8") from None
        except BaseException:
            db.close()
            raise
    return db


def lossy(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def has_events(path: Path) -> bool:
    """Whether there is a log in a file; an empty one is left when the first start is cut off."""
    # Another process may remove it meanwhile, as SQLite does with its own beside the log.
    with suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def open_file(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to a file; one that is only read can be read on a full or read-only disk as well.

    Raises:
        sqlite3.Error: if it cannot be opened.
    """

    def opened(how: str) -> sqlite3.Connection:
        uri = f"{path.absolute().as_uri()}?{how}"
        db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT_S)
        # What is damaged is told where it is understood; what stands beside it can be read.
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
    """Make the file one with a write-ahead log, which readers and a writer share.

    Two programs that make a new one at the same moment would be told at once that it is locked: SQLite
    does not wait where a reader becomes the only writer.

    Raises:
        sqlite3.OperationalError: if another program holds the file for longer than any start takes.
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
    """What tells a file apart from another one of its name; zeros where there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return 0, 0


def missing_file_error(path: Path) -> StorageError:
    """Why a sessions file that has been there cannot be used."""
    return StorageError(
        f"The sessions file {path} was deleted or moved while it was open.",
        "Everything saved is where the file is now. Move it back, then start again.",
    )


def reserve_of(path: Path) -> Path:
    """The file that keeps some of the disk back: deleting it makes room for deleting more."""
    return path.with_name(f"{path.name}-reserve")


def keep_back(path: Path) -> None:
    """Keep some of the disk back, where there is room."""
    # It loads the compression libraries, and the first frame waits for this file.
    import shutil

    with suppress(OSError):
        if not reserve_of(path).exists() and shutil.disk_usage(path.parent).free > 4 * _RESERVE:
            write_bytes_atomic(reserve_of(path), bytes(_RESERVE))
