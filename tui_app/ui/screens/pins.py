"""What is pinned: every message that stays word for word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.format import tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line, padded
from tui_app.ui.screens.filter_dialog import FilterDialog

_NUMBER_CELLS = 8
_FIGURES_CELLS = 19
"""Tokens, number, and the gaps beside them."""


@dataclass(frozen=True, slots=True)
class PinRow:
    """One pinned message."""

    seq: int
    """Log number."""
    title: str
    tokens: int
    """Counted tokens; 0 where it is not in the next request."""
    in_view: bool
    """Whether the next request holds it."""


@dataclass(frozen=True, slots=True)
class PinChoice:
    """What a person wants with a pinned message: see it, or take the pin away."""

    seq: int
    unpin: bool = False


class PinsScreen(FilterDialog[PinChoice]):
    """Dismisses with what is to be done with one message, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/pins.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        # In front of the search box, which would empty itself.
        Binding(
            "ctrl+u", "unpin", "Unpin", show=False, priority=True, id="pins.unpin",
            tooltip="Take the marked message's pin away.",
        ),
    ]  # fmt: skip
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "show it", 1),
        Hint("ctrl+u", "unpin", 0, "screen.unpin"),
        Hint("up/down", "choose", 2),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "pins"
    PLACEHOLDER = "filter by words of the message"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, rows: Sequence[PinRow]) -> None:
        """Offer pinned messages, in the order they were said."""
        super().__init__()
        self._rows = tuple(rows)
        self._shown: list[PinRow] = []

    @property
    def title_text(self) -> str:
        """Says how many there are, and what they weigh."""
        total = sum(row.tokens for row in self._rows)
        return f"Pinned · {self.how_many} · {tokens(total)} tokens of the next request"

    @property
    def total(self) -> int:
        """All pinned messages."""
        return len(self._rows)

    def fill(self, wanted: str) -> None:
        """List the messages that hold all of the words in their first line."""
        words = wanted.lower().split()
        self._shown = [row for row in self._rows if all(word in row.title.lower() for word in words)]
        self.options.clear_options()
        room = max(12, self.size.width - 8 - _FIGURES_CELLS)
        self.options.add_options([Option(pin_line(row, room)) for row in self._shown])
        if self._shown:
            self.options.highlighted = 0
        else:
            self.note("No pinned message has these words in its first line.")

    def explain(self, index: int) -> None:
        """Whether it is sent."""
        row = self._shown[index]
        sent = "It stays word for word: no compaction takes it, no stage rewrites it."
        self.note(
            sent if row.in_view else "The next request does not hold it: it was left before it was pinned."
        )

    def use(self, index: int) -> None:
        """Dismiss with the message to show."""
        self.dismiss(PinChoice(self._shown[index].seq))

    def action_unpin(self) -> None:
        """Dismiss with the message to unpin."""
        index = self.options.highlighted
        if index is not None:
            self.dismiss(PinChoice(self._shown[index].seq, unpin=True))


def pin_line(row: PinRow, room: int) -> Content:
    """One row: tokens, first line, number."""
    size = tokens(row.tokens) if row.in_view else "-"
    return Content.assemble(
        (f"{size:>7}  ", "$text-muted"),
        padded(one_line(row.title, room), room),
        (f"  {'#' + str(row.seq):>{_NUMBER_CELLS}}", "$text-muted"),
    )
