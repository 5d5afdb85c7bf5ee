"""A list of one-line rows that are painted only when visible; ten thousand rows cost nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from tui_app.ui.colours.palette import legible
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.widgets.long_text import PaintedRows
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import cut_cells


class Row(NamedTuple):
    """The texts of a row, which must be clean, and their styles."""

    text: str
    right: str = ""
    """Right-aligned text; dropped first if the row is too narrow."""
    component: str = "row-list--row"
    """Component class of the text."""
    right_component: str = "row-list--right"
    leads: tuple[tuple[int, str], ...] = ()
    """Component classes of leading parts, with the character offset at which each ends."""


class RowList(PaintedRows, can_focus=True, inherit_bindings=False):
    """Shows ``row(0)`` to ``row(count - 1)`` with a cursor; follows its end until scrolled."""

    BINDINGS = place_bindings("rows")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"row-list--{part}" for part in ("row", "right", "quiet", "head", "cursor", "sign", "warm")
    }

    cursor: reactive[int | None] = reactive(None)
    """Index of the focused row."""

    @dataclass
    class Selected(Message):
        """The user selected a row with enter or a click."""

        index: int

    class Moved(Message):
        """The cursor has moved to another row, or its row has changed."""

    def __init__(
        self,
        row: Callable[[int], Row],
        *,
        head: Callable[[], Row] | None = None,
        follows: bool = True,
        id: str | None = None,
    ) -> None:
        """Create an empty list.

        Args:
            row: Returns the row with an index; called for visible rows only.
            head: Returns a title that stays at the top while the rows scroll below it; None for none.
            follows: Whether it starts at its end and stays there as rows are added.
            id: Textual id.
        """
        super().__init__(id=id)
        self._row = row
        self._head, self._head_rows = head, int(head is not None)
        self._nothing = ""
        self.count = 0
        self._follows = self._following = follows
        self._placing = False
        self._placed_rows = 0

    @property
    def place(self) -> str:
        """Position of the cursor, ``7 of 21``; empty if there is none."""
        return "" if self.cursor is None else f"{self.cursor + 1:,} of {self.count:,}"

    def set_empty_text(self, text: str) -> None:
        self._nothing = text
        self.refresh()

    def set_count(self, count: int) -> None:
        """Change the number of rows, any of which may have changed, too."""
        self.count = count
        if self.cursor is not None:
            self.cursor = min(self.cursor, count - 1) if count else None
        self._place()

    def push_down(self, rows: int) -> None:
        """Move window and cursor down by the number of rows inserted at the top."""
        if not self._following:
            self._placing = True
            self.scroll_to(y=self.scroll_y + rows, animate=False, force=True)
            self._placing = False
        if self.cursor is not None:
            self.cursor = min(self.cursor + rows, self.count - 1)

    def follow(self) -> None:
        """Scroll to the end and stay there."""
        self._following = True
        self._place()

    def on_resize(self, event: events.Resize) -> None:
        """Stay at the end, if that is where the list was."""
        self._place()

    def _place(self) -> None:
        if not self.size:
            return
        self._placing = True
        self._placed_rows = self.size.height
        self.virtual_size = Size(self.scrollable_content_region.width, self.count + self._head_rows)
        if self._following:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self._placing = False
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Stop following when the user scrolls up, and follow again at the end."""
        super().watch_scroll_y(old_value, new_value)
        # If the height is not the one placed for, Textual moved the window, not the user.
        if not self._placing and self.size.height == self._placed_rows:
            self._following = self._follows and round(new_value) >= self.max_scroll_y

    def watch_cursor(self, cursor: int | None) -> None:
        self.post_message(self.Moved())
        if cursor is None or not self.size:
            return
        rows = max(1, self.scrollable_content_region.height - self._head_rows)
        top = self.scroll_offset.y
        if not top <= cursor < top + rows:
            self.scroll_to(y=cursor if cursor < top else cursor - rows + 1, animate=False, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if self._head is not None and not y:
            # If no visible row shows that the list has the focus, its title does.
            rows = self.scrollable_content_region.height - self._head_rows
            in_sight = self.cursor is not None and 0 <= self.cursor - self.scroll_offset.y < rows
            focused = self.has_focus and not in_sight
            return self._paint(self._head()._replace(component="row-list--head"), width, focused=focused)
        index = self.scroll_offset.y + y - self._head_rows
        if not self.count and not index and self._nothing:
            return self._paint(Row(self._nothing, component="row-list--right"), width)
        if index >= self.count:
            return Strip.blank(width, self.rich_style)
        focused = index == self.cursor and self.has_focus
        return self._paint(self._row(index), width, focused=focused)

    def _paint(self, row: Row, width: int, *, focused: bool = False) -> Strip:
        over = self.get_component_rich_style("row-list--cursor", partial=True) if focused else Style.null()
        right = row.right if cell_len(row.right) + 8 <= width else ""
        room = width - (cell_len(right) + 1 if right else 0)
        text, leads = cut_cells(row.text, room), row.leads
        if focused and text.startswith(" "):
            text, leads = UNICODE.collapsed + text[1:], ((1, "row-list--sign"), *leads)
        space = " " * (width - cell_len(text) - cell_len(right))
        base = self.rich_style
        segments, at = list[Segment](), 0
        for end, component in (*leads, (len(text), row.component)):
            colour = legible(base + self.get_component_rich_style(component) + over)
            segments.append(Segment(text[at:end], colour))
            at = max(at, end)
        segments += [
            Segment(space, base + over),
            Segment(right, legible(base + self.get_component_rich_style(row.right_component) + over)),
        ]
        return Strip(segments, width)

    def action_move(self, step: int) -> None:
        if self.count:
            start = self.count if self.cursor is None else self.cursor
            self.cursor = min(max(0, start + step), self.count - 1)

    def action_page(self, step: int) -> None:
        self.action_move(step * max(1, self.scrollable_content_region.height - self._head_rows))

    def action_first(self) -> None:
        self.action_move(-self.count)

    def action_last(self) -> None:
        self.action_move(self.count)

    def action_select(self) -> None:
        if self.cursor is not None:
            self.post_message(self.Selected(self.cursor))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y < self._head_rows:
            return
        index = self.scroll_offset.y + offset.y - self._head_rows
        if index < self.count:
            self.cursor = index
            self.action_select()
