"""The transcripts of other programs on this machine: choose one to go on with."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import PurePath
from typing import ClassVar

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.format import file_size
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line, padded
from tui_app.ui.screens.filter_dialog import FilterDialog


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptRow:
    """One transcript of the list."""

    path: str
    program: str
    title: str
    cwd: str
    time: float
    """When it was last written, in seconds since the epoch."""
    size: int
    """Bytes; 0 when unknown."""
    session: str = ""
    """The session it was imported into; empty when it was not."""
    changed: bool = False
    """Whether it was written to since it was imported."""


def transcript_line(row: TranscriptRow, width: int, tz: tzinfo | None = None) -> Content:
    """One row: when, program, title, size, whether it was imported, and the folder where there is room."""
    roomy = width >= 100
    when = datetime.fromtimestamp(row.time, tz).strftime("%Y-%m-%d %H:%M" if roomy else "%Y-%m-%d")
    state = ("changed" if row.changed else "imported") if row.session else ""
    title_width = max(12, width - (69 if roomy else 45))
    title = one_line(row.title or PurePath(row.path).name, title_width)
    padding = " " * (title_width - Content(title).cell_length)
    size = file_size(row.size) if row.size else ""
    folder = f"  {one_line(PurePath(row.cwd).name, 16)}" if roomy else ""
    return Content.assemble(
        (f"{when}  {padded(one_line(row.program, 11), 11)}  ", "$text-muted"),
        (title, "bold"),
        f"{padding} {size:>9}",
        (f"  {state:<8}{folder}".rstrip(), "$text-muted"),
    )


BY_NAME = "/import FILE takes one from anywhere."


class ImportScreen(FilterDialog[TranscriptRow]):
    """Dismisses with a transcript, or ``None``. It is shown before the search for them has ended."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/importing.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "import", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "import"
    PLACEHOLDER = "filter by title, program, folder or file"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, *, tz: tzinfo | None = None) -> None:
        """Offer nothing yet.

        Args:
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._rows: tuple[TranscriptRow, ...] | None = None
        self._shown: list[TranscriptRow] = []
        self._wanted = ""
        self._tz = tz
        self._failed = ""

    @property
    def title_text(self) -> str:
        """What is listed."""
        return f"Conversations of other programs{self.narrowed}"

    def show(self, rows: Sequence[TranscriptRow]) -> None:
        """List what was found, newest first."""
        self._rows = tuple(rows)
        if self.is_mounted:
            self.narrow(self._wanted)

    def fail(self, why: str) -> None:
        """Say that there is no list."""
        self._failed = why
        self.show(())

    @property
    def total(self) -> int:
        """All transcripts that were found."""
        return len(self._rows or ())

    def fill(self, wanted: str) -> None:
        """List the transcripts with these words in title, program, folder or file."""
        self._wanted = wanted
        words = wanted.lower().split()
        rows = self._rows or ()
        self._shown = [row for row in rows if all(word in _searched_in(row) for word in words)]
        self.options.clear_options()
        width = max(40, self.size.width - 8)
        self.options.add_options([Option(transcript_line(row, width, self._tz)) for row in self._shown])
        if self._shown:
            self.options.highlighted = 0
        elif self._rows is None:
            self.note("Looking for transcripts…")
        elif self._rows:
            self.note("No transcript has that in its title, program, folder or name.")
        else:
            self.note(self._failed or f"No transcripts of other programs were found. {BY_NAME}")

    def explain(self, index: int) -> None:
        """Where a transcript lies, and what enter does with one that was imported before."""
        row = self._shown[index]
        again = ""
        if row.session:
            again = " · enter imports it anew" if row.changed else f" · enter opens session {row.session}"
        self.note(f"{one_line(row.path, 160)}{again}")

    def use(self, index: int) -> None:
        """Dismiss with the transcript."""
        self.dismiss(self._shown[index])


def _searched_in(row: TranscriptRow) -> str:
    return f"{row.title} {row.program} {row.cwd} {row.path}".lower()
