"""The text of a summary under review: it grows while it is written, and is edited afterwards."""

from textual.timer import Timer

from tui_app.events import CompactionProgress
from tui_app.ui.dialogs.parts import readable
from tui_app.ui.widgets.scroll_bars import WrittenArea
from tui_app.ui.words.text import clean

_PAINT_S = 0.1
"""Seconds between two paints of streamed text."""


class SummaryArea(WrittenArea):
    """A text area with a summary; it is read-only until the summary is complete."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(compact=True, read_only=True, id=id)
        self._heard, self._part = "", 1
        self._painting: Timer | None = None
        self._written = self._shown = ""

    def on_mount(self) -> None:
        self._paint()

    def hear(self, progress: CompactionProgress) -> None:
        """Append newly written text."""
        if progress.part != self._part or not progress.tokens_written:
            self._heard, self._part = "", progress.part
        self._heard += progress.text
        if self._painting is None and self.read_only and self.is_mounted:
            self._painting = self.set_timer(_PAINT_S, self._paint)

    def _paint(self) -> None:
        self._painting = None
        if self.read_only:
            self.text = readable(self._heard)
            self.move_cursor(self.document.end)

    def complete(self, summary: str) -> None:
        """Show the complete summary; from now on it can be edited."""
        self._written, self._shown = summary, clean(summary)
        self.read_only = False
        self.text = self._shown

    def add_line(self, line: str) -> None:
        """Append a line, unless the text contains it."""
        if line not in self.text.splitlines():
            self.text = f"{self.text.rstrip()}\n{line}"

    @property
    def editing(self) -> bool:
        """Whether keys change the text."""
        return self.screen.focused is self and not self.read_only

    @property
    def edited(self) -> bool:
        """Whether the text differs from what was written."""
        return self.text != self._shown

    @property
    def summary(self) -> str:
        """The final summary, byte for byte as written if it was not edited."""
        return self.text if self.edited else self._written
