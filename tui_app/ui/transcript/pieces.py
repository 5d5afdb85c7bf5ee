"""The parts that an entry is painted from; equal pieces paint equally, so their lines can be shared."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING, NamedTuple, Protocol, assert_never

from rich.cells import cell_len
from rich.segment import Segment

from tui_app.session.entries import Body, Entry, EntryState
from tui_app.text import count
from tui_app.ui.text import TAB, Glyphs, clean, clock, count_lines, one_line, tokens
from tui_app.ui.text import count as blocks_count
from tui_app.ui.themes import Tone
from tui_app.ui.transcript.lines import Line, Painter, Splitter, split_markdown, wrap_spans

if TYPE_CHECKING:
    from tui_app.ui.transcript.search import Excerpt

PIECE_CHARS = 3_000
PIECE_LINES = 120


class Piece(Protocol):
    """A bounded part of an entry. Implementations are frozen and hashable."""

    def estimate(self, width: int) -> int:
        """Guess the height in lines without painting."""
        ...

    def lines(self, painter: Painter) -> list[Line]:
        """Paint it; takes a few milliseconds at most."""
        ...


@dataclass(frozen=True)
class GapPiece:
    """Blank lines that keep entries apart."""

    height: int = 1

    def estimate(self, width: int) -> int:
        """Know the height."""
        return self.height

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the distance."""
        return [painter.gap()] * self.height


@dataclass(frozen=True)
class RowPiece:
    """One line: a sign, a title that is cut to fit, and something right-aligned."""

    sign: str
    title: str
    tone: Tone
    right: str = ""
    right_tone: Tone = Tone.DIM
    fold: bool = False
    """A click on it opens and closes the entry."""
    ornament: bool = False
    """Nothing in it is ever copied."""

    def estimate(self, width: int) -> int:
        """Know the height."""
        return 1

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the row; the right part gives way when the line is too narrow for both."""
        lead = f"{self.sign} " if self.sign else ""
        right = painter.spelled(self.right)
        room = painter.width - cell_len(lead) - (cell_len(right) + 2 if right else 0)
        if right and room < 12:
            right, room = "", painter.width - cell_len(lead)
        title = painter.fitted(self.title, room)
        segments = [painter.styled(lead + title, self.tone)]
        if right:
            space = painter.width - cell_len(lead + title) - cell_len(right)
            segments += [Segment(" " * space), painter.styled(right, self.right_tone)]
        end = len(lead + title)
        return [painter.line(segments, lead=end if self.ornament else len(lead), end=end)]


@dataclass(frozen=True)
class TextPiece:
    """Plain text, wrapped; ``sign`` stands before its first line and the others are indented as far."""

    text: str
    tone: Tone
    sign: str = ""
    indent: int = 0
    join: str = "\n"
    part: str = field(default="", compare=False)
    """Which text of an entry it is a piece of; empty for words of ours."""
    start: int = field(default=0, compare=False)
    """Where it begins in that text."""

    def estimate(self, width: int) -> int:
        """Guess from the number of characters and newlines."""
        return self.text.count("\n") + 1 + len(self.text) // max(1, 2 * (width - self.indent))

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the wrapped lines."""
        first = f"{self.sign} " if self.sign else " " * self.indent
        rest = " " * cell_len(first)
        width = max(1, painter.width - cell_len(first))
        painted: list[Line] = []
        text = self.text if self.part else painter.spelled(self.text)
        for start, stop, join in wrap_spans(text, width):
            lead = rest if painted else first
            segment = painter.styled(lead + text[start:stop], self.tone)
            painted.append(painter.line([segment], lead=len(lead), join=join if painted else self.join))
        return painted


@dataclass(frozen=True)
class MarkdownPiece:
    """A part of an answer."""

    source: str
    gap: bool = False
    """Whether a blank line stands before it."""
    part: str = field(default="text", compare=False)
    """Which text of an entry it is a piece of."""

    def estimate(self, width: int) -> int:
        """Guess from the number of characters and newlines."""
        text = self.source.strip()
        return self.gap + text.count("\n") + 1 - text.count("```") + len(text) // max(1, 3 * width)

    def lines(self, painter: Painter) -> list[Line]:
        """Lay out the Markdown."""
        # Parser and lexers cost 50 ms to import: not before the first answer is shown.
        from tui_app.ui.transcript.lines import markdown_lines

        body = markdown_lines(self.source, painter)
        return [painter.line(()), *body] if self.gap and body else body


@dataclass(frozen=True)
class FadedPiece:
    """A piece of something that was left behind, painted in one quiet colour."""

    piece: Piece

    @property
    def fold(self) -> bool:
        """Whether a click on it opens and closes the entry."""
        return folds(self.piece)

    def estimate(self, width: int) -> int:
        """Guess as the piece does."""
        return self.piece.estimate(width)

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the piece and lay the quiet colour over it."""
        return [painter.faded(line) for line in self.piece.lines(painter)]


def folds(piece: Piece | None) -> bool:
    """Whether a click on a piece, if there is one, opens and closes the entry."""
    return isinstance(piece, RowPiece | FadedPiece) and piece.fold


def text_pieces(text: str, tone: Tone, indent: int = 0, *, part: str = "text") -> Iterator[TextPiece]:
    """Cut plain text of any length into pieces, at line ends where there are some."""
    start, join = 0, "\n"
    while True:
        stop = _piece_end(text, start)
        at_newline = stop < len(text) and text[stop] == "\n"
        yield TextPiece(text[start:stop], tone, indent=indent, join=join, part=part, start=start)
        start, join = (stop + 1, "\n") if at_newline else (stop, "")
        if stop >= len(text):
            return


def _piece_end(text: str, start: int) -> int:
    limit = start + PIECE_CHARS
    stop = start
    for _ in range(PIECE_LINES):
        following = text.find("\n", stop + 1, limit + 1)
        if following < 0:
            break
        stop = following
    else:
        return stop
    if len(text) <= limit:
        return len(text)
    return stop if stop > start else limit


# Keeps what is shown of a huge text within bounds, and says how much is left out.

COUNTED_CHARS = 1_000_000
"""In a longer text no lines are counted."""
MAX_ARGS_CHARS = 500_000
"""Longer arguments are shown as they came."""


def clip(
    text: str, max_chars: int, max_lines: int | None, *, wash: Callable[[str], str] = str
) -> tuple[str, str, str]:
    """Keep the first three quarters of a budget and the last quarter.

    Args:
        text: Any text.
        max_chars: Budget in characters.
        max_lines: Budget in lines, or None for no limit.
        wash: What cleans a text; applied to what is kept alone, because megabytes would outlast a frame.

    Returns:
        Head, a note that counts what is left out, tail; note and tail are empty when all fits.
    """
    if len(text) <= max_chars:
        text = wash(text)
        head, tail = _clip_lines(text, "", max_lines)
        return head, _left_out(text, head, tail, len(text) - len(head) - len(tail), max_lines), tail
    first, last = max_chars * 3 // 4, max_chars // 4
    washed = wash(text[:first]), wash(text[-last:])
    head, tail = _clip_lines(*washed, max_lines)
    chars = len(text) - first - last + sum(map(len, washed)) - len(head) - len(tail)
    return head, _left_out(text, head, tail, chars, max_lines), tail


def _left_out(text: str, head: str, tail: str, chars: int, max_lines: int | None) -> str:
    """Say how much is missing; empty when nothing is."""
    lines = 0
    if chars and max_lines is not None and len(text) <= COUNTED_CHARS:
        lines = text.count("\n") - head.count("\n") - tail.count("\n")
    if lines > 1:
        return _more(lines - 1, "line")
    return _more(chars, "character") if chars else ""


def _more(number: int, thing: str) -> str:
    return f"{count(number, f'more {thing}')} {'is' if number == 1 else 'are'} not shown"


def _clip_lines(head: str, tail: str, max_lines: int | None) -> tuple[str, str]:
    if max_lines is None:
        return head, tail
    first, last = max_lines * 3 // 4, max_lines // 4
    lines = head.split("\n")
    if tail:
        return "\n".join(lines[:first]), "\n".join(tail.split("\n")[-last:])
    if len(lines) <= max_lines:
        return head, ""
    return "\n".join(lines[:first]), "\n".join(lines[-last:])


def readable_args(args: str) -> str:
    """Write the arguments of a call as ``name: value`` lines; text in them is shown as it is."""
    import json  # behind the first frame

    try:
        values = json.loads(args) if len(args) <= MAX_ARGS_CHARS else None
    except (ValueError, RecursionError):
        return args
    if not isinstance(values, dict):
        return args
    return "\n".join(f"{name}: {_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    import json

    return json.dumps(value, ensure_ascii=False)


# What the pieces of all entries share: signs, words for states, texts too long to be shown whole.

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


# The pieces of what is said: prompts, answers whether finished or not, the thinking before them.

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


# Says which pieces an entry is painted from: order, what is folded away, and how events are worded.

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
    inside = blocks_count(entry.calls, "call") if entry.calls else ""
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


# The answer that is being written: cheap to add to, painted piece by piece.

_ESC = "\x1b"
_HELD_BACK = 64
"""At most so many characters are held back in case an escape sequence is still arriving."""


class LiveMessage:
    """Collects streamed text and thinking.

    Text is split into finished pieces and one that grows, so only the growing one is laid out again. The
    pieces are the ones that the finished entry will be made of: handing over changes nothing on screen.
    """

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._pending: list[str] = []
        self._held = ""
        self._thinking: list[str] = []
        self._sealed: list[Piece] = []
        self.ended = False

    def append(self, text: str = "", thinking: str = "") -> None:
        """Add a portion; costs nothing until the next :meth:`pieces`."""
        if text:
            self._pending.append(text)
        if thinking:
            self._thinking.append(thinking)

    def end(self) -> None:
        """Say that nothing more comes."""
        self.ended = True

    @property
    def empty(self) -> bool:
        """Whether nothing has arrived."""
        return not (self._pending or self._held or self._thinking or self._splitter.pieces())

    @property
    def thinking(self) -> str:
        """All thinking so far."""
        if len(self._thinking) > 1:
            self._thinking = ["".join(self._thinking)]
        return self._thinking[0] if self._thinking else ""

    def pieces(self, wording: Wording, *, gap: int, expanded: bool) -> list[Piece]:
        """List the pieces of what has arrived, with ``gap`` blank lines above."""
        self._take()
        done = len(self._sealed)
        self._sealed += (MarkdownPiece(source, apart) for source, apart in self._splitter.sealed[done:])
        source, apart = self._splitter.open
        body = [*self._sealed, MarkdownPiece(source, apart)] if source.strip() else self._sealed
        content = [*thinking_pieces(self.thinking, wording, expanded=expanded)]
        if body:
            content += [*role(wording), *body]
        return [GapPiece(gap), *content] if gap and content else content

    def _take(self) -> None:
        """Clean what is pending; a control sequence may arrive in two portions."""
        text = self._held + "".join(self._pending)
        self._pending.clear()
        self._held = ""
        cut = text.rfind(_ESC) if not self.ended else -1
        if text.endswith("\r") and not self.ended:
            cut = len(text) - 1
        if cut >= 0 and len(text) - cut < _HELD_BACK:
            text, self._held = text[:cut], text[cut:]
        if text:
            self._splitter.feed(clean(text))
