"""Full texts of a session's rows, from a log that may not exist yet when the first frame is painted."""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tui_app.session.views.entries import Body, Entry

if TYPE_CHECKING:
    from tui_app.events import Record
    from tui_app.session.preview import StoreBodies
    from tui_app.session.stores.database import Database
    from tui_app.session.stores.store import SessionStore
    from tui_app.ui.transcript.excerpts import Excerpt
    from tui_app.ui.transcript.search import Hit

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
LONG_CHARS = 200_000
"""Characters above which a text is read in a thread, because that takes a millisecond or more."""
_KEPT = 4
"""Number of long texts that are cached."""
_KEPT_CHARS = 4_000_000
"""Characters that are cached of texts from a server, long and short."""
_FRESH = 200
"""Number of recent events whose texts need not be read from a server."""


class LateBodies:
    """Texts of a session; the log is loaded with the first text needed, after the first frame."""

    def __init__(self) -> None:
        self._source: StoreBodies | None = None
        self._store: SessionStore | None = None
        self._place: tuple[Database, str] | None = None
        self._long: OrderedDict[Entry, Body] = OrderedDict()
        self._reading: dict[Entry, asyncio.Task[None]] = {}
        self.tell: Callable[[Entry], None] = lambda _entry: None
        """Called when a long text that :meth:`preview` announced has been read."""
        self._far = False
        """Whether the log is on a server: a frame must not wait for the network."""
        self.live: dict[int, str] = {}
        """The end of the output of the user's running shell commands, by log number of their rows."""
        self._turn = asyncio.Lock()
        self._fresh: OrderedDict[int, Record] = OrderedDict()

    async def attach(self, database: "Database", session: str) -> None:
        """Read from a session's log from now on.

        Raises:
            sqlite3.Error: If the log cannot be opened.
        """
        from tui_app.session.preview import StoreBodies
        from tui_app.session.stores.database import open_store
        from tui_app.settings.spec import SessionServer

        far, opened = isinstance(database, SessionServer), partial(open_store, database, read_only=True)
        store = await asyncio.to_thread(opened) if far else opened()
        self._let_go()
        self._store, self._far = store, far
        self._source, self._place = StoreBodies(store, session), (database, session)

    def body(self, entry: Entry) -> Body:
        """Return the full content of a row; fast if it was painted before, or if the log is a local file."""
        if entry.seq in self.live:
            return Body(text=self.live[entry.seq], args=entry.title)
        if entry in self._long:
            return self._long[entry]
        return self._source.body(entry) if self._source is not None else Body(text=entry.title)

    def preview(self, entry: Entry) -> Body:
        """Return the content of a row; for a long or remote one a placeholder until it has been read."""
        known = entry.seq in self.live or entry in self._long or entry.seq <= 0
        if known or self._place is None or (entry.chars <= LONG_CHARS and not self._far):
            return self.body(entry)
        if entry.seq in self._fresh and (not entry.result_seq or entry.result_seq in self._fresh):
            from tui_app.session.preview import StoreBodies

            return StoreBodies(_Fresh(self._fresh), "").body(entry)
        if entry not in self._reading:
            self._reading[entry] = asyncio.create_task(self._read(*self._place, entry), name="reading")
        return Body(text=f"(reading {entry.chars:,} characters …)")

    async def _read(self, database: "Database", session: str, entry: Entry) -> None:
        from tui_app.session import preview

        try:
            if self._far and self._source is not None:
                # One after the other, on the existing connection.
                async with self._turn:
                    self._long[entry] = await asyncio.to_thread(self._source.body, entry)
            else:
                self._long[entry] = await asyncio.to_thread(preview.read_body, database, session, entry)
        except Exception as error:  # nothing awaits this task: the placeholder would stay
            _LOG.exception("a text could not be read")
            self._long[entry] = preview.unreadable(error)
        finally:
            self._reading.pop(entry, None)
        while self._too_many:
            self._long.popitem(last=False)
        self.tell(entry)

    async def ready(self, entry: Entry) -> None:
        """Wait until the content of a long row can be painted."""
        self.preview(entry)
        if (reading := self._reading.get(entry)) is not None:
            await asyncio.wait([reading])

    async def search(self, entries: Sequence[Entry], pattern: re.Pattern[str]) -> "list[Hit]":
        """Return every match in some rows, searched in a thread."""
        from tui_app.ui.transcript.search import look_in

        return await self._from_log(lambda source: look_in(source, entries, pattern), [])

    async def excerpt(self, entry: Entry, hit: "Hit") -> "Excerpt | None":
        """Return the text around a hit, read in a thread."""
        from tui_app.ui.transcript.search import excerpt_of

        return await self._from_log(lambda source: excerpt_of(entry, source.body(entry), hit), None)

    async def read(self, entries: Sequence[Entry]) -> list[Body]:
        """Return the full content of some rows, read in a thread."""
        titles = [Body(text=entry.title) for entry in entries]
        return await self._from_log(lambda source: [source.body(entry) for entry in entries], titles)

    async def _from_log(self, read: "Callable[[StoreBodies], T]", otherwise: T) -> T:
        """Read in a thread with a separate connection, returning ``otherwise`` on errors."""
        import sqlite3

        from tui_app.session.preview import StoreBodies
        from tui_app.session.stores.database import open_store

        def look(database: "Database", session: str) -> T:
            try:
                with closing(open_store(database, read_only=True)) as store:
                    return read(StoreBodies(store, session))
            except sqlite3.Error:
                return otherwise

        return otherwise if self._place is None else await asyncio.to_thread(look, *self._place)

    @property
    def _too_many(self) -> bool:
        if not self._far:
            return len(self._long) > _KEPT
        return len(self._long) > 1 and sum(len(body.text) for body in self._long.values()) > _KEPT_CHARS

    def note(self, records: "Iterable[Record]") -> None:
        """Keep recent events for the rows about to be painted, if the log is remote."""
        if self._far:
            self._fresh.update((record.seq, record) for record in records if record.seq)
            while len(self._fresh) > _FRESH:
                self._fresh.popitem(last=False)

    def shed(self) -> None:
        """Drop the cached long texts; visible ones are read again when they are painted."""
        self._long.clear()
        self._fresh.clear()

    async def record(self, seq: int) -> "Record | None":
        """Return an event of the log, read in a thread; None if it does not exist or cannot be read."""
        return (await self.records([seq])).get(seq)

    async def records(self, seqs: Sequence[int]) -> "Mapping[int, Record]":
        """Return the readable events with some log numbers, read in a thread."""
        if self._source is None or not seqs:
            return {}
        if self._far:
            async with self._turn:
                return await asyncio.to_thread(self._source.records, seqs)
        return await self._from_log(lambda source: source.records(seqs), {})

    def close(self) -> None:
        for task in self._reading.values():
            task.cancel()
        self._reading.clear()
        self.shed()
        self._let_go()

    def _let_go(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = self._source = self._place = None


class _Fresh:
    """Recent events with the interface of a log.

    Args:
        records: The events.
    """

    path = None

    def __init__(self, records: "Mapping[int, Record]") -> None:
        self._records = records

    def record(self, _session: str, seq: int) -> "Record | None":
        return self._records.get(seq)
