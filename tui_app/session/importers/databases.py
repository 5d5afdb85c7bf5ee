"""Conversations that programs keep in SQLite: read as they are, also where nothing may be written.

``FILE#SESSION`` names one of several; without it the newest is read.
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
"""Asks a database, by a query and its values."""


@frozen(kw_only=True)
class Store:
    """How a program keeps conversations in a database."""

    tables: Mapping[str, frozenset[str]]
    """It is a store of this program when it has these tables with these columns."""
    heads: Callable[[Rows], list[Row]]
    """Rows about its conversations with their ``id``, newest first."""
    title: tuple[str, ...]
    """Columns of these rows, the first that holds something."""
    folder: str
    updated: str
    document: Callable[[Rows, Row], Json]
    """A conversation as a document of the format, by the row about it."""

    def fits(self, path: Path) -> bool:
        found = columns_of(path)
        return all(found.get(table, set()) >= columns for table, columns in self.tables.items())

    def sessions(self, path: Path) -> list[Json]:
        """What it says of its conversations, newest first; nothing when it cannot be read."""
        return [
            {
                "id": row["id"], "title": next(filter(None, map(row.get, self.title)), None),
                "directory": row.get(self.folder), "time": {"updated": row.get(self.updated)},
            }
            for row in self._read(path, self.heads)
        ]  # fmt: skip

    def conversation(self, source: Source) -> Json:
        """The conversation that is named, else the newest; empty when there is none.

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
    """The tables of a database with their columns; none when it cannot be read."""
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
    """Open a database to read it, also in a folder where nothing may be written.

    SQLite keeps files beside one that has a write-ahead log, even to read it. Without a log it is read as it
    is, else from a copy.

    Args:
        path: The database.
        tables: What is read of it: tables with columns that the file holds.

    Raises:
        sqlite3.Error: if it is no database, another program holds it, or one of the tables is none.
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
            # A view or a virtual table has no page, and a column that is worked out is marked.
            if any(not page for (page,) in pages) or any(column[-1] for column in columns):
                raise sqlite3.DatabaseError(f"{name} has no rows of its own")
        database.set_authorizer(_stored_only)
        yield database


def _stored_only(
    action: int, _table: str | None, _column: str | None, _: str | None, inside: str | None
) -> int:
    """Let rows be read that the file holds: a view or an expression in it could make any number of them."""
    made = inside is not None or action not in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    return sqlite3.SQLITE_DENY if made else sqlite3.SQLITE_OK


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=2.0)


def parsed(text: Any) -> Any:
    """A value that a row or a small file keeps as JSON; what is damaged says so in its place."""
    try:
        return parse_json(text) if isinstance(text, str) else json.dumps(str(text))
    except ValueError:
        return "damaged JSON"


def as_bytes(data: Any) -> bytes:
    return data.encode() if isinstance(data, str) else data if isinstance(data, bytes) else b""
