"""A text of any size to read, select and copy, painted line by line."""

import asyncio
from array import array
from bisect import bisect_left
from dataclasses import field

from rich.cells import cell_len
from rich.segment import Segment
from textual import events, work
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui_app.records import frozen
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.widgets.hint_row import TellsFailures
from tui_app.ui.widgets.widgets import Exact
from tui_app.ui.words.text import clean, wrap_spans

SOON_CHARS = 4_000
"""Characters up to which a text is wrapped at once rather than in a thread."""


@frozen
class Wrapped:
    """A clean text with the offsets of its lines."""

    text: str = ""
    starts: "array[int]" = field(default_factory=lambda: array("L"))
    stops: "array[int]" = field(default_factory=lambda: array("L"))

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.stops[number]]


def wrapped(text: str, width: int) -> Wrapped:
    """Wrap a clean text to a width in cells."""
    starts, stops = array("L"), array("L")
    for start, stop, _ in wrap_spans(text, width):
        starts.append(start)
        stops.append(stop)
    return Wrapped(text, starts, stops)


class PaintedRows(ScrollView):
    """A view that paints only its visible rows, with a one-cell scroll bar."""


class LongText(TellsFailures, Exact, PaintedRows, can_focus=True, inherit_bindings=False):
    """Shows a text of any size; a megabyte in one line does not delay a frame."""

    BINDINGS = place_bindings("text")

    class Laid(Message):
        """Posted when the text has been laid out."""

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._raw: str | None = text
        self._lines = Wrapped()
        self._width = 0

    @property
    def line_count(self) -> int:
        """Lines at the current width; 0 until they are laid out."""
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
            # The line at the top stays at the top.
            top = self._lines.starts[min(self.scroll_offset.y, self.line_count - 1)] if self.line_count else 0
            if len(self._lines.text if self._raw is None else self._raw) > SOON_CHARS:
                self._wrap(width, top)
            else:
                self.workers.cancel_group(self, "wrap")
                self._put(self._broken(width), width, top)

    @work(group="wrap", exclusive=True)
    async def _wrap(self, width: int, top: int) -> None:
        lines = await asyncio.to_thread(self._broken, width)
        self._put(lines, width, top)

    def _broken(self, width: int) -> Wrapped:
        """Wrap the text; called in a thread for a long one."""
        return wrapped(self._lines.text if self._raw is None else clean(self._raw), width)

    def _put(self, lines: Wrapped, width: int, top: int) -> None:
        self._lines, self._raw = lines, None
        self.virtual_size = Size(width, self.line_count)
        place = bisect_left(lines.starts, top)
        self.scroll_to(y=place if place < self.line_count else 0, animate=False, force=True)
        self.refresh()
        self.post_message(self.Laid())

    def render_line(self, y: int) -> Strip:
        width, number, style = self.scrollable_content_region.width, self.scroll_offset.y + y, self.rich_style
        if number >= self.line_count:
            waiting = y == 0 and not self.line_count and self._raw
            return Strip([Segment("reading …" if waiting else "", style)]).crop_extend(0, width, style)
        return self._strip(number).crop_extend(0, width, style)

    def _strip(self, number: int) -> Strip:
        return self._selectable([Segment(self._lines.line(number), self.rich_style)], number)

    def _selectable(self, parts: list[Segment], number: int) -> Strip:
        """Return a line of the text, with the selected part highlighted."""
        strip, selection = Strip(parts), self.text_selection
        span = selection.get_span(number) if selection is not None else None
        if span is not None:
            length = len(self._lines.line(number))
            start, stop = (min(each, length) for each in (span[0], length if span[1] < 0 else span[1]))
            cells = [cell_len(self._lines.line(number)[:each]) for each in (start, stop)]
            over = self.screen.get_component_rich_style("screen--selection")
            chosen = strip.crop(*cells).apply_style(over)
            strip = Strip.join([strip.crop(0, cells[0]), chosen, strip.crop(cells[1])])
        return strip.apply_offsets(0, number)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, with wrapped lines joined again."""
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

    def action_scroll_lines(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)

    def action_scroll_pages(self, pages: int) -> None:
        """Scroll by pages, less one line of overlap each."""
        self.action_scroll_lines(pages * max(1, self.size.height - 1))

    def action_scroll_ends(self, end: int) -> None:
        self.scroll_to(y=self.max_scroll_y if end else 0, animate=False, force=True)
