"""Says which pieces an entry is painted from: its wording, its order, what is folded away."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, assert_never

from tui_app.session.entries import Body, Entry, EntryState
from tui_app.ui.format import clock, count, count_lines, tokens
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import TAB, clean, one_line
from tui_app.ui.widgets.clip import clip, readable_args
from tui_app.ui.widgets.markdown_split import split_markdown
from tui_app.ui.widgets.palette import Tone
from tui_app.ui.widgets.pieces import (
    FadedPiece,
    GapPiece,
    MarkdownPiece,
    Piece,
    RowPiece,
    TextPiece,
    text_pieces,
)

if TYPE_CHECKING:
    from tui_app.ui.finding import Excerpt

TOOL_LINES = 400
"""An opened tool row shows this many lines of arguments and as many of result; the rest is counted."""
TOOL_CHARS = 60_000
BODY_CHARS = 300_000
"""Of a longer prompt or answer head and tail are shown, and what is between is counted."""
_TITLE_CELLS = 400
_INDENT = 4
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
_STATE_WORDS: dict[EntryState, str] = {
    "running": "running", "ok": "", "failed": "failed", "cancelled": "cancelled", "undone": "undone",
    "interrupted": "interrupted", "discarded": "discarded", "vetoed": "vetoed",
}  # fmt: skip


@dataclass(frozen=True)
class Wording:
    """What the words and signs of an entry depend on."""

    glyphs: Glyphs
    plain: bool = False
    """Role words before every message, for people who hear the screen or see no colour."""
    tz: tzinfo | None = None


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
            yield from _user(entry, body, wording)
        case "assistant":
            if entry.pinned:
                yield RowPiece("", _pinned(entry, wording), Tone.ACCENT, ornament=True)
            yield from answer(body.text, body.thinking, wording, expanded=expanded)
            yield from _stopped(entry, wording)
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
    yield TextPiece(f"{wording.glyphs.dots} {where}", Tone.WARNING, indent=_INDENT)
    yield from text_pieces(excerpt.text, Tone.TEXT, _INDENT, part="excerpt")
    yield TextPiece(wording.glyphs.dots, Tone.WARNING, indent=_INDENT)


def _user(entry: Entry, body: Body, wording: Wording) -> Iterator[Piece]:
    states = ("left behind" if entry.left else "", _pinned(entry, wording), clock(entry.time, wording.tz))
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
    title = f"thinking {wording.glyphs.separator} {lines} line{'' if lines == 1 else 's'}"
    yield RowPiece(sign, title, Tone.DIM, fold=True)
    if expanded:
        yield from _clipped(thinking, wording, Tone.DIM, "thinking")


def _stopped(entry: Entry, wording: Wording) -> Iterator[Piece]:
    if entry.state in ("interrupted", "cancelled", "failed"):
        yield RowPiece(
            wording.glyphs.cross, f"{_STATE_WORDS[entry.state]}: the answer ends here", Tone.WARNING
        )


def _folded(entry: Entry, body: Body, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    glyphs = wording.glyphs
    bad = entry.state in ("failed", "cancelled", "interrupted")
    size = f"{tokens(entry.tokens)} tok" if entry.tokens else ""
    inside = count(entry.calls, "call") if entry.calls else ""
    word = "left behind" if entry.left and not bad else _STATE_WORDS[entry.state]
    mark = f"{glyphs.cross} {word}" if bad else word
    right = f" {glyphs.separator} ".join(
        part for part in (mark, _pinned(entry, wording), inside, size) if part
    )
    title = one_line(entry.title, _TITLE_CELLS) or ("system prompt" if entry.kind == "system" else "tool")
    sign = glyphs.expanded if expanded else glyphs.collapsed
    yield RowPiece(sign, title, Tone.TOOL, right, Tone.ERROR if bad else Tone.DIM, fold=True)
    if not expanded:
        return
    if body.args.strip():
        yield from _clipped(readable_args(body.args), wording, Tone.DIM, "args")
    if body.text.strip():
        yield from _clipped(body.text, wording, Tone.TEXT, "text")
    elif entry.kind in ("tool", "hook"):
        yield TextPiece(
            "(still running)" if entry.state == "running" else "(no output)", Tone.DIM, indent=_INDENT
        )


def _pinned(entry: Entry, wording: Wording) -> str:
    return f"{wording.glyphs.pin} pinned" if entry.pinned else ""


def _compaction(entry: Entry, wording: Wording) -> Iterator[Piece]:
    glyphs = wording.glyphs
    title = one_line(entry.title, _TITLE_CELLS)
    done = entry.state in ("ok", "undone")
    if done and not title.lower().startswith("conversation compacted"):
        title = f"Conversation compacted {glyphs.separator} {title}" if title else "Conversation compacted"
    if not done and not title.lower().startswith("compaction "):
        word = _STATE_WORDS[entry.state]  # also the title of one that ended without a reason
        told = f" {glyphs.separator} {title}" if title not in ("", word) else ". Nothing changed."
        title = f"Compaction {word}{told}"
    yield TextPiece(title, Tone.ACCENT if done else Tone.WARNING, sign=glyphs.load_line)
    hints = {
        "ok": f"enter shows what stayed and what left {glyphs.separator} u undoes",
        "undone": f"undone: the history is back {glyphs.separator} enter shows what it was",
    }
    yield TextPiece(hints.get(entry.state, "enter shows details"), Tone.DIM, indent=2)


def _error(entry: Entry, body: Body, wording: Wording) -> Iterator[Piece]:
    """Paint what happened and what to do; the raw text stays behind enter."""
    title = one_line(entry.title, 4 * _TITLE_CELLS)
    lines = [one_line(line, 4 * _TITLE_CELLS) for line in body.text[:4_000].splitlines() if line.strip()]
    # The title is the beginning of the text: said in full, once.
    if lines and lines[0].startswith(title.removesuffix("…")):
        title, *lines = lines
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
    if entry.kind == "clear" and not title:
        title = "Conversation cleared. The model starts afresh; nothing above is lost."
    if entry.kind == "files" and "taken back" not in title:
        title += " · taken back" if entry.state == "undone" else " · u takes it back"
    if entry.kind == "rewrite":
        title += " · taken back" if entry.state == "undone" else " · u takes it back"
    return TextPiece(title, Tone.DIM, sign=signs.get(entry.kind, glyphs.separator))


def _clipped(text: str, wording: Wording, tone: Tone, part: str) -> Iterator[Piece]:
    head, note, tail = clip(text, TOOL_CHARS, TOOL_LINES, wash=_inner)
    yield from text_pieces(head, tone, _INDENT, part=part)
    if note:
        yield TextPiece(f"{wording.glyphs.dots} {note}", Tone.WARNING, indent=_INDENT)
        yield from text_pieces(tail, tone, _INDENT, part="tail")


def _inner(text: str) -> str:
    """Clean text without blank lines around it; tabs lead to columns, as behind the numbers of lines."""
    return clean(text.expandtabs(len(TAB))).strip("\n")
