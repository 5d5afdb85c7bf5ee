"""A screen with the complete text of a row: no markup, no Markdown, no control characters."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from textual.app import ComposeResult
from textual.widgets import TextArea

from tui_app.chat_keys import label_of
from tui_app.events import CompactionComplete
from tui_app.ui.chat.compaction_outcome import NOTICE_CELLS, outcome_text
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.parts import readable, reading_area
from tui_app.ui.words.compaction_words import refused_text
from tui_app.ui.words.text import cost, duration, one_line, tokens


def file_text(path: Path, most: int | None = None, instead: str = "") -> str:
    """Read a file as text, up to a number of bytes.

    Returns:
        Its text; for an unreadable file the reason, followed by ``instead``.
    """
    try:
        with path.open("rb") as stream:
            return stream.read(most).decode("utf-8", "replace")
    except FileNotFoundError:
        return f"{path} is not on this machine: files stay where they were written.{instead}"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}.{instead}"


class DetailsScreen(Dialog[None], place="details", style="details", size="-full"):
    """Scrollable text that can be selected and copied."""

    def __init__(self, title: str, text: str | Callable[[], str]) -> None:
        """Show a text of any origin.

        Args:
            title: Its heading.
            text: The text, or a function that reads it in a thread.
        """
        super().__init__(one_line(title, 200))
        self._read = text if callable(text) else None
        self.whole = "Reading the log …" if callable(text) else text

    def body(self) -> ComposeResult:
        yield reading_area(self.whole)

    def on_mount(self) -> None:
        if self._read is not None:
            self.run_worker(self._fill(self._read))

    async def _fill(self, read: Callable[[], str]) -> None:
        self.whole = await asyncio.to_thread(read)
        self.query_one(TextArea).text = readable(self.whole)


def labelled(label: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield rows, the first one with a label."""
    for number, row in enumerate(rows):
        yield f"{'' if number else label:<14}{row}"


def unchanged_text(done: CompactionComplete, keymap: Mapping[str, str]) -> str:
    """Word why a compaction changed nothing, its figures, and the next step."""
    why, _ = outcome_text(done, NOTICE_CELLS, keymap)
    rows = (
        ("Began", done.trigger),
        ("Model", done.model),
        ("Focus", one_line(done.focus, NOTICE_CELLS)),
        ("Took", duration(done.duration_s) if done.duration_s else ""),
        ("Written", f"{tokens(done.output_tokens)} tokens" if done.output_tokens else ""),
        ("Cost", cost(done.cost_usd) if done.cost_usd is not None else ""),
    )
    figures = [line for label, value in rows if value for line in labelled(label, [value])]
    on = f"{label_of('chat.compact', keymap)} tries again, /compact WORDS also says what matters most"
    return "\n".join([why, "", *figures, "", f"{on}."]) + refused_text(done)
