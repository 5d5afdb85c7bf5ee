"""``ctrl+c`` while long work runs: heard also where a library has swallowed it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Remember that somebody pressed ``ctrl+c``.

    Python raises ``KeyboardInterrupt`` wherever it is just then. In a callback of a library that nobody may
    raise from, it is written off, and the work would go on to its end.

    Yields:
        What raises ``KeyboardInterrupt`` once more; the work calls it between its steps.
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
