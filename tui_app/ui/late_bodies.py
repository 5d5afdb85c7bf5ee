"""Full texts of a session's rows, from a log that may not exist yet when the first frame is painted."""

import asyncio
import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_app.session.entries import Body, Entry

if TYPE_CHECKING:
    from tui_app.context.events import Record
    from tui_app.session.places import Database
    from tui_app.session.ports import SessionStore
    from tui_app.session.preview import StoreBodies

LONG_CHARS = 200_000
"""Longer texts are read in a thread: reading one takes a millisecond and more."""
_KEPT = 4
"""Long texts that are kept once they are read."""


class LateBodies:
    """Texts of a session; the log is loaded with the first one that is wanted, behind the first frame."""

    def __init__(self) -> None:
        self._source: StoreBodies | None = None
        self._store: SessionStore | None = None
        self._place: tuple[Database, str] | None = None
        self._long: OrderedDict[Entry, Body] = OrderedDict()
        self._reading: dict[Entry, asyncio.Task[None]] = {}
        self._tell: Callable[[Entry], None] = _nobody

    def attach(self, database: "Database", session: str) -> None:
        """Read from a session's log from now on."""
        from tui_app.session.places import open_store
        from tui_app.session.preview import StoreBodies

        self._let_go()
        self._store = open_store(database, read_only=True)
        self._source, self._place = StoreBodies(self._store, session), (database, session)

    def announce(self, tell: Callable[[Entry], None]) -> None:
        """Name who is told when a long text that :meth:`preview` had to promise has been read."""
        self._tell = tell

    def body(self, entry: Entry) -> Body:
        """The full content of a row."""
        return self._source.body(entry) if self._source is not None else Body(text=entry.title)

    def preview(self, entry: Entry) -> Body:
        """The content of a row; of a long one the promise that it is being read, until it has been."""
        if entry.chars <= LONG_CHARS or self._place is None:
            return self.body(entry)
        if entry in self._long:
            return self._long[entry]
        if entry not in self._reading:
            self._reading[entry] = asyncio.create_task(self._read(*self._place, entry), name="reading")
        return Body(text=f"(reading {entry.chars:,} characters …)")

    async def _read(self, database: "Database", session: str, entry: Entry) -> None:
        self._long[entry] = await asyncio.to_thread(_read_body, database, session, entry)
        while len(self._long) > _KEPT:
            self._long.popitem(last=False)
        del self._reading[entry]
        self._tell(entry)

    def shed(self) -> None:
        """Let go of the long texts that were read; those on screen are read again when they are painted."""
        self._long.clear()

    def record(self, session: str, seq: int) -> "Record | None":
        """One whole event of the log."""
        return self._store.record(session, seq) if self._store is not None else None

    def close(self) -> None:
        """Close the log."""
        for task in self._reading.values():
            task.cancel()
        self._reading.clear()
        self._long.clear()
        self._let_go()

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = self._source = self._place = None


def _nobody(_entry: Entry) -> None:
    """Nobody is told."""


def _read_body(database: "Database", session: str, entry: Entry) -> Body:
    """Read a text with a connection of this thread's own."""
    from tui_app.session.places import open_store
    from tui_app.session.preview import StoreBodies

    try:
        store = open_store(database, read_only=True)
        try:
            return StoreBodies(store, session).body(entry)
        finally:
            store.close()
    except sqlite3.Error as error:
        return Body(text=f"This text cannot be read: {error}.")
