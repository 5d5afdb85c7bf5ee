"""A session that another window writes, shown as it grows."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from tui_app.session.event_heads import Head
from tui_app.session.location import Database, Server
from tui_app.session.lock import holder
from tui_app.session.model_state import Known, known_of
from tui_app.session.port import SessionInfo, SessionNotFound
from tui_app.session.stores import follow, open_store

if TYPE_CHECKING:
    from tui_app.session.port import Follower, SessionStore

DELETED = "This session was deleted in another window. What is shown is all that is left of it."
_SLICE_S = 0.25
"""Seconds after which the thread looks whether it is still wanted."""
_WRITER_S = 1.0
"""Seconds between two looks at who writes: one that was killed cannot tell."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """What has happened to a session since the last time."""

    heads: Sequence[Head] = ()
    info: SessionInfo | None = None
    """None where nothing but the writer has changed."""
    known: Known = field(default_factory=Known)
    """What the log knows of its model and policy."""
    trouble: str = ""
    """Why no more can be shown for now."""


class Following:
    """Reads a session's news in a thread and gives them to the screen's loop.

    Args:
        database: Where the session is.
        session: Whole id of it.
        lock_file: Its lock, where the database is a file.
        last: Log number of the newest event shown.
        writer: Who writes it, in words.
        fill: Adds to what the log knows of the model what is known of it otherwise.
    """

    def __init__(
        self,
        database: Database,
        session: str,
        lock_file: Path,
        *,
        last: int,
        writer: str,
        fill: Callable[[SessionInfo, Known], Known],
    ) -> None:
        self._fill = fill
        self._database, self._session, self._lock_file = database, session, lock_file
        self._last, self._writer = last, writer
        self._over = threading.Event()
        self._thread: asyncio.Task[None] | None = None

    @property
    def writer(self) -> str:
        """Who writes the session, in words; empty when nobody does. Of a server what it said a moment ago."""
        return self._writer if isinstance(self._database, Server) else holder(self._lock_file)

    def start(self, tell: Callable[[News], None]) -> None:
        """Begin; ``tell`` is called on the loop that calls this."""
        loop = asyncio.get_running_loop()

        def hand_over(news: News) -> None:
            if not self._over.is_set() and not loop.is_closed():
                loop.call_soon_threadsafe(tell, news)

        self._thread = asyncio.create_task(asyncio.to_thread(self._watch, hand_over), name="following")

    async def stop(self) -> None:
        """End; nothing is told any more."""
        self._over.set()
        if self._thread is not None:
            await asyncio.wait([self._thread])

    def _watch(self, tell: Callable[[News], None]) -> None:
        while not self._over.is_set():
            try:
                self._attend(tell)
            except SessionNotFound:
                tell(News(trouble=DELETED))
                return
            except (sqlite3.Error, OSError) as error:
                _log.warning("Following %s was interrupted: %s", self._session, error)
                tell(News(trouble=str(error)))
                self._over.wait(_WRITER_S)

    def _attend(self, tell: Callable[[News], None]) -> None:
        """Follow until nobody wants it any more, or something goes wrong."""
        follower = follow(self._database, self._session, self._lock_file)
        try:
            store = open_store(self._database, read_only=True)
            try:
                self._loop(follower, store, tell)
            finally:
                store.close()
        finally:
            follower.close()

    def _loop(self, follower: "Follower", store: "SessionStore", tell: Callable[[News], None]) -> None:
        looked, fresh = float("-inf"), True
        while not self._over.is_set():
            if fresh:
                tell(self._read(store))
            if fresh or monotonic() - looked > _WRITER_S:
                looked, before, self._writer = monotonic(), self._writer, follower.holder()
                if self._writer != before:
                    tell(News())
            fresh = follower.wait(_SLICE_S)

    def _read(self, store: "SessionStore") -> News:
        heads = list(store.heads(self._session, self._last))
        info = store.info(self._session)
        news = News(heads, info, self._fill(info, known_of(store, self._session)))
        self._last = heads[-1].seq if heads else self._last
        return news
