"""An event shared by threads and event loops, so that tests wait for a state and not for a time."""

import asyncio
import threading


class Signal:
    """An event that any thread can set, and that event loops can await and threads can block on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def set(self) -> None:
        """Set the event and wake everything that waits for it."""
        with self._lock:
            self._set.set()
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            # A loop that has been closed has no waiting tasks.
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def is_set(self) -> bool:
        return self._set.is_set()

    async def wait(self) -> None:
        """Wait without blocking the event loop."""
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
            TimeoutError: if the event is not set within the limit.
        """
        if not self._set.wait(limit_s):
            raise TimeoutError(f"not signalled within {limit_s:g} s")
