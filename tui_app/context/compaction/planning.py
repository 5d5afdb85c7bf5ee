"""The plan of a compaction for the view that a history holds at present."""

from collections.abc import Sequence
from dataclasses import replace

from tui_app.context.compaction.additions import Addition
from tui_app.context.compaction.planner import Plan, Refusal, plan_compaction
from tui_app.context.compaction.span import WHOLE, Span
from tui_app.context.history import History
from tui_app.context.policy import Policy
from tui_app.events import Trigger


def plan_of(
    history: History,
    policy: Policy,
    trigger: Trigger,
    focus: str = "",
    span: Span = WHOLE,
    additions: Sequence[Addition] = (),
) -> Plan | Refusal:
    """Plan a compaction of a history's view; see :func:`plan_compaction`."""
    plan = plan_compaction(
        history.items(),
        history.usage(),
        lambda item: history.weigh(item).total,
        policy,
        trigger=trigger,
        pinned=history.pinned(),
        additions=additions,
        span=span,
    )
    if isinstance(plan, Refusal):
        return plan
    behind = tuple(each for item in plan.split.old for each in history.behind(item))
    return replace(plan, focus=focus, behind=behind)
