"""The connection to the sessions file: ours, of this version, and durable, or an explanation why not."""

import sqlite3
from pathlib import Path

from tui_app.atomic import make_private
from tui_app.context.storage_errors import StorageError, storage_error
from tui_app.session.migrations import check, migrate


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open the sessions file; statements are committed one by one unless a transaction is begun.

    Args:
        path: The file; it and its folder are created with owner-only rights.
        read_only: Create and change nothing.

    Raises:
        StorageError: if the file is no database, none of ours, or cannot be written.
        sqlite3.DatabaseError: if it comes from a newer version.
        OSError: if it cannot be created.
    """
    if not read_only:
        make_private(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)
    try:
        check(db)
        if not read_only:
            _prepare(db)
    except sqlite3.Error as error:
        db.close()
        if (told := storage_error(error, path)) is not None:
            raise told from error
        raise
    return db


def identity(path: Path) -> tuple[int, int]:
    """What tells a file apart from another one of its name.

    Raises:
        OSError: if there is none.
    """
    found = path.stat()
    return found.st_dev, found.st_ino


def make_sure(path: Path, opened: tuple[int, int]) -> None:
    """Make sure that the file that was opened still has its name.

    What is written into one that was deleted would be gone with the program, and nothing would say so.

    Raises:
        StorageError: if it was deleted, moved, or replaced.
    """
    try:
        there = identity(path) == opened
    except OSError:
        there = False
    if not there:
        raise StorageError(
            f"The sessions file {path} was deleted or moved while it was open.",
            "What was saved until then is where the file is now. Bring it back, then start again.",
        )


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode=WAL")
    # A commit that returned must survive a power cut: nothing shown as done may be lost.
    db.execute("PRAGMA synchronous=FULL")
    migrate(db)
    # Events of a session that is not listed would never be seen again.
    db.execute("PRAGMA foreign_keys=ON")
