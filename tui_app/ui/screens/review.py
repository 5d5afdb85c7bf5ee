"""A summary that is not applied yet: before and after in numbers, its text to edit, and three ways on.

The question may come up while the person is writing: so it starts on the way that decides nothing, and what
is still typed goes back to the prompt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tui_app.context.events import CompactionProposed
from tui_app.ui.format import percent, tokens
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import clean, one_line
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.stray_keys import StrayKeys

Way = Literal["apply", "edit", "discard"]
WAYS: tuple[Way, ...] = ("apply", "edit", "discard")
_EFFECTS = ("the summary takes the place of what leaves", "change its text", "nothing changes")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What the person wants."""

    summary: str | None
    """The summary to apply; None discards it."""
    typed: str = ""
    """What they went on writing while the dialog came up; it belongs to the prompt."""


class ReviewScreen(Dialog[Reviewed]):
    """Dismisses with the decision; ``None`` when there is nothing to decide any more."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/review.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab",
            "other",
            "Summary or ways",
            show=False,
            id="review.other",
            priority=True,
            tooltip="Go to the summary, or back to the ways.",
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("up/down", "mark", 2),
        Hint("enter", "choose", 0),
        Hint("tab", "summary", 1, "screen.other"),
        Hint("esc", "back, then discard", 1, "screen.close"),
    )

    def __init__(
        self,
        proposed: CompactionProposed,
        *,
        glyphs: Glyphs = UNICODE,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Ask about a summary.

        Args:
            proposed: What would be applied.
            glyphs: Signs to draw with.
            clock: Seconds that only go forward; keys are told apart by the time between them.
        """
        super().__init__()
        self._proposed, self._glyphs = proposed, glyphs
        self._shown = clean(proposed.summary)
        self._stray = StrayKeys(clock)

    @property
    def job(self) -> str:
        """Which compaction this is about."""
        return self._proposed.job

    def compose(self) -> ComposeResult:
        """Heading, numbers, summary, ways, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading("Review the summary before it is applied")
            numbers = numbers_line(self._proposed, self._glyphs)
            yield Static(Content(numbers), classes="dialog-note", markup=False)
            problem = Content(one_line(_problem(self._proposed), 200))
            yield Static(problem, id="review-problem", markup=False)
            yield TextArea(self._shown, compact=True, id="review-text")
            ways = zip(WAYS, _EFFECTS, strict=True)
            options = [Option(Content.assemble((f"{way.title():<9}", "bold"), what)) for way, what in ways]
            yield OptionList(*options, id="review-ways", compact=True, markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Start where enter decides nothing."""
        self.query_one("#review-problem").display = bool(self._proposed.problem)
        ways = self.query_one(OptionList)
        ways.focus()
        ways.highlighted = WAYS.index("edit")

    def on_key(self, event: events.Key) -> None:
        """Let only those keys through to the ways that are meant for them."""
        # Bindings act only after this.
        if not self._editing and self._stray.catch(event):
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste for the prompt, unless the summary is being edited."""
        if not self._editing:
            event.stop()
            self._stray.text += event.text

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        match WAYS[event.option_index]:
            case "apply":
                self._decide(self._text)
            case "edit":
                self.query_one(TextArea).focus()
            case "discard":
                self._discard()

    def action_other(self) -> None:
        """Go to the summary, or back to the ways."""
        self.query_one(OptionList if self._editing else TextArea).focus()

    def action_close(self) -> None:
        """One step back: out of the summary; then nothing is applied."""
        if self._editing:
            self.query_one(OptionList).focus()
        else:
            self._discard()

    @property
    def _editing(self) -> bool:
        return self.query_one(TextArea).has_focus

    @property
    def _text(self) -> str:
        """The summary as it is to be; as it was where nothing was changed."""
        text = self.query_one(TextArea).text
        return self._proposed.summary if text == self._shown else text

    def _discard(self) -> None:
        """Nothing is applied; what was edited is not thrown away by one key."""
        if self._text == self._proposed.summary:
            self._decide(None)
            return
        question = ConfirmDialog("Discard the summary you have edited?", verb="Discard", keep="Keep")
        self.app.push_screen(question, self._sure)

    def _sure(self, yes: bool | None) -> None:
        if yes:
            self._decide(None)

    def _decide(self, summary: str | None) -> None:
        self.dismiss(Reviewed(summary, self._stray.text.rstrip("\n")))


def _problem(proposed: CompactionProposed) -> str:
    return f"It cannot be applied like this: {proposed.problem}." if proposed.problem else ""


def numbers_line(proposed: CompactionProposed, glyphs: Glyphs) -> str:
    """``91.5k → 6.2k tokens · 212 → 9 messages · facts kept 98 %, 1 lost``."""
    parts = [
        f"{tokens(proposed.tokens_before)} {glyphs.arrow} {tokens(proposed.tokens_after)} tokens",
        f"{proposed.messages_before} {glyphs.arrow} {proposed.messages_after} messages",
    ]
    if proposed.retention is not None:
        lost = f", {proposed.facts_lost} lost" if proposed.facts_lost else ""
        parts.append(f"facts kept {percent(proposed.retention)}{lost}")
    return f" {glyphs.separator} ".join(parts)
