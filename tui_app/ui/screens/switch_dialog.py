"""The conversation does not fit the model it is to go to: three ways, with their numbers.

The question may come up seconds after the command, when the person is writing again. So it starts on the way
that changes nothing, no letter chooses, and what is still typed into it goes back to the prompt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_app.plurals import count
from tui_app.ui.format import cost, tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.gauge_text import window_text
from tui_app.ui.widgets.stray_keys import StrayKeys

Way = Literal["compact", "anyway", "cancel"]
ONE_LINE = 96
"""Columns from which a way and what it does stand in one row."""
SHORT = 20
"""Rows below which each way has one; what the marked one does stands below them."""
WAYS: tuple[Way, ...] = ("compact", "anyway", "cancel")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPlan:
    """What a switch would mean; sizes in tokens."""

    target: str
    """Full name of the model to switch to."""
    limit: int
    """Its window."""
    tokens: int
    """Size of the present conversation as that model counts it."""
    estimate_after: int
    """About how large it would be after a compaction; what must stay when none can help."""
    summary_model: str
    can_compact: bool = True
    """Whether a compaction can make it fit."""
    usable: int = 0
    """What fits into the window beside the answer."""
    cost: float | None = None
    """Estimated price of the summary in US dollars; ``None`` when not known."""
    can_truncate: bool = True
    """Whether dropping old messages from each request can make it fit."""
    drops_tokens: int = 0
    keeps_turns: int = 0
    tokens_now: int = 0
    """Its size as the present model counts it; 0 where that is the same."""
    current: str = ""
    """Full name of the model that stays on cancel."""


_ALIKE = 0.05
"""Share by which two models' counts may differ without a word: neither is better known."""


def size_text(plan: SwitchPlan) -> str:
    """Size of the conversation by the gauge, and by the other model's count where that is much else."""
    here = plan.tokens_now or plan.tokens
    alike = abs(plan.tokens - here) <= here * _ALIKE
    return tokens(here) + ("" if alike else f", which it counts as about {tokens(plan.tokens)}")


def switch_lines(plan: SwitchPlan) -> tuple[str, str, str]:
    """What each of the three ways does, in the order of :data:`WAYS`."""
    price = f" · ~{cost(plan.cost)}" if plan.cost else ""
    turns = f"keeps the last {count(plan.keeps_turns, 'turn')}"
    drops = f"drops the oldest {window_text(plan.drops_tokens)} for each request, {turns}"
    after, model = window_text(plan.estimate_after), one_line(plan.summary_model, 32)
    compact = f"about {after} after · summary by {model}{price}"
    hopeless = f"not possible: {after} must stay, {window_text(plan.usable)} fit beside the answer"
    stay = f"stay on {one_line(plan.current, 40)}" if plan.current else "stay on the present model"
    return (
        compact if plan.can_compact else hopeless,
        drops if plan.can_truncate else "not possible: the latest prompt alone is too large",
        stay,
    )


class SwitchDialog(Dialog[Way]):
    """Dismisses with the way chosen; Esc is ``cancel``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/switch_dialog.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("up/down", "mark", 1),
        Hint("enter", "choose", 0),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, plan: SwitchPlan, *, clock: Callable[[], float] = monotonic) -> None:
        """Ask how to go on.

        Args:
            plan: What a switch would mean.
            clock: Seconds that only go forward; keys are told apart by the time between them.
        """
        super().__init__()
        self._plan = plan
        self._stray = StrayKeys(clock)

    @property
    def typed(self) -> str:
        """What the person went on writing while the dialog was there; it belongs to the prompt."""
        return self._stray.text.rstrip("\n")

    def compose(self) -> ComposeResult:
        """The problem in one sentence, three ways, keys."""
        plan = self._plan
        size = f"holds {window_text(plan.limit)}. This conversation is {size_text(plan)}."
        labels = ("Compact and switch", "Switch anyway", "Cancel")
        possible = (plan.can_compact, plan.can_truncate, True)
        room = self.app.size
        gap = " " if room.width >= ONE_LINE or room.height < SHORT else "\n    "
        with Vertical(classes="dialog"):
            yield self.heading(f"{one_line(plan.target, 60)} {size}")
            yield OptionList(
                *(
                    Option(Content.assemble((f"{label:<20}", "bold"), gap, effect), disabled=not can)
                    for label, effect, can in zip(labels, switch_lines(plan), possible, strict=True)
                ),
                compact=True,
                markup=False,
            )
            yield Static(id="switch-effect", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Start on the way that changes nothing; whoever wants another goes there."""
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = WAYS.index("cancel")

    def on_key(self, event: events.Key) -> None:
        """Let only those keys through to the list that are meant for it."""
        # Bindings act only after this.
        if self._stray.catch(event):
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste for the prompt as well."""
        event.stop()
        self._stray.text += event.text

    @on(OptionList.OptionHighlighted)
    def _marked(self, event: OptionList.OptionHighlighted) -> None:
        """Say in full what the marked way does, where each has only one line."""
        event.stop()
        effect = switch_lines(self._plan)[event.option_index]
        self.query_one("#switch-effect", Static).update(Content(effect))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(WAYS[event.option_index])

    def action_close(self) -> None:
        """Esc changes nothing."""
        self.dismiss("cancel")
