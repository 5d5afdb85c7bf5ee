"""A text of any size to read, select and copy: cleaned and wrapped in a thread, painted line by line."""

import asyncio
from array import array
from dataclasses import dataclass, field

from rich.segment import Segment
from textual import events, work
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widgets import Static

from tui_app.ui.keys import place_bindings
from tui_app.ui.plain_lines import Exact
from tui_app.ui.text import clean, wrap_spans
from tui_app.ui.widgets import TellsFailures

SOON_CHARS = 4_000
"""A text up to this size is wrapped at once."""


@dataclass(frozen=True)
class Wrapped:
    """A clean text and where each of its lines begins and ends."""

    text: str = ""
    starts: "array[int]" = field(default_factory=lambda: array("L"))
    stops: "array[int]" = field(default_factory=lambda: array("L"))

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.stops[number]]


def wrapped(text: str, width: int) -> Wrapped:
    """Break a clean text into lines of at most so many cells."""
    starts, stops = array("L"), array("L")
    for start, stop, _ in wrap_spans(text, width):
        starts.append(start)
        stops.append(stop)
    return Wrapped(text, starts, stops)


class LongText(TellsFailures, Exact, ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a text of any size; a megabyte in one line costs no frame."""

    BINDINGS = place_bindings("text")
    DEFAULT_CSS = """
    LongText {
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    class Laid(Message):
        """The text can be read."""

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._raw: str | None = text
        self._lines = Wrapped()
        self._width = 0

    @property
    def line_count(self) -> int:
        """Lines at the present width; 0 while they are made."""
        return len(self._lines.starts)

    def show(self, text: str) -> None:
        """Show another text from its beginning."""
        self._raw, self._lines, self._width = text, Wrapped(), 0
        self.scroll_to(y=0, animate=False, force=True)
        self._lay()

    def on_resize(self, _: events.Resize) -> None:
        self._lay()

    def _lay(self) -> None:
        width = max(1, self.scrollable_content_region.width)
        if self.size and width != self._width:
            self._width = width
            self._wrap(width)

    @work(group="wrap", exclusive=True, exit_on_error=False)
    async def _wrap(self, width: int) -> None:
        """Clean and wrap; the line at the top stays at the top."""
        top = self._lines.starts[self.scroll_offset.y] if self.line_count else 0
        raw, text = self._raw, self._lines.text
        long = len(raw if raw is not None else text) > SOON_CHARS
        if raw is not None:
            text = await asyncio.to_thread(clean, raw) if long else clean(raw)
        lines = await asyncio.to_thread(wrapped, text, width) if long else wrapped(text, width)
        self._lines, self._raw = lines, None
        self.virtual_size = Size(width, self.line_count)
        place = next((at for at, start in enumerate(lines.starts) if start >= top), 0) if top else 0
        self.scroll_to(y=place, animate=False, force=True)
        self.refresh()
        self.post_message(self.Laid())

    def render_line(self, y: int) -> Strip:
        width, number, style = self.scrollable_content_region.width, self.scroll_offset.y + y, self.rich_style
        if number >= self.line_count:
            waiting = y == 0 and not self.line_count and self._raw
            return Strip([Segment("reading …" if waiting else "", style)]).crop_extend(0, width, style)
        text = self._lines.line(number)
        selection = self.text_selection
        span = selection.get_span(number) if selection is not None else None
        parts = [Segment(text, style)]
        if span is not None:
            start, stop = span[0], len(text) if span[1] < 0 else span[1]
            over = style + self.screen.get_component_rich_style("screen--selection")
            parts = [
                Segment(text[:start], style), Segment(text[start:stop], over), Segment(text[stop:], style),
            ]  # fmt: skip
        return Strip(parts).crop_extend(0, width, style).apply_offsets(0, number)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text; lines that were only wrapped are joined again."""
        lines = self._lines
        if not self.line_count:
            return None
        first, last = selection.start, selection.end
        begin = self._offset(first.y, first.x) if first is not None else 0
        end = self._offset(last.y, last.x) if last is not None else len(lines.text)
        return (lines.text[begin:end], "\n") if end > begin else None

    def _offset(self, row: int, column: int) -> int:
        row = min(max(0, row), self.line_count - 1)
        return min(self._lines.starts[row] + max(0, column), self._lines.stops[row])

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def action_scroll_lines(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by pages, one line less each so that the eye finds its place."""
        self.action_scroll_lines(pages * max(1, self.size.height - 1))

    def action_scroll_ends(self, end: int) -> None:
        self.scroll_to(y=self.max_scroll_y if end else 0, animate=False, force=True)


class ExactStatic(Exact, Static):
    """A text shown character by character, as it was written."""


class GrownScroll(VerticalScroll, can_focus=False):
    """A scrolling part as high as its contents, up to its greatest height."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text, within the greatest height."""
        # Textual leaves a share of the screen out while it asks for the height of the box around this.
        height, most = super().get_content_height(container, viewport, width), self.styles.max_height
        return height if most is None else min(height, int(most.resolve(container, viewport)))
