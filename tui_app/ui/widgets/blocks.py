"""Says which pieces an entry is painted from: order, what is folded away, and how events are worded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from tui_app.session.entries import Body, Entry
from tui_app.ui.format import count, tokens
from tui_app.ui.safe_text import one_line
from tui_app.ui.widgets.clip import readable_args
from tui_app.ui.widgets.entry_wording import INDENT, LEFT, STATE_WORDS, Wording, clipped, pinned
from tui_app.ui.widgets.palette import Tone
from tui_app.ui.widgets.pieces import FadedPiece, GapPiece, Piece, RowPiece, TextPiece, text_pieces
from tui_app.ui.widgets.said_pieces import answer, prompt, stopped

if TYPE_CHECKING:
    from tui_app.ui.finding import Excerpt

_TITLE_CELLS = 400
_ROW_KINDS = frozenset(
    {
        "tool",
        "system",
        "hook",
        "memory",
        "rewrite",
        "truncation",
        "model",
        "checkpoint",
        "clear",
        "notice",
        "approval",
        "files",
    }
)
_FOLDED_KINDS = frozenset({"tool", "system", "hook", "memory"})


def foldable(entry: Entry) -> bool:
    """Whether enter opens and closes this entry in place."""
    return entry.kind in _FOLDED_KINDS or entry.kind == "assistant"


def has_details(entry: Entry) -> bool:
    """Whether enter shows this entry on a screen of its own."""
    return entry.kind in ("compaction", "error")


def needs_body(entry: Entry, *, expanded: bool) -> bool:
    """Whether painting needs the full text; a folded row is painted from its title alone."""
    return expanded or entry.kind in ("user", "assistant", "error")


def distance(entry: Entry, before: Entry | None) -> int:
    """Blank lines above an entry: rows of one kind of weight stand close together."""
    if before is None or (entry.kind == "assistant" and not entry.chars):
        return 0
    close = entry.kind in _ROW_KINDS or entry.kind == "assistant"
    return 0 if close and before.kind in _ROW_KINDS else 1


def distance_of_answer(before: Entry | None) -> int:
    """Blank lines above an answer that has text."""
    return 0 if before is None or before.kind in _ROW_KINDS else 1


def estimate(entry: Entry, before: Entry | None, width: int) -> int:
    """Guess the height of a folded entry that was never painted, in lines."""
    if entry.kind == "user":
        return distance(entry, before) + 2 + entry.chars // width
    if entry.kind == "assistant":
        return distance(entry, before) + (1 + entry.chars * 3 // (width * 2) if entry.chars else 0)
    return distance(entry, before) + (2 if entry.kind in ("compaction", "error") else 1)


def pieces(
    entry: Entry,
    before: Entry | None,
    body: Body,
    wording: Wording,
    *,
    expanded: bool,
    excerpt: "Excerpt | None" = None,
) -> list[Piece]:
    """List the pieces of an entry.

    Args:
        entry: The row.
        before: The visible entry above it, if any.
        body: Its full text; empty when :func:`needs_body` says that it is not needed.
        wording: Signs and words.
        expanded: Whether the person opened it.
        excerpt: What is shown besides of a text that is too long to be shown whole.

    Returns:
        Pieces from top to bottom; none when there is nothing to show.
    """
    content = list(_content(entry, body, wording, expanded=expanded))
    if excerpt is not None:
        content += _excerpt(excerpt, wording)
    if entry.left:
        content = [FadedPiece(piece) for piece in content]
    gap = distance(entry, before)
    return [GapPiece(gap), *content] if gap and content else content


def _content(entry: Entry, body: Body, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    match entry.kind:
        case "user":
            yield from prompt(entry, body, wording)
        case "assistant":
            if entry.pinned:
                yield RowPiece("", pinned(entry, wording), Tone.ACCENT, ornament=True)
            yield from answer(body.text, body.thinking, wording, expanded=expanded)
            yield from stopped(entry, wording)
        case "tool" | "system" | "hook" | "memory":
            yield from _folded(entry, body, wording, expanded=expanded)
        case "compaction":
            yield from _compaction(entry, wording)
        case "error":
            yield from _error(entry, body, wording)
        case "rewrite" | "truncation" | "model" | "checkpoint" | "clear" | "notice" | "approval" | "files":
            yield _row(entry, wording)
        case _:
            assert_never(entry.kind)


def _excerpt(excerpt: "Excerpt", wording: Wording) -> Iterator[Piece]:
    """A part of a long text that was looked for."""
    where = f"found at character {excerpt.offset + 1:,} of {excerpt.length:,}"
    yield TextPiece(f"{wording.glyphs.dots} {where}", Tone.WARNING, indent=INDENT)
    yield from text_pieces(excerpt.text, Tone.TEXT, INDENT, part="excerpt")
    yield TextPiece(wording.glyphs.dots, Tone.WARNING, indent=INDENT)


def _folded(entry: Entry, body: Body, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    glyphs = wording.glyphs
    bad = entry.state in ("failed", "denied", "cancelled", "interrupted")
    size = f"{tokens(round(entry.tokens * wording.scale))} tok" if entry.tokens else ""
    inside = count(entry.calls, "call") if entry.calls else ""
    mark = f"{glyphs.cross} {STATE_WORDS[entry.state]}" if bad else STATE_WORDS[entry.state]
    marks = (mark if bad or not entry.left else "", LEFT if entry.left else "")
    right = f" {glyphs.separator} ".join(filter(None, (*marks, pinned(entry, wording), inside, size)))
    title = one_line(entry.title, _TITLE_CELLS) or ("system prompt" if entry.kind == "system" else "tool")
    sign = glyphs.expanded if expanded else glyphs.collapsed
    yield RowPiece(sign, title, Tone.TOOL, right, Tone.ERROR if bad else Tone.DIM, fold=True)
    if not expanded:
        return
    if body.args.strip():
        yield from clipped(readable_args(body.args), wording, Tone.DIM, "args")
    if body.text.strip():
        yield from clipped(body.text, wording, Tone.TEXT, "text")
    elif entry.kind in ("tool", "hook"):
        told = {"running": "(still running)", "waiting": "(not begun)"}.get(entry.state, "(no output)")
        yield TextPiece(told, Tone.DIM, indent=INDENT)


def _compaction(entry: Entry, wording: Wording) -> Iterator[Piece]:
    glyphs = wording.glyphs
    title = one_line(entry.title, _TITLE_CELLS)
    done = entry.state in ("ok", "undone")
    if done and not title.lower().startswith("conversation compacted"):
        title = f"Conversation compacted {glyphs.separator} {title}" if title else "Conversation compacted"
    if not done and not title.lower().startswith("compaction "):
        word = STATE_WORDS[entry.state]  # also the title of one that ended without a reason
        told = f" {glyphs.separator} {title}" if title not in ("", word) else ". Nothing changed."
        title = f"Compaction {word}{told}"
    yield TextPiece(title, Tone.ACCENT if done else Tone.WARNING, sign=glyphs.load_line)
    hints = {
        "ok": f"enter shows what stayed and what left {glyphs.separator} u undoes",
        "undone": f"undone: what it replaced is back {glyphs.separator} enter shows what it was",
    }
    yield TextPiece(hints.get(entry.state, "enter shows details"), Tone.DIM, indent=2)


def _error(entry: Entry, body: Body, wording: Wording) -> Iterator[Piece]:
    """Paint what happened and what to do; the raw text stays behind enter."""
    title = one_line(entry.title, 4 * _TITLE_CELLS)
    lines = [one_line(line, 4 * _TITLE_CELLS) for line in body.text[:4_000].splitlines() if line.strip()]
    # The title is the beginning of the text: said in full, once.
    if lines and lines[0].startswith(title.removesuffix("…")):
        title, *lines = lines
    if entry.left:
        title += f" {wording.glyphs.separator} {LEFT}"
    yield TextPiece(title, Tone.ERROR, sign=wording.glyphs.cross)
    yield from (TextPiece(line, Tone.TEXT, indent=2) for line in lines[:1])


def _row(entry: Entry, wording: Wording) -> Piece:
    glyphs = wording.glyphs
    signs = {
        "model": glyphs.arrow,
        "checkpoint": glyphs.checkpoint,
        "truncation": glyphs.load_line,
        "rewrite": glyphs.load_line,
    }
    title = one_line(entry.title, _TITLE_CELLS)
    if entry.kind == "clear" and entry.state == "undone":
        title = f"{title or 'Conversation cleared'} · taken back"
    elif entry.kind == "clear" and not title:
        title = "Conversation cleared. The model starts afresh; nothing above is lost."
    if entry.kind == "files" and "taken back" not in title:
        title += " · taken back" if entry.state == "undone" else " · u takes it back"
    if entry.kind == "rewrite":
        title += " · taken back" if entry.state == "undone" else " · u takes it back"
    return TextPiece(title, Tone.DIM, sign=signs.get(entry.kind, glyphs.separator))
