"""The full text of one row, as it is: no markup, no Markdown, no control characters."""

import re
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.types import CSSPathType
from textual.widgets import TextArea

from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import clean, one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.clip import clip
from tui_app.ui.widgets.written import ReadArea


class DetailsScreen(Dialog[None]):
    """Scrollable text that can be selected and copied."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/details.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_all", "Copy all", show=False, id="details.copy", tooltip="Copy the whole text."),
        Binding(
            "ctrl+o",
            "close",
            "Close",
            show=False,
            id="details.close",
            tooltip="The key that opened it closes it.",
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("y", "copy all", 1, "screen.copy_all"),
        Hint("ctrl+c", "copy selection", 2),
        Hint("esc", "close", 0, "screen.close"),
    )

    def __init__(self, title: str, text: str) -> None:
        """Show ``text`` under ``title``; both may come from anywhere."""
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading(one_line(self._title, 200))
            yield reading_area(self._text)
            yield self.hints()

    def action_copy_all(self) -> None:
        """Copy the whole text as it was received."""
        self.app.copy_to_clipboard(self._text)
        self.key_row.said = "copied all"


MOST_CHARS = 200_000
"""Of a longer text beginning and end are shown."""
_LINE = re.compile(r"[^\n]{2000}(?=[^\n])")
"""What a text area wraps within a frame; longer lines are broken here."""


def readable(text: str) -> str:
    """Text of any origin and size for a text area, which would stall on a megabyte in one line."""
    head, note, tail = clip(text, MOST_CHARS, None, wash=clean)
    shown = f"{head}\n… {note} …\n{tail}" if note else head
    return _LINE.sub(lambda line: f"{line.group()}\n", shown)


def reading_area(text: str, *, id: str | None = None, rows: bool = False) -> TextArea:
    """A text to read and select in; escape sequences and control characters are gone from it.

    Args:
        text: Of any origin and size.
        id: Name of the widget.
        rows: Whether it is a table of ours, whose signs plain mode spells in ASCII.
    """
    kind = TextArea if rows else ReadArea
    area = kind(readable(text), read_only=True, show_cursor=True, compact=True, id=id)
    area.highlight_cursor_line = False
    return area
