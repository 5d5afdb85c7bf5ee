"""Asynchronous commands end cleanly on a signal: what is open is closed first."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

SIGNALS = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if (number := signal.Signals.__members__.get(name)) is not None
)


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its end, or cancel it on the first signal.

    Args:
        work: Returns an exit code; closes what it opened when it is cancelled.

    Returns:
        Its exit code, or 128 plus the number of the signal.
    """
    return asyncio.run(_guarded(work))


async def _guarded(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.create_task(work)
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    with _handlers(stop):
        try:
            code = await task
        except asyncio.CancelledError:
            if not received:
                raise
            code = 0
    return 128 + received[0] if received else code


@contextlib.contextmanager
def _handlers(stop: Callable[[int], None]) -> Iterator[None]:
    """Call ``stop`` with the number of each signal; where a loop takes none, ctrl+c still raises."""
    loop = asyncio.get_running_loop()
    try:
        for number in SIGNALS:
            # Windows has no handlers on a loop, and only the main thread may have any.
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, stop, number)
        yield
    finally:
        for number in SIGNALS:
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.remove_signal_handler(number)
