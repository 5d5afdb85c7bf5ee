"""An import while it runs: how far it is, and Esc to stop it."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.dialog import Dialog


class ImportProgressDialog(Dialog[bool]):
    """Dismisses with ``True`` when the import has ended, and with ``None`` when it was stopped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+c", "close", "Stop", show=False, id="import.stop", priority=True, tooltip="Stop the import."
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (Hint("esc", "stop", 0, "screen.close"),)

    def __init__(self, name: str, stop: Callable[[], bool]) -> None:
        """Show that a file is read.

        Args:
            name: What is imported.
            stop: Stops the import; returns whether that was possible.
        """
        super().__init__()
        self._file, self._stop = name, stop
        self._text = "Reading the file…"
        self._ended = False

    def compose(self) -> ComposeResult:
        """What is imported, how far it is, the key."""
        with Vertical(classes="dialog -small"):
            yield self.heading(f"Importing {one_line(self._file, 60)}")
            yield Static(Content(self._text), id="import-progress", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """A file that was read before this was painted needs no dialog."""
        if self._ended:
            self.dismiss(True)

    def show(self, text: str) -> None:
        """Say how far it is."""
        self._text = text
        if self.is_mounted:
            self.query_one("#import-progress", Static).update(Content(text))

    def end(self) -> None:
        """The import has ended, whatever came of it."""
        self._ended = True
        if self.is_mounted and self.is_current:
            self.dismiss(True)

    def action_close(self) -> None:
        """Stop the import; what is being written already is written to its end."""
        if self._stop():
            self.dismiss(None)
        else:
            self.show("It is being written; that cannot be stopped any more.")
