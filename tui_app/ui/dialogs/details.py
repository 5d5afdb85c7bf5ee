"""The full text of one row, as it is: no markup, no Markdown, no control characters."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.app import ComposeResult
from textual.widgets import TextArea

from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.parts import readable, reading_area
from tui_app.ui.text import one_line


def file_text(path: Path, most: int | None = None) -> str:
    """A file as text, at most so many bytes of it; where it cannot be read, why not."""
    try:
        with path.open("rb") as stream:
            return stream.read(most).decode("utf-8", "replace")
    except FileNotFoundError:
        return f"{path} is not on this machine: files stay where they were written."
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."


class DetailsScreen(Dialog[None], place="details", style="details", size="-full"):
    """Scrollable text that can be selected and copied."""

    def __init__(self, title: str, text: str | Callable[[], str]) -> None:
        """Show a text, which may come from anywhere.

        Args:
            title: Its heading.
            text: It, or what reads it in a thread.
        """
        super().__init__(one_line(title, 200))
        self._read = text if callable(text) else None
        self.whole = "Reading the log …" if callable(text) else text

    def body(self) -> ComposeResult:
        yield reading_area(self.whole)

    def on_mount(self) -> None:
        if self._read is not None:
            self.run_worker(self._fill(self._read), exit_on_error=False)

    async def _fill(self, read: Callable[[], str]) -> None:
        self.whole = await asyncio.to_thread(read)
        self.query_one(TextArea).text = readable(self.whole)
