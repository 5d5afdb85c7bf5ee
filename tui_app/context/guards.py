"""Guards around a compaction: results that are no gain are rejected, and failing attempts stop."""

from dataclasses import dataclass

from tui_app.context.events import CompactionComplete, Trigger
from tui_app.context.planner import FORCED, Plan
from tui_app.context.policy import Policy

_REGROWTH = 1.05
"""After a failure the view must have grown by this factor before the next automatic attempt."""


def refuse_result(complete: CompactionComplete, plan: Plan, policy: Policy) -> str:
    """Why a written summary must not be applied; empty when it may.

    Args:
        complete: The proposal with its measured sizes.
        plan: The plan it was written for.
        policy: Its triggers and sizes.
    """
    if complete.tokens_after >= complete.tokens_before:
        return "the summary is not smaller than what it would replace"
    if complete.tokens_after > plan.target:
        return (
            f"the result would still be {complete.tokens_after} tokens, above the "
            f"{plan.target} that fit"
        )
    return ""


@dataclass(slots=True)
class Breaker:
    """Remembers attempts that got nowhere, so that no conversation compacts in circles."""

    without_progress: int = 0
    failed_at: int = 0
    """Size of the view, in tokens, at the last failure; 0 when the last attempt succeeded."""

    @property
    def open(self) -> bool:
        """Whether an attempt failed last."""
        return self.failed_at > 0

    def allows(self, tokens: int, policy: Policy, trigger: Trigger) -> bool:
        """Whether a compaction may start by itself."""
        if trigger in FORCED:
            return True
        if self.without_progress >= policy.breaker_after:
            return False
        return self.failed_at == 0 or tokens >= self.failed_at * _REGROWTH

    def note(self, complete: CompactionComplete, policy: Policy) -> None:
        """Learn from an ended job. Cancelled and discarded ones say nothing about progress."""
        if complete.outcome == "failed":
            self.failed_at = complete.tokens_before
        elif complete.outcome == "success":
            gained = complete.tokens_before - complete.tokens_after
            if gained < complete.tokens_before * policy.minimum_gain:
                self.without_progress += 1
            else:
                self.without_progress = 0
            self.failed_at = 0
