"""Boards on the server that keeps the sessions, whose schema makes the tables that are used here."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tui_app.memory.entries import Change, Draft, Due, Entry, Maker
from tui_app.memory.scope import Scope, scope_of, shared

if TYPE_CHECKING:
    # The driver belongs to an extra.
    from psycopg import Connection

T = TypeVar("T")
_COLUMNS = (
    "id, repository, branch, text, kind, made_by, session, seq, time, weight, pruned, pruned_by, reason, "
    "replaced_by"
)


class Line(Protocol):
    """The way to the server."""

    def ask(self, work: "Callable[[Connection[Any]], T]") -> T:
        """Do something with a connection, from any thread; perhaps twice, where its answer was lost.

        Raises:
            sqlite3.Error: if the server does not do it.
        """
        ...


@dataclass(frozen=True, slots=True)
class PostgresBoardStore:
    """Every change is one transaction, and doing it twice changes nothing more.

    Args:
        line: Leads to the database, with the tables in it.
        machine: Name of this machine: it tells and reads what came about here.
    """

    line: Line
    machine: str

    def scope(self, folder: Path) -> Scope:
        """A repository goes by where it was cloned from; see the port."""
        return shared(scope_of(folder), self.machine)

    def entries(self, scope: Scope | None) -> list[Entry]:
        """All entries a scope sees; see the port."""
        query, values = f"SELECT {_COLUMNS} FROM plimsoll.memories", list[object]()
        if scope is not None:
            query += " WHERE repository = %s AND branch = ANY(%s)"
            values = [_storable(scope.repository), ["", *map(_storable, scope.branches)]]
        return [_entry(row) for row in self._rows(f"{query} ORDER BY id", values)]

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
        """Put an entry on a board; see the port."""
        # Asked twice, it is known by its token.
        token = secrets.token_hex(16)
        texts = (repository, branch, draft.text, draft.kind, draft.made_by, draft.session)
        values = (token, *map(_storable, texts), draft.seq, time, draft.weight, self.machine)

        def work(db: "Connection[Any]") -> Entry:
            with db.transaction():
                db.execute(
                    "INSERT INTO plimsoll.memories (token, repository, branch, text, kind, made_by, session,"
                    " seq, time, weight, machine) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
                    " ON CONFLICT (token) DO NOTHING",
                    values,
                )
                query = f"SELECT {_COLUMNS} FROM plimsoll.memories WHERE token = %s"
                entry = _entry(db.execute(query.encode(), (token,)).fetchall()[0])
                db.execute(
                    "UPDATE plimsoll.memories SET pruned = %s, pruned_by = %s, reason = 'replaced',"
                    " replaced_by = %s, pruned_on = %s WHERE id = ANY(%s) AND pruned = 0",
                    (time, _storable(draft.made_by), entry.id, self.machine, list(replaces)),
                )
                return entry

        return self.line.ask(work)

    def prune(self, entry: int, by: Maker, reason: str, time: float) -> Entry | None:
        """Mark an entry as taken off; see the port."""
        query = (
            "UPDATE plimsoll.memories SET pruned = %s, pruned_by = %s, reason = %s, pruned_on = %s"
            f" WHERE id = %s AND pruned = 0 RETURNING {_COLUMNS}"
        )
        rows = self._rows(query, (time, _storable(by), _storable(reason), self.machine, entry))
        return _entry(rows[0]) if rows else None

    def untold(self) -> list[Change]:
        """Changes made on this machine that are in no session's log yet; see the port."""
        query = (
            f"SELECT NOT added_told AND machine = %s, pruned <> 0 AND NOT pruned_told AND pruned_on = %s,"
            f" {_COLUMNS} FROM plimsoll.memories WHERE (NOT added_told AND machine = %s)"
            " OR (pruned <> 0 AND NOT pruned_told AND pruned_on = %s) ORDER BY id"
        )
        changes: list[Change] = []
        for added, pruned, *row in self._rows(query, [self.machine] * 4):
            if added:
                changes.append(Change(kind="added", entry=_entry(row)))
            if pruned:
                changes.append(Change(kind="pruned", entry=_entry(row)))
        return changes

    def told(self, change: Change) -> None:
        """Note that a log holds a change; see the port."""
        column = "added_told" if change.kind == "added" else "pruned_told"
        self._do(f"UPDATE plimsoll.memories SET {column} = true WHERE id = %s", (change.entry.id,))

    def want(self, due: Due) -> None:
        """Ask for a session to be read, by this machine; see the port."""
        self._do(
            "INSERT INTO plimsoll.consolidations (session, repository, branch, machine, asked)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (session) DO UPDATE SET"
            " repository = excluded.repository, branch = excluded.branch, machine = excluded.machine,"
            " asked = excluded.asked, attempts = 0",
            (due.session, _storable(due.repository), _storable(due.branch), self.machine, due.asked),
        )

    def due(self) -> list[Due]:
        """Sessions to be read by this machine; see the port."""
        query = (
            "SELECT session, repository, branch, asked, attempts FROM plimsoll.consolidations"
            " WHERE asked > 0 AND machine = %s ORDER BY asked, session"
        )
        return [
            Due(session=row[0], repository=row[1], branch=row[2], asked=row[3], attempts=row[4])
            for row in self._rows(query, (self.machine,))
        ]

    def begun(self, session: str) -> None:
        """Count an attempt at a session; see the port."""
        self._do("UPDATE plimsoll.consolidations SET attempts = attempts + 1 WHERE session = %s", (session,))

    def read_until(self, session: str) -> int:
        """Log number up to which a session has been read; see the port."""
        rows = self._rows("SELECT read_until FROM plimsoll.consolidations WHERE session = %s", (session,))
        return int(rows[0][0]) if rows else 0

    def done(self, session: str, until: int, *, asked: float | None = None) -> None:
        """Note that a session has been read; see the port."""
        self._do(
            "INSERT INTO plimsoll.consolidations AS kept"
            " (session, repository, branch, machine, asked, read_until) VALUES (%s, '', '', %s, 0, %s)"
            " ON CONFLICT (session) DO UPDATE SET"
            " read_until = GREATEST(kept.read_until, excluded.read_until), attempts = 0,"
            " asked = CASE WHEN %s::float8 IS NULL OR kept.asked = %s::float8 THEN 0 ELSE kept.asked END",
            (session, self.machine, until, asked, asked),
        )

    def _do(self, query: str, values: Sequence[object]) -> None:
        self.line.ask(lambda db: db.execute(query.encode(), values))

    def _rows(self, query: str, values: Sequence[object]) -> list[Sequence[Any]]:
        return self.line.ask(lambda db: list[Sequence[Any]](db.execute(query.encode(), values).fetchall()))


def _storable(text: str) -> str:
    """What the server can hold: a folder's or branch's name may have half characters and NULs."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _entry(row: Sequence[Any]) -> Entry:
    """The columns stand in the order of the fields."""
    return Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True)))
