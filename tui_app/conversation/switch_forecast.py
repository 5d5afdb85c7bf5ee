"""What a change to another model would mean for a conversation, in numbers; nothing is changed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pydantic_ai.messages import ModelRequest, UserPromptPart

from tui_app.context.compaction.plan import Plan, irreducible_floor, plan_compaction
from tui_app.context.counting.usage import ContextUsage, ContextWindow
from tui_app.context.overflow.truncator import truncate
from tui_app.context.policy import Policy
from tui_app.context.view import Item, is_prompt
from tui_app.context.windows import resolve_window
from tui_app.conversation.session_history import SessionHistory

Fit = Literal["fits", "compact", "too small"]
"""Whether a conversation has room in a window: as it is, after a compaction, or not even so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchForecast:
    """What a change to another model would do to the present conversation. Sizes in tokens."""

    target: str
    window: ContextWindow
    tokens: int
    """Size of the conversation as the target counts it."""
    tokens_now: int
    """Size of the conversation as the present model counts it."""
    fits: bool
    can_compact: bool
    """Whether a compaction could make it fit: more than what must stay has room beside the answer."""
    after_compaction: int
    """Rough size after a compaction; where none can help, what would stay at least."""
    summary_model: str
    can_truncate: bool
    """Whether cutting each request could make it fit."""
    drops: int
    """Tokens left out of each request when it is cut."""
    keeps_turns: int
    """Prompts still in a request that is cut."""


def as_counted_by(usage: ContextUsage, window: ContextWindow, factor: float) -> ContextUsage:
    """The same conversation as another model counts it, as far as that is known: never as less than now.

    Args:
        usage: Its size by the present model.
        window: The other model's.
        factor: Its real tokens per counted token; 1.0 may only mean that nothing was learnt of it.
    """
    factor = max(factor, usage.scale)
    parts = usage.parts.scaled(factor / usage.scale)
    return replace(usage, parts=parts, window=window, exact=False, scale=factor)


def fit_of(history: SessionHistory, policy: Policy, limits: Iterable[int]) -> dict[int, Fit]:
    """Whether the conversation fits windows of so many tokens, as the present model counts."""
    usage, found = history.usage(), dict[int, Fit]()
    for limit in set(limits):
        window = resolve_window(model=limit)
        if fits(usage, window):
            found[limit] = "fits"
        else:
            left = _after_compaction(history, replace(usage, window=window), policy)
            found[limit] = "compact" if left <= window.effective else "too small"
    return found


def forecast(history: SessionHistory, usage: ContextUsage, policy: Policy, *, target: str) -> SwitchForecast:
    """Compare the conversation with another window.

    Args:
        history: The conversation.
        usage: Its size as the target counts it, with the target's window.
        policy: What governs it.
        target: Full name of the model.
    """
    window = usage.window
    carried = usage.parts.system + usage.parts.tools + usage.parts.memory
    # What goes depends on what is said next: the answers so far count less than a new prompt.
    items = [*history.items(), Item(0, ModelRequest(parts=[UserPromptPart("?")]))]
    safe = min(window.effective, int(window.limit * (1 - policy.safety_margin)))
    cut = truncate(items, safe - carried, lambda message: _weight(history, Item(0, message), usage.scale))
    after = _after_compaction(history, usage, policy)
    return SwitchForecast(
        target=target,
        window=window,
        tokens=usage.total,
        tokens_now=history.usage().total,
        fits=fits(usage, window),
        can_compact=after <= window.effective,
        after_compaction=after,
        summary_model=history.model,
        can_truncate=cut.fits,
        drops=max(0, usage.total - cut.tokens - carried),
        keeps_turns=sum(is_prompt(item.message) for item in cut.items) - 1,
    )


def _after_compaction(history: SessionHistory, usage: ContextUsage, policy: Policy) -> int:
    """Tokens a compaction for the window of ``usage`` would leave, a summary of full length included."""

    def weigh(item: Item) -> int:
        return _weight(history, item, usage.scale)

    pinned = history.pinned()
    plan = plan_compaction(history.items(), usage, weigh, policy, trigger="model_switch", pinned=pinned)
    if isinstance(plan, Plan):
        added = plan.summary_budget + plan.prompts_budget + plan.facts_budget
        return min(usage.total, plan.floor + added)
    floor = irreducible_floor(history.items(), usage, weigh, policy, pinned)
    # Below that size nothing is refused for want of room, but because nothing is left that could go.
    return floor if floor >= usage.window.effective else usage.total


def fits(usage: ContextUsage, window: ContextWindow) -> bool:
    """Whether the whole conversation fits another window."""
    return usage.total <= window.effective


def _weight(history: SessionHistory, item: Item, factor: float) -> int:
    return history.counter.message(item.message).scaled(factor).total
