"""A line on stderr for long work, with its progress and how to stop it."""

import sys
import threading
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

from tui_app.ui.words.text import one_line

FIRST_S = 1.0
"""Shorter work shows nothing."""

_AGAIN_S = 0.5

_WIDTH = 78
"""Cells of the line: one that wraps could not be erased."""

_TAKE_BACK = "\r\x1b[K"


class ProgressLine:
    """Shown after a second in the block, painted by its own thread, erased at the block's end.

    Args:
        text: The work in progress.
        stream: The output, used only if it is a terminal; None is stderr.
    """

    def __init__(self, text: str, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._text = text
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def update(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> Self:
        if self._stream.isatty():
            self._thread = threading.Thread(target=self._paint, name="progress-line", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _paint(self) -> None:
        started, wait = monotonic(), FIRST_S
        painted = False
        try:
            while not self._ended.wait(wait):
                tail = f" · {monotonic() - started:.0f} s · ctrl+c stops"
                self._write(f"{_TAKE_BACK}{one_line(self._text, _WIDTH - len(tail))}{tail}")
                painted, wait = True, _AGAIN_S
            if painted:
                self._write(_TAKE_BACK)
        except (OSError, ValueError):
            # The terminal is gone; the work continues.
            return

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
