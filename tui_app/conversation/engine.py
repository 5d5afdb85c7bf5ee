"""The engine: a conversation on its own thread, so that the screen never waits for it.

Loading the agent side takes seconds, and with a long history single steps take tens of milliseconds. Both
happen here, on an event loop in a second thread. The screen calls it and receives records.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.threads import DaemonThreads
from tui_app.conversation.turns.work_queue import WorkQueue
from tui_app.events import AssistantDelta, Notice, Record
from tui_app.session.lock import SessionLocked

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession

T = TypeVar("T")
GATHER_S = 1 / 40
"""Seconds for which streamed text is gathered: one frame of the transcript."""
_log = logging.getLogger(__name__)


class EngineStopped(Exception):
    """The session was closed before a call could run."""


class Inbox:
    """Passes records from the engine's thread to the event loop that creates it; one wake-up per batch."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._records: list[Record] = []
        self._arrived = asyncio.Event()
        self._woken = False

    def put(self, record: Record) -> None:
        """Add a record. Called on the engine's thread."""
        with self._lock:
            self._records.append(record)
            wake, self._woken = not self._woken, True
        if wake and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def take(self) -> list[Record]:
        """Wait for records and return all of them; streamed text is gathered briefly first."""
        await self._arrived.wait()
        if isinstance(self._records[0].data, AssistantDelta):
            await asyncio.sleep(GATHER_S)
        with self._lock:
            batch, self._records, self._woken = self._records, [], False
        self._arrived.clear()
        return batch


class Engine:
    """One session, open on its own thread. Call all methods from one other thread, such as the screen's.

    Args:
        opening: Which session, with which settings.
        deliver: Called on the engine's thread with every record; must return at once.
    """

    def __init__(self, opening: Opening, deliver: Callable[[Record], None]) -> None:
        self.queue = WorkQueue()
        """The queued work. It belongs to the caller's thread until the session begins."""
        self.opened: OpenSession | None = None
        self._opening, self._deliver = opening, deliver
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(DaemonThreads())
        self._found: Future[OpenSession] = _promise()
        self._locked = False
        """Whether another process has the session open for writing."""
        self._wanted = asyncio.Event()
        self._session: OpenSession | None = None
        self._living: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._closing = threading.Lock()
        self._over = False
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plimsoll-engine", daemon=True)

    async def open(self) -> "OpenSession":
        """Load and open the session. Queued work starts with ``begin``.

        Raises:
            SessionLocked: if another process has it open for writing. Call this again once :meth:`wanted`
                returns.
            Exception: why the session could not be opened.
        """
        with self._closing:
            if self._over:
                raise EngineStopped
            if self._thread.ident is None:
                self._thread.start()
            opening = asyncio.run_coroutine_threadsafe(self._serve(self._open), self._loop)
        try:
            opened: OpenSession = await asyncio.wrap_future(opening)
        except Exception as error:
            self._locked = isinstance(error, SessionLocked)
            self._wanted.clear()
            if not self._found.done():
                self._found.set_exception(error)
            raise
        self.opened = opened
        if not self._found.done():
            self._found.set_result(opened)
        return opened

    def begin(self) -> None:
        """Hand the queue over to the open session, which starts on it."""
        self.call(self._begin)

    async def wait_for_request(self) -> None:
        """Wait until a call is made although another process has the session open."""
        await self._wanted.wait()

    async def session(self) -> "OpenSession":
        """Wait for the open session. If another process had it open, try to open it again.

        Raises:
            Exception: why it could not be opened.
            EngineStopped: if the engine was stopped first.
        """
        self._open_again()
        return await asyncio.wrap_future(self._found)

    @overload
    def call(self, function: Callable[..., Awaitable[T]], *args: Any) -> Future[T]: ...

    @overload
    def call(self, function: Callable[..., T], *args: Any) -> Future[T]: ...

    def call(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Run a function or coroutine function of the open session on the engine's loop.

        Until the session is open, only functions of the queue can be called, and they run at once on the
        caller's thread. If another process had the session open, this tries to open it again.

        Returns:
            A future for the result. It fails with :class:`EngineStopped` if the session closes first.
            Exceptions of plain functions are logged too, as most callers never look at the future.
        """
        if self.opened is None:
            self._open_again()
            done = _promise()
            done.set_result(function(*args))
            return done
        with self._closing:
            if not self._over:
                return asyncio.run_coroutine_threadsafe(self._serve(function, *args), self._loop)
        refused = _promise()
        refused.set_exception(EngineStopped())
        return refused

    async def stop(self, timeout_s: float = 3.0) -> None:
        """Close the session and end the thread.

        Args:
            timeout_s: Seconds to wait. The thread and those it starts are daemons, so they cannot keep the
                process alive.
        """
        self._unwanted.set()
        if not self._found.done():
            self._found.set_exception(EngineStopped())
        if self._thread.ident is None:
            self._over = True
            self._loop.close()
            return
        with self._closing:
            if not self._over:
                self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join, timeout_s)

    def _open_again(self) -> None:
        if self._locked:
            self._locked, self._found = False, _promise()
            self._wanted.set()

    async def _serve(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            outcome = function(*args)
        except Exception:
            _log.exception("a call of the session failed")
            raise
        try:
            return await outcome if isawaitable(outcome) else outcome
        except asyncio.CancelledError:
            if self._stopping.is_set():
                raise EngineStopped from None
            raise

    async def _open(self) -> "OpenSession":
        from tui_app.conversation.assembly import open_session

        # Loading cannot be interrupted. If the engine was stopped meanwhile, skip the rest.
        if self._unwanted.is_set():
            raise EngineStopped
        self._session = open_session(self._opening, self.queue)
        self._session.bus.listen(self._deliver)
        return self._session

    def _begin(self) -> None:
        if (opened := self._session) is not None:
            self.queue.report = opened.conversation.history.append
            self._living = asyncio.create_task(opened.live())
            self._living.add_done_callback(self._report_defect)
            if self.queue.labels:
                opened.conversation.resume_queue()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except Exception:  # the session did not close cleanly; its log is complete all the same
            _log.exception("closing the session failed")
        finally:
            with self._closing:
                self._over = True
            self._loop.run_until_complete(self._refuse_waiting())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            # Async generators may have started tasks while they closed.
            self._loop.run_until_complete(self._refuse_waiting())
            self._loop.close()

    async def _live(self) -> None:
        await self._stopping.wait()
        if self._living is not None:
            self._living.cancel()
            await asyncio.gather(self._living, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def _report_defect(self, living: "asyncio.Task[None]") -> None:
        """Nothing awaits this task. A prompt prepares again what it needs."""
        if not living.cancelled() and (error := living.exception()) is not None:
            _log.error("preparing the session failed", exc_info=error)
            session = self._session.conversation.session if self._session is not None else ""
            text = f"The session is open, but not all of it could be prepared: {type(error).__name__}."
            notice = Notice(text=f"{text} See plimsoll.log for details.")
            self._deliver(Record(seq=0, time=time.time(), session=session, data=notice))

    async def _refuse_waiting(self) -> None:
        """Cancel late calls and all other tasks, with those they start while they end."""
        while late := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def _promise() -> Future[Any]:
    """A future that one waiting caller cannot cancel for the others."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
