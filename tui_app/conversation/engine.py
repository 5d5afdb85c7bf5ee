"""The conversation on a thread of its own, so that no screen ever waits for it.

Loading the agent side takes seconds, and a long history makes single steps take tens of milliseconds. Both
happen here, on an event loop in a second thread; the screen sends requests and receives records.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from tui_app.context.events import Record
from tui_app.conversation.request import Opening

if TYPE_CHECKING:
    from tui_app.conversation.opening import OpenSession

T = TypeVar("T")


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
        self._opened: Future[OpenSession] = Future()
        self._stopping = asyncio.Event()
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
            A future for the outcome; it fails with what opening the session failed with.
        """

        async def serve() -> T:
            return await request(await asyncio.wrap_future(self._opened))

        return asyncio.run_coroutine_threadsafe(serve(), self._loop)

    def tell(self, request: "Callable[[OpenSession], object]") -> None:
        """Run a function with the open session on the engine's loop; nothing is sent back."""

        async def serve(opened: "OpenSession") -> None:
            request(opened)

        self.ask(serve)

    async def stop(self, timeout_s: float = 3.0) -> None:
        """Close the session and end the thread.

        Args:
            timeout_s: Seconds to wait; the thread is a daemon and cannot keep the process alive.
        """
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            await asyncio.to_thread(self._thread.join, timeout_s)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    async def _live(self) -> None:
        """The whole life of the session on this thread."""
        try:
            from tui_app.conversation.opening import open_session

            opened = open_session(self._opening)
        except Exception as error:  # noqa: BLE001 - whatever it is, the screen must be told, not the thread
            self._opened.set_exception(error)
            await self._stopping.wait()
            return
        subscription = opened.conversation.watch()
        forwarding = asyncio.create_task(self._forward(aiter(subscription)))
        preparing = asyncio.create_task(opened.prepare())
        self._opened.set_result(opened)
        await self._stopping.wait()
        preparing.cancel()
        await asyncio.gather(preparing, return_exceptions=True)
        await opened.close()
        await forwarding

    async def _forward(self, records: AsyncIterator[Record]) -> None:
        async for record in records:
            self._deliver(record)
