"""Terminal output from a thread, so that painting never waits for a slow or blocked line."""

import contextlib
import os
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

_MOST_PENDING = 4_096
"""Pending bytes above which another frame is too early: a fifth of a second at 20 kB/s."""
_PIECE = 1_024
"""Bytes per write."""
_STUCK_S = 1.0
"""Seconds without progress after which a terminal is not waited for any longer."""


class TerminalWriter:
    """Writes texts to the terminal, in order.

    Args:
        file: Descriptor of the terminal.
        caught_up: Called in the thread once all is written, after :meth:`put` has returned True.
    """

    def __init__(self, file: int, caught_up: Callable[[], object]) -> None:
        self._file, self._caught_up = file, caught_up
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._is_behind = self._ends = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="terminal-output", daemon=True)
        self._thread.start()

    def put(self, text: str) -> bool:
        """Queue a text for writing.

        Returns:
            Whether too much output queued before it is not written yet.
        """
        data = text.encode("utf-8", "replace")
        with self._changed:
            is_behind = self._bytes > _MOST_PENDING
            self._is_behind |= is_behind
            self._waiting.append(data)
            self._bytes += len(data)
            self._changed.notify_all()
        return is_behind

    def stop(self) -> bool:
        """Write what is queued and end; returns whether all of it was written."""
        with self._changed:
            self._ends, left = True, -1
            self._changed.notify_all()
            while self._bytes and self._bytes != left:
                left = self._bytes
                self._changed.wait_for(lambda: not self._bytes, _STUCK_S)
            return not self._bytes

    def _run(self) -> None:
        while data := self._next():
            written = 0
            while written < len(data):
                try:
                    count = os.write(self._file, data[written : written + _PIECE])
                except BlockingIOError:
                    continue
                except OSError:  # the terminal is gone
                    count = len(data) - written
                written += count
                with self._changed:
                    self._bytes -= count
                    caught_up = self._is_behind and not self._bytes
                    self._is_behind &= not caught_up
                    self._changed.notify_all()
                if caught_up:
                    self._caught_up()

    def _next(self) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ends)
            return self._waiting.popleft() if self._waiting else b""


def discard_output(*files: int) -> None:
    """Redirect files to the null device: a write to them would fail, or block at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for file in files:
            os.dup2(nowhere, file)
        os.close(nowhere)
