"""Makes untrusted text safe to paint: text of models, tools and files never controls the terminal.

Escape sequences are removed as a whole (their parameters would be noise), single control characters are
removed, and characters that reorder or hide text are replaced by a visible mark, because a hidden reordering
can make a command look like another one (CVE-2021-42574). Terminals disagree on the width of joined and
modified characters, so these are separated: every cell is then where it was counted.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import PurePath

from rich.cells import cell_len, get_character_cell_size

from tui_app import text as plurals
from tui_app.text import UNSEEN

TAB = "    "
MOST_CHARS = 200_000
"""Characters above which only beginning and end of a text are shown for reading."""
_STRING_SEQUENCE = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
_CSI_SEQUENCE = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_OTHER_ESCAPE = r"\x1b[ -/]*[0-Z\\-~]?"
_ESCAPES = re.compile(f"{_STRING_SEQUENCE}|{_CSI_SEQUENCE}|{_OTHER_ESCAPE}")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u2060\ufeff]")
_HIDDEN = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKS = (
    r"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff"
    r"\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
MOST_MARKS = 4
"""Combining marks allowed per letter; no language needs more, and many more would cover other rows."""
_FLOOD = re.compile(f"({_MARKS}{{{MOST_MARKS}}}){_MARKS}+")
_SUSPECT = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
    f"|{UNSEEN.pattern}|{_FLOOD.pattern}"
)
_SPACES = re.compile(r"\s+")

_DRAWING = {
    **dict.fromkeys(range(0x2500, 0x2580), "+"),
    **dict.fromkeys(range(0x2580, 0x25A0), "#"),
    **dict.fromkeys(range(0x2800, 0x2900), "."),
    **dict.fromkeys((0x2500, 0x2501, 0x2504, 0x2505, 0x2508, 0x2509, 0x254C, 0x254D, 0x2574, 0x2576), "-"),
    **dict.fromkeys((0x2502, 0x2503, 0x2506, 0x2507, 0x250A, 0x250B, 0x254E, 0x254F, 0x2551, 0x2575), "|"),
    0x2550: "=",
}


_ACTED_ON = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def sanitize(text: str) -> str:
    """Clean a text only if a terminal would act on it: the user's tabs and emoji are kept."""
    return clean(text) if _ACTED_ON.search(text) else text


def clean(text: str, *, keep_newlines: bool = True, keep_tabs: bool = False) -> str:
    r"""Remove everything from a text that a terminal would act on instead of showing.

    Args:
        text: Text of any origin.
        keep_newlines: Keep ``\n`` (``\r\n`` and a lone ``\r`` become ``\n``); otherwise each line end
            becomes one space.
        keep_tabs: Keep tabs, for a field that aligns them: in text that is sent they may matter.

    Returns:
        The text without escape sequences (ANSI, OSC, DCS and relatives) and control characters, with
        tabs as four spaces and with bidirectional controls and lone surrogates as U+FFFD. Joined emoji
        are side by side, without skin tones and variants.
    """
    if _SUSPECT.search(text) is not None:
        text = _ESCAPES.sub("", text)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = text if keep_tabs else text.replace("\t", TAB)
        text = text.replace("\u2028", "\n").replace("\u2029", "\n")
        # The mark is for a bidirectional override or isolate, and for half a surrogate pair.
        text = UNSEEN.sub("", _HIDDEN.sub("�", _CONTROLS.sub("", text)))
        text = _FLOOD.sub(r"\1", text)
    return text if keep_newlines else text.replace("\n", " ")


def one_line(text: str, limit: int) -> str:
    """Make one short line of any text.

    Args:
        text: Text of any origin.
        limit: Width in terminal cells; a longer line is cut and ends in ``…``.

    Returns:
        Clean text with all white space folded to single spaces, at most ``limit`` cells wide.
    """
    head = text[: max(64, limit * 8)]
    folded = _SPACES.sub(" ", clean(head)).strip()
    complete = len(head) == len(text)
    if complete and cell_len(folded) <= limit:
        return folded
    return cut_cells(folded, limit, force=not complete)


def cut_cells(text: str, limit: int, *, force: bool = False) -> str:
    """Cut a clean line to a width.

    Args:
        text: One clean line.
        limit: Width in terminal cells; wide characters count two.
        force: Add the ellipsis even if the text fits (more text was left out before).

    Returns:
        The text, ending in ``…`` if something is missing; empty for a limit below 1.
    """
    if limit < 1:
        return ""
    if not force and cell_len(text) <= limit:
        return text
    used = 0
    for index, character in enumerate(text):
        width = get_character_cell_size(character)
        if used + width > limit - 1:
            return _cut(text[:index])
        used += width
    return _cut(text)


def cut_middle(text: str, limit: int) -> str:
    """Cut a clean line to a width in its middle, keeping its beginning and more of its end."""
    if cell_len(text) <= limit:
        return text
    end = cut_cells(text[::-1], limit - limit // 3)[::-1]
    return f"{cut_cells(text, limit // 3 + 1)[:-1]}{end}"


def _cut(text: str) -> str:
    bare = text.rstrip(" .…")
    return (bare if "…" in text[len(bare) :] else text.rstrip()) + "…"


def wrap_spans(text: str, width: int, apart: str = "") -> Iterator[tuple[int, int, str]]:
    r"""Break text into lines at spaces; a word wider than a line at a slash, or anywhere.

    Joining the spans with their ``join`` gives back the text exactly.

    Args:
        text: Clean text; each ``\n`` starts a line.
        width: Width in cells, at least 1.
        apart: Separator of a list's parts; lines are broken there if possible.

    Yields:
        Start, end, and the text removed before the line: newline, one space, ``apart``, or nothing.
    """
    width = max(1, width)
    start, join = 0, "\n"
    while True:
        newline = text.find("\n", start)
        stop = len(text) if newline < 0 else newline
        while (cut := _fit(text, start, stop, width)) < stop:
            between = text.rfind(apart, start, cut + len(apart)) if apart else -1
            space = text.rfind(" ", start, cut + 1)
            if between > start:
                yield start, between, join
                start, join = between + len(apart), apart
            elif space > start and not text[start:space].isspace():
                yield start, space, join
                start, join = space + 1, " "
            else:
                # A path breaks after one of its slashes, unless that leaves half of the line empty.
                cut = text.rfind("/", start + width // 2, cut) + 1 or cut
                yield start, cut, join
                start, join = cut, ""
        yield start, stop, join
        if newline < 0:
            return
        start, join = stop + 1, "\n"


def _fit(text: str, start: int, stop: int, width: int) -> int:
    """Return the end of the longest run that is at most ``width`` cells wide; at least one character."""
    near = min(stop, start + width)
    piece = text[start:near]
    if piece.isascii() or cell_len(piece) == len(piece):
        return near
    used = 0
    for index in range(start, stop):
        used += get_character_cell_size(text[index])
        if used > width:
            return max(index, start + 1)
    return stop


def padded(text: str, cells: int) -> str:
    """Pad a clean line with spaces to a width; wide characters count two."""
    return text + " " * max(0, cells - cell_len(text))


def table_lines(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), least: int = 0) -> Iterator[str]:
    """Yield rows with columns two spaces apart.

    Args:
        rows: Rows of equal length.
        right: Numbers of the right-aligned columns, from 0.
        least: Minimum width of those columns in cells.
    """
    cells = [[clean(cell, keep_newlines=False) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    widths = [max(width, least) if number in right else width for number, width in enumerate(widths)]
    for row in cells:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        aligned = [
            gap + cell if number in right else cell + gap
            for number, (cell, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        yield "  ".join(aligned).rstrip()


def without_drawing(text: str) -> str:
    """Replace box drawing, block and braille characters by ASCII, for screen readers and plain terminals."""
    return text.translate(_DRAWING)


def from_home(path: PurePath, home: str) -> str:
    """Return a path with ``~`` for the user's home folder."""
    if not home or not path.is_relative_to(home):
        return str(path)
    rest = path.relative_to(home).as_posix()
    return "~" if rest == "." else f"~/{rest}"


count = plurals.count


def tokens(count: int) -> str:
    """Write a number of tokens: ``8``, ``0.2k``, ``91.5k``, ``128k``, ``1.1M``.

    Below 100 the number is exact; above, thousands or millions with one decimal, which is left out if it is
    zero and the integer part has three digits or more.
    """
    if count < 0:
        return f"-{tokens(-count)}"
    if count < 100:
        return str(count)
    value, unit = (count / 1_000, "k") if count < 999_950 else (count / 1_000_000, "M")
    digits = f"{value:.1f}"
    return f"{digits.removesuffix('.0') if value >= 99.95 else digits}{unit}"


def counted_text(here: int, there: int) -> str:
    """Return ``13.2k``, or ``13.2k here, 15.8k with its tokenizer`` if the counts differ a lot."""
    alike = abs(there - here) <= here * _ALIKE
    return tokens(here) if alike else f"{tokens(here)} here, {tokens(there)} with its tokenizer"


_ALIKE = 0.05
"""Share by which two models' counts may differ without being shown: neither is more exact."""


def duration(seconds: float) -> str:
    """Write a duration: ``0.4 s``, ``6 s``, ``2 min 5 s``, ``1 h 3 min``."""
    seconds = max(0.0, seconds)
    if seconds < 0.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def clock(epoch: float, form: str = "%H:%M") -> str:
    """Write a moment in the local time zone.

    Args:
        epoch: Seconds since the epoch.
        form: As for ``strftime``.

    Returns:
        For example ``12:04``; empty if the platform cannot represent the moment.
    """
    try:
        return datetime.fromtimestamp(epoch).strftime(form)
    except (OverflowError, OSError, ValueError):
        return ""


def percent(share: float) -> str:
    """Write a share (1.0 is all) as an integer percentage: ``71%``; never a false ``0%`` or ``100%``."""
    value = round(share * 100)
    if share > 0 and value == 0:
        return "<1%"
    if share < 1 and value == 100:
        return "99%"
    return f"{value}%"


def cost(usd: float) -> str:
    """Write a price in US dollars: ``$0.42``, below ten cents ``$0.004``; never a false zero."""
    if usd <= 0:
        return "$0.00"
    if usd < 0.0005:
        return "<$0.001"
    return f"${usd:.3f}" if usd < 0.0995 else f"${usd:,.2f}"


def count_lines(text: str) -> int:
    """Count the lines of a text; a newline at its end does not start another one."""
    if not text:
        return 0
    return text.count("\n") + (not text.endswith("\n"))


def file_size(count: int) -> str:
    """Write a size: ``812 B``, ``65.6 kB``, ``1.6 MB``."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"
