"""The end of a running command's output."""

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from tui_app.ui.widgets.widgets import Exact
from tui_app.ui.words.text import clean

ROWS = 6
"""Rows shown; the result in the transcript is complete."""


def tail_of(text: str, rows: int = ROWS) -> list[str]:
    """Return the last lines of an output; of an overwritten line, only its final text."""
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
    shown = [clean(line, keep_newlines=False).rstrip() for line in lines]
    return [line for line in shown if line][-rows:]


class OutputTail(Exact, Static):
    """The last lines of output; takes no space while there is none."""

    output: reactive[str] = reactive("")

    def watch_output(self, output: str) -> None:
        rows = tail_of(output, 1 if self.screen.has_class("-short") else ROWS) if output else []
        self.set_class(bool(rows), "-printing")
        self.update(Content("\n".join(rows)))
