"""What the pieces of all entries share: signs, words for states, texts too long to be shown whole."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import NamedTuple

from tui_app.session.entries import Entry, EntryState
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import TAB, clean
from tui_app.ui.widgets.clip import clip
from tui_app.ui.widgets.palette import Tone
from tui_app.ui.widgets.pieces import Piece, TextPiece, text_pieces

TOOL_LINES = 400
"""An opened tool row shows this many lines of arguments and as many of result; the rest is counted."""
TOOL_CHARS = 60_000
"""Characters of either, head and tail together."""
INDENT = 4
"""Cells in front of what an opened entry shows."""
LEFT = "left behind"
"""What a row says that a rewind took out of the model's view."""
STATE_WORDS: dict[EntryState, str] = {
    "running": "running", "waiting": "waits for you", "ok": "", "failed": "failed", "denied": "denied",
    "cancelled": "cancelled", "undone": "undone", "interrupted": "interrupted",
    "discarded": "discarded", "vetoed": "vetoed",
}  # fmt: skip


class Wording(NamedTuple):
    """What the words and signs of an entry depend on."""

    glyphs: Glyphs
    plain: bool = False
    """Role words before every message, for people who hear the screen or see no colour."""
    tz: tzinfo | None = None
    scale: float = 1.0
    """Tokens as the model counts them for each counted one."""


def pinned(entry: Entry, wording: Wording) -> str:
    """The sign and word of a pinned entry; empty for others."""
    return f"{wording.glyphs.pin} pinned" if entry.pinned else ""


def clipped(text: str, wording: Wording, tone: Tone, part: str) -> Iterator[Piece]:
    """List the pieces of what an entry shows when it is opened; of a long text head and tail.

    Args:
        text: The text, as it came.
        wording: Signs and words.
        tone: The text's colour.
        part: Which text of the entry it is, for selections.
    """
    head, note, tail = clip(text, TOOL_CHARS, TOOL_LINES, wash=_inner)
    yield from text_pieces(head, tone, INDENT, part=part)
    if note:
        yield TextPiece(f"{wording.glyphs.dots} {note}", Tone.WARNING, indent=INDENT)
        yield from text_pieces(tail, tone, INDENT, part="tail")


def _inner(text: str) -> str:
    """Clean text without blank lines around it; tabs lead to columns, as behind the numbers of lines."""
    return clean(text.expandtabs(len(TAB))).strip("\n")
