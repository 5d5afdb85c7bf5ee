"""Earlier sessions: open one, name one, or delete one after a question."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import PurePath
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.format import count, tokens
from tui_app.ui.keys import Hint, fixed_key
from tui_app.ui.safe_text import one_line, padded
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.screens.filter_dialog import FilterDialog


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session of the list."""

    id: str
    title: str
    cwd: str
    updated: float
    """Seconds since the epoch."""
    messages: int
    tokens: int
    """Size of the last request; 0 when nothing was ever sent from here."""
    model: str


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """What to do with which session."""

    action: Literal["open", "delete", "rename", "search"]
    id: str = ""


def session_line(row: SessionRow, width: int, tz: tzinfo | None = None) -> Content:
    """One row: when, title, messages, tokens, and the model and folder where there is room."""
    moment = datetime.fromtimestamp(row.updated, tz)
    if width < 50:
        return _short_line(row, moment, width)
    when = moment.strftime("%Y-%m-%d %H:%M")
    roomy = width >= 100
    title_width = max(12, width - (75 if roomy else 38))
    title = one_line(row.title, title_width) or "untitled"
    padding = " " * (title_width - Content(title).cell_length)
    size = f"{row.messages:>6} msg {tokens(row.tokens) if row.tokens else '?':>7}"
    tail = f"  {padded(one_line(row.model, 20), 20)}  {one_line(PurePath(row.cwd).name, 13)}" if roomy else ""
    return Content.assemble(
        (f"{when}  ", "$text-muted"), (title, "bold"), padding, size, (tail, "$text-muted")
    )


def _short_line(row: SessionRow, moment: datetime, width: int) -> Content:
    """Day, title and messages, for a terminal without room for more."""
    room = width - 16
    title = one_line(row.title, room) or "untitled"
    padding = " " * (room - Content(title).cell_length)
    return Content.assemble(
        (f"{moment:%m-%d}  ", "$text-muted"), (title, "bold"), padding, f" {row.messages:>4} msg"
    )


class SessionsScreen(FilterDialog[SessionChoice]):
    """Dismisses with a choice, or ``None``. Deleting asks first."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/sessions.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key("sessions.rename", "f6", "rename", "Rename", "Give the marked session another title."),
        fixed_key("sessions.search", "f7", "search", "Search", "Search what was said in all sessions."),
        Binding(
            "f8", "delete", "Delete", show=False, id="sessions.delete", tooltip="Delete, after a question."
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "open", 0),
        Hint("up/down", "choose", 2),
        Hint("f7", "search all", 1, "screen.search"),
        Hint("f6", "rename", 1, "screen.rename"),
        Hint("f8", "delete", 0, "screen.delete"),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "sessions"
    PLACEHOLDER = "filter by title, folder or model"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(
        self,
        rows: Sequence[SessionRow],
        *,
        held: Callable[[str], str] = lambda _: "",
        tz: tzinfo | None = None,
    ) -> None:
        """Offer sessions.

        Args:
            rows: Newest first.
            held: Says where the session with an id is open, empty where it is not; asked in a thread.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._held = held
        self._rows = tuple(rows)
        self._shown: list[SessionRow] = []
        self._tz = tz

    @property
    def title_text(self) -> str:
        """Says how many there are."""
        return f"Sessions · {self.how_many}"

    @property
    def total(self) -> int:
        """All sessions."""
        return len(self._rows)

    def fill(self, wanted: str) -> None:
        """List the sessions with these words in title, folder or model."""
        words = wanted.lower().split()
        self._shown = [row for row in self._rows if all(word in _searched_in(row) for word in words)]
        self.options.clear_options()
        width = max(30, self.size.width - 8)
        self.options.add_options([Option(session_line(row, width, self._tz)) for row in self._shown])
        if self._shown:
            self.options.highlighted = 0
            return
        empty = "There is no other session yet."
        self.note("No session has that in its title, folder or model." if self._rows else empty)

    def explain(self, index: int) -> None:
        """Id, model and folder of a session."""
        row = self._shown[index]
        self.note(f"{one_line(row.id, 40)} · {one_line(row.model, 40)} · {one_line(row.cwd, 80)}")

    def use(self, index: int) -> None:
        """Dismiss with the session to open."""
        self.dismiss(SessionChoice("open", self._shown[index].id))

    def action_search(self) -> None:
        """Dismiss with the wish to search what was said."""
        self.dismiss(SessionChoice("search"))

    def action_rename(self) -> None:
        """Dismiss with the session to name."""
        at = self.options.highlighted
        if at is not None and self._shown:
            self.dismiss(SessionChoice("rename", self._shown[at].id))

    async def action_delete(self) -> None:
        """Ask, then dismiss with the session to delete; one that is open elsewhere cannot be."""
        at = self.options.highlighted
        if at is None or not self._shown:
            return
        row = self._shown[at]
        if who := await asyncio.to_thread(self._held, row.id):
            self.note(f"This session is open in {who}. Close it there first.")
            return
        title = one_line(row.title, 60) or "untitled"
        question = f'Delete session "{title}"? {count(row.messages, "message")}, cannot be undone.'
        self.ask(ConfirmDialog(question), lambda: self.dismiss(SessionChoice("delete", row.id)))


def _searched_in(row: SessionRow) -> str:
    return f"{row.title} {row.cwd} {row.model} {row.id}".lower()
