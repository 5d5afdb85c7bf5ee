"""Clean termination of commands by signals."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
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
    """Call ``stop`` with each signal's number. If a loop supports no handlers, ctrl+c still raises."""
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


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Remember that ``ctrl+c`` was pressed.

    Python raises ``KeyboardInterrupt`` at whatever point it has reached. In a library's callback that must
    not raise, the exception is discarded, and the work would continue to its end.

    Yields:
        A function that raises ``KeyboardInterrupt`` again; the work calls it between its steps.
    """
    pressed = threading.Event()

    def hear(_number: int, _frame: FrameType | None) -> None:
        pressed.set()
        raise KeyboardInterrupt

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
