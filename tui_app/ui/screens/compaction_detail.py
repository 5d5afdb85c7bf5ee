"""One compaction: what was written, what it kept, what left, and the way back."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList, Static, TabPane, TextArea
from textual.widgets.option_list import Option

from tui_app.events import CompactionComplete
from tui_app.session.agent_view import Difference
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.keys import Hint
from tui_app.ui.screens.compaction_tabs import NAMES, SLIM, CompactionTabs
from tui_app.ui.screens.compaction_text import (
    diff_lines,
    fact_lines,
    headline,
    message_lines,
    number_lines,
    ranked,
    sizes,
    summary_text,
)
from tui_app.ui.screens.details import DetailsScreen, readable, reading_area
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.screens.summary_editor import SummaryEditor

ONE_LINE = 100
"""Columns from which sizes and facts stand in one row."""
LOW = 20
"""Rows below which all that is said of it stands in one row, what became of it first."""


@dataclass(frozen=True, slots=True)
class NewWords:
    """What a person wants the summary to say."""

    text: str


@dataclass(frozen=True, slots=True)
class FactWanted:
    """A fact that a person wants back, by its text."""

    text: str


_SIDES: tuple[tuple[Literal["-", " "], str], ...] = (("-", "left"), (" ", "stayed"))
_READING = "Reading the log …"

Decision = Literal["undo", "redo"] | NewWords | FactWanted


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionView:
    """One compaction as the screen needs it."""

    done: CompactionComplete
    seq: int
    """Its log number."""
    time: float
    """When it was applied, in seconds since the epoch."""
    undone: bool = False
    """Whether it is taken back at present."""
    can_undo: bool = True
    """Whether the view may be changed now."""
    can_edit: bool = False
    """Whether the model sees the summary now, and it may have other words."""
    original: str = ""
    """The words it was written with, where it was edited since."""
    diff: Callable[[], Sequence[Difference]] = tuple
    """Reads what the compaction did to the model's view; called in a thread."""
    checkpoint_text: Callable[[], str] | None = None
    """Reads the checkpoint file; ``None`` when there is none."""
    scale: float = 1.0
    """Tokens as the model counts them for each counted one."""


def _of(lines: Sequence[Difference], sign: str) -> int:
    return sum(line.sign == sign for line in lines)


class CompactionDetail(Dialog[Decision]):
    """Dismisses with what is to be done, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/compaction_detail.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "u", "undo", "Undo", show=False, id="compaction.undo", tooltip="Bring the full history back."
        ),
        Binding("r", "redo", "Redo", show=False, id="compaction.redo", tooltip="Apply the summary again."),
        Binding(
            "e", "edit", "Edit", show=False, id="compaction.edit", tooltip="Give the summary other words."
        ),
        Binding(
            "c",
            "checkpoint",
            "Checkpoint",
            show=False,
            id="compaction.checkpoint",
            tooltip="Show the checkpoint file.",
        ),
        Binding(
            "right_square_bracket,ctrl+right",
            "tab(1)",
            "Next tab",
            show=False,
            id="compaction.next",
            tooltip="Show the next part.",
        ),
        Binding(
            "left_square_bracket,ctrl+left",
            "tab(-1)",
            "Previous tab",
            show=False,
            id="compaction.previous",
            tooltip="Show the part before.",
        ),
    ]

    def __init__(self, view: CompactionView, *, glyphs: Glyphs = UNICODE, tz: tzinfo | None = None) -> None:
        """Show a compaction.

        Args:
            view: What is known about it.
            glyphs: Signs to draw with.
            tz: Time zone of the clock; ``None`` for that of the machine.
        """
        super().__init__()
        self._view = view
        self._glyphs, self._tz = glyphs, tz

    def compose(self) -> ComposeResult:
        """Head, six tabs, keys."""
        view = self._view
        low = self.app.size.height < LOW
        gap = "   " if low or self.app.size.width >= ONE_LINE else "\n"
        edited = bool(view.original)
        with Vertical(classes="dialog -full"):
            yield self.heading(headline(self._view.done, self._view.time, self._glyphs, self._tz))
            yield Static(
                sizes(view.done, self._glyphs, view.undone, gap=gap, edited=edited, numbers_last=low),
                id="sizes",
                markup=False,
            )
            back = " · enter brings it back" if view.can_edit else ""
            lines = fact_lines(view.done.facts, self._glyphs, view.done.history_path, back)
            facts = [Option(line) for line in lines] or [Option(Content("No facts were found."))]
            parts = (
                reading_area(summary_text(view.done)),
                OptionList(*facts, id="facts", compact=True),
                *(reading_area(_READING, id=name, rows=True) for name in ("left", "stayed", "diff")),
                reading_area(number_lines(view.done), rows=True),
            )
            panes = zip(NAMES.items(), parts, strict=True)
            yield CompactionTabs(
                *(TabPane(Content(name), part, id=pane) for (pane, (name, _)), part in panes)
            )
            yield self.hints()

    def on_mount(self) -> None:
        """Offer only the keys that do something; start in the summary."""
        slim = self.app.size.width < SLIM
        offered = [] if slim else [Hint("[ ]", "tabs", 2), Hint("tab", "focus", 3)]
        if not self._refused(undone=True):
            offered.append(Hint("u", "undo", 0, "screen.undo"))
        if not self._refused(undone=False):
            offered.append(Hint("r", "redo", 0, "screen.redo"))
        if self._view.can_edit:
            offered.append(Hint("e", "edit", 1, "screen.edit"))
        if self._view.checkpoint_text is not None:
            offered.append(Hint("c", "file" if slim else "checkpoint file", 1, "screen.checkpoint"))
        self.key_row.hints = (*offered, Hint("esc", "close", 0, "screen.close"))
        self.query_one("#tab-summary TextArea", TextArea).focus()
        self.run_worker(self._compare(), group="diff", exclusive=True, exit_on_error=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Edit what the model sees; show the checkpoint where there is one."""
        if action == "edit":
            return self._view.can_edit
        if action == "checkpoint":
            return self._view.checkpoint_text is not None
        return super().check_action(action, parameters)

    async def _compare(self) -> None:
        """Compare the views in a thread: that reads the session's whole log."""
        lines, scale = await asyncio.to_thread(self._view.diff), self._view.scale
        for sign, name in _SIDES:
            self.query_one(CompactionTabs).count(f"tab-{name}", _of(lines, sign))
            self._list(f"#{name}", message_lines(lines, sign, self._tz, scale))
        self._list("#diff", diff_lines(lines, self._view.done.summary, self._tz, scale) or "Nothing.")

    def _list(self, selector: str, text: str) -> None:
        area = self.query_one(selector, TextArea)
        area.soft_wrap = False
        area.text = readable(text)

    def action_tab(self, step: int) -> None:
        """Go to the next or previous tab and read there."""
        tabs = self.query_one(CompactionTabs)
        tabs.turn(step)
        target = tabs.active.query("TextArea, OptionList").first()
        self.call_after_refresh(target.focus)

    def action_undo(self) -> None:
        """Ask for the full history back."""
        self._restate("undo")

    def action_redo(self) -> None:
        """Ask for the summary again."""
        self._restate("redo")

    def _restate(self, wanted: Literal["undo", "redo"]) -> None:
        if refused := self._refused(undone=wanted == "undo"):
            self.key_row.said = refused
        else:
            self.dismiss(wanted)

    def _refused(self, *, undone: bool) -> str:
        """Why the compaction cannot be undone, or else redone; empty where it can."""
        if self._view.done.outcome != "success":
            return "it changed nothing"
        if self._view.undone is undone:
            return "it is undone already" if undone else "it stands already"
        return "" if self._view.can_undo else "only the newest can, where one may write"

    def action_edit(self) -> None:
        """Give the summary other words."""
        done, original = self._view.done, self._view.original
        self.app.push_screen(SummaryEditor(done.summary, original=original or done.summary), self._edited)

    def _edited(self, text: str | None) -> None:
        if text is not None:
            self.dismiss(NewWords(text))

    @on(OptionList.OptionSelected, "#facts")
    def _bring_back(self, event: OptionList.OptionSelected) -> None:
        """Ask for a fact back that the summary does not hold."""
        event.stop()
        facts = ranked(self._view.done.facts)
        if self._view.can_edit and facts and facts[event.option_index].state != "kept":
            self.dismiss(FactWanted(facts[event.option_index].text))

    def action_checkpoint(self) -> None:
        """Show the checkpoint file."""
        if self._view.checkpoint_text is not None:
            self.app.push_screen(DetailsScreen(self._view.done.checkpoint_path, self._view.checkpoint_text()))
