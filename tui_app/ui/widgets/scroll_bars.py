"""Scroll bars of whole cells, and the widgets that have them."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.geometry import Offset, Region
from textual.reactive import Reactive, reactive
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widgets import Input, TextArea

from tui_app.ui.widgets.widgets import Exact, Mixed
from tui_app.ui.words.text import clean


class PlainBars(ScrollBarRender):
    """Draws a bar with blanks alone; its colours say where it stands."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def use_plain_bars() -> None:
    """Draw all scroll bars of this process so; Textual offers no place that is nearer to one application."""
    ScrollBar.renderer = PlainBars


class ActsInOrder(Mixed):
    """A field whose keys act in the order they were typed.

    A binding runs outside the field's queue: on a slow line, letters typed after backspace would come before
    it. Pastes are cleaned of characters that act, hide or reorder.
    """

    async def on_key(self, event: events.Key) -> None:
        """Act at once on a key that is bound, here or further out."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or event.is_printable:
            return
        if await self.app.run_action(active.binding.action, active.node):
            event.prevent_default()
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Let Textual insert what may reach the terminal."""
        event.stop()
        event.text = clean(event.text, keep_tabs=isinstance(self, TextArea))


class WrittenArea(Exact, ActsInOrder, TextArea):
    """A text area to write in.

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


class EdgedPanel(Mixed):
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
