"""Details of a compaction: its summary, what it kept and removed, and how to undo it."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tui_app.conversation.work import BringBack, EditSummary, Restate
from tui_app.events import CompactionComplete, CompactionProposed, Origin
from tui_app.records import frozen
from tui_app.session.figures.compaction_diff import Difference
from tui_app.ui.context.sent_page import Replacement
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.options import MarkedList
from tui_app.ui.dialogs.parts import BREAKPOINTS, INSETS, SLIM, PartTabs, readable, reading_area
from tui_app.ui.dialogs.review import Reviewed, ReviewScreen, ReviewTexts
from tui_app.ui.dialogs.sent import Reader, SentText, SentView
from tui_app.ui.widgets.tables import packed
from tui_app.ui.words.compaction_words import (
    diff_lines,
    fact_options,
    figures,
    headline,
    message_lines,
    number_lines,
    ranked,
    sizes,
    summary_text,
)
from tui_app.ui.words.reports import compaction_lines

if TYPE_CHECKING:
    from tui_app.conversation.audits.audit import Audit

NAMES: Mapping[str, str] = {
    "tab-summary": "Sent",
    "tab-facts": "Facts",
    "tab-left": "Removed",
    "tab-stayed": "Kept",
    "tab-diff": "Diff",
    "tab-numbers": "Numbers",
    "tab-audit": "Audit",
}
"""The tabs in order, by id; the last one only for summaries of a provider or another program."""


_ABOUT = (
    "The model reads this text from the next request on. It is checked like any summary: secrets are "
    "masked, lines not in the log are marked."
)


class SummaryEditor(ReviewScreen):
    """Dismisses with new words for an applied summary."""

    GUARDS = False
    figures = (_ABOUT,)

    def __init__(self, text: str, *, original: str) -> None:
        """Edit a summary.

        Args:
            text: Its current text.
            original: The text it was written with.
        """
        words = ReviewTexts("Edit the summary", "Edit the summary", "save", None)
        super().__init__(CompactionProposed(job="", summary=text), words=words)
        self.original = original

    def _show(self) -> None:
        """Show the text with the focus in it."""
        super()._show()
        self.set_focus(self.area)


_BESIDE_FACTS, _BESIDE_ROWS = 4, 5
"""Cells next to facts and messages: the sign of the marked row or the cursor, space, and the scroll bar."""
LOW = 20
"""Rows below which all figures are in one row, with the outcome first."""


_SIDES: tuple[tuple[Literal["-", " "], str], ...] = (("-", "left"), (" ", "stayed"))
_READING, _NO_FACTS = "Reading the log …", "No facts were found."


@frozen(kw_only=True)
class CompactionView:
    """What the screen needs of a compaction."""

    done: CompactionComplete
    seq: int
    """Its log number."""
    time: float
    """When it was applied, in seconds since the epoch."""
    undone: bool = False
    """Whether it is currently undone."""
    can_undo: bool = True
    """Whether it can be undone or redone now."""
    can_edit: bool = False
    """Whether the model currently sees the summary, and it can be edited."""
    original: str = ""
    """The text it was written with, if it has been edited since."""
    passages: Sequence[tuple[Origin, str]] = ()
    """The replacement as the model gets it, by origin of its passages; empty if unknown."""
    diff: Callable[[], Sequence[Difference]] = tuple
    """Reads what the compaction changed in the model's view; called in a thread."""
    audit: "Callable[[], Audit] | None" = None
    """Checks the summary of a provider or another program against the log, in a thread; ``None`` for ours."""
    checkpoint_text: Callable[[], str] | None = None
    """Reads the checkpoint file; ``None`` if there is none."""
    scale: float = 1.0
    """Model tokens per locally counted token."""
    said: Mapping[str, str] = field(default_factory=dict)
    """Author and time of the sources of its facts, such as ``you, 12:14``."""
    read: Reader | None = None
    """Reads the messages that the replacement's lines come from."""

    @property
    def sent(self) -> Replacement:
        """What the model gets instead of the removed messages."""
        return Replacement(self.passages, self.done.model, summary_text(self.done))


Outcome = Restate | EditSummary | BringBack | int
"""What to do, or the number of a row to go to in the chat."""


class CompactionDetail(Dialog[Outcome], place="compaction", style="compaction_detail", size="-full"):
    """Dismisses with its outcome, or ``None``."""

    HORIZONTAL_BREAKPOINTS = BREAKPOINTS

    def __init__(self, view: CompactionView) -> None:
        """Show a compaction.

        Args:
            view: What is known about it.
        """
        super().__init__()
        self._view = view
        self._differences: Sequence[Difference] | None = None
        """What it changed in the model's view; None until that is read."""

    def body(self) -> ComposeResult:
        view = self._view
        yield Static(self._sizes, id="sizes", markup=False)
        facts = self._fact_rows() or [Option(_NO_FACTS if view.audit is None else _READING)]
        parts: dict[str, Widget] = {
            "tab-summary": SentView(view.sent, view.read),
            "tab-facts": MarkedList(*facts, id="facts", compact=True),
            **{f"tab-{id}": reading_area(_READING, id=id, rows=True) for id in ("left", "stayed", "diff")},
            "tab-numbers": reading_area(number_lines(view.done), rows=True),
        }
        if view.audit is not None:
            parts["tab-audit"] = reading_area(_READING, id="audit", rows=True)
        yield PartTabs(parts, NAMES)

    def on_mount(self) -> None:
        self.query_one(SentText).focus()
        self._name_keys()
        facts = sum(fact.kind != "detail" for fact in self._view.done.facts)
        self.query_one(PartTabs).count("tab-facts", facts or "")
        self.run_worker(self._compare(), group="diff", exclusive=True)
        if self._view.audit is not None:
            self.run_worker(self._audit(self._view.audit), group="audit", exclusive=True)

    def _name_keys(self) -> None:
        helps = {
            "u": not self._refused(undone=True),
            "r": not self._refused(undone=False),
            "left/right": self.app.size.width >= SLIM,
        }
        hints = [hint for hint in self.acting_hints() if helps.get(hint.label, True)]
        self.query_one(SentView).hints(self.key_row, hints, "in the chat")

    on_sent_view_changed = on_descendant_focus = on_descendant_blur = _name_keys

    def on_sent_view_wanted(self, event: SentView.Wanted) -> None:
        self.dismiss(event.entry.seq)

    def _fact_rows(self) -> list[Option]:
        done, back = self._view.done, "enter brings it back" if self._view.can_edit else ""
        width = self.app.size.width - INSETS - _BESIDE_FACTS
        sources = self._view.said
        return fact_options(done.facts, done.history_path, back, width=width, said=sources)

    @property
    def head(self) -> Content:
        return headline(self._view.done, self._view.time, self.app.size.width - INSETS)

    @property
    def _sizes(self) -> Content:
        view, low = self._view, self.app.size.height < LOW
        parts = sizes(view.done, view.undone, edited=bool(view.original), low=low)
        width = 1_000 if low else self.app.size.width - INSETS - 2
        text = figures(packed(map(Content, parts), width).plain)
        marked = re.search(r"\d[\d,]*(?= not in the log)", text.plain)
        return text.stylize("$text-warning", *marked.span()) if marked else text

    def on_resize(self) -> None:
        """Lay out head, figures, messages and facts for the new width; the mark stays."""
        self._list_differences()
        self.write_head(self.head)
        self.query_one("#sizes", Static).update(self._sizes)
        if self._view.audit is None and self._view.done.facts:
            facts = self.query_one("#facts", OptionList)
            at = facts.highlighted
            facts.set_options(self._fact_rows())
            facts.highlighted = at

    async def _audit(self, read: "Callable[[], Audit]") -> None:
        """Audit the compaction, in a thread because that reads the session's whole log."""
        (found,) = (await asyncio.to_thread(read)).compactions
        self._list("#audit", "\n".join(compaction_lines(found.to_json())))
        lines = fact_options(found.facts, width=self.app.size.width - INSETS - _BESIDE_FACTS)
        self.query_one("#facts", OptionList).set_options(lines or [Option(_NO_FACTS)])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable editing what the model sees, and the checkpoint if there is one."""
        if action == "edit":
            return self._view.can_edit
        if action == "check":
            return bool(self.query_one(SentText).progress)
        if action == "drop":
            return self._view.can_edit and self._without_marked != self._view.done.summary
        if action == "checkpoint":
            return self._view.checkpoint_text is not None
        return super().check_action(action, parameters)

    async def _compare(self) -> None:
        """Compare the views, in a thread because that reads the session's whole log."""
        self._differences = await asyncio.to_thread(self._view.diff)
        for sign, name in _SIDES:
            shown = sum(line.sign == sign for line in self._differences)
            self.query_one(PartTabs).count(f"tab-{name}", shown)
        self._list_differences()

    def _list_differences(self) -> None:
        if (lines := self._differences) is not None:
            scale, width = self._view.scale, self.app.size.width - INSETS - _BESIDE_ROWS
            for sign, name in _SIDES:
                self._list(f"#{name}", message_lines(lines, sign, scale, width))
            self._list("#diff", diff_lines(lines, self._view.done.summary, scale, width) or "Nothing.")

    def _list(self, selector: str, text: str) -> None:
        self.query_one(selector, TextArea).text = readable(text)

    def action_tab(self, step: int) -> None:
        self.query_one(PartTabs).turn(step)

    def action_check(self) -> None:
        """Go to the next flagged line, cyclically."""
        while self.query_one(PartTabs).active.id != "tab-summary":
            self.action_tab(1)
        self.query_one(SentText).action_check()

    def action_close(self) -> None:
        """Go one step back: from a message to the lines, then close."""
        if not self.query_one(SentView).close():
            self.dismiss(None)

    def action_restate(self, undo: bool) -> None:
        if refused := self._refused(undone=undo):
            self.key_row.said = refused
        else:
            self.dismiss(Restate(undo, self._view.seq))

    def _refused(self, *, undone: bool) -> str:
        """Return why the compaction cannot be undone or redone; empty if it can."""
        if self._view.done.outcome != "success":
            return "it changed nothing"
        if self._view.undone is undone:
            return "it is undone already" if undone else "it is applied already"
        return "" if self._view.can_undo else "only the latest compaction, and not in a read-only session"

    def action_edit(self) -> None:
        done, original = self._view.done, self._view.original

        def edited(reviewed: Reviewed) -> Outcome | None:
            text = reviewed.summary
            return None if text in (None, done.summary) else EditSummary(self._view.seq, text)

        self.ask(SummaryEditor(done.summary, original=original or done.summary), edited)

    @property
    def _without_marked(self) -> str:
        line, notes = self.query_one(SentText).marked, self._view.done.summary
        return line.dropped_from(notes) if line else notes

    def action_drop(self) -> None:
        self.dismiss(EditSummary(self._view.seq, self._without_marked))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Request to bring back a fact that is not in the summary."""
        facts = ranked(self._view.done.facts)
        if not self._view.can_edit or not facts or event.option_id is None:
            return
        fact = facts[int(event.option_id)]
        if fact.state != "kept":
            self.dismiss(BringBack(self._view.seq, fact.text))

    def action_checkpoint(self) -> None:
        if self._view.checkpoint_text is not None:
            self.app.push_screen(DetailsScreen(self._view.done.checkpoint_path, self._view.checkpoint_text()))
