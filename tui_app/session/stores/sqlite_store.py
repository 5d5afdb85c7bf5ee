"""The store of sessions in one SQLite file: events are appended and never updated."""

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from tui_app.events import Payload
from tui_app.session.event_rows import payload_of, plain, row_sum
from tui_app.session.lock import WriterLock, holder
from tui_app.session.stats_rows import FIGURES
from tui_app.session.stores.migrations import WITH_SNAPSHOTS, transaction, version_of
from tui_app.session.stores.sql_store import Db, Dialect
from tui_app.session.stores.sqlite_connection import (
    RESERVED_FROM,
    connect,
    identity,
    keep_back,
    missing_file_error,
)
from tui_app.session.stores.store import SessionStore
from tui_app.session.stores.word_index import index_words

T = TypeVar("T")


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
        path: The database file; it and its folder are created with owner-only permissions.
        read_only: For the screen, which reads while the engine writes.
        cramped: To delete on a full disk; see :func:`connect`.

    Raises:
        StorageError: if the file is no database, is not ours, or cannot be written.
        sqlite3.DatabaseError: if a newer version wrote it.
    """

    dialect = SQLITE
    path: Path

    def __init__(self, path: Path, *, read_only: bool = False, cramped: bool = False) -> None:
        self.path = path
        self._cramped = cramped
        self._db = connect(path, read_only=read_only, cramped=cramped)
        super().__init__(read_only=read_only, snapshots=version_of(self._db) >= WITH_SNAPSHOTS)
        self._opened = identity(path)
        if not read_only and not cramped and path.stat().st_size > RESERVED_FROM:
            keep_back(path)

    def close(self) -> None:
        self._db.close()

    def delete(self, session: str) -> None:
        try:
            super().delete(session)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                raise
            # Other windows have the file open: delete the newest events first, few enough to fit in the log.
            some = "SELECT rowid FROM events WHERE session = ? ORDER BY seq DESC LIMIT 4"
            while self._db.execute(f"DELETE FROM events WHERE rowid IN ({some})", (session,)).rowcount:
                self._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
            super().delete(session)
        if self._cramped:
            # Return the freed space to the disk.
            self._db.execute("VACUUM")

    def lock(self, _session: str, file: Path) -> WriterLock:
        return WriterLock(file)

    def holder(self, _session: str, file: Path) -> str:
        return holder(file)

    def _ask(self, work: Callable[[Db], T]) -> T:
        return work(self._db)

    def _change(self, work: Callable[[Db], T], session: str = "") -> T:
        if identity(self.path) != self._opened:
            # Text written into a deleted file would be lost silently when the program ends.
            raise missing_file_error(self.path)
        with transaction(self._db):
            return work(self._db)

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        phrases = (" ".join(index_words(word, ends=False)) for word in words)
        pattern = " OR ".join(f'"{phrase}"*' for phrase in phrases if phrase)
        if not pattern:
            return []
        query = (
            "SELECT seq, type, data FROM said JOIN events ON events.rowid = said.rowid"
            " WHERE said MATCH ? ORDER BY bm25(said, 0.0, 1.0) LIMIT ?"
        )
        rows = self._db.execute(query, (f'session : "{session}" AND text : ({pattern})', limit))
        return [(seq, payload_of(session, seq, kind, data)) for seq, kind, data in rows]
