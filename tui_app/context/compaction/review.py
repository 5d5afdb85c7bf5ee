"""A person looks at a summary before it is applied, and may write it anew."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol

from tui_app.context.compaction.before import Veto
from tui_app.context.compaction.guards import refuse_gain
from tui_app.context.compaction.writing import Writing
from tui_app.context.history import Proposal
from tui_app.context.policy import Policy
from tui_app.context.summaries.summary import Summariser
from tui_app.events import CompactionComplete, Trigger

DECLINED = "the summary was not accepted"
EMPTY = "the summary is empty"


@dataclass(frozen=True, slots=True)
class Refocus:
    """The summary is to be written once more, with something else to keep above all."""

    focus: str


class Reviewer(Protocol):
    """Whoever decides on a summary. May take any time, and is cancelled with the job."""

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | Refocus | None:
        """Look at a summary.

        Args:
            proposal: What would be applied.
            problem: Why it cannot be applied as it was edited; empty the first time.

        Returns:
            The summary as it is to be, the same or edited; a focus to have another one written; None to
            discard it.
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
    took = round(monotonic() - started, 3)
    return await _Review(writers, policy, reviewer, written).decided(_priced(result, work, took), work)


def _priced(proposal: Proposal, work: Writing, seconds: float) -> Proposal:
    """Add what a summary took so far."""
    cost = work.ledger.total.cost_usd if work.ledger.requests else 0.0
    return replace(proposal, complete=replace(proposal.complete, duration_s=seconds, cost_usd=cost))


@dataclass(frozen=True, slots=True)
class _Review:
    """One summary under review."""

    writers: Sequence[Summariser]
    policy: Policy
    reviewer: Reviewer
    written: asyncio.Event

    async def decided(self, proposal: Proposal, writing: Writing) -> Proposal | Declined:
        """Have a proposal looked at until it is accepted or declined.

        An edited summary is checked as one a model has written: ascriptions, facts, size. One that cannot be
        applied goes back to the person with the reason, so that nothing they wrote is lost.
        """
        written, problem = proposal, ""
        while True:
            self.written.set()
            answer = await self.reviewer(proposal, problem)
            if answer is None:
                return Declined(_declined(writing.blank, proposal.complete))
            if isinstance(answer, Refocus):
                again = _focused(writing, answer.focus)
                outcome = await self._anew(again, proposal.complete.duration_s)
                if isinstance(outcome, Proposal):
                    writing, written, proposal, problem = again, outcome, outcome, ""
                else:
                    problem = f"with that focus none was written: {outcome}"
                continue
            if answer == written.complete.summary:
                return written
            outcome = await self._edited(writing, written, answer)
            if isinstance(outcome, Proposal):
                return outcome
            problem = outcome
            proposal = replace(proposal, complete=replace(proposal.complete, summary=answer))

    async def _edited(self, writing: Writing, written: Proposal, text: str) -> Proposal | str:
        if not text.strip():
            return EMPTY
        outcome = await writing.rewritten(written, text)
        return outcome if isinstance(outcome, str) else refuse_gain(outcome.complete, self.policy) or outcome

    async def _anew(self, writing: Writing, took: float) -> Proposal | str:
        self.written.clear()
        started = monotonic()
        outcome = await writing.run(self.writers)
        if isinstance(outcome, str):
            return outcome
        seconds = round(took + monotonic() - started, 3)
        return refuse_gain(outcome.complete, self.policy) or _priced(outcome, writing, seconds)


def _focused(writing: Writing, focus: str) -> Writing:
    return replace(
        writing, plan=replace(writing.plan, focus=focus), blank=replace(writing.blank, focus=focus)
    )


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
