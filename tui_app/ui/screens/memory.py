"""The context board: what is remembered of this repository and branch, and where each of it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.memory.entries import PERSON, Entry
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.screens.filter_dialog import FilterDialog

_KIND_CELLS = 10
_DATE_CELLS = 12
_SOURCE_CELLS = 16
_ROOMY = 100
_BORDERS = 8
EMPTY = "Nothing is remembered here yet. f6 adds something; Plimsoll reads each session once it is over."
OFF = "Memory is switched off: nothing is remembered by itself, and no session is given this board."


@dataclass(frozen=True, slots=True)
class MemoryChoice:
    """What to do with which entry; adding needs none."""

    action: Literal["source", "edit", "forget", "add"]
    entry: Entry | None = None


def entry_line(entry: Entry, width: int, tz: tzinfo | None = None) -> Content:
    """One row: what it is, what it says, and where there is room when it was made and from what."""
    roomy = width >= _ROOMY
    room = max(16, width - _KIND_CELLS - (_DATE_CELLS + _SOURCE_CELLS if roomy else 0))
    text = one_line(entry.text, room - 1)
    padding = " " * (room - Content(text).cell_length)
    made = datetime.fromtimestamp(entry.time, tz).strftime("%Y-%m-%d")
    tail = f"{made:<{_DATE_CELLS}}{one_line(_source(entry), _SOURCE_CELLS)}" if roomy else ""
    return Content.assemble(
        (f"{entry.kind:<{_KIND_CELLS}}", "$text-muted"), text, padding, (tail, "$text-muted")
    )


def _source(entry: Entry) -> str:
    """Message and session, or who wrote it."""
    if entry.made_by == PERSON:
        return "you"
    return f"#{entry.seq} {entry.session}" if entry.session else entry.made_by


class MemoryScreen(FilterDialog[MemoryChoice]):
    """Dismisses with a choice, or ``None``. Forgetting asks first."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/memory.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f4", "edit", "Edit", show=False, id="memory.edit", tooltip="Word the marked entry anew."),
        Binding("f6", "add", "Add", show=False, id="memory.add", tooltip="Put something on the board."),
        Binding(
            "f8", "forget", "Forget", show=False, id="memory.forget",
            tooltip="Take the marked entry off the board, after a question.",
        ),
    ]  # fmt: skip
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "source", 0),
        Hint("f4", "edit", 0, "screen.edit"),
        Hint("f6", "add", 1, "screen.add"),
        Hint("f8", "forget", 0, "screen.forget"),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "memory"
    PLACEHOLDER = "filter by words, kind or session"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(
        self,
        entries: Sequence[Entry],
        whose: str,
        *,
        told: str = "",
        marked: int = 0,
        off: bool = False,
        tz: tzinfo | None = None,
    ) -> None:
        """Show a board.

        Args:
            entries: What stands on it, the weightiest first.
            whose: Repository and branch in words.
            told: What came of the last change.
            marked: Id of the entry to begin at; 0 begins at the first.
            off: Whether memory is switched off.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._entries, self._whose, self._tz = tuple(entries), whose, tz
        self._told, self._marked, self._off = told, marked, off
        self._shown: list[Entry] = []

    @property
    def title_text(self) -> str:
        """Says whose board it is."""
        unit = "entry" if len(self._entries) == 1 else "entries"
        return f"Memory · {one_line(self._whose, 60)} · {self.how_many} {unit}"

    @property
    def total(self) -> int:
        """All entries."""
        return len(self._entries)

    def fill(self, wanted: str) -> None:
        """List the entries with these words in text, kind or source."""
        words = wanted.lower().split()
        self._shown = [entry for entry in self._entries if all(word in _searched_in(entry) for word in words)]
        self.options.clear_options()
        width = max(40, self.size.width - _BORDERS)
        self.options.add_options([Option(entry_line(entry, width, self._tz)) for entry in self._shown])
        if self._shown:
            numbers = [entry.id for entry in self._shown]
            self.options.highlighted = numbers.index(self._marked) if self._marked in numbers else 0
            return
        empty = "No entry has that." if self._entries else OFF if self._off else EMPTY
        self.note("\n".join(filter(None, (empty, self._told))))

    def explain(self, index: int) -> None:
        """The marked entry in full: text, who made it and when, which branches it holds for, its source."""
        entry = self._shown[index]
        self._marked = entry.id
        when = datetime.fromtimestamp(entry.time, self._tz).strftime("%Y-%m-%d %H:%M")
        where = f"on {one_line(entry.branch, 40)}" if entry.branch else "on every branch"
        by = "you" if entry.made_by == PERSON else one_line(entry.made_by, 40)
        source = f" · message #{entry.seq} of session {one_line(entry.session, 20)}" if entry.seq else ""
        told = self._told or (OFF if self._off else "")
        lines = [one_line(entry.text, 480), f"entry {entry.id} · {where} · by {by}, {when}{source}", told]
        self.note("\n".join(filter(None, lines)))

    def use(self, index: int) -> None:
        """Dismiss with the entry whose source is wanted; an entry without one says so."""
        entry = self._shown[index]
        if entry.session:
            self.dismiss(MemoryChoice("source", entry))
        else:
            self.note("You wrote this entry outside of any session: there is no message to show.")

    def action_edit(self) -> None:
        """Dismiss with the entry to word anew."""
        if (entry := self._at) is not None:
            self.dismiss(MemoryChoice("edit", entry))

    def action_add(self) -> None:
        """Dismiss to have something added."""
        self.dismiss(MemoryChoice("add"))

    def action_forget(self) -> None:
        """Ask, then dismiss with the entry to forget."""
        if (entry := self._at) is None:
            return
        said = one_line(entry.text, 120)
        question = f'Forget "{said}"? No later session is told; it does not come back by itself.'
        asked = ConfirmDialog(question, verb="Forget", keep="Keep")
        self.ask(asked, lambda: self.dismiss(MemoryChoice("forget", entry)))

    @property
    def _at(self) -> Entry | None:
        """The marked entry."""
        at = self.options.highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None


def _searched_in(entry: Entry) -> str:
    return f"{entry.text} {entry.kind} {entry.source} {entry.branch} {entry.made_by}".lower()
