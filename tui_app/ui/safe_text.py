"""Makes untrusted text safe to paint: what models, tools and files say never drives the terminal.

Escape sequences are removed as a whole (their parameters would be noise), single control characters
are removed, and characters that reorder or hide text are replaced by a visible mark, because a hidden
reordering can make a command read as another one (CVE-2021-42574). Terminals do not agree on how wide joined
and modified signs are, so these are taken apart: every cell then stands where it was counted.
"""

import re

from rich.cells import cell_len, get_character_cell_size

from tui_app.context.visible_text import UNSEEN

TAB = "    "
BIDI_MARK = "�"
"""Stands for a removed bidirectional override or isolate and for half a surrogate pair."""

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
"""Marks that may stand on one letter; no language needs more, and a flood of them runs over other rows."""
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


def tamed(text: str) -> str:
    """The text as it is, cleaned only where a terminal would act on it: tabs and emoji are a person's own."""
    return clean(text) if _ACTED_ON.search(text) else text


def clean(text: str, *, keep_newlines: bool = True, keep_tabs: bool = False) -> str:
    r"""Remove everything from a text that a terminal would act on instead of showing.

    Args:
        text: Text of any origin.
        keep_newlines: Keep ``\n`` (``\r\n`` becomes ``\n``, a lone ``\r`` too); else each line end
            becomes one space.
        keep_tabs: Keep tabs, for a field that shows where they lead: in what is sent they may count.

    Returns:
        The text without escape sequences (ANSI, OSC, DCS and relatives) and control characters, with
        tabs as four spaces and with bidirectional controls and lone surrogates as U+FFFD. Joined emoji
        stand side by side, without colours of skin and variants.
    """
    if _SUSPECT.search(text) is not None:
        text = _ESCAPES.sub("", text)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = text if keep_tabs else text.replace("\t", TAB)
        text = text.replace("\u2028", "\n").replace("\u2029", "\n")
        text = UNSEEN.sub("", _HIDDEN.sub(BIDI_MARK, _CONTROLS.sub("", text)))
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
        force: Add the ellipsis even when the text fits (more text was left out before).

    Returns:
        The text, ending in ``…`` when something is missing; empty for a limit below 1.
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


def _cut(text: str) -> str:
    """A text with one ellipsis behind it, also where it was cut before."""
    bare = text.rstrip(" .…")
    return (bare if "…" in text[len(bare) :] else text.rstrip()) + "…"


def padded(text: str, cells: int) -> str:
    """A clean line with spaces behind it up to a width; wide signs count two."""
    return text + " " * max(0, cells - cell_len(text))


def without_drawing(text: str) -> str:
    """Replace box drawing, block and braille characters by ASCII, for screen readers and plain terminals."""
    return text.translate(_DRAWING)
