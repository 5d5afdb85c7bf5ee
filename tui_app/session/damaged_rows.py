"""Reading the rows of a damaged sessions file around what cannot be read."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Row = tuple[object, ...]

_ROWS = 128
"""Rows that no page holds more of."""
_INTERIOR, _LEAF = 5, 13
"""First byte of a table's pages: those that name others, and those that hold rows."""


def open_damaged(path: Path) -> sqlite3.Connection:
    """Open a file to read what is left of it; nothing is written."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # Without this SQLite reads nothing of a file that is shorter than it says of itself.
    db.execute("PRAGMA writable_schema=ON")
    return db


@dataclass(slots=True)
class DamagedRows:
    """Reads the rows of a table around those that are damaged."""

    db: sqlite3.Connection
    path: Path
    lost: int = 0
    """Row numbers that could not be read; the last ones may never have been given."""

    def has(self, table: str) -> bool:
        """Whether there is such a table; files of older versions lack some.

        Raises:
            sqlite3.DatabaseError: if not even that can be read.
        """
        found = self.db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        return found.fetchone() is not None

    def rows(self, table: str, columns: str) -> Iterator[Row]:
        """Every row that can be read, in the order of their numbers.

        Raises:
            sqlite3.DatabaseError: if not even the beginning of the file can be read.
        """
        query = f"SELECT rowid, {columns} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        ranges = [(1, self._last(table))]
        while ranges:
            at, last = ranges.pop()
            try:
                with closing(self.db.execute(query, (at, last))) as found:
                    for row in found:
                        if not at <= row[0] <= last:
                            # What was cut away reads as zeros, and going back to them would never end.
                            self.lost += 1
                            continue
                        at = row[0] + 1
                        yield row[1:]
            except sqlite3.DatabaseError:
                if at >= last:
                    self.lost += 1
                    continue
                # Half and half again, until what is damaged stands alone.
                middle = (at + last) // 2
                ranges += [(middle + 1, last), (at, middle)]

    def _last(self, table: str) -> int:
        """A row number that none is above, from whatever part of the file still says so."""
        queries = [f"SELECT MAX(rowid) FROM {table}"]
        if table == "events":
            queries += [
                "SELECT MAX(+rowid) FROM events INDEXED BY events_by_type",
                "SELECT MAX(+rowid) FROM events INDEXED BY sqlite_autoindex_events_1",
                "SELECT MAX(id) FROM said_docsize",
            ]
        for query in queries:
            try:
                return int(self.db.execute(query).fetchone()[0] or 0)
            except sqlite3.DatabaseError:
                continue
        most = int(self.db.execute("PRAGMA page_count").fetchone()[0]) * _ROWS
        wal = self.path.with_name(f"{self.path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            return most  # Newer pages than the file's may stand there.
        return min(most, self._last_by_pages(table) or most)

    def _last_by_pages(self, table: str) -> int:
        """The same from the pages on the table's right side; 0 where all of them can be read.

        A page that names others says which is the last row of each but the rightmost. Where that one cannot
        be read, all that comes after is lost, and need not be looked for through all numbers there could be.
        """
        size = int(self.db.execute("PRAGMA page_size").fetchone()[0])
        query = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?"
        number = int(self.db.execute(query, (table,)).fetchone()[0])
        last, seen = 0, set[int]()
        with self.path.open("rb") as file:
            while number > 0 and number not in seen:
                seen.add(number)
                file.seek((number - 1) * size)
                page = file.read(size)
                if len(page) < size or page[0] != _INTERIOR:
                    return 0 if len(page) == size and page[0] == _LEAF else last + _ROWS
                last, number = max(last, _last_key(page)), int.from_bytes(page[8:12], "big")
        return last + _ROWS


def _last_key(page: bytes) -> int:
    """The number of the last row on the pages that an interior page names, but the rightmost."""
    count = int.from_bytes(page[3:5], "big")
    if not count or 12 + 2 * count > len(page):
        return 0
    # A cell: the number of a page, four bytes, and the key, seven bits a byte; the highest for "more".
    at, key = int.from_bytes(page[10 + 2 * count : 12 + 2 * count], "big") + 4, 0
    for byte in page[at : at + 8]:
        key = key << 7 | byte & 0x7F
        if byte < 0x80:
            return key
    return 0
