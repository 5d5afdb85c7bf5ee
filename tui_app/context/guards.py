"""Guards around a compaction: results that are no gain are rejected, and failing attempts stop."""

from dataclasses import dataclass

from tui_app.context.events import CompactionComplete, Trigger
from tui_app.context.planner import FORCED, Plan
from tui_app.context.policy import Policy
from tui_app.context.usage import ContextUsage

_REGROWTH = 1.05
"""After a failure the view must have grown by this factor before the next automatic attempt."""


def refuse_result(complete: CompactionComplete, plan: Plan) -> str:
    """Why a written summary must not be applied; empty when it may.

    Args:
        complete: The proposal with its measured sizes.
        plan: The plan it was written for.
    """
    if complete.tokens_after >= complete.tokens_before:
        return "the summary is not smaller than what it would replace"
    if complete.tokens_after > plan.target:
        return f"the result would still be {complete.tokens_after} tokens, above the {plan.target} that fit"
    return ""


@dataclass(slots=True)
class Breaker:
    """Remembers attempts that got nowhere, so that no conversation compacts in circles."""

    without_progress: int = 0
    """Successful compactions in a row that freed next to nothing."""
    failed_at: int = 0
    """Size of the view, in tokens, at the last failure; 0 when the last attempt succeeded."""
    failed_limit: int = 0
    """Window, in tokens, in which it failed; another window is another case."""

    def allows(self, usage: ContextUsage, policy: Policy, trigger: Trigger) -> bool:
        """Whether a compaction may start by itself."""
        if trigger in FORCED:
            return True
        if self.tripped(policy):
            return False
        return usage.window.limit != self.failed_limit or usage.total >= self.failed_at * _REGROWTH

    def tripped(self, policy: Policy) -> bool:
        """Whether automatic compaction has stopped, until one that a person asks for makes progress."""
        return self.without_progress >= policy.breaker_after

    def failed(self, tokens: int, limit: int) -> None:
        """Note an attempt that failed, was stopped, or could not help: its view and window, in tokens."""
        self.failed_at, self.failed_limit = tokens, limit

    def succeeded(self, before: int, gained: int, policy: Policy) -> None:
        """Note an applied compaction.

        Args:
            before: Tokens of the view it started from.
            gained: Tokens it freed.
            policy: Says how much counts as progress.
        """
        self.failed_at = self.failed_limit = 0
        self.without_progress = 0 if gained >= before * policy.minimum_gain else self.without_progress + 1
