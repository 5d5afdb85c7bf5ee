"""Earlier sessions: open one, or delete it after a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import PurePath
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_app.ui.format import tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.screens.dialog import Dialog


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

    action: Literal["open", "delete"]
    id: str


def session_line(row: SessionRow, width: int, tz: tzinfo | None = None) -> Content:
    """One row: when, title, messages, tokens, and the model and folder where there is room."""
    when = datetime.fromtimestamp(row.updated, tz).strftime("%Y-%m-%d %H:%M")
    roomy = width >= 100
    title_width = max(12, width - (75 if roomy else 38))
    title = one_line(row.title, title_width) or "untitled"
    padding = " " * (title_width - Content(title).cell_length)
    size = f"{row.messages:>6} msg {tokens(row.tokens) if row.tokens else '?':>7}"
    tail = f"  {one_line(row.model, 20):<20}  {one_line(PurePath(row.cwd).name, 13)}" if roomy else ""
    return Content.assemble(
        (f"{when}  ", "$text-muted"), (title, "bold"), padding, size, (tail, "$text-muted")
    )


class SessionsScreen(Dialog[SessionChoice]):
    """Dismisses with a choice, or ``None``. Deleting asks first."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/sessions.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "Next", show=False, id="sessions.down"),
        Binding("up", "move(-1)", "Previous", show=False, id="sessions.up"),
        Binding("pagedown", "move(10)", "Next page", show=False, id="sessions.page_down"),
        Binding("pageup", "move(-10)", "Previous page", show=False, id="sessions.page_up"),
        Binding(
            "f8", "delete", "Delete", show=False, id="sessions.delete", tooltip="Delete, after a question."
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "open", 0),
        Hint("up/down", "choose", 1),
        Hint("f8", "delete", 0, "screen.delete"),
        Hint("esc", "close", 0, "screen.close"),
    )

    def __init__(self, rows: Sequence[SessionRow], *, tz: tzinfo | None = None) -> None:
        """Offer sessions.

        Args:
            rows: Newest first.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._rows = tuple(rows)
        self._shown: list[SessionRow] = []
        self._tz = tz

    def compose(self) -> ComposeResult:
        """Title, filter, list, the marked session's place, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading(f"Sessions · {len(self._rows)}")
            yield Input(placeholder="filter by title, folder or model", id="sessions-filter", compact=True)
            yield OptionList(id="sessions-list", compact=True, markup=False)
            yield Static(id="sessions-note", classes="dialog-note", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """The filter box has the focus; the list moves with up and down."""
        self.query_one(OptionList).can_focus = False
        self._fill("")

    def on_resize(self, _: events.Resize) -> None:
        """Line the columns up again."""
        self._fill(self.query_one(Input).value)

    @on(Input.Changed)
    def _filtered(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._open(self.query_one(OptionList).highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._open(event.option_index)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        row = self._shown[event.option_index]
        note = f"{one_line(row.id, 40)} · {one_line(row.model, 40)} · {one_line(row.cwd, 80)}"
        self.query_one("#sessions-note", Static).update(Content(note))

    def action_move(self, step: int) -> None:
        """Mark another session while the filter box keeps the focus."""
        options = self.query_one(OptionList)
        if self._shown:
            options.highlighted = min(len(self._shown) - 1, max(0, (options.highlighted or 0) + step))

    def action_delete(self) -> None:
        """Ask, then dismiss with the session to delete."""
        at = self.query_one(OptionList).highlighted
        if at is None or not self._shown:
            return
        row = self._shown[at]
        title = one_line(row.title, 60) or "untitled"
        question = f'Delete session "{title}"? {row.messages} messages, cannot be undone.'

        def decided(yes: bool | None) -> None:
            if yes:
                self.dismiss(SessionChoice("delete", row.id))

        self.app.push_screen(ConfirmDialog(question), decided)

    def _open(self, at: int | None) -> None:
        if at is not None and at < len(self._shown):
            self.dismiss(SessionChoice("open", self._shown[at].id))

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        self._shown = [row for row in self._rows if all(word in _searched_in(row) for word in words)]
        options = self.query_one(OptionList)
        options.clear_options()
        width = max(40, self.size.width - 8)
        options.add_options([Option(session_line(row, width, self._tz)) for row in self._shown])
        if self._shown:
            options.highlighted = 0
            return
        empty = "No session yet." if not self._rows else "No session has that in its title, folder or model."
        self.query_one("#sessions-note", Static).update(Content(empty))


def _searched_in(row: SessionRow) -> str:
    return f"{row.title} {row.cwd} {row.model} {row.id}".lower()
