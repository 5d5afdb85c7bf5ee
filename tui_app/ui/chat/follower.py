"""Read-only view of a session that another window writes."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import field, replace
from time import monotonic

from tui_app.events import ToolResult
from tui_app.records import frozen
from tui_app.session.background import HAND_OVER, send, wait_until
from tui_app.session.event_heads import Head
from tui_app.session.lock import holder, holder_process
from tui_app.session.measurement import Known
from tui_app.session.model_state import known_of
from tui_app.session.stores.database import follow, open_store
from tui_app.session.stores.store import SessionInfo, SessionNotFound, SessionStore
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import SessionServer
from tui_app.tool_specs import TODO
from tui_app.ui.chat.log_reader import with_window
from tui_app.ui.chat.presenter import Presenter
from tui_app.ui.chat.state import saying
from tui_app.ui.launch import Launch
from tui_app.ui.panels.todo import read_todos

DELETED = "This session was deleted in another window. Only what you see here is left."

_SLICE_S = 0.25
"""Seconds after which the thread checks whether it should stop."""

_WRITER_S = 1.0
"""Seconds between two checks of who writes: a killed process cannot report its end."""

_log = logging.getLogger(__name__)


@frozen
class News:
    """Changes of a session since the last read."""

    heads: Sequence[Head] = ()
    info: SessionInfo | None = None
    """None if only the writer has changed."""
    known: Known = field(default_factory=Known)
    """Model and policy information from the log."""
    trouble: str = ""
    """Why nothing more can be shown for now."""
    todos: str | None = None
    """The current todo list; None if it is unchanged."""


WRITTEN_ELSEWHERE = "This session is open in {}, so it is read-only here. /fork continues in a copy."

HANDED_OVER = "This session runs in the background and comes here after its present step."

FREE = "This session is no longer in use elsewhere. You can continue here."

ARRIVED = "This session was running in the background and continues here."

TAKEN_OVER = "The other window has closed this session. You can continue here."

_MOST_RESULTS = 50
"""Number of the newest tool results searched for a todo list."""


def todos_in(store: SessionStore, session: str, heads: Sequence[Head]) -> str | None:
    """Return the newest todo list among some events; None if there is none."""
    results = [head.seq for head in heads if head.type == ToolResult.TYPE and head.state == "success"]
    for seq in reversed(results[-_MOST_RESULTS:]):
        record = store.record(session, seq)
        if record is not None and isinstance(record.data, ToolResult) and record.data.name == TODO.name:
            return record.data.text
    return None


class ReadOnlyFollower:
    """Shows another window's session until it is closed there and something is requested here.

    A thread reads new events and passes them to the screen's event loop.

    Args:
        launch: Launch options.
        session: Complete id of the session.
        presenter: Shows it.
        writer: Description of the process that writes it.
    """

    def __init__(self, launch: Launch, session: str, presenter: Presenter, writer: str) -> None:
        self._launch, self._session, self._presenter, self._writer = launch, session, presenter, writer
        folder = SessionFolder.named(launch.paths.sessions_dir, session)
        self._lock_file, self._background = folder.lock_file, folder.background_lock
        self.arrives = send(self._background, HAND_OVER)
        """Whether it runs in the background and was asked to hand over to this window."""
        self.why = HANDED_OVER if self.arrives else WRITTEN_ELSEWHERE.format(writer)
        """Why nothing can be sent."""
        self._last = presenter.last
        """Log number of the newest event that was read."""
        self._over = threading.Event()
        self._thread: asyncio.Task[None] | None = None

    @property
    def refusal(self) -> str:
        """Why nothing can be sent now, naming the writer; empty once no process writes the session."""
        # For a server, the writer is the one reported at the last check.
        far = isinstance(self._launch.database, SessionServer)
        who = self._writer if far else holder(self._lock_file)
        if not who:
            return ""
        return HANDED_OVER if self.arrives else WRITTEN_ELSEWHERE.format(who)

    def start(self) -> None:
        loop = asyncio.get_running_loop()

        def tell(news: News) -> None:
            if not self._over.is_set() and not loop.is_closed():
                loop.call_soon_threadsafe(self._show, news)

        self._thread = asyncio.create_task(asyncio.to_thread(self._watch, tell), name="following")

    async def arrival(self) -> bool:
        """Wait until the background process has released the session; False if the follower was stopped."""
        await asyncio.to_thread(
            wait_until, lambda: self._over.is_set() or not holder_process(self._background)
        )
        return not self._over.is_set()

    async def stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            await asyncio.wait([self._thread])

    def look_again(self) -> None:
        """Report when the session is released, or when another process has taken it."""
        why, free = self.refusal, self._presenter.state.lasting_status.text == FREE
        if bool(self._presenter.state.locked) is not bool(why):
            self._presenter.update(replace(self._presenter.state, locked="elsewhere" if why else ""))
        if why and free:
            self._say(why)
        elif not why and not free:
            self._say(FREE)

    def _show(self, news: News) -> None:
        self._presenter.catch_up(news.heads)
        if news.todos is not None:
            todos = read_todos(news.todos)
            self._presenter.update(replace(self._presenter.state, todos=todos))
        if news.info is not None:
            self._presenter.remeasure(news.info, news.known)
        if news.trouble:
            self._say(news.trouble)
        else:
            self.look_again()

    def _say(self, text: str) -> None:
        self._presenter.update(saying(self._presenter.state, text))

    def _watch(self, tell: Callable[[News], None]) -> None:
        while not self._over.is_set():
            try:
                self._follow(tell)
            except SessionNotFound:
                tell(News(trouble=DELETED))
                return
            except (sqlite3.Error, OSError) as error:
                _log.warning("Following %s was interrupted: %s", self._session, error)
                tell(News(trouble=str(error)))
                self._over.wait(_WRITER_S)

    def _follow(self, tell: Callable[[News], None]) -> None:
        database = self._launch.database
        with (
            closing(follow(database, self._session, self._lock_file)) as follower,
            closing(open_store(database, read_only=True)) as store,
        ):
            looked, fresh = float("-inf"), True
            while not self._over.is_set():
                if fresh:
                    heads = list(store.heads(self._session, self._last))
                    info = store.info(self._session)
                    self._last = heads[-1].seq if heads else self._last
                    window = with_window(self._launch, info, known_of(store, self._session))
                    tell(News(heads, info, window, todos=todos_in(store, self._session, heads)))
                if fresh or monotonic() - looked > _WRITER_S:
                    looked, before, self._writer = monotonic(), self._writer, follower.holder()
                    if self._writer != before:
                        tell(News())
                fresh = follower.wait(_SLICE_S)
