"""The checkpoints of a session: one a compaction; enter opens the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.filter_dialog import FilterDialog

_TITLE_CELLS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """One checkpoint."""

    title: str
    """Its number and title."""
    path: str
    standing: bool
    """Whether its compaction stands; one that was undone or left behind keeps its file."""


class CheckpointsScreen(FilterDialog[str]):
    """Dismisses with the path of a checkpoint, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/search.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "open", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "checkpoints"
    PLACEHOLDER = "filter by title"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, rows: Sequence[CheckpointRow], marked: int = 0) -> None:
        """Offer checkpoints.

        Args:
            rows: Oldest first.
            marked: Place of the row that is marked at first.
        """
        super().__init__()
        self._rows = tuple(rows)
        self._marked = marked
        self._shown: list[CheckpointRow] = []

    @property
    def title_text(self) -> str:
        """Says how many there are."""
        return f"Checkpoints · {self.how_many}"

    @property
    def total(self) -> int:
        """All checkpoints."""
        return len(self._rows)

    def fill(self, wanted: str) -> None:
        """List the checkpoints with these words in their title."""
        words = wanted.lower().split()
        self._shown = [row for row in self._rows if all(word in row.title.lower() for word in words)]
        self.options.clear_options()
        self.options.add_options([Option(_line(row)) for row in self._shown])
        if self._shown:
            self.options.highlighted = min(self._marked, len(self._shown) - 1)
        else:
            self.note("No checkpoint is called that.")

    def explain(self, index: int) -> None:
        """Where the file is, in the session's folder."""
        self.note(f"checkpoints/{one_line(PurePath(self._shown[index].path).name, 200)}")

    def use(self, index: int) -> None:
        """Dismiss with the path."""
        self.dismiss(self._shown[index].path)


def _line(row: CheckpointRow) -> Content:
    state = "" if row.standing else "  taken back"
    return Content.assemble(one_line(row.title, _TITLE_CELLS), (state, "$text-muted"))
