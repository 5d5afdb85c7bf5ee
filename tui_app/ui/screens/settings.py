"""Settings, or the keys of actions, as a list: what is in force, where it comes from, what is allowed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input
from textual.widgets.option_list import Option

from tui_app.settings.values import Entry
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line, padded
from tui_app.ui.screens.filter_dialog import FilterDialog
from tui_app.ui.screens.wishes import Wishes

_KEY_CELLS, _SOURCE_CELLS = 23, 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants of a setting: change it, or have the built-in value back."""

    entry: Entry
    reset: bool = False


def entry_line(entry: Entry, width: int) -> Content:
    """One row: name, value, source; columns line up, and the source gives way where it is narrow."""
    key_cells = min(_KEY_CELLS, width // 2)
    source = f"  {one_line(entry.source, _SOURCE_CELLS)}" if width >= 60 else ""
    room = max(4, width - key_cells - (_SOURCE_CELLS + 2 if source else 0))
    name, value = one_line(entry.key.removeprefix("keymap."), key_cells - 1), one_line(entry.value, room)
    gap = " " * (room - Content(value).cell_length) if source else ""
    changed = entry.origin.kind != "default"
    return Content.assemble(
        padded(name, key_cells),
        (value, "bold $text-accent" if changed else "$text-muted"),
        gap,
        (source, "$text-muted"),
    )


def entry_note(entry: Entry) -> str:
    """What the marked setting is for, what it may be, and when a change counts."""
    first = one_line(entry.about.text, 200)
    if entry.origin.is_forced:
        second = f"{entry.origin.name} gives it and ranks above the file: change it there."
    else:
        second = f"A change counts {entry.about.effect.value}."
    return "\n".join(part for part in (first, f"Allowed: {entry.allowed}", second) if part)


class SettingsScreen(FilterDialog[None]):
    """Tells what is wanted through ``wanted``; what is shown is given to it."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/settings.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f8", "reset", "Built-in value", show=False, id="settings.reset",
            tooltip="Take it out of the file, so that the built-in value counts.",
        ),
    ]  # fmt: skip
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "change", 0),
        Hint("up/down", "choose", 1),
        Hint("f8", "built-in value", 2, "screen.reset"),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "settings"
    PLACEHOLDER = "filter by name, value, source or purpose"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, title: str, entries: Sequence[Entry], words: str = "") -> None:
        """List settings.

        Args:
            title: First row.
            entries: The settings as they stand.
            words: What to filter by at first.
        """
        super().__init__()
        self._title, self._words = title, words
        self._entries = tuple(entries)
        self._shown: list[Entry] = []
        self._marked = ""
        """Key of the marked setting."""
        self._said = ""
        """What came of the last wish; shown until another setting is marked."""
        self._wishes = Wishes[Wish]()

    async def wanted(self) -> Wish | None:
        """Wait for what the person wants next; None when the screen was closed."""
        return await self._wishes.next()

    def show(self, entries: Sequence[Entry], said: str) -> None:
        """Show the settings anew, the same row marked, and say what has happened."""
        self._entries, self._said = tuple(entries), said
        if self.is_attached:  # it may have been closed meanwhile
            self.narrow(self.query_one(Input).value)

    @property
    def title_text(self) -> str:
        """First row of the dialog."""
        return f"{one_line(self._title, 200)}{self.narrowed}"

    def on_mount(self) -> None:
        """Show everything, or what was asked for."""
        self.query_one(Input).value = self._words

    @property
    def total(self) -> int:
        """All settings."""
        return len(self._entries)

    def fill(self, wanted: str) -> None:
        """List the settings with these words in name, value, source or purpose; the marked one stays so."""
        words = wanted.lower().split()
        self._shown = [entry for entry in self._entries if all(word in _searched_in(entry) for word in words)]
        self.options.clear_options()
        width = max(20, self.size.width - 8)
        self.options.add_options([Option(entry_line(entry, width)) for entry in self._shown])
        if self._shown:
            keys = [entry.key for entry in self._shown]
            self.options.highlighted = keys.index(self._marked) if self._marked in keys else 0
        else:
            self.note("No setting has that in its name, value, source or purpose.")

    def explain(self, index: int) -> None:
        """Say all about a setting, or what has just come of a change to it."""
        entry = self._shown[index]
        if entry.key != self._marked:
            self._marked, self._said = entry.key, ""
        self.note(self._said or entry_note(entry))

    def use(self, index: int) -> None:
        """Ask for a setting to be changed."""
        self._wishes.ask(Wish(self._shown[index]))

    def action_reset(self) -> None:
        """Ask for the built-in value."""
        at = self.options.highlighted
        if at is not None and self._shown:
            self._wishes.ask(Wish(self._shown[at], reset=True))

    def action_close(self) -> None:
        """Close; whoever waits is told."""
        self._wishes.close()
        super().action_close()


def _searched_in(entry: Entry) -> str:
    return f"{entry.key} {entry.value} {entry.source} {entry.about.text}".lower()
