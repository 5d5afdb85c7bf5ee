"""One page of a message that is brought back: so small that nothing cuts it on its way to the model."""

from dataclasses import dataclass

from tui_app.context.tool_results.results import Kept, byte_count, cut_bytes

PAGE_LINES = 1_900
"""Lines of one page at most; with what stands around them they keep to the limits of tool output."""
PAGE_BYTES = 48_000
"""Bytes of one page in UTF-8, likewise."""
_WORTH_BEGINNING = 1_000
"""Bytes that must be left on a page for a line that no page holds whole to begin there."""


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of a message."""

    rows: list[str]
    first: int
    """Line of the message that the first row stands in, counted from 1."""
    last: int
    total: int
    """Lines of the message."""
    next: tuple[int, int] | None
    """Line, and character in it, at which the next page begins; None at the end of the message."""
    whole: bool
    """Whether it is all of the message."""


def page_of(text: str, start: int, lines: int, offset: int = 0, *, numbered: bool = False) -> Page | None:
    """Cut one page out of a message.

    Args:
        text: The message.
        start: First line, counted from 1.
        lines: How many lines at most.
        offset: Characters to skip in the first line; more than it has lead into the lines behind it.
        numbered: Whether rows begin with the number of their line and a tab.

    Returns:
        The page, with one row at least; None if the message ends before it.
    """
    source = _lines(text)
    first, skip = _place(source, max(1, start), max(0, offset))
    if first > len(source):
        return None
    rows: list[str] = []
    room, last, following = PAGE_BYTES, first, None
    for number in range(first, len(source) + 1):
        prefix = f"{number}\t" if numbered else ""
        line = source[number - 1][skip:] if number == first else source[number - 1]
        size = len(prefix) + byte_count(line) + 1
        full = size > room and (size <= PAGE_BYTES or room < _WORTH_BEGINNING)
        if rows and (full or len(rows) >= min(lines, PAGE_LINES)):
            following = (number, 0)
            break
        fits = line if size <= room else _beginning(line, room - len(prefix))
        rows.append(f"{prefix}{fits}")
        room, last = room - size, number
        if len(fits) < len(line):
            following = (number, (skip if number == first else 0) + len(fits))
            break
    whole = (first, skip) == (1, 0) and following is None
    return Page(rows, first, last, len(source), following, whole)


def _lines(text: str) -> list[str]:
    """Lines as they are counted everywhere: a line break at the end opens no further one."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


def _place(lines: list[str], start: int, offset: int) -> tuple[int, int]:
    """Where to begin; an offset beyond the end of its line counts on in the next one."""
    while start <= len(lines) and offset > len(lines[start - 1]):
        offset -= len(lines[start - 1]) + 1
        start += 1
    return start, offset


def _beginning(line: str, size: int) -> str:
    """As much of a line as fits so many bytes."""
    piece = line[:size]
    return piece[: cut_bytes(piece, Kept(len(piece), 0), size).head]
