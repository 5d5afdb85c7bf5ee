"""One value to type: what it is for, what is allowed, and why the last try was refused."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input, Static

from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import clean, one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.hints import HintRow
from tui_app.ui.widgets.written import WrittenLine


class EditDialog(Dialog[str]):
    """Dismisses with what was typed, or ``None``; nothing is checked here."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/settings.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "save", 0),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, title: str, about: str, text: str, refused: str = "", *, verb: str = "save") -> None:
        """Ask for a value.

        Args:
            title: What it is.
            about: What it is for and what is allowed.
            text: What stands there at first.
            refused: Why the last try was not taken; empty at the first.
            verb: What enter does with it.
        """
        super().__init__()
        self._title, self._about, self._text, self._refused = title, about, text, refused
        self._verb = verb

    def hints(self) -> HintRow:
        """The last row, with what enter does."""
        row = super().hints()
        row.hints = (Hint("enter", self._verb, 0), *self.HINTS[1:])
        return row

    def compose(self) -> ComposeResult:
        """Name, purpose, input, refusal, keys."""
        with Vertical(classes="dialog -small"):
            yield self.heading(one_line(self._title, 60))
            yield Static(Content(clean(self._about)), classes="dialog-note", markup=False)
            yield WrittenLine(clean(self._text, keep_newlines=False), id="edit-value", compact=True)
            yield Static(Content(clean(self._refused)), id="edit-refused", markup=False)
            yield self.hints()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())
