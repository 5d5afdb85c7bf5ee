"""A person looks at a summary before it is applied, and may write it anew."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol

from tui_app.context.before import Veto
from tui_app.context.events import CompactionComplete, Trigger
from tui_app.context.guards import refuse_gain
from tui_app.context.history import Proposal
from tui_app.context.policy import Policy
from tui_app.context.summary import Summariser
from tui_app.context.writing import Writing

DECLINED = "the summary was not accepted"
EMPTY = "the summary is empty"


class Reviewer(Protocol):
    """Whoever decides on a summary. May take any time, and is cancelled with the job."""

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | None:
        """Look at a summary.

        Args:
            proposal: What would be applied.
            problem: Why it cannot be applied as it was edited; empty the first time.

        Returns:
            The summary as it is to be, the same or edited; None to discard it.
        """
        ...


def unreviewed(_trigger: Trigger) -> Reviewer | None:
    """Nobody is asked: a summary is applied as it is written."""
    return None


@dataclass(frozen=True, slots=True)
class Declined:
    """Nobody wants the summary; nothing changes."""

    complete: CompactionComplete
    """How the job ends."""


async def carry_out(
    ask: Callable[[], Awaitable[str | Veto]],
    writing: Callable[[str], Writing],
    writers: Sequence[Summariser],
    policy: Policy,
    reviewer: Reviewer | None,
    written: asyncio.Event,
) -> Proposal | Veto | Declined | str:
    """What a job does: ask who may be against it, have a summary written, ask whoever decides on that.

    Args:
        ask: Asks whoever may add to the job, or be against it.
        writing: Turns the job's plan into a proposal, with what was added.
        writers: Whoever may write the summary, best first.
        policy: Says how much a compaction has to free.
        reviewer: Decides; None applies the summary as it is.
        written: Set once nobody but the reviewer has anything to do.
    """
    said = await ask()
    if isinstance(said, Veto):
        return said
    started, work = monotonic(), writing(said)
    result = await work.run(writers)
    # One that frees too little is refused whatever is said of it.
    if reviewer is None or isinstance(result, str) or refuse_gain(result.complete, policy):
        return result
    # The time a person takes to decide is not the compaction's.
    took = replace(result.complete, duration_s=round(monotonic() - started, 3))
    written.set()
    return await _reviewed(replace(result, complete=took), work, policy, reviewer)


async def _reviewed(
    proposal: Proposal, writing: Writing, policy: Policy, reviewer: Reviewer
) -> Proposal | Declined:
    """Have a proposal looked at until it is accepted or declined.

    An edited summary is checked as one a model has written: ascriptions, facts, size. One that cannot be
    applied goes back to the person with the reason, so that nothing they wrote is lost.
    """
    written, problem = proposal, ""
    while True:
        text = await reviewer(proposal, problem)
        if text is None:
            return Declined(_declined(writing.blank, proposal.complete))
        if text == written.complete.summary:
            return written
        shown = replace(proposal, complete=replace(proposal.complete, summary=text))
        problem = EMPTY
        if text.strip():
            outcome = await writing.rewritten(written, text)
            problem = outcome if isinstance(outcome, str) else refuse_gain(outcome.complete, policy)
            if isinstance(outcome, Proposal) and not problem:
                return outcome
        proposal = shown


def _declined(blank: CompactionComplete, written: CompactionComplete) -> CompactionComplete:
    """What is known of a summary that is not applied: who wrote it, and how long that took."""
    return replace(
        blank,
        outcome="discarded",
        reason=DECLINED,
        performed_by=written.performed_by,
        model=written.model,
        duration_s=written.duration_s,
    )
