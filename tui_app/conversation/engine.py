"""The conversation on a thread of its own, so that no screen ever waits for it.

Loading the agent side takes seconds, and a long history makes single steps take tens of milliseconds. Both
happen here, on an event loop in a second thread; the screen sends requests and receives records.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tui_app.conversation.open_request import Opening
from tui_app.conversation.threads import DaemonThreads
from tui_app.events import Notice, Record

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession

T = TypeVar("T")
_log = logging.getLogger(__name__)


class EngineStopped(Exception):
    """The session was closed before a request could be served."""


class Engine:
    """Opens one session and serves requests to it until stopped.

    Args:
        opening: Which session, with what settings.
        deliver: Called on the engine's thread with every record; must return at once.
    """

    def __init__(self, opening: Opening, deliver: Callable[[Record], None]) -> None:
        self._opening = opening
        self._deliver = deliver
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(DaemonThreads())
        self._opened: Future[OpenSession] = Future()
        # Nobody who waits for the session may cancel it for the others.
        self._opened.set_running_or_notify_cancel()
        self._stopping = asyncio.Event()
        self._closing = threading.Lock()
        self._over = False
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plimsoll-engine", daemon=True)

    def start(self) -> "Future[OpenSession]":
        """Begin loading; the future holds the open session or why it could not be opened."""
        self._thread.start()
        return self._opened

    def ask(self, request: "Callable[[OpenSession], Awaitable[T]]") -> "Future[T]":
        """Run a coroutine with the open session on the engine's loop, once it is open.

        Args:
            request: Called with the open session.

        Returns:
            A future for the outcome; it fails with what opening the session failed with, and with
            :class:`EngineStopped` when the session is closed first.
        """

        async def serve() -> T:
            try:
                return await request(await asyncio.shield(asyncio.wrap_future(self._opened)))
            except asyncio.CancelledError:
                if self._stopping.is_set():
                    raise EngineStopped from None
                raise

        with self._closing:
            if not self._over:
                return asyncio.run_coroutine_threadsafe(serve(), self._loop)
        refused: Future[T] = Future()
        refused.set_exception(EngineStopped())
        return refused

    def tell(self, request: "Callable[[OpenSession], object]") -> None:
        """Run a function with the open session on the engine's loop; nothing is sent back.

        What it raises is written to the program's log.
        """

        async def serve(opened: "OpenSession") -> None:
            try:
                request(opened)
            except Exception:  # nobody waits for the outcome, and the next request must still be served
                _log.exception("a request to the session failed")

        self.ask(serve).add_done_callback(_seen)

    async def stop(self, timeout_s: float = 3.0) -> None:
        """Close the session and end the thread.

        Args:
            timeout_s: Seconds to wait; the thread and those it starts are daemons and cannot keep the
                process alive.
        """
        self._unwanted.set()
        if self._thread.ident is None:
            self._over = True
            self._loop.close()
            return
        with self._closing:
            if not self._over:
                self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join, timeout_s)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except Exception:  # the session could not be closed in order; its log holds everything anyway
            _log.exception("closing the session failed")
        finally:
            with self._closing:
                self._over = True
            self._loop.run_until_complete(self._refuse_waiting())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            # Generators that were left behind may have started tasks while they ended.
            self._loop.run_until_complete(self._refuse_waiting())
            self._loop.close()

    async def _live(self) -> None:
        """The whole life of the session on this thread."""
        try:
            from tui_app.conversation.assembly import open_session

            # Loading cannot be interrupted; whoever left meanwhile does not wait for what would follow.
            opened = None if self._unwanted.is_set() else open_session(self._opening)
        except Exception as error:  # whatever it is, the screen must be told, not the thread
            self._opened.set_exception(error)
            await self._stopping.wait()
            return
        if opened is None:
            self._opened.set_exception(EngineStopped())
            return
        subscription = opened.conversation.watch()
        forwarding = asyncio.create_task(self._forward(aiter(subscription)))
        preparing = asyncio.create_task(opened.live())
        preparing.add_done_callback(partial(self._tell_defect, opened.conversation.session))
        self._opened.set_result(opened)
        await self._stopping.wait()
        preparing.cancel()
        await asyncio.gather(preparing, return_exceptions=True)
        await opened.close()
        await forwarding

    def _tell_defect(self, session: str, preparing: "asyncio.Task[None]") -> None:
        """Nobody waits for the preparing: a prompt does again what it needs of it."""
        if not preparing.cancelled() and (error := preparing.exception()) is not None:
            _log.error("preparing the session failed", exc_info=error)
            text = f"The session is open, but not all of it could be prepared: {type(error).__name__}."
            told = Notice(text=f"{text} The log file tells more.")
            self._deliver(Record(seq=0, time=time.time(), session=session, data=told))

    async def _forward(self, records: AsyncIterator[Record]) -> None:
        async for record in records:
            self._deliver(record)

    async def _refuse_waiting(self) -> None:
        """End requests that came too late, and what else still runs, with what that starts while it ends."""
        while late := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def _seen(done: "Future[None]") -> None:
    """Whoever opened the session hears why it failed, and a stopped engine serves nobody: no more to say."""
    if not done.cancelled():
        error = done.exception()
        if error is not None and not isinstance(error, EngineStopped | CancelledError):
            _log.debug("a request was not served: %s", error)
