"""Reading text files line by line in bounded memory, whatever the file holds."""

from collections.abc import Iterator
from pathlib import Path

from tui_app.agent.tools.stop import Stop
from tui_app.agent.tools.workspace import open_regular

LINE_BYTES = 8192
"""Bytes kept of one line; the rest of a longer line is read past."""
CUT_MARK = " …[line cut]"
"""Ends a line that a tool shows only in part."""
_SNIFFED_BYTES = 8192
_CHECK_EVERY = 1024


def is_binary(path: Path) -> bool:
    """Whether a file holds a zero byte near its start, which text does not.

    Raises:
        ToolProblem: if it cannot be read.
    """
    with open_regular(path) as file:
        return b"\0" in file.read(_SNIFFED_BYTES)


def lines_of(path: Path, stop: Stop) -> Iterator[str]:
    r"""Yield the lines of a file without their line ends; only ``\n`` and ``\r\n`` end a line, as in editors.

    Bytes that are not UTF-8 become replacement characters. Ends early once ``stop`` is late.

    Raises:
        ToolProblem: if the file cannot be read.
        Cancelled: if the turn was cancelled meanwhile.
    """
    with open_regular(path) as file:
        number = 0
        while raw := file.readline(LINE_BYTES):
            number += 1
            tail = raw
            while not tail.endswith(b"\n") and (tail := file.readline(1 << 20)):
                if stop.late():
                    return
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
            yield text.rstrip("\n").removesuffix("\r")
            if number % _CHECK_EVERY == 0 and stop.late():
                return


def clip(text: str, limit: int) -> str:
    """Cut a line to ``limit`` characters, visibly."""
    return text if len(text) <= limit else text[:limit] + CUT_MARK
