"""The port behind which boards are kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tui_app.memory.entries import Change, Draft, Due, Entry, Maker
from tui_app.memory.scope import Scope


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
