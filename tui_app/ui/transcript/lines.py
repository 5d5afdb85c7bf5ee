"""One painted line that remembers which part of it is content, and how text is broken into lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.cells import cell_len, get_character_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.strip import Strip

from tui_app.ui.text import Glyphs, clean, cut_cells, without_drawing
from tui_app.ui.themes import Palette, Tone, colour_code

GUTTER = 2
"""Cells left of the content, where the focus mark stands."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is painted, gutter and padding included."""

    strip: Strip
    text: str
    """The characters right of the gutter, without padding."""
    lead: int = 0
    """Number of characters at the start that are decoration and never copied."""
    end: int = 0
    """Where the content ends; what follows (a time, a token count) is never copied."""
    join: str = "\n"
    """What stands between this line and the one before it in the original text."""
    blank: bool = False
    """A line that only keeps distance."""

    def copied(self, start: int, stop: int | None) -> str:
        """Return the original characters between two columns (in characters right of the gutter)."""
        stop = self.end if stop is None else min(stop, self.end)
        return self.text[max(start, self.lead) : max(stop, self.lead)]


@dataclass(frozen=True)
class Painter:
    """Everything that painting depends on beside the text; a new one makes all cached lines stale."""

    palette: Palette
    glyphs: Glyphs
    width: int
    """Cells of the content, gutter excluded."""
    plain: bool = False
    console: Console = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "console", self.palette.console())

    def line(
        self, segments: Sequence[Segment], *, lead: int = 0, end: int | None = None, join: str = "\n"
    ) -> Line:
        """Make a line from segments, padded to the full width over the base style."""
        base = self.palette.style(Tone.TEXT)
        # What is copied is what was written.
        text = "".join(segment.text for segment in segments).rstrip()
        if self.plain:
            segments = [Segment(without_drawing(part), style) for part, style, _ in segments]
        parts = [Segment(" " * GUTTER, base)]
        parts.extend(Segment(part, base + style if style else base) for part, style, _ in segments)
        strip = Strip(parts).adjust_cell_length(GUTTER + self.width, base)
        stop = len(text) if end is None else min(end, len(text))
        return Line(strip, text, min(lead, stop), stop, join)

    def spelled(self, text: str) -> str:
        """A row of ours as it is laid out: in plain ASCII dots take three cells, which must be counted."""
        if not self.plain or text.isascii():
            return text
        return text.replace("…", self.glyphs.dots).replace("·", "-").replace("→", self.glyphs.arrow)

    def fitted(self, text: str, width: int) -> str:
        """Cut one line to a width; dots say that something is missing."""
        text = self.spelled(text)
        if not self.plain or cell_len(text) <= width:
            return cut_cells(text, width)
        return self.spelled(cut_cells(text, width - 2))

    def gap(self) -> Line:
        """Make a line that only keeps distance."""
        return replace(self.line(()), blank=True)

    def faded(self, line: Line) -> Line:
        """A line with all of its text in the quiet colour."""
        over = self.palette.accent_of(Tone.DIM)
        return replace(line, strip=Strip(Segment.apply_style(line.strip, post_style=over)))

    def styled(self, text: str, tone: Tone) -> Segment:
        """Make one segment in a tone."""
        return Segment(text, self.palette.style(tone))


def wrap_spans(text: str, width: int) -> Iterator[tuple[int, int, str]]:
    r"""Break text into lines at spaces, or anywhere when a word is wider than a line.

    Joining the spans with their ``join`` gives back the text exactly.

    Args:
        text: Clean text; each ``\n`` begins a line.
        width: Width in cells, at least 1.

    Yields:
        Start, end, and what stood before the line: newline, one space, or nothing.
    """
    width = max(1, width)
    start, join = 0, "\n"
    while True:
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        yield from _wrap_one(text, start, stop, width, join)
        if stop == len(text):
            return
        start = stop + 1


def _wrap_one(text: str, start: int, stop: int, width: int, join: str) -> Iterator[tuple[int, int, str]]:
    while True:
        cut = _fit(text, start, stop, width)
        if cut >= stop:
            yield start, stop, join
            return
        space = text.rfind(" ", start, cut + 1)
        if space > start and not text[start:space].isspace():
            yield start, space, join
            start, join = space + 1, " "
        else:
            yield start, cut, join
            start, join = cut, ""


def _fit(text: str, start: int, stop: int, width: int) -> int:
    """Return the end of the longest run that is at most ``width`` cells wide; one character at least."""
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


# Lays out one piece of Markdown: rich does the block structure, this module the lines and the colours.
#
# Nothing is interpreted that a model could abuse or that would be lost: HTML is shown as text, links show
# their target and are not clickable, reference definitions stay visible.

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")
_JOINS = ("\n", " ", "")
_MARKS = tuple(Style(meta={"join": number}) for number in range(len(_JOINS)))
"""Put on the first content segment of a line: how it continues the line before, and where content begins."""
CODE_INDENT = 4
COLUMN_CELLS = 8
"""Room that each column of a table needs, distance included, to be read as one."""


class _Wrapped:
    """Text broken into lines that remember whether the break stands in the source."""

    def __init__(self, text: Text, indent: int = 0) -> None:
        self.text = text
        self.indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        spans = list(wrap_spans(self.text.plain, max(1, options.max_width - self.indent)))
        cuts = sorted({cut for start, stop, _ in spans for cut in (start, stop)} - {0})
        parts = self.text.divide(cuts)
        begins = dict(zip([0, *cuts], parts, strict=False))
        for start, stop, join in spans:
            if self.indent:
                yield Segment(" " * self.indent)
            if stop > start:
                first, *others = begins[start].render(console)
                mark = _MARKS[_JOINS.index(join)]
                yield Segment(first.text, (first.style or Style.null()) + mark)
                yield from others
            yield Segment.line()


class _Paragraph(markdown.Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _Wrapped(self.text)


class _Heading(markdown.Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _Wrapped(self.text)


class _Code(markdown.CodeBlock):
    @classmethod
    def create(cls, markdown: markdown.Markdown, token: Token) -> "_Code":
        element = cls((token.info or "").partition(" ")[0], "")
        element.painter = markdown.painter if isinstance(markdown, _Markdown) else None
        return element

    painter: Painter | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = self.text.plain.rstrip()
        text = colour_code(code, self.lexer_name, self.painter.palette) if self.painter else Text(code)
        yield _Wrapped(text, CODE_INDENT)


class _Item(markdown.ListItem):
    """A list item whose sign is Markdown again when it is copied."""

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._with_sign(" • ", "markdown.item.bullet", console, options)

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        # Of one width up to 99, for nobody knows yet how long a list becomes of which pieces are laid out.
        sign = f"{number}.".rjust(3) + " "
        yield from self._with_sign(sign, "markdown.item.number", console, options)

    def _with_sign(self, sign: str, style: str, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(1, options.max_width - len(sign)))
        for number, line in enumerate(
            console.render_lines(self.elements, inner, style=self.style, pad=False)
        ):
            yield Segment(" " * len(sign)) if number else Segment(sign, console.get_style(style))
            yield from line
            yield Segment.line()


class _Table(markdown.TableElement):
    """A table whose cells fold long words; where its columns have no room, its rows as text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                if options.max_width < len(table.columns) * COLUMN_CELLS:
                    yield _Wrapped(self._as_rows())
                    continue
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
            yield table

    def _as_rows(self) -> Text:
        head = [self.header.row] if self.header and self.header.row else []
        rows = [*head, *(self.body.rows if self.body else ())]
        return Text("\n").join(Text(" | ").join(cell.content for cell in row.cells) for row in rows)


class _Markdown(markdown.Markdown):
    elements = {  # noqa: RUF012 (declared so by rich)
        **markdown.Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, source: str, painter: Painter) -> None:
        super().__init__("", hyperlinks=False)
        self.painter = painter
        self.parsed = _PARSER.parse(source)
        _make_safe(self.parsed)

    @property
    def begins_with_list(self) -> bool:
        """Whether the first block is a list."""
        return bool(self.parsed) and self.parsed[0].type in ("bullet_list_open", "ordered_list_open")


def _make_safe(tokens: Iterable[Token]) -> None:
    """Clean what entities decoded to, and make words of images and of the link that is its own text."""
    for token in tokens:
        token.content = clean(token.content)
        if token.type == "image":
            # As words of the sentence; rich would paint an image apart from it, and before it.
            label = f"[image: {token.content}]" if token.content else "[image]"
            token.content = f"{label} ({clean(str(token.attrs.get('src', '')))})"
            token.type, token.tag, token.children = "text", "", None
        children = token.children
        if children:
            _make_safe(children)
            for index, child in enumerate(children[:-2]):
                own = children[index + 1].content == child.attrs.get("href")
                if child.type == "link_open" and own and children[index + 2].type == "link_close":
                    child.type, children[index + 2].type = "text", "text"
                    child.nesting = children[index + 2].nesting = 0


def markdown_lines(source: str, painter: Painter) -> list[Line]:
    """Lay out a piece of Markdown.

    Args:
        source: Clean Markdown of bounded length.
        painter: Width, colours and signs.

    Returns:
        Its lines, without blank ones at the end.
    """
    console = painter.console
    options = console.options.update(width=painter.width, height=None)
    try:
        document = _Markdown(source, painter)
        rows = console.render_lines(document, options, pad=False)
    except Exception:
        # The text is not trusted and two libraries walk through it: a defect there must not end the program.
        return _as_is(source, painter)
    lines = [_line(row, painter) for row in rows]
    if lines and not lines[0].text and document.begins_with_list:
        # Rich puts a distance in front of every list, but the list may have begun in the piece before.
        del lines[0]
    while lines and not lines[-1].text:
        lines.pop()
    return lines or _as_is(source, painter)


def _as_is(source: str, painter: Painter) -> list[Line]:
    """Show the source where layout gave nothing, for example what is nested too deeply."""
    text = source.strip("\n")
    spans = wrap_spans(text, painter.width) if text.strip() else ()
    return [painter.line([Segment(text[start:stop])], join=join) for start, stop, join in spans]


def _signed(row: list[Segment], end: int, glyphs: Glyphs) -> list[Segment]:
    """The signs in front of a text as the set of signs has them; rich knows only its own."""
    signed, at = [], 0
    for segment in row:
        text = segment.text
        if at < end:
            text = text.replace("•", glyphs.item).replace("▌", glyphs.quote)
        at += len(segment.text)
        signed.append(Segment(text, segment.style, segment.control))
    return signed


def _line(row: list[Segment], painter: Painter) -> Line:
    before = 0
    for segment in row:
        number = segment.style.meta.get("join") if segment.style else None
        if isinstance(number, int):
            ornament = "".join(part.text for part in row)[:before]
            # A list sign says something, so it is copied; the bar of a quote and indents are not.
            keep = number == 0 and bool(ornament.strip(" ▌"))
            row = _signed(row, before, painter.glyphs)
            return painter.line(row, lead=0 if keep else before, join=_JOINS[number])
        before += len(segment.text)
    return painter.line(row)


# Cuts a growing Markdown text into pieces that can be laid out one by one.
#
# A piece ends where a top-level block or list item ends, so finished pieces never change while an answer
# streams. What has no such places for long (a file in one fence, a table of thousands of rows, one endless
# line) is cut at a size that can still be laid out within a frame; the fence is opened again, or the head of
# the table repeated, in the next piece.

SOFT_CHARS = 200
"""From this size on a piece ends at the next place where it may."""
FENCE_CHARS = 1_200
"""Code is the most expensive to lay out, because it is coloured."""
FENCE_LINES = 40
TABLE_LINES = 30
LIST_COST = 3_600
TEXT_COST = 6_000
"""Bounds in characters, a sign that inline markup may begin with counting as nine."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_TABLE_RULE = re.compile(r" {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\s*$")
_ITEM = re.compile(r"[-*+]\s|\d{1,9}[.)]\s")
_SIGN = re.compile(r"[*_`\[\]!<&~>]")
_SIGN_COST = 8
_MAX_CARRY = 400
"""Longest table head or fence line that is repeated in the next piece, in characters."""
_NEAR_SPACE = 80


class Splitter:
    """Takes Markdown in any portions; the pieces do not depend on how it was portioned."""

    def __init__(self) -> None:
        self.sealed: list[tuple[str, bool]] = []
        """Finished pieces: text, and whether a blank line stands before it."""
        self._lines: list[str] = []
        self._chars = 0
        self._cost = 0
        self._partial = ""
        self._gap = False
        self._fence = ""
        self._fence_line = ""
        self._table_head = ""
        self._in_list = False
        self._blank_before = False

    def feed(self, text: str) -> None:
        """Add text; complete lines are assigned to pieces at once."""
        *complete, rest = (self._partial + text).split("\n")
        for line in complete:
            self._add(self._cut(line) + "\n")
        self._partial = self._cut(rest)

    @property
    def open(self) -> tuple[str, bool]:
        """The piece that may still change: text, and whether a blank line stands before it."""
        return "".join(self._lines) + self._partial, self._gap

    def pieces(self) -> list[tuple[str, bool]]:
        """All pieces, the open one last when it is not empty."""
        text, gap = self.open
        return [*self.sealed, (text, gap)] if text.strip() else list(self.sealed)

    def _cut(self, line: str) -> str:
        """Assign the front of an overlong line; return the rest."""
        limit = FENCE_CHARS if self._fence else TEXT_COST
        start = 0
        while len(line) - start > limit // (_SIGN_COST + 1):
            # One character more than could ever be paid for: enough to see whether the line must be cut.
            head = line[start : start + limit + 1]
            end = _affordable(head, limit)
            if end == len(head):
                break
            self._add(head[:end])
            start += end
        return line[start:]

    def _add(self, line: str) -> None:
        blank = not line.strip()
        item = _ITEM.match(line) is not None and not self._fence
        cost = len(line) if self._fence else len(line) + _SIGN_COST * len(_SIGN.findall(line))
        if self._chars >= SOFT_CHARS and not self._fence and not blank:
            if self._in_list and item:
                self._seal(gap=False)
            elif self._blank_before and not line[0].isspace() and not item:
                self._seal(gap=True)
        if self._lines and self._full(cost):
            self._seal(gap=self._blank_before and not self._fence and not self._in_list)
        self._track(line, item=item, blank=blank)
        self._lines.append(line)
        self._chars += len(line)
        self._cost += cost
        self._blank_before = blank

    def _full(self, cost: int) -> bool:
        if self._fence:
            return self._chars + cost > FENCE_CHARS or len(self._lines) >= FENCE_LINES
        if self._table_head:
            return len(self._lines) >= TABLE_LINES
        return self._cost + cost > (LIST_COST if self._in_list else TEXT_COST)

    def _seal(self, *, gap: bool) -> None:
        text = "".join(self._lines)
        carry = ""
        if self._fence:
            carry, text = self._fence_line, f"{text.rstrip(chr(10))}\n{self._fence}\n"
        elif self._table_head and not gap:
            carry = self._table_head
        if text.strip():
            self.sealed.append((text, self._gap))
        self._gap = gap
        self._lines = [carry] if 0 < len(carry) <= _MAX_CARRY else []
        self._chars = self._cost = sum(map(len, self._lines))

    def _track(self, line: str, *, item: bool, blank: bool) -> None:
        """Follow fences, tables and lists, line by line."""
        match = _FENCE.match(line)
        if self._fence:
            if match and match[1].startswith(self._fence) and not match[2].strip():
                self._fence = ""
            return
        if match and not (match[1][0] == "`" and "`" in match[2]):
            self._fence, self._fence_line = match[1], line
        if "|" not in line:
            self._table_head = ""
        elif _TABLE_RULE.match(line) and self._lines and "|" in self._lines[-1]:
            self._table_head = self._lines[-1] + line
        if item:
            self._in_list = True
        elif self._blank_before and not blank and not line[0].isspace():
            self._in_list = False


def _affordable(line: str, limit: int) -> int:
    """Return where a line must be cut: at a space near the end of what the limit buys."""
    end = limit
    for number, sign in enumerate(_SIGN.finditer(line), start=1):
        if sign.start() + number * _SIGN_COST >= limit:
            end = min(end, sign.start() + 1)
            break
        end = limit - number * _SIGN_COST
    if end >= len(line):
        return len(line)
    end = max(1, end)
    space = line.rfind(" ", max(1, end - _NEAR_SPACE), end)
    return space + 1 if space > 0 else end


def split_markdown(text: str) -> list[tuple[str, bool]]:
    """Cut a whole text; the same pieces as feeding it bit by bit."""
    splitter = Splitter()
    splitter.feed(text)
    return splitter.pieces()
