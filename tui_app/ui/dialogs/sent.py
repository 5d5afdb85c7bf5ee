"""The replacement that the model gets for removed messages, with the author and source of each line."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Told
from textual.strip import Strip
from textual.widgets import Static

from tui_app.events import NOT_IN_LOG
from tui_app.session.views.entries import Entry
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.colours.palette import Palette, legible
from tui_app.ui.context.sent_page import MARGIN, Replacement, SentLine, SentPage, sent_page
from tui_app.ui.dialogs.message_actions import entry_of, full_text
from tui_app.ui.keyboard.keys import Hint, place_bindings, place_hints
from tui_app.ui.transcript.lines import EDGE, Painter
from tui_app.ui.widgets.hint_row import HintRow, TellsFailures
from tui_app.ui.widgets.long_text import LongText, Wrapped
from tui_app.ui.widgets.tables import MUTED
from tui_app.ui.words.compaction_words import unmarked
from tui_app.ui.words.glyphs import PLAIN, UNICODE
from tui_app.ui.words.text import clock, one_line

Reader = Callable[[Sequence[int]], Awaitable[Sequence[tuple[Entry, str]]]]
"""Reads messages by log number: the row and text of each; missing ones are left out."""


class SentText(LongText):
    """The replacement as a text to read, select and copy, with a mark that moves over its lines."""

    BINDINGS = place_bindings("sent")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"sent-text--line"}

    class Moved(Told):
        """Posted when another line is marked."""

    class Asked(Told):
        """Posted to show the source message of the marked line."""

    def __init__(self, sent: Replacement) -> None:
        super().__init__(sent.text)
        self._sent = sent
        self._at: int | None = None
        self.beside: LongText | None = None
        """An open source text, which the page keys scroll instead."""

    def show_sent(self, sent: Replacement) -> None:
        """Show another replacement from its beginning."""
        self._sent, self._at = sent, None
        self.show(sent.text)

    @property
    def lines(self) -> tuple[SentLine, ...]:
        """The lines that have a source; empty until the text is laid out."""
        return self._lines.lines if isinstance(self._lines, SentPage) else ()

    @property
    def marked(self) -> SentLine | None:
        return self.lines[self._at] if self._at is not None and self._at < len(self.lines) else None

    @property
    def progress(self) -> str:
        """``2 of 5 to check``; empty if nothing is flagged."""
        places = [at for at, line in enumerate(self.lines) if line.mark]
        place = f"{places.index(self._at) + 1} of " if self._at in places else ""
        return f"{place}{len(places)} to check" if places else ""

    def action_line(self, step: int) -> None:
        """Mark the next line, or scroll if none is near."""
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
        """Scroll the source message next to it if one is open, else this text."""
        super().action_scroll_pages(pages) if self.beside is None else self.beside.action_scroll_pages(pages)

    def action_check(self) -> None:
        """Mark the next flagged line, cyclically."""
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
        painter = Painter(Palette.of(self), PLAIN if plain else UNICODE, cells, plain=plain)
        return sent_page(self._sent, painter)

    def _strip(self, number: int) -> Strip:
        page, line = self._lines, self.marked if self.has_focus else None
        if not isinstance(page, SentPage):
            return super()._strip(number)
        text = self._selectable(list(page.strips[number]), number)
        if line is None or not line.first <= number <= line.last:
            return Strip.join([Strip([page.margins[number]]), text])
        over = self.get_component_rich_style("sent-text--line", partial=True)
        sign = page.sign if number == line.first else page.margins[number].text
        margin = Segment(f"{sign:<{MARGIN}}", page.margins[number].style)
        parts = ((part, (style or Style.null()) + over) for part, style, _ in (margin, *text))
        return Strip([Segment(part, legible(style)) for part, style in parts])

    def notify_style_update(self) -> None:
        """Paint in the colours of another theme."""
        super().notify_style_update()
        if self.is_mounted:
            self._width = 0
            # The component styles have the new colours only after this.
            self.call_next(self._lay)


class SourceText(LongText, can_focus=False):
    """The source messages of a line; the lines keep the focus."""


class SentView(TellsFailures, Vertical):
    """The replacement, and next to it the source message of the marked line."""

    class Changed(Told):
        """Posted when other keys work, or another line is marked."""

    @dataclass
    class Wanted(Told):
        """Posted to go to the message that is shown next to its line."""

        entry: Entry
        text: str

    def __init__(self, sent: Replacement, read: Reader | None, *, id: str | None = None) -> None:
        """Show a replacement.

        Args:
            sent: The replacement.
            read: Reads the source messages of its lines; None if there are none.
            id: Textual id.
        """
        super().__init__(id=id)
        self.text, self._read = SentText(sent), read
        self._shown: Sequence[tuple[Entry, str]] = ()

    def compose(self) -> ComposeResult:
        yield self.text
        with Vertical(id="source"):
            yield Static(id="source-head", markup=False)
            yield SourceText()
            yield Static(id="source-said", markup=False)

    @property
    def is_open(self) -> bool:
        """Whether a source message is shown."""
        return bool(self.query_one("#source").display) and self.text.has_focus

    def close(self) -> bool:
        """Hide the source message; returns whether one was shown."""
        was_open = self.is_open
        self._put(open=False)
        return was_open

    def _put(self, *, open: bool) -> None:
        self.query_one("#source").display = open
        self.text.beside = self.query_one(SourceText) if open else None
        self.post_message(self.Changed())

    def hints(self, row: HintRow, others: Sequence[Hint], enter: str) -> None:
        """Show the keys that act on the lines, and the number of flagged lines.

        Args:
            row: The row of keys.
            others: The keys of the screen.
            enter: What enter does with an open source message.
        """
        own = {hint.label: hint for hint in place_hints("sent")}
        progress = self.text.progress if self.display else ""
        row.meanwhile = (progress, progress.removesuffix(" to check")) if progress else ()
        others = [hint for hint in others if progress or hint.label != "n"]
        if self.is_open:
            acts = [hint for hint in others if hint.label in ("n", "e", "d")]
            leads = [own["enter"]._replace(text=enter)] if self._shown else []
            row.hints = (*acts, own["up/down"], *leads, own["pageup/pagedown"], own["esc"])
        else:
            row.hints = (*([own["enter"]] if self.text.lines and self.text.has_focus else []), *others)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < _WIDE, "-narrow")

    def on_long_text_laid(self) -> None:
        self.post_message(self.Changed())

    def on_sent_text_moved(self) -> None:
        if self.is_open:
            self._open()
        self.post_message(self.Changed())

    def on_sent_text_asked(self) -> None:
        """Show the source message; if it is shown already, request to go to it."""
        if not self.is_open:
            self._put(open=True)
            self._open()
        elif self._shown:
            self.post_message(self.Wanted(*self._shown[0]))

    def _open(self) -> None:
        if (line := self.text.marked) is not None:
            self.run_worker(self._show(line), group="source", exclusive=True)

    async def _show(self, line: SentLine) -> None:
        self._shown = await self._read(line.numbers) if self._read is not None else ()
        heads = [self._head(entry) for entry, _ in self._shown]
        why = "This line gives no message." if not line.numbers else "The message is no row of this session."
        self.query_one("#source-head", Static).update(heads[0] if heads else Content(why))
        # Below one another, if a line has several sources.
        texts = [text for _, text in self._shown]
        parts = [f"{head.plain}\n\n{text}" for head, text in zip(heads[1:], texts[1:], strict=True)]
        self.query_one(SourceText).show("\n\n".join([*texts[:1], *parts]))
        content = Content.assemble(("The line says  ", "$text-muted"), unmarked(line.text))
        if line.state:
            tone = "$text-warning" if line.mark == NOT_IN_LOG else "$foreground"
            content = Content.assemble(content, ("\nThe log has    ", "$text-muted"), (line.state, tone))
        self.query_one("#source-said", Static).update(content)
        self.post_message(self.Changed())

    def _head(self, entry: Entry) -> Content:
        title = f"  {one_line(entry.title, 200)}"
        return Content.assemble((f"#{entry.message}", "bold"), title, (f" · {clock(entry.time)}", MUTED))


_WIDE = 100
"""Cells from which a message fits next to the lines."""
_MOST_READ = 6
"""Maximum number of source messages read per line."""


def reader_of(session: ChatSession) -> Reader:
    """Return a function that reads messages of a session."""

    async def read(numbers: Sequence[int]) -> Sequence[tuple[Entry, str]]:
        found = (entry_of(session, number) for number in numbers[:_MOST_READ])
        entries = list(dict.fromkeys(filter(None, found)))
        bodies = await session.bodies.read(entries)
        return [(entry, full_text(body)) for entry, body in zip(entries, bodies, strict=True)]

    return read
