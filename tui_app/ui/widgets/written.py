"""Fields in which a person writes: what is pasted is cleaned like every text that comes from outside."""

from textual import events
from textual.widgets import Input, TextArea

from tui_app.ui.safe_text import clean


class WrittenArea(TextArea):
    """A text area whose pastes hold no sign that acts, hides or reorders."""

    def on_paste(self, event: events.Paste) -> None:
        """Insert what may reach the terminal."""
        event.prevent_default()
        event.stop()
        if not self.read_only:
            self.replace(clean(event.text), *self.selection, maintain_selection_offset=False)


class WrittenLine(Input):
    """One line; of a paste it takes the first."""

    def on_paste(self, event: events.Paste) -> None:
        """Insert what may reach the terminal."""
        event.prevent_default()
        event.stop()
        lines = clean(event.text).splitlines()
        self.replace(lines[0] if lines else "", *self.selection)
