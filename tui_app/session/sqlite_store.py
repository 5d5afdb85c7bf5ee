"""All sessions in one SQLite file: append-only events, never updated, never deleted by a compaction."""

import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tui_app.context.storage_errors import StorageError, storage_explained
from tui_app.events import Payload
from tui_app.files import make_private, write_bytes_atomic
from tui_app.session.event_heads import payload_of, plain, row_sum
from tui_app.session.lock import WriterLock, holder
from tui_app.session.migrations import WITH_SNAPSHOTS, check, migrate, transaction, version_of
from tui_app.session.sql_store import Db, Dialect
from tui_app.session.stats import FIGURES
from tui_app.session.store import SessionStore
from tui_app.session.word_index import add_index_words, index_words

T = TypeVar("T")

_WAIT_S = 60.0
"""Seconds that other programs' work on the file is waited for: a hundred may begin in the same moment."""
_NO_MEMORY = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it cannot make the memory that readers and writers share."""
_CRAMPED = ("busy_timeout=2000", "locking_mode=EXCLUSIVE", "temp_store=MEMORY", "journal_mode=MEMORY")
"""How a file is written that cannot take any more of its disk."""
_RESERVE, _RESERVED_FROM = 1 << 19, 1 << 20
"""Bytes that are kept back on the disk, so that there is room to delete; beside a file of this size."""
SYNCHRONOUS = "FULL"
"""A commit that returned must survive a power cut: nothing shown as done may be lost."""

# The connection to the sessions file: ours, of this version, and durable, or an explanation why not.


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
    if is_begun(log) and not is_begun(path):
        # SQLite would delete it.
        raise StorageError(
            f"The sessions file {path} is missing, and {log.name} holds what was written last.",
            "To bring it back: plimsoll doctor --repair.",
        )
    if not read_only:
        make_private(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    elif not path.exists():
        raise gone(path)
    with storage_explained(path):
        db = open_file(path, "ro" if read_only else "rw")
        try:
            add_index_words(db)
            if cramped:
                for setting in _CRAMPED:
                    db.execute(f"PRAGMA {setting}").fetchone()
            check(db)
            if not read_only:
                if not cramped:
                    _write_ahead(db)
                db.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
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


def is_begun(path: Path) -> bool:
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
        with_log = is_begun(path.with_name(f"{path.name}-wal"))
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


def gone(path: Path) -> StorageError:
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


# The sessions in that file.

_FIGURES = ", ".join(f"'{name}', json_extract(data, '$.{name}')" for name in FIGURES)
SQLITE = Dialect(
    text=plain,
    last="(SELECT COALESCE(MAX(seq), 0) FROM events WHERE session = sessions.id)",
    keeps_last=False,
    place="rowid",
    figures=f"json_object({_FIGURES})",
    beside={"sum": lambda _payload, row: row_sum(row)},
)


class SqliteStore(SessionStore):
    """The sessions of one data directory. Not thread-safe: open one per thread.

    Args:
        path: The database file; it and its folder are created with owner-only rights.
        read_only: For the screen, which reads texts while the engine writes.
        cramped: To delete where the disk is full; see :func:`connect`.

    Raises:
        StorageError: if the file is no database, none of ours, or cannot be written.
        sqlite3.DatabaseError: if it comes from a newer version.
    """

    dialect = SQLITE
    path: Path

    def __init__(self, path: Path, *, read_only: bool = False, cramped: bool = False) -> None:
        self.path = path
        self._cramped = cramped
        self._db = connect(path, read_only=read_only, cramped=cramped)
        super().__init__(read_only=read_only, snapshots=version_of(self._db) >= WITH_SNAPSHOTS)
        self._opened = identity(path)
        if not read_only and not cramped and path.stat().st_size > _RESERVED_FROM:
            keep_back(path)

    def close(self) -> None:
        self._db.close()

    def delete(self, session: str) -> None:
        try:
            super().delete(session)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                raise
            # Other windows have the file open: its newest events first, so few that the log has room.
            some = "SELECT rowid FROM events WHERE session = ? ORDER BY seq DESC LIMIT 4"
            while self._db.execute(f"DELETE FROM events WHERE rowid IN ({some})", (session,)).rowcount:
                self._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
            super().delete(session)
        if self._cramped:
            # The disk gets back what was the session's.
            self._db.execute("VACUUM")

    def lock(self, _session: str, file: Path) -> WriterLock:
        return WriterLock(file)

    def holder(self, _session: str, file: Path) -> str:
        return holder(file)

    def _ask(self, work: Callable[[Db], T]) -> T:
        return work(self._db)

    def _change(self, work: Callable[[Db], T], session: str = "") -> T:
        if identity(self.path) != self._opened:
            # What is written into a deleted file would be gone with the program, and nothing would say so.
            raise gone(self.path)
        with transaction(self._db):
            return work(self._db)

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        phrases = (" ".join(index_words(word, ends=False)) for word in words)
        wanted = " OR ".join(f'"{phrase}"*' for phrase in phrases if phrase)
        if not wanted:
            return []
        query = (
            "SELECT seq, type, data FROM said JOIN events ON events.rowid = said.rowid"
            " WHERE said MATCH ? ORDER BY bm25(said, 0.0, 1.0) LIMIT ?"
        )
        rows = self._db.execute(query, (f'session : "{session}" AND text : ({wanted})', limit))
        return [(seq, payload_of(session, seq, kind, data)) for seq, kind, data in rows]


# Following a session of this machine's file, which another window writes.

_LOOK_S = 0.2
"""Seconds between two looks; one costs a few microseconds."""


class SqliteFollower:
    """Sees by SQLite's own counter that the file has changed.

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
