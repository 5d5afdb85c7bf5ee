"""Widgets that screens share: text fields, the row of key hints, and how failed work is reported."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.content import Content
from textual.geometry import Offset, Region
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerState

from tui_app.ui.keys import Hint, footer_hints
from tui_app.ui.plain_lines import Exact
from tui_app.ui.text import UNICODE, Glyphs, clean

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Pump
    from textual.screen import Screen
    from textual.widget import Widget as _Mixed

    _Screen = Screen[Any]
else:
    # Styles come from the first base that is a widget, which has to be the other one.
    _Mixed = _Pump = _Screen = object


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


def notice_text(notices: int, glyphs: Glyphs = UNICODE) -> str:
    """``⚠ 1 notice · f2``; empty when there is none."""
    if not notices:
        return ""
    sign = "!" if glyphs.gauge_full.isascii() else "⚠"
    return f"{sign} {notices} notice{'s' if notices > 1 else ''} {glyphs.separator} f2"


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
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    def __init__(self, hints: Sequence[Hint] | None = None, *, id: str | None = None) -> None:
        """Create the row; without ``hints`` those of the chat screen."""
        super().__init__(id=id)
        if hints is not None:
            self.hints = tuple(hints)

    def render(self) -> Content:
        """Hints at the left; what was done, the folded timeline and notices at the right."""
        notices = notice_text(self.notices, self.glyphs)
        parts = [(self.folded, "$text-muted"), (notices, "$text-warning")]
        beside = self.size.width - sum(len(part) + 2 for part, _ in (*parts, (self.said, "")) if part)
        fitting = (form for form in self.meanwhile if beside - len(form) > LEAST_HINTS)
        meanwhile = next(fitting, self.meanwhile[-1] if self.meanwhile else "")
        parts = [(self.said, "$text-success"), (meanwhile, "$text-muted"), *parts]
        right = Content("  ").join(Content.styled(part, style) for part, style in parts if part)
        room = self.size.width - (right.cell_length + 2 if right.plain else 0)
        now = {hint.label: hint for hint in self.instead}
        hints = fit_hints([now.get(hint.label, hint) for hint in self.hints], room)
        left = Content(SEPARATOR).join(self._hint(hint) for hint in hints)
        spaces = " " * max(0, self.size.width - left.cell_length - right.cell_length)
        return Content.assemble(left, spaces, right)

    @staticmethod
    def _hint(hint: Hint) -> Content:
        text = Content.assemble((hint.label, "$footer-key-foreground"), f" {hint.text}")
        return text.stylize(Style.from_meta({"hint": hint.action})) if hint.action else text

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
