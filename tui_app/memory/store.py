"""The port behind which boards are kept."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tui_app.memory.entries import Change, Draft, Due, Entry, Maker
from tui_app.memory.scope import Scope, scope_of


class BoardStore(Protocol):
    """Keeps entries and what is still to be read. Every call is whole on disk when it returns, or not at all.

    May be called from any thread. What goes wrong with the database is a ``sqlite3.Error``. Where machines
    share the store, what is not told yet and what is to be read is always that of this machine.
    """

    def scope(self, folder: Path) -> Scope:
        """Whose board a folder's is, by the name that the repository has here."""
        ...

    def entries(self, scope: Scope | None) -> list[Entry]:
        """All entries a scope sees, pruned ones too, oldest first; those of every scope for None."""
        ...

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
        """Put an entry on a board, and take off those it replaces, at once."""
        ...

    def prune(self, entry: int, by: Maker, reason: str, time: float) -> Entry | None:
        """Mark an entry as taken off; None where there is none of that id that stands."""
        ...

    def untold(self) -> list[Change]:
        """Changes that are in no session's log yet, in order."""
        ...

    def told(self, change: Change) -> None:
        """Note that a log holds a change, or that there is no log for it."""
        ...

    def want(self, due: Due) -> None:
        """Ask for a session to be read; asking again only names its branch anew."""
        ...

    def due(self) -> list[Due]:
        """Sessions to be read, the one asked for first in front."""
        ...

    def begun(self, session: str) -> None:
        """Count an attempt at a session, before it is made."""
        ...

    def read_until(self, session: str) -> int:
        """Log number up to which a session has been read; 0 for not at all."""
        ...

    def done(self, session: str, until: int, *, asked: float | None = None) -> None:
        """Note that a session has been read up to a log number.

        Args:
            session: Which session.
            until: Log number of the last message that was read.
            asked: Leave it due where it was asked for again since then; None is not to look.
        """
        ...


# Boards in the sessions file, whose migrations make the tables that are used here.

_COLUMNS = (
    "id, repository, branch, text, kind, made_by, session, seq, time, weight, pruned, pruned_by, reason, "
    "replaced_by"
)


@dataclass(frozen=True, slots=True)
class SqliteBoardStore:
    """Opens the file for each call, so that any thread may make one.

    Args:
        connect: Opens the sessions file, with the tables in it; statements are committed one by one.
    """

    connect: Callable[[], sqlite3.Connection]

    def scope(self, folder: Path) -> Scope:
        """A repository goes by its folder; see the port."""
        return scope_of(folder)

    def entries(self, scope: Scope | None) -> list[Entry]:
        """All entries a scope sees; see the port."""
        query, values = f"SELECT {_COLUMNS} FROM memories", []
        if scope is not None:
            marks = ", ".join("?" * len(scope.branches))
            query += f" WHERE repository = ? AND branch IN ('', {marks})"
            values = [scope.repository, *scope.branches]
        with closing(self.connect()) as db:
            return [_entry(row) for row in db.execute(f"{query} ORDER BY id", values)]

    def add(self, draft: Draft, repository: str, branch: str, replaces: Sequence[int], time: float) -> Entry:
        """Put an entry on a board; see the port."""
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
            return _one(db, new)

    def prune(self, entry: int, by: Maker, reason: str, time: float) -> Entry | None:
        """Mark an entry as taken off; see the port."""
        with self._transaction() as db:
            cursor = db.execute(
                "UPDATE memories SET pruned = ?, pruned_by = ?, reason = ? WHERE id = ? AND pruned = 0",
                (time, by, reason, entry),
            )
            return _one(db, entry) if cursor.rowcount else None

    def untold(self) -> list[Change]:
        """Changes that are in no session's log yet; see the port."""
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
        """Note that a log holds a change; see the port."""
        column = "added_told" if change.kind == "added" else "pruned_told"
        with closing(self.connect()) as db:
            db.execute(f"UPDATE memories SET {column} = 1 WHERE id = ?", (change.entry.id,))

    def want(self, due: Due) -> None:
        """Ask for a session to be read; see the port."""
        with closing(self.connect()) as db:
            db.execute(
                "INSERT INTO consolidations (session, repository, branch, asked) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (session) DO UPDATE SET repository = excluded.repository,"
                " branch = excluded.branch, asked = excluded.asked, attempts = 0",
                (due.session, due.repository, due.branch, due.asked),
            )

    def due(self) -> list[Due]:
        """Sessions to be read; see the port."""
        query = (
            "SELECT session, repository, branch, asked, attempts FROM consolidations"
            " WHERE asked > 0 ORDER BY asked, session"
        )
        with closing(self.connect()) as db:
            return [
                Due(session=row[0], repository=row[1], branch=row[2], asked=row[3], attempts=row[4])
                for row in db.execute(query)
            ]

    def begun(self, session: str) -> None:
        """Count an attempt at a session; see the port."""
        with closing(self.connect()) as db:
            db.execute("UPDATE consolidations SET attempts = attempts + 1 WHERE session = ?", (session,))

    def read_until(self, session: str) -> int:
        """Log number up to which a session has been read; see the port."""
        query = "SELECT read_until FROM consolidations WHERE session = ?"
        with closing(self.connect()) as db:
            row = db.execute(query, (session,)).fetchone()
        return int(row[0]) if row else 0

    def done(self, session: str, until: int, *, asked: float | None = None) -> None:
        """Note that a session has been read; see the port."""
        with closing(self.connect()) as db:
            db.execute(
                "INSERT INTO consolidations (session, repository, branch, asked, read_until)"
                " VALUES (?, '', '', 0, ?) ON CONFLICT (session) DO UPDATE SET"
                " read_until = MAX(read_until, excluded.read_until), attempts = 0,"
                " asked = CASE WHEN ? IS NULL OR asked = ? THEN 0 ELSE asked END",
                (session, until, asked, asked),
            )

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


def _one(db: sqlite3.Connection, entry: int) -> Entry:
    return _entry(db.execute(f"SELECT {_COLUMNS} FROM memories WHERE id = ?", (entry,)).fetchone())


def _entry(row: Sequence[Any]) -> Entry:
    """The columns stand in the order of the fields."""
    return Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True)))
