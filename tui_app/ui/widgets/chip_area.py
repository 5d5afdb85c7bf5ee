"""A text area in which large pastes stand as chips: looked into, deleted and sent as one."""

from textual import events

from tui_app.ui.safe_text import clean
from tui_app.ui.widgets.paste import Chips, Side, normalise
from tui_app.ui.widgets.written import WrittenArea


class ChipArea(WrittenArea):
    """Knows what each ``[pasted 63 lines]`` in its text stands for."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True, highlight_cursor_line=False, tab_behavior="focus")
        self._chips = Chips()

    @property
    def draft(self) -> str:
        """The text with its chips expanded."""
        return self._chips.expand(self.text)

    @property
    def pastes(self) -> list[tuple[str, str]]:
        """The chips in the text with what they stand for."""
        return self._chips.within(self.text)

    @property
    def cursor_line(self) -> str:
        """The line in which the cursor stands."""
        return self.document.get_line(self.cursor_location[0])

    def chip_at_cursor(self, side: Side = "any") -> tuple[int, int] | None:
        """Columns of the chip that the cursor stands at; none while text is selected."""
        if not self.selection.is_empty:
            return None
        return self._chips.touching(self.cursor_line, self.cursor_location[1], side)

    def fill_in(self, text: str, start: int, end: int, back: int = 0) -> None:
        """Put a text between two columns of the cursor's line, and the cursor behind it.

        Args:
            text: What to put there.
            start: First column that goes.
            end: Column behind the last one that goes.
            back: Signs by which the cursor then stands before the end of the text.
        """
        row, _ = self.cursor_location
        done = self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
        row, column = done.end_location
        self.move_cursor((row, column - back))

    def action_expand(self) -> None:
        """Put a pasted text in place of its chip, to read and change it."""
        if (place := self.chip_at_cursor()) is not None:
            body = self._chips.expand(self.cursor_line[slice(*place)])
            self.fill_in(clean(body, keep_tabs=True), *place)

    def action_delete_left(self) -> None:
        """Delete the sign before the cursor; a chip as a whole, because a part of it stands for nothing."""
        if (place := self.chip_at_cursor("before")) is not None:
            self.fill_in("", *place)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete the sign behind the cursor; a chip as a whole."""
        if (place := self.chip_at_cursor("behind")) is not None:
            self.fill_in("", *place)
        else:
            super().action_delete_right()

    def on_paste(self, event: events.Paste) -> None:
        """Insert a paste; a large one as a chip. Line ends in it never send."""
        event.prevent_default()
        event.stop()
        body = normalise(event.text)
        shown = self._chips.add(body) if self._chips.is_large(body) else clean(body, keep_tabs=True)
        self.replace(shown, *self.selection, maintain_selection_offset=False)
