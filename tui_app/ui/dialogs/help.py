"""Keys and commands as a list to search, read from the tables they act by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.keys import Hint, fixed_key
from tui_app.ui.slash import SlashCommand
from tui_app.ui.text import one_line, padded

_LABEL_CELLS, _WHERE_CELLS, _GAP = 23, 21, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpRow:
    """A key or a command, as it is told to a person."""

    label: str
    """Keys as a person reads them, or the command with its argument."""
    text: str
    """What it does, in a few words."""
    more: str
    """One sentence more."""
    where: str
    id: str = ""
    """Name for the key map; empty where the key is fixed."""
    command: SlashCommand | None = None
    is_typed: bool = False
    """Whether it is a command that has to be typed."""


def help_line(row: HelpRow, width: int) -> Content:
    """One row: key or command, what it does, where; columns line up, and where gives way first."""
    label_cells = min(_LABEL_CELLS, width // 2)
    where = one_line(row.where, _WHERE_CELLS) if width >= 70 else ""
    room = max(1, width - label_cells - (_WHERE_CELLS if where else 0))
    text = one_line(row.text, max(1, room - _GAP) if where else room)
    gap = " " * (room - Content(text).cell_length) if where else ""
    return Content.assemble(
        (padded(one_line(row.label, label_cells - 1), label_cells), "$footer-key-foreground bold"),
        text,
        gap,
        (where, "$text-muted"),
    )


class HelpScreen(FilterDialog[SlashCommand]):
    """Dismisses with the command to run, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/help.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key("help.close", "f1", "close", "Close", "The key that opened it closes it."),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "run the command", 1),
        Hint("up/down", "choose", 2),
        Hint("?", "close", 3, "screen.close"),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "help"
    PLACEHOLDER = "filter by key, command, purpose or place"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, rows: Sequence[HelpRow]) -> None:
        """List keys and commands in the order given."""
        super().__init__()
        self._rows = tuple(rows)
        self._shown: list[HelpRow] = []

    @property
    def title_text(self) -> str:
        """What this is."""
        return f"Keys and commands{self.narrowed}"

    @property
    def total(self) -> int:
        """All keys and commands."""
        return len(self._rows)

    def fill(self, wanted: str) -> None:
        """List what has these words in key, name, purpose or place; the sign that opened help closes it."""
        # The search box takes every sign before a binding could.
        if wanted == "?":
            self.action_close()
            return
        words = wanted.lower().split()
        self._shown = [row for row in self._rows if all(word in _searched_in(row) for word in words)]
        self.options.clear_options()
        width = max(20, self.size.width - 8)
        self.options.add_options([Option(help_line(row, width)) for row in self._shown])
        if self._shown:
            self.options.highlighted = 0
        else:
            self.note("No key or command has that in its name or purpose.")
            self.key_row.hints = self.HINTS[1:]

    def explain(self, index: int) -> None:
        """One sentence more, and whether the key can be changed."""
        row = self._shown[index]
        if row.command is not None:
            how = "enter runs it."
        elif row.is_typed:
            how = "Type its exact name."
        else:
            how = f"In the settings: keymap.{row.id}" if row.id else "This key is fixed."
        self.note(f"{row.more} {how}")
        self.key_row.hints = self.HINTS if row.command is not None else self.HINTS[1:]

    def use(self, index: int) -> None:
        """Run a command; a key is there to be pressed."""
        if (command := self._shown[index].command) is not None:
            self.dismiss(command)


def _searched_in(row: HelpRow) -> str:
    return f"{row.label} {row.text} {row.more} {row.where} {row.id}".lower()
