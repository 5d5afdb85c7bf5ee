"""Text fields: keys act in the order they were typed, and pastes are cleaned like any text from outside."""

from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset
from textual.widgets import Input, TextArea

from tui_app.ui.plain_lines import Exact
from tui_app.ui.text import clean

if TYPE_CHECKING:
    from textual.widget import Widget as _Mixed
else:
    _Mixed = object


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
        """Delete the line from the cursor on."""
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
