"""Guards of compactions: reject results that gain nothing, and stop attempts that keep failing.

The content of a summary is checked in ``binding/bind.py``, its form in ``summaries/prompt.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_app.context.compaction.plan import BY_HAND, FORCED, Plan
from tui_app.context.history import History, Proposal, sizes_of
from tui_app.context.policy import Policy
from tui_app.context.views.view import Item
from tui_app.events import CompactionComplete, Trigger
from tui_app.records import frozen
from tui_app.usage import ContextUsage, percent_text

NO_PROGRESS = (
    "Automatic compaction has stopped: the last attempts freed almost nothing. "
    "Compacting by hand, a larger model or a new conversation can help."
)
SENT_ANYWAY = "the request is sent anyway, cut to fit if necessary"
"""Consequence when the user stops a compaction that a request is waiting for."""
_THIS_AND_NEXT = 2
"""Turns for which a stop applies that let a waiting request proceed."""
LEAST_USED = 0.30
"""Share of the window below which a compaction requested by the model does not pay."""
LEAST_GROWN = 0.10
"""Minimum growth of the view, as a share of the window, between a compaction and one requested by the model.
"""
LEAST_LEAVING = 0.25
"""Minimum share of the messages that a compaction requested by the model has to remove."""
_REGROWTH = 1.05
"""Growth factor of the view after a failure before the next automatic attempt."""


def refuse_result(complete: CompactionComplete, plan: Plan) -> str:
    """Return why a written summary must not be applied; empty if it may.

    Args:
        complete: The proposal with its measured sizes.
        plan: The plan it was written for.
    """
    if complete.tokens_after >= complete.tokens_before:
        return "the summary is not smaller than what it would replace"
    if complete.tokens_after > plan.target:
        return f"the result would still be {complete.tokens_after} tokens, above the {plan.target} that fit"
    return ""


def refuse_gain(complete: CompactionComplete, policy: Policy) -> str:
    """Return why a result frees too little for a requested compaction; empty if it frees enough.

    Args:
        complete: The proposal with its measured sizes.
        policy: Defines the minimum gain.
    """
    # What a request carries besides its messages cannot be freed, however much it is.
    carried = sum(complete.breakdown.get(name, 0) for name in ("system", "tools", "memory"))
    freed, before = complete.tokens_removed, max(1, complete.tokens_before - carried)
    if complete.trigger not in {*BY_HAND, "model"} or freed >= before * policy.minimum_gain:
        return ""
    # Rounded down: a share below the minimum must not look like it.
    return f"it would free only {freed:,} tokens ({freed * 1000 // before / 10}%)"


def refuse_asked(plan: Plan | str, usage: ContextUsage, left: int) -> str:
    """Return why a compaction requested by the model would not pay; empty if it may.

    Args:
        plan: What it would do, or why there is nothing to do.
        usage: Current usage of the view.
        left: Tokens after the last compaction; 0 for none.
    """
    total, limit = usage.total, usage.window.limit
    if total < limit * LEAST_USED:
        used = percent_text(total, limit, (LEAST_USED,))
        return f"only {used} of the window is used; it pays from {LEAST_USED:.0%} on."
    if left and total - left < limit * LEAST_GROWN:
        grown = max(0, total - left)
        return f"the last compaction was just now, {grown:,} tokens ago. Continue with the work."
    if isinstance(plan, str):
        return plan
    size = total - plan.sizes.carried
    if plan.old < size * LEAST_LEAVING:
        return f"too little to gain: {plan.old:,} of {size:,} tokens would leave."
    return ""


def gain_of(history: History, proposal: Proposal) -> int:
    """Return the estimated tokens that a proposal frees, independent of later changes of the estimate."""
    items = history.items()
    leaves = sum(history.tokens(item) for item in items if item.key in proposal.left)
    gained = leaves - sum(history.tokens(Item(0, message)) for message in proposal.messages)
    # Tokens the provider reports beyond our count may well stay, so only a smaller scale is used.
    return round(gained * min(1.0, sizes_of(items, history.usage(), history.tokens).scale))


def keys_between(items: Sequence[Item], left: frozenset[int]) -> frozenset[int]:
    """Return the keys from the first to the last of some messages, including those in between."""
    places = [place for place, item in enumerate(items) if item.key in left]
    return frozenset(item.key for item in items[places[0] : places[-1] + 1]) if places else frozenset()


@dataclass(slots=True)
class Breaker:
    """A circuit breaker: remembers failed attempts, so that no conversation compacts in circles."""

    without_progress: int = 0
    """Successive compactions that freed almost nothing."""
    failure: tuple[int, int] = (0, 0)
    """Tokens of the view, and of its window, at the last failure; zeros when the last attempt succeeded."""
    veto: tuple[int, int] = (0, 0)
    """The same at the last veto; zeros when there was none since the last success."""
    stopped_for: int | None = None
    """Turns the user's stop still applies to, including the current one; None if the last one was not
    stopped.
    """

    def allows(self, usage: ContextUsage, policy: Policy, trigger: Trigger) -> bool:
        """Whether a compaction may start automatically."""
        if trigger in FORCED:
            return True
        # A veto applies to background compactions, not to necessary ones.
        if self.tripped(policy) or (trigger == "background" and _applies(self.veto, usage)):
            return False
        if not _applies(self.failure, usage):
            return True
        if trigger != "blocking" or self.stopped_for is None or self.stopped_for == _THIS_AND_NEXT:
            return False
        return self.stopped_for == 0 or usage.total > usage.window.effective

    def tripped(self, policy: Policy) -> bool:
        """Whether automatic compaction has stopped, until a manual one makes progress."""
        return self.without_progress >= policy.breaker_after

    def failed(self, tokens: int, limit: int) -> None:
        """Record an attempt that failed or could not help: its view and window, in tokens."""
        self.failure, self.stopped_for = (tokens, limit), None

    def stopped(self, usage: ContextUsage, *, awaited: bool) -> None:
        """Note that the user stopped an attempt, with the view as it is by now.

        If a request was waiting for it (``awaited``), this turn continues without compaction whatever its
        size, and so does the next turn as long as it fits.
        """
        self.failed(usage.total, usage.window.limit)
        self.stopped_for = _THIS_AND_NEXT if awaited else 1

    def turn_begins(self) -> None:
        """Record a new turn, after which a stopped compaction may start again later."""
        if self.stopped_for:
            self.stopped_for -= 1

    def succeeded(self, before: int, gained: int, policy: Policy) -> None:
        """Record an applied compaction.

        Args:
            before: Tokens of the view it started from.
            gained: Tokens it freed.
            policy: Defines the minimum gain.
        """
        self.failure, self.veto, self.stopped_for = (0, 0), (0, 0), None
        self.without_progress = 0 if gained >= before * policy.minimum_gain else self.without_progress + 1


def _applies(attempt: tuple[int, int], usage: ContextUsage) -> bool:
    """Whether the view has grown too little since in the same window."""
    tokens, limit = attempt
    return usage.window.limit == limit and usage.total < tokens * _REGROWTH


@frozen
class Veto:
    """A hook or program forbids the compaction."""

    reason: str
    """Source and reason, in one sentence without its full stop."""
