"""The conversation does not fit the model it is to go to: three ways, with their numbers."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_app.ui.format import cost, tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.gauge_text import window_text

Way = Literal["compact", "anyway", "cancel"]
ONE_LINE = 96
"""Columns from which a way and what it does stand in one row."""
WAYS: tuple[Way, ...] = ("compact", "anyway", "cancel")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPlan:
    """What a switch would mean; sizes in tokens."""

    target: str
    """Full name of the model to switch to."""
    limit: int
    """Its window."""
    tokens: int
    """Size of the present conversation."""
    estimate_after: int
    """About how large it would be after a compaction."""
    summary_model: str
    cost: float | None = None
    """Estimated price of the summary in US dollars; ``None`` when not known."""
    can_truncate: bool = True
    """Whether dropping old messages from each request can make it fit."""
    drops_tokens: int = 0
    keeps_turns: int = 0
    current: str = ""
    """Full name of the model that stays on cancel."""


def switch_lines(plan: SwitchPlan) -> tuple[str, str, str]:
    """What each of the three ways does, in the order of :data:`WAYS`."""
    price = f" · ~{cost(plan.cost)}" if plan.cost else ""
    turns = f"keeps the last {plan.keeps_turns} turn{'' if plan.keeps_turns == 1 else 's'}"
    drops = f"drops the oldest {window_text(plan.drops_tokens)} for each request, {turns}"
    model = one_line(plan.summary_model, 32)
    stay = f"stay on {one_line(plan.current, 40)}" if plan.current else "stay on the present model"
    return (
        f"about {window_text(plan.estimate_after)} after · summary by {model}{price}",
        drops if plan.can_truncate else "not possible: the latest prompt alone is too large",
        stay,
    )


class SwitchDialog(Dialog[Way]):
    """Dismisses with the way chosen; Esc is ``cancel``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/switch_dialog.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "choose('compact')", "Compact and switch", show=False, id="switch.compact"),
        Binding("a", "choose('anyway')", "Switch anyway", show=False, id="switch.anyway"),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "choose", 1),
        Hint("c", "compact and switch", 2, "screen.choose('compact')"),
        Hint("a", "switch anyway", 3, "screen.choose('anyway')"),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, plan: SwitchPlan) -> None:
        """Ask how to go on."""
        super().__init__()
        self._plan = plan

    def compose(self) -> ComposeResult:
        """The problem in one sentence, three ways, keys."""
        plan = self._plan
        size = f"holds {window_text(plan.limit)}. This conversation is {tokens(plan.tokens)}."
        labels = ("Compact and switch", "Switch anyway", "Cancel")
        gap = " " if self.app.size.width >= ONE_LINE else "\n    "
        with Vertical(classes="dialog"):
            yield self.heading(f"{one_line(plan.target, 60)} {size}")
            yield OptionList(
                *(
                    Option(
                        Content.assemble((f"{label:<20}", "bold"), gap, effect),
                        id=way,
                        disabled=way == "anyway" and not plan.can_truncate,
                    )
                    for way, label, effect in zip(WAYS, labels, switch_lines(plan), strict=True)
                ),
                compact=True,
                markup=False,
            )
            yield self.hints()

    def on_mount(self) -> None:
        """Start on the way that loses nothing."""
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = 0

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_choose(WAYS[event.option_index])

    def action_choose(self, way: Way) -> None:
        """Take a way, unless it is not possible."""
        if way != "anyway" or self._plan.can_truncate:
            self.dismiss(way)

    def action_close(self) -> None:
        """Esc changes nothing."""
        self.dismiss("cancel")
