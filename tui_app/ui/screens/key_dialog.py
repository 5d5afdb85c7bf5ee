"""Asking for an API key: typed or pasted, never shown."""

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


class KeyDialog(Dialog[str]):
    """Dismisses with the key, or ``None``; nothing is checked here but that there is one."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/key_dialog.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "use", 0),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, model: str, name: str, refused: str = "") -> None:
        """Ask for a key.

        Args:
            model: The model that needs it.
            name: Its variable.
            refused: Why the last one was not taken; empty at the first.
        """
        super().__init__()
        self._model, self._variable, self._refused = model, name, refused

    def compose(self) -> ComposeResult:
        """What for, a covered input, refusal, keys."""
        about = "Type or paste it; it is not shown. Nothing is kept before you say so."
        with Vertical(classes="dialog -small"):
            yield self.heading(f"{one_line(self._model, 48)} needs {one_line(self._variable, 40)}")
            yield Static(about, classes="dialog-note", markup=False)
            yield Input(password=True, id="key-value", compact=True)
            yield Static(Content(clean(self._refused)), id="key-refused", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one("#key-value").focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        key = event.value.strip()
        if not key:
            self._refuse("Type or paste the key first.")
        elif any(character.isspace() or not character.isprintable() for character in key):
            event.input.clear()
            self._refuse("A key is one word in one line.")
        else:
            self.dismiss(key)

    def _refuse(self, why: str) -> None:
        self.query_one("#key-refused", Static).update(Content(why))
