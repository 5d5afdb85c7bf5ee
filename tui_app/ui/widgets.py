"""Widgets that screens share: text fields, long texts, key hints; plain mode; how failed work is reported."""

import asyncio
import logging
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events, work
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerState

from tui_app.records import frozen
from tui_app.ui.keys import Hint, footer_hints, place_bindings
from tui_app.ui.text import PLAIN, UNICODE, clean, without_drawing, wrap_spans

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Pump
    from textual.screen import Screen
    from textual.widget import Widget as _Mixed

    _Screen = Screen[Any]
else:
    # Styles come from the first base that is a widget, which has to be the other one.
    _Mixed = _Pump = _Screen = object

# What plain mode paints: no frames and dots that are drawn, and our own signs in ASCII.
#
# All of it happens to painted lines, in one place, so that no widget can forget it and nothing is copied
# otherwise than it was written. A prompt, an answer or an output loses only what is drawn (:class:`Exact`).
# Everything else is ours: ``·`` is ``-``, and what was cut ends in ``...``.

_SIGNS = {
    **{sign: plain for sign, plain in zip(UNICODE, PLAIN, strict=True) if len(sign) == len(plain) == 1},
    **dict(zip(UNICODE.blocks, PLAIN.blocks, strict=True)),
    "→": ">",
    "⚠": "!",
    "│": "|",
    "\u00a0": " ",
}
"""Signs of ours, each of one cell."""
_DOTS = "…"


class PlainDrawing(LineFilter):
    """Paints box drawing and braille as ASCII, cell by cell, whoever wrote it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [_with(segment, without_drawing(segment.text)) for segment in segments]


class PlainSigns(LineFilter):
    """Paints our own signs as ASCII; a line keeps its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        signs = list("".join(segment.text for segment in segments))
        if "".join(signs).isascii():
            return segments
        spelled = _spelled([_SIGNS.get(sign, sign) for sign in signs])
        painted, at = [], 0
        for segment in segments:
            end = at + len(segment.text)
            painted.append(_with(segment, "".join(spelled[at:end])))
            at = end
        return painted


def _spelled(signs: list[str]) -> list[str]:
    """Write three dots for one, in place of two blanks beside it, else of the end of what was cut."""
    for at, sign in enumerate(signs):
        if sign != _DOTS:
            continue
        before, behind = signs[max(0, at - 2) : at], signs[at + 1 : at + 4]
        if len(behind) > 1 and all(each == " " for each in behind):
            signs[at : at + 3] = "..."
        elif len(before) == 2 and all(map(str.isascii, before)) and (before[1] != " " or before[0] == " "):
            signs[at - 2 : at + 1] = "..."
        # Else it stands between two words, as it was written.
    return signs


def _with(segment: Segment, text: str) -> Segment:
    return segment if text == segment.text else Segment(text, segment.style, segment.control)


DRAWING, SIGNS = PlainDrawing(), PlainSigns()


class Exact(_Mixed):
    """A widget that shows a text of the user, the model or a tool, sign by sign."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """All that is painted differently, without the spelling of our own signs."""
        return [each for each in super().get_line_filters() if each is not SIGNS]


# Scroll bars of whole cells, for terminals and people that take block signs for text.


class PlainBars(ScrollBarRender):
    """Draws a bar with blanks alone; its colours say where it stands."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def use_plain_bars() -> None:
    """Draw all scroll bars of this process so; Textual offers no place that is nearer to one application."""
    ScrollBar.renderer = PlainBars


class ActsInOrder(_Mixed):
    """A field whose keys act in the order they were typed.

    A binding runs outside the field's queue: on a slow line, letters typed after backspace would come before
    it.
    """

    async def on_key(self, event: events.Key) -> None:
        """Act at once on a key that is bound, here or further out."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or event.is_printable:
            return
        if await self.app.run_action(active.binding.action, active.node):
            event.prevent_default()
            event.stop()


class WrittenArea(Exact, ActsInOrder, TextArea):
    """A text area that cleans pastes of characters that act, hide or reorder.

    Deleting to the end of a line takes all of the line as it was written, however it is wrapped, as a shell
    does.
    """

    cursor_blink: Reactive[bool] = reactive(False, init=False)
    """A cursor that blinks writes to the terminal, and wakes the machine, twice a second for ever."""

    def action_delete_to_start_of_line(self) -> None:
        """Delete the line up to the cursor; at its start join it to the line before."""
        row, column = self.selection.end
        if self.read_only or not column:
            super().action_delete_to_start_of_line()
        else:
            self.delete((row, 0), (row, column), maintain_selection_offset=False)

    def action_delete_to_end_of_line(self) -> None:
        row, column = self.selection.end
        if not self.read_only:
            end = (row, len(self.document.get_line(row)))
            self.delete((row, column), end, maintain_selection_offset=False)

    def on_paste(self, event: events.Paste) -> None:
        """Insert what may reach the terminal."""
        event.prevent_default()
        event.stop()
        if not self.read_only:
            self.replace(clean(event.text, keep_tabs=True), *self.selection, maintain_selection_offset=False)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless it is beyond the end of the text.

        Undoing takes the text back first and the cursor after it. Between the two the scroll bar may go, and
        the text area then looks for the cursor in a line that is no longer there.
        """
        if self.cursor_location[0] >= self.document.line_count:
            return Offset(0, 0)
        return super().scroll_cursor_visible(center, animate)


class ReadArea(Exact, TextArea):
    """A read-only text area."""


class WrittenLine(Exact, ActsInOrder, Input):
    """A field of one line; of a paste it takes the first."""

    cursor_blink: Reactive[bool] = reactive(False, init=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave up, down and the like to what is around a line: there is nothing in it to scroll to."""
        return not action.startswith(("scroll_", "page_")) and super().check_action(action, parameters)

    def on_paste(self, event: events.Paste) -> None:
        """Insert what may reach the terminal."""
        event.prevent_default()
        event.stop()
        lines = clean(event.text).splitlines()
        self.replace(lines[0] if lines else "", *self.selection)


class EdgedPanel(_Mixed):
    """A panel with a bar at its left edge that is as high as the panel, its half rows included.

    Textual gives the corners of a border the colour of the rows above and below.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = super().render_lines(crop)
        if crop.x == 0:
            bar = RichStyle.from_color(self.styles.border_left[1].rich_color)
            edges = {0: self.styles.border_top, self.outer_size.height - 1: self.styles.border_bottom}
            half = [row for row, (kind, _) in edges.items() if kind == "inner" and row in crop.line_range]
            for at in (row - crop.y for row in half):
                corner, rest = strips[at].divide((1, strips[at].cell_length))
                strips[at] = Strip.join((Strip(Segment.apply_style(corner, post_style=bar)), rest))
        return strips


# The bottom row: which keys do what, how many notices are unread, and the folded timeline's word.

SEPARATOR = "   "


def fit_hints(hints: Sequence[Hint], width: int) -> list[Hint]:
    """Leave out whole hints, highest rank first, until the row fits ``width`` cells."""
    left = list(hints)
    while left and len(SEPARATOR.join(map(str, left))) > width:
        left.remove(max(left, key=lambda hint: hint.rank))
    return left


def notice_text(notices: int) -> str:
    """``⚠ 1 notice · f2``; empty when there is none."""
    return f"⚠ {notices} notice{'s' if notices > 1 else ''} · f2" if notices else ""


LEAST_HINTS = 33
"""Cells of hints that are worth more than the words of what goes on meanwhile."""


class HintRow(Widget):
    """Key hints that shorten by leaving out whole ones; a click runs what the key would."""

    DEFAULT_CSS = """
    HintRow { height: 1; width: 1fr; color: $text-muted; }
    """

    hints: reactive[tuple[Hint, ...]] = reactive(footer_hints())
    instead: reactive[tuple[Hint, ...]] = reactive(())
    """What keys do for the moment, in place of the hints with the same labels."""
    notices: reactive[int] = reactive(0)
    folded: reactive[str] = reactive("")
    """Said for a timeline that has no room, for example ``timeline 14``."""
    said: reactive[str] = reactive("")
    """What a key has just done, for example ``copied all``."""
    meanwhile: reactive[tuple[str, ...]] = reactive(())
    """What goes on beside the work, from its longest form to its shortest."""

    def __init__(self, hints: Sequence[Hint] | None = None, *, id: str | None = None) -> None:
        """Create the row; without ``hints`` those of the chat screen."""
        super().__init__(id=id)
        if hints is not None:
            self.hints = tuple(hints)

    def render(self) -> Content:
        """Hints at the left; what was done, the folded timeline and notices at the right."""
        notices = notice_text(self.notices)
        parts = [(self.folded, "$text-muted"), (notices, "$text-warning")]
        beside = self.size.width - sum(len(part) + 2 for part, _ in (*parts, (self.said, "")) if part)
        fitting = (form for form in self.meanwhile if beside - len(form) > LEAST_HINTS)
        meanwhile = next(fitting, self.meanwhile[-1] if self.meanwhile else "")
        parts = [(self.said, "$text-success"), (meanwhile, "$text-muted"), *parts]
        right = Content("  ").join(Content.styled(part, style) for part, style in parts if part)
        room = self.size.width - (right.cell_length + 2 if right.plain else 0)
        now = {hint.label: hint for hint in self.instead}
        hints = fit_hints([now.get(hint.label, hint) for hint in self.hints], room)
        pieces = []
        for hint in hints:
            text = Content.assemble((hint.label, "$footer-key-foreground"), f" {hint.text}")
            pieces.append(text.stylize(Style.from_meta({"hint": hint.action})) if hint.action else text)
        left = Content(SEPARATOR).join(pieces)
        spaces = " " * max(0, self.size.width - left.cell_length - right.cell_length)
        return Content.assemble(left, spaces, right)

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked hint's action; one without ``screen.`` or ``app.`` is the parent's."""
        action = event.style.meta.get("hint")
        if action:
            event.stop()
            await self.app.run_action(action, self.parent)


class SelectsWhatIsSeen(_Screen):
    """A screen on which a drag selects in the widget that it began in, and no further than that can be seen.

    A drag that slips over an edge would take all that is scrolled out of sight there, and other widgets too.
    """

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Whether a key counts for nothing here, because what it would decide cannot be seen."""
        return False

    def take_text(self, text: str) -> None:
        """Write what was written into a question above this screen where the user had been writing."""

    _dragged: tuple[Widget, Offset] | None = None
    """Where the drag began, and the place in its text that it is at."""

    def begin_drag(self, event: events.MouseEvent | None) -> None:
        """Remember where a button was pressed; None when it is about to be pressed, or was released."""
        self._dragged = None
        if event is not None:
            widget, offset = self.get_widget_and_offset_at(int(event.x), int(event.y))
            if widget is not None and offset is not None and widget.allow_select:
                self._dragged = widget, offset

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """Find the place in a text; during a drag the nearest one in the widget that it began in."""
        if self._dragged is None or not self._dragged[0].is_attached:
            return super().get_widget_and_offset_at(x, y)
        widget, last = self._dragged
        # Without scroll bars.
        seen = self.find_widget(widget).visible_region.intersection(widget.scrollable_content_region)
        if y < seen.y:
            x, y = seen.x, seen.y
        elif y >= seen.bottom:
            x, y = seen.right - 1, seen.bottom - 1
        else:
            x = min(max(x, seen.x), seen.right - 1)
        _, offset = super().get_widget_and_offset_at(x, y)
        # There is none on a row that is no text.
        self._dragged = widget, last if offset is None else offset
        return self._dragged


# What becomes of work that fails: it is told in a sentence, and its traceback goes to the log file.
#
# A worker tells its end to the widget or screen that it was started on and to nobody else, so each that
# starts one takes :class:`TellsFailures`.

_LOG = logging.getLogger(__name__)
SESSION = "session"
"""Group of the work that everything else on a chat screen needs."""


class Teller(Protocol):
    """An application that says what did not work."""

    def tell_failure(self, worker: "Worker[Any]", error: BaseException) -> None:
        """Say it in a sentence, or end the program where it cannot go on."""


class TellsFailures(_Pump):
    """A screen or widget whose work, where it fails, is told."""

    def on_worker_state_changed(self, event: "Worker.StateChanged") -> None:
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            _LOG.error("a flow failed", exc_info=error)
            cast("Teller", self.app).tell_failure(event.worker, error)


# A text of any size to read, select and copy: cleaned and wrapped in a thread, painted line by line.

SOON_CHARS = 4_000
"""A text up to this size is wrapped at once."""


@frozen
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


class PaintedRows(ScrollView):
    """A view that paints the rows in sight itself, with a scroll bar of one cell at their side."""

    DEFAULT_CSS = """
    PaintedRows {
        color: $foreground; overflow-x: hidden; overflow-y: auto;
        scrollbar-gutter: stable; scrollbar-size-vertical: 1;
    }
    """


class LongText(TellsFailures, Exact, PaintedRows, can_focus=True, inherit_bindings=False):
    """Shows a text of any size; a megabyte in one line costs no frame."""

    BINDINGS = place_bindings("text")
    DEFAULT_CSS = "LongText { background: $surface; }"

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
            # The line at the top stays at the top.
            top = self._lines.starts[min(self.scroll_offset.y, self.line_count - 1)] if self.line_count else 0
            if len(self._lines.text if self._raw is None else self._raw) > SOON_CHARS:
                self._wrap(width, top)
            else:
                self.workers.cancel_group(self, "wrap")
                self._put(self._broken(width), width, top)

    @work(group="wrap", exclusive=True, exit_on_error=False)
    async def _wrap(self, width: int, top: int) -> None:
        lines = await asyncio.to_thread(self._broken, width)
        self._put(lines, width, top)

    def _broken(self, width: int) -> Wrapped:
        """The text in lines; in a thread where it is long."""
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
        """One line of the text, with what is selected of it."""
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
