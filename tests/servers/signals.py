"""An event that threads and event loops share: a test waits for a state, never for a time."""

import asyncio
import threading


class Signal:
    """Set once, from any thread; awaited in any event loop, or waited for by a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def set(self) -> None:
        """Let everyone go on who waits now or later."""
        with self._lock:
            self._set.set()
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            # A loop that was closed meanwhile has nobody left who waits.
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._set.is_set()

    async def wait(self) -> None:
        """Wait in an event loop without blocking it."""
        event = asyncio.Event()
        with self._lock:
            if self._set.is_set():
                return
            waiter = (asyncio.get_running_loop(), event)
            self._waiters.append(waiter)
        try:
            await event.wait()
        finally:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def wait_in_thread(self, limit_s: float = 30.0) -> None:
        """Block the calling thread.

        Raises:
            TimeoutError: when it has not happened within the limit.
        """
        if not self._set.wait(limit_s):
            raise TimeoutError(f"not signalled within {limit_s:g} s")
