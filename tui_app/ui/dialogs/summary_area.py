"""The text of a summary under review: it grows while it is written, and is edited afterwards."""

from textual.timer import Timer

from tui_app.events import CompactionProgress
from tui_app.ui.dialogs.parts import readable
from tui_app.ui.widgets.scroll_bars import WrittenArea
from tui_app.ui.words.text import clean

_PAINT_S = 0.1
"""Seconds for which streamed text is gathered before it is painted."""


class SummaryArea(WrittenArea):
    """Holds a summary; nothing in it can be changed before it is complete."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(compact=True, read_only=True, id=id)
        self._heard, self._part = "", 1
        self._painting: Timer | None = None
        self._written = self._shown = ""

    def on_mount(self) -> None:
        self._paint()

    def hear(self, progress: CompactionProgress) -> None:
        """Go on with what was written since."""
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
        """Show the whole summary; from now on it can be edited."""
        self._written, self._shown = summary, clean(summary)
        self.read_only = False
        self.text = self._shown

    def add_line(self, line: str) -> None:
        """Put a line under the text, unless it stands there."""
        if line not in self.text.splitlines():
            self.text = f"{self.text.rstrip()}\n{line}"

    @property
    def editing(self) -> bool:
        """Whether keys change the text."""
        return self.screen.focused is self and not self.read_only

    @property
    def edited(self) -> bool:
        """Whether it is another text than the one that was written."""
        return self.text != self._shown

    @property
    def summary(self) -> str:
        """The summary as it is to be; byte for byte as it was where nothing was changed."""
        return self.text if self.edited else self._written
