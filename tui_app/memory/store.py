"""Where boards are kept: in the sessions file, or on the server that keeps the sessions."""

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tui_app.memory.entries import Change, Draft, Due, Entry, Maker
from tui_app.memory.scope import Scope, scope_of, shared
from tui_app.records import frozen

if TYPE_CHECKING:
    # The driver belongs to an extra.
    from psycopg import Connection

T = TypeVar("T")
_COLUMNS = (
    "id, repository, branch, text, kind, made_by, session, seq, time, weight, pruned, pruned_by, reason, "
    "replaced_by"
)
"""In the order of the fields of ``Entry``."""
_DUE = "session, repository, branch, asked, attempts"
"""In the order of the fields of ``Due``."""


class BoardStore(Protocol):
    """Keeps entries and what is still to be read. Every call is whole on disk when it returns, or not at all.

    May be called from any thread. What goes wrong with the database is a ``sqlite3.Error``. Where machines
    share the store, what is not told yet and what is to be read is always that of this machine.
    """

    def scope(self, folder: Path) -> Scope:
        """Whose board a folder's is, by the name that the repository has here."""

    def entries(self, scope: Scope | None) -> list[Entry]:
        """All entries a scope sees, pruned ones too, oldest first; those of every scope for None."""

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
        """Put an entry on a board, and take off those it replaces, at once."""

    def prune(self, entry: int, by: Maker, reason: str, time: float) -> Entry | None:
        """Mark an entry as removed; None where no entry of that id is on a board."""

    def untold(self) -> list[Change]:
        """Changes that are in no session's log yet, in order."""

    def told(self, change: Change) -> None:
        """Note that a log holds a change, or that there is no log for it."""

    def want(self, due: Due) -> None:
        """Ask for a session to be read; asking again only names its branch anew."""

    def due(self) -> list[Due]:
        """Sessions to be read, the one asked for first in front."""

    def begun(self, session: str) -> None:
        """Count an attempt at a session, before it is made."""

    def read_until(self, session: str) -> int:
        """Log number up to which a session has been read; 0 for not at all."""

    def done(self, session: str, until: int, *, asked: float | None = None) -> None:
        """Note that a session has been read up to a log number.

        Args:
            session: Which session.
            until: Log number of the last message that was read.
            asked: Leave it due where it was asked for again since then; None is not to look.
        """


# Boards in the sessions file, whose migrations make the tables that are used here.


@frozen
class SqliteBoardStore:
    """Opens the file for each call, so that any thread may make one.

    Args:
        connect: Opens the sessions file, with the tables in it; statements are committed one by one.
    """

    connect: Callable[[], sqlite3.Connection]

    def scope(self, folder: Path) -> Scope:
        return scope_of(folder)

    def entries(self, scope: Scope | None) -> list[Entry]:
        query, values = f"SELECT {_COLUMNS} FROM memories", []
        if scope is not None:
            marks = ", ".join("?" * len(scope.branches))
            query += f" WHERE repository = ? AND branch IN ('', {marks})"
            values = [scope.repository, *scope.branches]
        with closing(self.connect()) as db:
            return [_entry(row) for row in db.execute(f"{query} ORDER BY id", values)]

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
        values = (
            repository, branch, draft.text, draft.kind, draft.made_by, draft.session, draft.seq, time,
            draft.weight,
        )  # fmt: skip
        with self._transaction() as db:
            cursor = db.execute(
                "INSERT INTO memories (repository, branch, text, kind, made_by, session, seq, time, weight)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            new = int(cursor.lastrowid or 0)
            db.executemany(
                "UPDATE memories SET pruned = ?, pruned_by = ?, reason = 'replaced', replaced_by = ?"
                " WHERE id = ? AND pruned = 0",
                [(time, draft.made_by, new, old) for old in replaces],
            )
            return self._one(db, new)

    def prune(self, entry: int, by: Maker, reason: str, time: float) -> Entry | None:
        with self._transaction() as db:
            cursor = db.execute(
                "UPDATE memories SET pruned = ?, pruned_by = ?, reason = ? WHERE id = ? AND pruned = 0",
                (time, by, reason, entry),
            )
            return self._one(db, entry) if cursor.rowcount else None

    def untold(self) -> list[Change]:
        query = (
            f"SELECT added_told, pruned_told, {_COLUMNS} FROM memories"
            " WHERE NOT added_told OR (pruned AND NOT pruned_told) ORDER BY id"
        )
        changes: list[Change] = []
        with closing(self.connect()) as db:
            for added, pruned, *row in db.execute(query):
                entry = _entry(row)
                if not added:
                    changes.append(Change(kind="added", entry=entry))
                if entry.pruned and not pruned:
                    changes.append(Change(kind="pruned", entry=entry))
        return changes

    def told(self, change: Change) -> None:
        column = "added_told" if change.kind == "added" else "pruned_told"
        with closing(self.connect()) as db:
            db.execute(f"UPDATE memories SET {column} = 1 WHERE id = ?", (change.entry.id,))

    def want(self, due: Due) -> None:
        with closing(self.connect()) as db:
            db.execute(
                "INSERT INTO consolidations (session, repository, branch, asked) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (session) DO UPDATE SET repository = excluded.repository,"
                " branch = excluded.branch, asked = excluded.asked, attempts = 0",
                (due.session, due.repository, due.branch, due.asked),
            )

    def due(self) -> list[Due]:
        query = f"SELECT {_DUE} FROM consolidations WHERE asked > 0 ORDER BY asked, session"
        with closing(self.connect()) as db:
            return [_due(row) for row in db.execute(query)]

    def begun(self, session: str) -> None:
        with closing(self.connect()) as db:
            db.execute("UPDATE consolidations SET attempts = attempts + 1 WHERE session = ?", (session,))

    def read_until(self, session: str) -> int:
        query = "SELECT read_until FROM consolidations WHERE session = ?"
        with closing(self.connect()) as db:
            row = db.execute(query, (session,)).fetchone()
        return int(row[0]) if row else 0

    def done(self, session: str, until: int, *, asked: float | None = None) -> None:
        with closing(self.connect()) as db:
            db.execute(
                "INSERT INTO consolidations (session, repository, branch, asked, read_until)"
                " VALUES (?, '', '', 0, ?) ON CONFLICT (session) DO UPDATE SET"
                " read_until = MAX(read_until, excluded.read_until), attempts = 0,"
                " asked = CASE WHEN ? IS NULL OR asked = ? THEN 0 ELSE asked END",
                (session, until, asked, asked),
            )

    @staticmethod
    def _one(db: sqlite3.Connection, entry: int) -> Entry:
        return _entry(db.execute(f"SELECT {_COLUMNS} FROM memories WHERE id = ?", (entry,)).fetchone())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(self.connect()) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise


# Boards on a server, whose schema makes the tables that are used here.


class Line(Protocol):
    """The way to the server."""

    def ask(self, work: "Callable[[Connection[Any]], T]") -> T:
        """Do something with a connection, from any thread; perhaps twice, where its answer was lost.

        Raises:
            sqlite3.Error: if the server does not do it.
        """


@frozen
class PostgresBoardStore:
    """Every change is one transaction, and doing it twice changes nothing more.

    Args:
        line: Leads to the database, with the tables in it.
        machine: Name of this machine: it tells and reads what came about here.
    """

    line: Line
    machine: str

    def scope(self, folder: Path) -> Scope:
        return shared(scope_of(folder), self.machine)

    def entries(self, scope: Scope | None) -> list[Entry]:
        query, values = f"SELECT {_COLUMNS} FROM plimsoll.memories", list[object]()
        if scope is not None:
            query += " WHERE repository = %s AND branch = ANY(%s)"
            values = [_storable(scope.repository), ["", *map(_storable, scope.branches)]]
        return [_entry(row) for row in self._rows(f"{query} ORDER BY id", values)]

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
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
        query = (
            "UPDATE plimsoll.memories SET pruned = %s, pruned_by = %s, reason = %s, pruned_on = %s"
            f" WHERE id = %s AND pruned = 0 RETURNING {_COLUMNS}"
        )
        rows = self._rows(query, (time, _storable(by), _storable(reason), self.machine, entry))
        return _entry(rows[0]) if rows else None

    def untold(self) -> list[Change]:
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
        column = "added_told" if change.kind == "added" else "pruned_told"
        self._do(f"UPDATE plimsoll.memories SET {column} = true WHERE id = %s", (change.entry.id,))

    def want(self, due: Due) -> None:
        self._do(
            "INSERT INTO plimsoll.consolidations (session, repository, branch, machine, asked)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (session) DO UPDATE SET"
            " repository = excluded.repository, branch = excluded.branch, machine = excluded.machine,"
            " asked = excluded.asked, attempts = 0",
            (due.session, _storable(due.repository), _storable(due.branch), self.machine, due.asked),
        )

    def due(self) -> list[Due]:
        query = (
            f"SELECT {_DUE} FROM plimsoll.consolidations"
            " WHERE asked > 0 AND machine = %s ORDER BY asked, session"
        )
        return [_due(row) for row in self._rows(query, (self.machine,))]

    def begun(self, session: str) -> None:
        self._do("UPDATE plimsoll.consolidations SET attempts = attempts + 1 WHERE session = %s", (session,))

    def read_until(self, session: str) -> int:
        rows = self._rows("SELECT read_until FROM plimsoll.consolidations WHERE session = %s", (session,))
        return int(rows[0][0]) if rows else 0

    def done(self, session: str, until: int, *, asked: float | None = None) -> None:
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
    return Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True)))


def _due(row: Sequence[Any]) -> Due:
    return Due(**dict(zip(Due.__dataclass_fields__, row, strict=True)))
