"""Scroll bars of whole cells, and text inputs whose keys act in order."""

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
    """Draws a scroll bar with blanks; the colours show its position."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def use_plain_bars() -> None:
    """Use plain bars for the whole process: Textual has no setting per application."""
    ScrollBar.renderer = PlainBars


class ActsInOrder(Mixed):
    """An input whose keys act in the order they were typed.

    A binding runs outside the widget's queue: on a slow connection, letters typed after backspace would be
    inserted before it acts. Pastes are cleaned of characters that act, hide or reorder.
    """

    async def on_key(self, event: events.Key) -> None:
        """Run a bound key's action at once, of this widget or an outer one."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or event.is_printable:
            return
        if await self.app.run_action(active.binding.action, active.node):
            event.prevent_default()
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Let Textual insert only what may reach the terminal."""
        event.stop()
        event.text = clean(event.text, keep_tabs=isinstance(self, TextArea))


class WrittenArea(Exact, ActsInOrder, TextArea):
    """A text area to write in.

    Deleting to the end or start of a line ignores wrapping, like a shell.
    """

    cursor_blink: Reactive[bool] = reactive(False, init=False)
    """A blinking cursor would write to the terminal, and wake the machine, twice per second."""

    def action_delete_to_start_of_line(self) -> None:
        """Delete the line up to the cursor; at its start join it with the previous line."""
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

        Undo restores the text first and the cursor afterwards. If the scroll bar disappears in between, the
        text area would look for the cursor in a line that no longer exists.
        """
        if self.cursor_location[0] >= self.document.line_count:
            return Offset(0, 0)
        return super().scroll_cursor_visible(center, animate)


class ReadArea(Exact, TextArea):
    """A read-only text area."""


class WrittenLine(Exact, ActsInOrder, Input):
    """A one-line input, which takes the first line of a paste."""

    cursor_blink: Reactive[bool] = reactive(False, init=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Pass up, down and similar keys on: a single line has nothing to scroll."""
        return not action.startswith(("scroll_", "page_")) and super().check_action(action, parameters)


class EdgedPanel(Mixed):
    """A panel with a bar at its left edge that is as high as the panel, including half rows.

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
