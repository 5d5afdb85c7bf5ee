"""Reading conversations from other programs' SQLite databases, even where nothing may be written.

``FILE#SESSION`` names one of several; without a name the newest is read.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from tui_app.records import frozen
from tui_app.session.importers.source import Json, Source, parse_json

Row = dict[str, Any]
Rows = Callable[..., list[Row]]
"""Runs a query with its values."""


@frozen(kw_only=True)
class Store:
    """How a program stores conversations in a database."""

    tables: Mapping[str, frozenset[str]]
    """Tables with their columns by which a database of this program is recognized."""
    heads: Callable[[Rows], list[Row]]
    """Rows of its conversations with their ``id``, newest first."""
    title: tuple[str, ...]
    """Columns of these rows; the first non-empty one is the title."""
    folder: str
    updated: str
    document: Callable[[Rows, Row], Json]
    """Builds a document of the format from a conversation's row."""

    def fits(self, path: Path) -> bool:
        found = columns_of(path)
        return all(found.get(table, set()) >= columns for table, columns in self.tables.items())

    def sessions(self, path: Path) -> list[Json]:
        """Return title, folder and time of its conversations, newest first; none if unreadable."""
        return [
            {
                "id": row["id"], "title": next(filter(None, map(row.get, self.title)), None),
                "directory": row.get(self.folder), "time": {"updated": row.get(self.updated)},
            }
            for row in self._read(path, self.heads)
        ]  # fmt: skip

    def conversation(self, source: Source) -> Json:
        """Return the named conversation, or else the newest; empty if there is none.

        Raises:
            ImportFormatError: if it is damaged as a whole.
        """

        def wanted(rows: Rows) -> list[Json]:
            heads = [row for row in self.heads(rows) if source.part in ("", str(row["id"]))]
            return [self.document(rows, row) for row in heads[:1]]

        return next(iter(self._read(source.path, wanted)), {})

    def _read(self, path: Path, ask: Callable[[Rows], list[Row]]) -> list[Row]:
        try:
            with reading(path, list(self.tables)) as database:
                return ask(partial(_rows, database)) if self.fits(path) else []
        except (sqlite3.Error, KeyError, AttributeError):
            return []


def _rows(database: sqlite3.Connection, query: str, *values: str) -> list[Row]:
    cursor = database.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def columns_of(path: Path) -> dict[str, set[str]]:
    """Return the tables of a database with their columns; none if it cannot be read."""
    try:
        with reading(path) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            database.set_authorizer(None)
            query = "SELECT name FROM pragma_table_info(?)"
            return {str(name): {row[0] for row in database.execute(query, (name,))} for (name,) in names}
    except sqlite3.Error:
        return {}


@contextmanager
def reading(path: Path, tables: Sequence[str] = ()) -> Iterator[sqlite3.Connection]:
    """Open a database for reading, even in a folder where nothing may be written.

    SQLite writes files next to one with a write-ahead log even when only reading. So a file without a log is
    opened as immutable, and one with a log is copied.

    Args:
        path: The database.
        tables: The tables to read, which must contain stored rows.

    Raises:
        sqlite3.Error: if it is no database, another program has locked it, or a table is not stored.
    """
    with ExitStack() as stack:
        database = stack.enter_context(closing(_connect(path, "mode=ro")))
        try:
            database.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise
            log, mode = path.with_name(f"{path.name}-wal"), "mode=ro&immutable=1"
            if log.exists() and log.stat().st_size:
                folder = stack.enter_context(TemporaryDirectory())
                for each in (path, log):
                    copyfile(each, Path(folder) / each.name)
                path, mode = Path(folder) / path.name, "mode=rw"
            database = stack.enter_context(closing(_connect(path, mode)))
        for name in tables:
            pages = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchall()
            columns = database.execute(f"PRAGMA table_xinfo({name})").fetchall()
            # A view or virtual table has no page, and a generated column is marked.
            if any(not page for (page,) in pages) or any(column[-1] for column in columns):
                raise sqlite3.DatabaseError(f"{name} has no rows of its own")
        database.set_authorizer(_stored_only)
        yield database


def _stored_only(
    action: int, _table: str | None, _column: str | None, _: str | None, inside: str | None
) -> int:
    """Allow only stored rows to be read: a view or an expression could generate any number of rows."""
    made = inside is not None or action not in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    return sqlite3.SQLITE_DENY if made else sqlite3.SQLITE_OK


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=2.0)


def parsed(text: Any) -> Any:
    """Parse a value that a row or small file has as JSON; damage yields a text that reports it."""
    try:
        return parse_json(text) if isinstance(text, str) else json.dumps(str(text))
    except ValueError:
        return "damaged JSON"


def as_bytes(data: Any) -> bytes:
    return data.encode() if isinstance(data, str) else data if isinstance(data, bytes) else b""
