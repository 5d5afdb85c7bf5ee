"""The pieces of what is said: prompts, answers whether finished or not, the thinking before them."""

from collections.abc import Iterator

from tui_app.plurals import count
from tui_app.session.entries import Body, Entry
from tui_app.ui.format import clock, count_lines
from tui_app.ui.safe_text import clean
from tui_app.ui.widgets.clip import clip
from tui_app.ui.widgets.entry_wording import LEFT, STATE_WORDS, Wording, clipped, pinned
from tui_app.ui.widgets.markdown_split import split_markdown
from tui_app.ui.widgets.palette import Tone
from tui_app.ui.widgets.pieces import MarkdownPiece, Piece, RowPiece, text_pieces

BODY_CHARS = 300_000
"""Of a longer prompt or answer head and tail are shown, and what is between is counted."""


def prompt(entry: Entry, body: Body, wording: Wording) -> Iterator[Piece]:
    """List the pieces of what the person said."""
    states = (LEFT if entry.left else "", pinned(entry, wording), clock(entry.time, wording.tz))
    right = f" {wording.glyphs.separator} ".join(filter(None, states))
    yield RowPiece("", "You:" if wording.plain else "You", Tone.ROLE, right=right, ornament=True)
    head, note, tail = clip(body.text, BODY_CHARS, None, wash=clean)
    yield from text_pieces(head, Tone.TEXT)
    if note:
        yield RowPiece(wording.glyphs.dots, note, Tone.DIM)
        yield from text_pieces(tail, Tone.TEXT, part="tail")


def answer(text: str, thinking: str, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    """List the pieces of an answer, finished or not."""
    yield from thinking_pieces(thinking, wording, expanded=expanded)
    head, note, tail = clip(text, BODY_CHARS, None, wash=clean)
    if not head.strip():
        return
    yield from role(wording)
    yield from (MarkdownPiece(source, gap) for source, gap in split_markdown(head))
    if note:
        yield RowPiece(wording.glyphs.dots, note, Tone.DIM)
        yield from (MarkdownPiece(source, gap, "tail") for source, gap in split_markdown(tail))


def role(wording: Wording) -> Iterator[Piece]:
    """The word before an answer; only in plain mode, elsewhere the layout says it."""
    if wording.plain:
        yield RowPiece("", "Model:", Tone.ROLE, ornament=True)


def thinking_pieces(thinking: str, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    """The row that stands for the thinking before an answer, and the thinking itself when opened."""
    if not thinking.strip():
        return
    lines = count_lines(thinking)
    sign = wording.glyphs.expanded if expanded else wording.glyphs.collapsed
    title = f"thinking {wording.glyphs.separator} {count(lines, 'line')}"
    yield RowPiece(sign, title, Tone.DIM, fold=True)
    if expanded:
        yield from clipped(thinking, wording, Tone.DIM, "thinking")


def stopped(entry: Entry, wording: Wording) -> Iterator[Piece]:
    """The row below an answer that did not come to its end."""
    if entry.state in ("interrupted", "cancelled", "failed"):
        yield RowPiece(
            wording.glyphs.cross, f"{STATE_WORDS[entry.state]}: the answer ends here", Tone.WARNING
        )
