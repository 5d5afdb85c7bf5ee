"""Storage of boards: in the sessions file, or on the server that keeps the sessions."""

import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tui_app.memory.entries import Change, Draft, DueSession, Entry, Maker
from tui_app.memory.scope import Scope, scope_of, shared
from tui_app.records import frozen, picked

if TYPE_CHECKING:
    # The driver belongs to an extra.
    from psycopg import Connection

T = TypeVar("T")
_COLUMNS = ", ".join(Entry.__dataclass_fields__)
_DUE = ", ".join(DueSession.__dataclass_fields__)


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchall(self) -> list[Any]: ...


Execute = Callable[[str, Sequence[object]], Rows]
"""Runs one statement, with ``?`` for each value."""


class BoardStore(ABC):
    """Storage of entries and of sessions to be read. Every call is atomic and on disk when it returns.

    May be called from any thread. Database failures are a ``sqlite3.Error``. If machines share the store,
    unlogged changes and sessions to be read are always those of this machine. Migrations of the package
    ``session`` create the tables, on a server with columns for the machine.
    """

    machine: str | None
    """Name of this machine if the store is shared: it only logs and reads its own changes and sessions."""

    @abstractmethod
    def scope(self, folder: Path) -> Scope:
        """Return the board scope of a folder, by the repository's name in this store."""

    @abstractmethod
    def _ask(self, work: Callable[[Execute], T], *, whole: bool = False) -> T:
        """Run statements, in one transaction if they must be atomic; single statements always are."""

    def entries(self, scope: Scope | None) -> list[Entry]:
        """Return all entries of a scope, including pruned ones, oldest first; of every scope for None."""
        query, values = f"SELECT {_COLUMNS} FROM memories", list[object]()
        if scope is not None:
            query += f" WHERE repository = ? AND branch IN ('', {_marks(scope.branches)})"
            values = [scope.repository, *scope.branches]
        return [_entry(row) for row in self._rows(f"{query} ORDER BY id", values)]

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
        """Add an entry to a board and remove those it replaces, atomically."""
        row = {
            "repository": repository, "branch": branch, "time": time, **self._here("machine"),
            **picked(draft, "text kind made_by session seq weight"),
        }  # fmt: skip
        is_new, values = "id = last_insert_rowid()", list[object]()
        if self.machine is not None:
            # A statement repeated after a lost answer is recognized by its token.
            row["token"] = secrets.token_hex(16)
            is_new, values = "token = ?", [row["token"]]
        replaced = {"pruned": time, "pruned_by": draft.made_by, "reason": "replaced"}

        def work(execute: Execute) -> Entry:
            execute(f"{_insert('memories', row)} ON CONFLICT DO NOTHING", [*row.values()])
            entry = _entry_where(execute, is_new, values)
            for old in replaces:
                self._mark_pruned(execute, old, {**replaced, "replaced_by": entry.id})
            return entry

        return self._ask(work, whole=True)

    def prune(self, entry: int, by: Maker, reason: str, time: float) -> Entry | None:
        """Mark an entry as removed; None if no entry with that id is on a board."""

        def work(execute: Execute) -> Entry | None:
            if not self._mark_pruned(execute, entry, {"pruned": time, "pruned_by": by, "reason": reason}):
                return None
            return _entry_where(execute, "id = ?", [entry])

        return self._ask(work, whole=True)

    def untold(self) -> list[Change]:
        """Return changes that are in no session's log yet, in order."""
        added = f"NOT added_told{self._is_here('machine')}"
        pruned = f"pruned <> 0 AND NOT pruned_told{self._is_here('pruned_on')}"
        query = f"SELECT {added}, {pruned}, {_COLUMNS} FROM memories WHERE {added} OR {pruned} ORDER BY id"
        changes: list[Change] = []
        for is_added, is_pruned, *row in self._rows(query, [*self._here("machine").values()] * 4):
            if is_added:
                changes.append(Change(kind="added", entry=_entry(row)))
            if is_pruned:
                changes.append(Change(kind="pruned", entry=_entry(row)))
        return changes

    def mark_logged(self, change: Change) -> None:
        """Record that a change is in a log, or that there is no log for it."""
        self._do(f"UPDATE memories SET {change.kind}_told = true WHERE id = ?", [change.entry.id])

    def request_reading(self, due: DueSession) -> None:
        """Request reading a session; a repeated request updates its branch."""
        row = {"repository": due.repository, "branch": due.branch, "asked": due.asked} | self._here("machine")
        renewed = ", ".join(f"{name} = excluded.{name}" for name in row)
        row["session"] = due.session
        self._do(
            f"{_insert('consolidations', row)} ON CONFLICT (session) DO UPDATE SET {renewed}, attempts = 0",
            [*row.values()],
        )

    def due_sessions(self) -> list[DueSession]:
        """Return sessions to be read, first requested first."""
        query = f"SELECT {_DUE} FROM consolidations WHERE asked > 0{self._is_here('machine')}"
        rows = self._rows(f"{query} ORDER BY asked, session", [*self._here("machine").values()])
        return [DueSession(**dict(zip(DueSession.__dataclass_fields__, row, strict=True))) for row in rows]

    def count_attempt(self, session: str) -> None:
        """Count an attempt at a session, before it is made."""
        self._do("UPDATE consolidations SET attempts = attempts + 1 WHERE session = ?", [session])

    def read_until(self, session: str) -> int:
        """Return the log number up to which a session has been read; 0 for not at all."""
        rows = self._rows("SELECT read_until FROM consolidations WHERE session = ?", [session])
        return int(rows[0][0]) if rows else 0

    def mark_read(self, session: str, until: int, *, asked: float | None = None) -> None:
        """Record that a session has been read up to a log number.

        Args:
            session: Its id.
            until: Log number of the last message that was read.
            asked: Time of the known request; a later request stays due. None clears any request.
        """
        row = {
            "session": session, "repository": "", "branch": "", "asked": 0.0, "read_until": until,
            **self._here("machine"),
        }  # fmt: skip
        given = "CAST(? AS double precision)"
        self._do(
            f"{_insert('consolidations', row)} ON CONFLICT (session) DO UPDATE SET attempts = 0,"
            " read_until = CASE WHEN excluded.read_until > kept.read_until THEN excluded.read_until"
            " ELSE kept.read_until END,"
            f" asked = CASE WHEN {given} IS NULL OR kept.asked = {given} THEN 0 ELSE kept.asked END",
            [*row.values(), asked, asked],
        )

    def _do(self, query: str, values: Sequence[object]) -> None:
        self._ask(lambda execute: execute(query, values))

    def _rows(self, query: str, values: Sequence[object]) -> list[Any]:
        return self._ask(lambda execute: execute(query, values).fetchall())

    def _mark_pruned(self, execute: Execute, entry: int, row: dict[str, object]) -> int:
        row |= self._here("pruned_on")
        changed = ", ".join(f"{name} = ?" for name in row)
        query = f"UPDATE memories SET {changed} WHERE id = ? AND pruned = 0"
        return execute(query, [*row.values(), entry]).rowcount

    def _here(self, column: str) -> dict[str, object]:
        return {} if self.machine is None else {column: self.machine}

    def _is_here(self, column: str) -> str:
        return "" if self.machine is None else f" AND {column} = ?"


@frozen
class SqliteBoardStore(BoardStore):
    """Opens the file for each call, so that any thread may make one.

    Args:
        connect: Opens the sessions file, with the tables in it; statements are committed one by one.
    """

    connect: Callable[[], sqlite3.Connection]
    machine = None

    def scope(self, folder: Path) -> Scope:
        return scope_of(folder)

    def _ask(self, work: Callable[[Execute], T], *, whole: bool = False) -> T:
        # As a context, a connection commits or rolls back.
        with closing(self.connect()) as db, db:
            if whole:
                db.execute("BEGIN IMMEDIATE")
            return work(db.execute)


class Line(Protocol):
    """Connection to the server."""

    def ask(self, work: "Callable[[Connection[Any]], T]") -> T:
        """Do something with a connection, from any thread; possibly twice if an answer was lost.

        Raises:
            sqlite3.Error: if the server does not do it.
        """


@frozen
class PostgresBoardStore(BoardStore):
    """Every change is one transaction, and repeating it changes nothing more.

    Args:
        line: Connection to the database, with the tables in it.
        machine: Name of this machine.
    """

    line: Line
    machine: str

    def scope(self, folder: Path) -> Scope:
        return shared(scope_of(folder), self.machine)

    def _ask(self, work: Callable[[Execute], T], *, whole: bool = False) -> T:
        def on_server(db: "Connection[Any]") -> T:
            def execute(query: str, values: Sequence[object]) -> Rows:
                return db.execute(query.replace("?", "%s").encode(), [*map(_storable, values)])

            with db.transaction() if whole else nullcontext():
                return work(execute)

        return self.line.ask(on_server)


def _storable(value: object) -> object:
    """Escape what the server cannot store: names of folders and branches may have surrogates and NULs."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _insert(table: str, row: Mapping[str, object]) -> str:
    return f"INSERT INTO {table} AS kept ({', '.join(row)}) VALUES ({_marks(row)})"


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def _entry_where(execute: Execute, condition: str, values: Sequence[object]) -> Entry:
    return _entry(execute(f"SELECT {_COLUMNS} FROM memories WHERE {condition}", values).fetchall()[0])


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True)))
