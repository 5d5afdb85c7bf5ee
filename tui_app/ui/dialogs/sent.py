"""What the model gets in place of what left: who wrote each part, and the message each line comes from."""

import re
from array import array
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Told
from textual.strip import Strip
from textual.widgets import Static

from tui_app.context.binding.forms import MARK, SOURCES, message_numbers
from tui_app.events import DOUBTFUL, MARKS, NOT_IN_LOG, UNCHECKED, Origin
from tui_app.records import frozen
from tui_app.session.request_ledger import BY
from tui_app.session.user_view import Entry
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import MOST_CHARS
from tui_app.ui.dialogs.message import entry_of, full_text
from tui_app.ui.keys import Hint, place_bindings, place_hints
from tui_app.ui.text import PLAIN, UNICODE, Glyphs, clean, clock, one_line, padded
from tui_app.ui.themes import Palette, Tone, legible
from tui_app.ui.transcript.lines import EDGE, GUTTER, Line, Painter
from tui_app.ui.transcript.markdown import markdown_lines
from tui_app.ui.transcript.pieces import clip, split_markdown
from tui_app.ui.widgets import HintRow, LongText, TellsFailures, Wrapped

Reader = Callable[[Sequence[int]], Awaitable[Sequence[tuple[Entry, str]]]]
"""Reads messages by their log numbers: the row of each and its text, without those that are not there."""


@frozen
class Replacement:
    """What the model gets in place of what left."""

    passages: Sequence[tuple[Origin, str]] = ()
    """Who each passage is from, and its text; empty where that is not known."""
    author: str = ""
    """The model that wrote the notes."""
    otherwise: str = ""
    """Shown where there are no passages."""

    @property
    def text(self) -> str:
        return "\n".join(passage for _, passage in self.passages) or self.otherwise


@frozen
class SentLine:
    """A line that says where it comes from."""

    text: str
    form: str
    """What stands in brackets at its end."""
    written: str = ""
    """Both as they are written in the notes."""
    first: int = 0
    """The first of the rows it is painted in."""
    last: int = 0

    def dropped_from(self, notes: str) -> str:
        """The notes without it; the same where it is none of theirs, or all there is."""
        alone = rf"(?m)^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*{re.escape(self.written)}[ \t]*$\n?"
        without = re.sub(alone, "", notes, count=1) if self.written else notes
        without = without if without != notes else notes.replace(self.written, "", 1)
        return without if without.strip() else notes

    @property
    def numbers(self) -> tuple[int, ...]:
        """The messages it comes from."""
        return tuple(dict.fromkeys(message_numbers(self.form)))

    @property
    def mark(self) -> str:
        """Why it is to be checked; empty where it is not."""
        last = f"({self.form.rpartition(_AND)[2]})"
        return last if last in MARKS else ""

    @property
    def state(self) -> str:
        """What the log has of what it names; empty where that is not said."""
        return _TOLD.get(self.mark) or self.form.partition(": ")[2]

    @property
    def note(self) -> str:
        """Its form as it stands beside it."""
        return self.form.replace(": ", _AND, 1)


_AND = " · "
_TOLD = {
    UNCHECKED: "no source for it: none was given and none was found",
    DOUBTFUL: "a source for it, in which a second reader did not find what it says",
    NOT_IN_LOG: "not every name, number, quote or message that it gives",
}
_MARGINS: dict[Origin, tuple[str, Tone]] = {
    "model": ("m", Tone.DIM), "user": ("y", Tone.USER), "code": ("p", Tone.ADDED),
}  # fmt: skip
"""What stands in front of each part: who it is from."""
MARGIN = 2
"""Cells of the margin in front of the text."""
COLUMN = "source · what the log knows"
"""Head of the column of the forms."""


@frozen
class SentPage(Wrapped):
    """The replacement at one width: each line painted, with what stands in front of it."""

    strips: tuple[Strip, ...] = ()
    margins: tuple[Segment, ...] = ()
    lines: tuple[SentLine, ...] = ()


def sent_page(sent: Replacement, painter: Painter) -> SentPage:
    """Lay out the replacement as the model gets it, with a margin that says who each part is from."""
    rows: list[tuple[Line, str, Segment]] = []
    found: list[SentLine] = []
    gap = (painter.gap(), "", painter.styled(" " * MARGIN, Tone.TEXT))
    if sent.passages:
        legend = [
            segment
            for origin, (mark, tone) in _MARGINS.items()
            for segment in (painter.styled(mark, tone), painter.styled(f" {BY[origin]}   ", Tone.DIM))
        ]
        rows += [(painter.line(legend), "", gap[2]), gap]
    for number, (origin, passage) in enumerate(sent.passages or ((None, sent.otherwise),)):
        rows += [gap] if number else []
        source, lines = _with_places(
            clip(passage, MOST_CHARS, None, wash=clean)[0], origin, painter.width // 2
        )
        body = []
        if origin == "model":
            title = f"Notes of {one_line(sent.author, 40) or 'the model'}"
            head = painter.line([painter.styled(title, Tone.HEADING)])
            body = [_noted(head, COLUMN, painter) if lines else head]
        for piece, apart in split_markdown(source):
            body += [painter.gap()] if apart and body else []
            body += markdown_lines(piece, painter)
        # Without the blank lines behind a heading and in front of a list.
        body = [
            line
            for at, line in enumerate(body)
            if line.text
            or not (_is_heading(body[at - 1]) or _ITEM.match(body[min(at + 1, len(body) - 1)].text))
        ]
        painted, beside = _with_forms(_counted(body, origin, painter), lines, painter)
        found += (replace(each, first=each.first + len(rows), last=each.last + len(rows)) for each in beside)
        mark, tone = _MARGINS[origin] if origin else ("", Tone.TEXT)
        below = painter.glyphs.pipe if origin else ""
        rows += [
            (line, behind, painter.styled(f"{below if at else mark:<{MARGIN}}", tone))
            for at, (line, behind) in enumerate(painted)
        ]
    starts, stops, at = array("L"), array("L"), 0
    for line, behind, _ in rows:
        starts.append(at)
        stops.append(at + len(line.text))
        # A form is copied with what it stands beside.
        at += len(line.text) + len(behind) + 1
    return SentPage(
        "\n".join(line.text + behind for line, behind, _ in rows),
        starts,
        stops,
        tuple(line.strip.crop(GUTTER) for line, _, _ in rows),
        tuple(margin for _, _, margin in rows),
        tuple(found),
    )


_ITEM = re.compile(rf" (?:[{re.escape(UNICODE.item + PLAIN.item)}]|\d{{1,3}}[.)]) ")
"""How an item of a list begins as it is laid out."""


def _is_heading(line: Line) -> bool:
    said = [segment.style for segment in line.strip if segment.text.strip()]
    return bool(said) and all(style is not None and style.bold for style in said)


def _counted(body: Sequence[Line], origin: Origin | None, painter: Painter) -> list[Line]:
    """The lines of a passage; beside a heading that is not the model's, how many items are below it."""
    lines = list(body)
    for at, line in enumerate(body):
        if origin in ("user", "code") and _is_heading(line):
            below = takewhile(lambda each: not _is_heading(each), body[at + 1 :])
            items = sum(_ITEM.match(each.text) is not None for each in below)
            lines[at] = _noted(line, str(items or ""), painter)
    return lines


# Forms are laid out at the right, where the text leaves room. While Markdown lays out the text, signs of no
# alphabet keep as many cells free as a form needs; the first of them says which form it is.

_FIRST, _HELD = 0xF0000, "\uf8fe"
_SIGNS = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + 0xFFFD)}{_HELD}]")
_PLACE = re.compile(f"{_SIGNS.pattern}{_HELD}*")
_FORM = re.compile(rf"(?: *(?:{SOURCES.pattern}|{MARK.pattern}))+")
_PROMPT = re.compile(r"^- (#-?\d+)(?: \((\w+)\))?: (.*)")
"""How code begins a prompt of the user: with its number, and whether it is the latest."""
_YOURS = re.compile(r"^## The user's ", re.MULTILINE)
_ENDS = " .。*_"


def _with_places(passage: str, origin: Origin | None, most: int) -> tuple[str, list[SentLine]]:
    """A passage that keeps places free for the forms of its lines, each at most so wide; and these lines."""
    lines, rows, fenced = list[SentLine](), list[str](), False
    # Notes that the user has edited are notes.
    own = _YOURS.search(passage) is not None or any(map(_PROMPT.match, passage.split("\n")))
    prompts = origin == "user" and own
    for written in _YOURS.sub("## Your ", _SIGNS.sub("", passage)).split("\n"):
        row = _PROMPT.sub(_numbered, written) if prompts else written
        fenced ^= row.lstrip().startswith(("```", "~~~"))
        forms = [] if fenced else list((SOURCES if prompts else _FORM).finditer(row))
        if prompts:
            # What the user put in brackets is no form.
            forms = [form for form in forms[-1:] if row[:2] == "- " and form.end() == len(row.rstrip())]
        text, start = "", 0
        for form in forms:
            begin, said, start = start, row[start : form.start()].rstrip(), form.end()
            if not row[start:].strip(_ENDS):
                said, start = said + row[start:].rstrip(), len(row)
            whole = row[begin:start].strip().removeprefix("- ").removeprefix("* ").strip()
            inside = form[0].strip()[1:-1].replace(") (", _AND)
            text += f"{said} {chr(_FIRST + len(lines))}{_HELD * min(cell_len(inside) + 1, most)}"
            lines.append(SentLine(said.strip(" -*+|>").lstrip(". "), inside, "" if prompts else whole))
        # Two spaces at its end keep a line apart from the next one.
        rows.append(f"{text}  " if forms and start == len(row) else text + row[start:])
    return "\n".join(rows), lines


def _numbered(prompt: re.Match[str]) -> str:
    """A prompt of the user with its number at its end."""
    number, latest, text = prompt.groups()
    return f"- {text} ({number}{': latest' if latest else ''})"


def _with_forms(
    body: Sequence[Line], lines: Sequence[SentLine], painter: Painter
) -> tuple[list[tuple[Line, str]], list[SentLine]]:
    """The rows of a passage with the forms at their places, and what is copied behind each; and its lines."""
    rows, found, began = list[tuple[Line, str]](), list[SentLine](), 0
    for written in body:
        line = written
        began = len(rows) if line.join == "\n" else began
        behind, taken = "", False
        while place := _PLACE.search(line.text):
            # What is left of a place that a narrow column has broken stays blank.
            said = lines[ord(place[0][0]) - _FIRST] if place[0][0] != _HELD else SentLine("", "")
            tone = Tone.WARNING if said.mark == NOT_IN_LOG else Tone.DIM
            if line.text[place.end() :] or not said.form:
                line = _filled(line, place, f"({said.form})" if said.form else "", tone, painter)
            else:
                note, behind = painter.fitted(said.note, len(place[0])), f" ({said.form})"
                line = _cropped(line, line.text[: place.start()].rstrip(), painter)
                if rows and not line.text and line.join != "\n":
                    # Only the form had no room in the row before, where text is not as wide as the page.
                    before = _noted(rows[-1][0], note, painter, tone)
                    taken = before is not rows[-1][0]
                    rows[-1] = before, rows[-1][1] + behind * taken
                line = _noted(line, note, painter, tone, gap=0)
            if said.form:
                found.append(replace(said, first=began, last=max(began, len(rows) - taken)))
        if not taken:
            rows.append((line, behind))
    return rows, found


def _filled(line: Line, place: re.Match[str], form: str, tone: Tone, painter: Painter) -> Line:
    """A line with a form at its place, where text follows it."""
    shown = padded(painter.fitted(form, len(place[0])), len(place[0]))
    start = GUTTER + cell_len(line.text[: place.start()])
    behind = line.strip.crop(start + len(place[0]))
    parts = [line.strip.crop(0, start), Strip([painter.styled(shown, tone)]), behind]
    text = line.text[: place.start()] + shown + line.text[place.end() :]
    return replace(line, strip=Strip.join(parts), text=text)


def _cropped(line: Line, text: str, painter: Painter) -> Line:
    """The beginning of a line."""
    strip = line.strip.crop(0, GUTTER + cell_len(text))
    width = line.strip.cell_length
    return replace(line, strip=strip.extend_cell_length(width, painter.palette.style(Tone.TEXT)), text=text)


def _noted(line: Line, note: str, painter: Painter, tone: Tone = Tone.FAINT, gap: int = 2) -> Line:
    """A line with something small at its right, which gives way where there is no room."""
    note = painter.spelled(note).replace("×", painter.glyphs.excluded)
    start = GUTTER + painter.width - cell_len(note)
    written = cell_len(line.strip.text.rstrip())
    if not note or start < max(GUTTER, written) + gap * (written > GUTTER):
        return line
    parts = [
        line.strip.crop(0, start),
        Strip([painter.styled(note, tone)]),
        line.strip.crop(GUTTER + painter.width),
    ]
    return replace(line, strip=Strip.join(parts))


class SentText(LongText):
    """What the model gets in place of what left, to read, select and copy; a mark goes over its lines."""

    BINDINGS = place_bindings("sent")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"sent-text--line"}

    class Moved(Told):
        """Another line is marked."""

    class Asked(Told):
        """The message of the marked line is wanted."""

    def __init__(self, sent: Replacement, glyphs: Glyphs) -> None:
        super().__init__(sent.text)
        self._sent, self._glyphs = sent, glyphs
        self._at: int | None = None
        self.beside: LongText | None = None
        """A text that pages are turned in meanwhile."""

    def show_sent(self, sent: Replacement) -> None:
        """Show another replacement from its beginning."""
        self._sent, self._at = sent, None
        self.show(sent.text)

    @property
    def lines(self) -> tuple[SentLine, ...]:
        """Those that say where they come from; empty until it is laid out."""
        return self._lines.lines if isinstance(self._lines, SentPage) else ()

    @property
    def marked(self) -> SentLine | None:
        return self.lines[self._at] if self._at is not None and self._at < len(self.lines) else None

    @property
    def progress(self) -> str:
        """``2 of 5 to check``; empty where nothing is."""
        places = [at for at, line in enumerate(self.lines) if line.mark]
        place = f"{places.index(self._at) + 1} of " if self._at in places else ""
        return f"{place}{len(places)} to check" if places else ""

    def action_line(self, step: int) -> None:
        """Mark the next line; where none is near, scroll."""
        top, bottom, at = self.scroll_offset.y, self.scroll_offset.y + self.size.height, -1
        seen = [place for place, line in enumerate(self.lines) if line.last >= top and line.first < bottom]
        if self._at is not None and self._at in seen:
            at = self._at + step
        elif seen:
            at = seen[min(0, step)]
        line = self.lines[at] if 0 <= at < len(self.lines) else None
        if line is not None and line.first <= bottom and line.last >= top - 1:
            self._mark(at)
        else:
            self.action_scroll_lines(step)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll what the keys are for: the message that is beside it, where there is one."""
        super().action_scroll_pages(pages) if self.beside is None else self.beside.action_scroll_pages(pages)

    def action_check(self) -> None:
        """Mark the next line that is to be checked; behind the last one the first."""
        places = [at for at, line in enumerate(self.lines) if line.mark]
        if places:
            self._mark(next((at for at in places if self._at is None or at > self._at), places[0]))

    def action_source(self) -> None:
        if self.marked is None:
            self.action_line(1)
        if self.marked is not None:
            self.post_message(self.Asked())

    def on_click(self, event: events.Click) -> None:
        row = self.scroll_offset.y + event.y
        found = (at for at, line in enumerate(self.lines) if line.first <= row <= line.last)
        if (at := next(found, None)) is not None:
            self._mark(at)

    def _mark(self, at: int) -> None:
        self._at, line = at, self.lines[at]
        top, height = self.scroll_offset.y, self.size.height
        if line.first < top or line.last >= top + height:
            top = line.first if line.first < top else line.last - height + 1
            self.scroll_to(y=top, animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def _broken(self, width: int) -> Wrapped:
        cells, plain = max(8, width - MARGIN - EDGE), self.app.has_class("-plain")
        painter = Painter(Palette.of(self), self._glyphs, cells, plain=plain)
        return sent_page(self._sent, painter)

    def _strip(self, number: int) -> Strip:
        page, line = self._lines, self.marked if self.has_focus else None
        if not isinstance(page, SentPage):
            return super()._strip(number)
        text = self._selectable(list(page.strips[number]), number)
        if line is None or not line.first <= number <= line.last:
            return Strip.join([Strip([page.margins[number]]), text])
        over = self.get_component_rich_style("sent-text--line", partial=True)
        sign = self._glyphs.collapsed if number == line.first else page.margins[number].text
        margin = Segment(f"{sign:<{MARGIN}}", page.margins[number].style)
        parts = ((part, (style or Style.null()) + over) for part, style, _ in (margin, *text))
        return Strip([Segment(part, legible(style)) for part, style in parts])

    def notify_style_update(self) -> None:
        """Paint in the colours of another theme."""
        super().notify_style_update()
        if self.is_mounted:
            self._width = 0
            # The colours of parts are the new ones only behind this.
            self.call_next(self._lay)


class SourceText(LongText, can_focus=False):
    """The messages of a line; the keys stay with the lines."""


class SentView(TellsFailures, Vertical):
    """The replacement, and beside it the message that the marked line comes from."""

    class Changed(Told):
        """Other keys act, or another line is marked."""

    class Wanted(Told):
        """A message is wanted that is shown beside its line."""

        def __init__(self, entry: Entry, text: str) -> None:
            super().__init__()
            self.entry, self.text = entry, text

    def __init__(
        self, sent: Replacement, glyphs: Glyphs, read: Reader | None, *, id: str | None = None
    ) -> None:
        """Show a replacement.

        Args:
            sent: It.
            glyphs: Signs to draw with.
            read: Reads the messages that its lines come from; None where there are none.
            id: Textual id.
        """
        super().__init__(id=id)
        self.text = SentText(sent, glyphs)
        self._glyphs, self._read = glyphs, read
        self._shown: Sequence[tuple[Entry, str]] = ()

    def compose(self) -> ComposeResult:
        yield self.text
        with Vertical(id="source"):
            yield Static(id="source-head", markup=False)
            yield SourceText()
            yield Static(id="source-said", markup=False)

    @property
    def is_open(self) -> bool:
        """Whether a message is shown."""
        return bool(self.query_one("#source").display) and self.text.has_focus

    def close(self) -> bool:
        """Show no message any more; returns whether one was shown."""
        was_open = self.is_open
        self._put(open=False)
        return was_open

    def _put(self, *, open: bool) -> None:
        self.query_one("#source").display = open
        self.text.beside = self.query_one(SourceText) if open else None
        self.post_message(self.Changed())

    def hints(self, row: HintRow, others: Sequence[Hint], enter: str) -> None:
        """Name the keys that act on the lines, and say how many are to be checked.

        Args:
            row: Where.
            others: The keys of the screen.
            enter: What enter does with a message that is shown.
        """
        told, own = (
            self.text.progress if self.display else "",
            {hint.label: hint for hint in place_hints("sent")},
        )
        row.meanwhile = (told, told.removesuffix(" to check")) if told else ()
        others = [hint for hint in others if told or hint.label != "n"]
        if self.is_open:
            checks = [hint for hint in others if hint.label == "n"]
            leads = [own["enter"]._replace(text=enter)] if self._shown else []
            row.hints = (*checks, own["up/down"], *leads, own["pageup/pagedown"], own["esc"])
        else:
            row.hints = (*([own["enter"]] if self.text.lines and self.text.has_focus else []), *others)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < _BESIDE, "-narrow")

    def on_long_text_laid(self) -> None:
        self.post_message(self.Changed())

    def on_sent_text_moved(self) -> None:
        if self.is_open:
            self._open()
        self.post_message(self.Changed())

    def on_sent_text_asked(self) -> None:
        """Show the message; where it is shown, it is wanted elsewhere."""
        if not self.is_open:
            self._put(open=True)
            self._open()
        elif self._shown:
            self.post_message(self.Wanted(*self._shown[0]))

    def _open(self) -> None:
        if (line := self.text.marked) is not None:
            self.run_worker(self._show(line), group="source", exclusive=True, exit_on_error=False)

    async def _show(self, line: SentLine) -> None:
        self._shown = await self._read(line.numbers) if self._read is not None else ()
        heads = [self._head(entry) for entry, _ in self._shown]
        gone = "This line gives no message." if not line.numbers else "The message is no row of this session."
        self.query_one("#source-head", Static).update(heads[0] if heads else Content(gone))
        # One below the other where a line comes from several.
        texts = [text for _, text in self._shown]
        parts = [f"{head.plain}\n\n{text}" for head, text in zip(heads[1:], texts[1:], strict=True)]
        self.query_one(SourceText).show("\n\n".join([*texts[:1], *parts]))
        said = Content.assemble(("The line says  ", "$text-muted"), line.text)
        if line.state:
            tone = "$text-warning" if line.mark == NOT_IN_LOG else "$foreground"
            said = Content.assemble(said, ("\nThe log has    ", "$text-muted"), (line.state, tone))
        self.query_one("#source-said", Static).update(said)
        self.post_message(self.Changed())

    def _head(self, entry: Entry) -> Content:
        time = f" {self._glyphs.separator} {clock(entry.time)}"
        title = f"  {one_line(entry.title, 200)}"
        return Content.assemble((f"#{entry.message}", "bold"), title, (time, "$text-muted"))


_BESIDE = 100
"""Cells from which a message has room beside the lines."""
_MOST_READ = 6
"""Messages of one line that are read."""


def reader_of(session: ChatSession) -> Reader:
    """Reads messages of a session."""

    async def read(numbers: Sequence[int]) -> Sequence[tuple[Entry, str]]:
        found = (entry_of(session, number) for number in numbers[:_MOST_READ])
        entries = list(dict.fromkeys(filter(None, found)))
        bodies = await session.bodies.read(entries)
        return [(entry, full_text(body)) for entry, body in zip(entries, bodies, strict=True)]

    return read
