"""Markdown laid out as lines: rich does the block structure, this module the lines and colours.

Nothing is rendered that a model could abuse or that would hide text: HTML is shown as text, links show their
target, only a visible address is a hyperlink, and reference definitions stay visible. Parser and lexers are
slow to import, so this module is loaded after the first frame.
"""

import re
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from tui_app.ui.colours.code_colours import coloured
from tui_app.ui.colours.palette import Tone
from tui_app.ui.transcript.lines import PROSE_CELLS, Line, Painter
from tui_app.ui.words.text import clean, wrap_spans

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")
_JOINS = ("\n", " ", "")
_MARKS = tuple(Style(meta={"join": number}) for number in range(len(_JOINS)))
"""Style metadata on the first content segment of a line: how it joins the previous line, and where content
begins.
"""
CODE_INDENT = 2
_ADDRESS = re.compile(r"https?://[!-;=?-~]*[\w/#=&%~+-]")
"""A URL, without trailing punctuation of the sentence."""
_BOX = re.compile(r"\[[ xX]\] ")
_ROOMY_COLUMN = 20
"""Cells available per column from which columns get extra padding."""
COLUMN_CELLS = 8
"""Minimum cells per column, padding included, for a table to be laid out as one."""


class _Wrapped:
    def __init__(self, text: Text, indent: int = 0) -> None:
        self.text = text
        self.indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - self.indent if self.indent else min(options.max_width, PROSE_CELLS)
        spans = list(wrap_spans(self.text.plain, max(1, room)))
        cuts = sorted({cut for start, stop, _ in spans for cut in (start, stop)} - {0})
        for address in _ADDRESS.finditer(self.text.plain):
            # Every line that shows a part of the address links to the whole address.
            self.text.stylize(Style(link=address[0]), *address.span())
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
        text = Text(code)
        if self.painter is not None:
            text = coloured(code, self.lexer_name, self.painter.palette)
            text.style = self.painter.palette.accent_of(Tone.TEXT)
        yield _Wrapped(text, CODE_INDENT)


class _Item(markdown.ListItem):
    """A list item whose bullet is copied as Markdown; an item with a checkbox has no bullet."""

    boxed = stands_apart = ends_in_code = False

    def on_child_close(self, context: markdown.MarkdownContext, child: markdown.MarkdownElement) -> bool:
        self.boxed |= isinstance(child, _Paragraph) and _BOX.match(child.text.plain) is not None
        self.ends_in_code = isinstance(child, _Code)
        return super().on_child_close(context, child)

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sign = "   " if self.boxed else " • "
        yield from self._with_sign(sign, "markdown.item.bullet", console, options)

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        # The same width up to 99: a list is laid out in pieces, before its length is known.
        sign = f"{number}.".rjust(3) + " "
        yield from self._with_sign(sign, "markdown.item.number", console, options)

    def _with_sign(self, sign: str, style: str, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.stands_apart:
            yield Segment.line()
        inner = options.update(width=max(1, options.max_width - len(sign)))
        for number, line in enumerate(
            console.render_lines(self.elements, inner, style=self.style, pad=False)
        ):
            yield Segment(" " * len(sign)) if number else Segment(sign, console.get_style(style))
            yield from line
            yield Segment.line()


class _List(markdown.ListElement):
    """A list with a blank line after code as well as before it."""

    def on_child_close(self, context: markdown.MarkdownContext, child: markdown.MarkdownElement) -> bool:
        before = self.items[-1] if self.items else None
        if isinstance(child, _Item) and isinstance(before, _Item):
            child.stands_apart = before.ends_in_code
        return super().on_child_close(context, child)


class _Table(markdown.TableElement):
    """A table whose cells fold long words; if its columns do not fit, its rows are shown as text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                if options.max_width < len(table.columns) * COLUMN_CELLS:
                    head = [self.header.row] if self.header and self.header.row else []
                    rows = [*head, *(self.body.rows if self.body else ())]
                    cells = (Text(" | ").join(cell.content for cell in row.cells) for row in rows)
                    yield _Wrapped(Text("\n").join(cells))
                    continue
                table.show_edge = False
                if options.max_width >= len(table.columns) * _ROOMY_COLUMN:
                    table.padding = (0, 2)
                for column in table.columns:
                    column.overflow = "fold"
                yield Padding(table, (0, 0, 0, CODE_INDENT), expand=False)
                continue
            yield table


class _Markdown(markdown.Markdown):
    elements = {  # noqa: RUF012 (declared so by rich)
        **markdown.Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "bullet_list_open": _List,
        "ordered_list_open": _List,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, source: str, painter: Painter) -> None:
        super().__init__("", hyperlinks=False)
        self.painter = painter
        self.parsed = _PARSER.parse(source)
        _make_safe(self.parsed)

    @property
    def begins_apart(self) -> bool:
        """Whether it begins with a list or quotation, before which rich puts a blank line."""
        first = self.parsed[0].type if self.parsed else ""
        return first in ("bullet_list_open", "ordered_list_open", "blockquote_open")


def _make_safe(tokens: Iterable[Token]) -> None:
    """Clean decoded entities, and turn images and links whose text is their target into plain text."""
    for token in tokens:
        token.content = clean(token.content)
        if token.type == "image":
            # Inline, because rich would paint an image separately and before its sentence.
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
        Its lines, without trailing blank ones.
    """
    console = painter.console
    options = console.options.update(width=painter.width, height=None)
    try:
        document = _Markdown(source, painter)
        rows = console.render_lines(document, options, pad=False)
    except Exception:
        # The text is untrusted and passes through two libraries: a bug there must not end the program.
        return _as_is(source, painter)
    lines = [_line(row, painter) for row in rows]
    if lines and not lines[0].text and document.begins_apart:
        # The list may have begun in the previous piece, and pieces already have their own distance.
        del lines[0]
    while lines and not lines[-1].text:
        lines.pop()
    return lines or _as_is(source, painter)


def _as_is(source: str, painter: Painter) -> list[Line]:
    """Show the source if layout gave nothing, for example because of too deep nesting."""
    text = source.strip("\n")
    spans = wrap_spans(text, painter.prose) if text.strip() else ()
    return [painter.line([Segment(text[start:stop])], join=join) for start, stop, join in spans]


def _line(row: list[Segment], painter: Painter) -> Line:
    """Convert a row laid out by rich: find where its content begins, and replace rich's signs."""
    before = 0
    for segment in row:
        number = segment.style.meta.get("join") if segment.style else None
        if isinstance(number, int):
            ornament = "".join(part.text for part in row)[:before]
            # A list bullet is content and is copied; quote bars and indents are not.
            keep = number == 0 and bool(ornament.strip(" ▌"))
            glyphs, signed, at = painter.glyphs, list[Segment](), 0
            for text, style, control in row:
                spelled = text.replace("•", glyphs.item).replace("▌", glyphs.quote) if at < before else text
                signed.append(Segment(spelled, style, control))
                at += len(text)
            return painter.line(signed, lead=0 if keep else before, join=_JOINS[number])
        before += len(segment.text)
    return painter.line(row)
