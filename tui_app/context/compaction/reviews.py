"""Reviews of a proposal: accepted, edited, rewritten or discarded before it is applied."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Protocol

from tui_app.context.compaction.guards import refuse_gain
from tui_app.context.compaction.proposal import ProposalWriter
from tui_app.context.history import Proposal
from tui_app.context.policy import Policy
from tui_app.context.summaries.writer import Summariser
from tui_app.events import DECLINED, CompactionComplete
from tui_app.records import frozen

EMPTY = "the summary is empty"


@frozen
class Refocus:
    """A request to write the summary again with another focus."""

    focus: str


@frozen
class Attempt:
    """A request to test the model that will read the view."""


class Reviewer(Protocol):
    """Callback that decides on a summary. It may take any time, and is cancelled with the job."""

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | Refocus | Attempt | None:
        """Review a summary.

        Args:
            proposal: The proposal to apply.
            problem: Why it cannot be applied as it was edited; empty the first time.

        Returns:
            The summary, unchanged or edited; a focus to have another one written; an attempt to have it
            tested first; None to discard it.
        """
        ...


def priced(proposal: Proposal, work: ProposalWriter, seconds: float) -> Proposal:
    """Add time and cost so far to a proposal."""
    cost = work.ledger.spent.cost_usd if work.ledger.requests else 0.0
    return replace(proposal, complete=replace(proposal.complete, duration_s=seconds, cost_usd=cost))


async def review(
    proposal: Proposal,
    writing: ProposalWriter,
    writers: Sequence[Summariser],
    policy: Policy,
    reviewer: Reviewer,
    written: asyncio.Event,
) -> Proposal | CompactionComplete:
    """Show a proposal to the reviewer until it is accepted or declined.

    An edited summary is checked like one by a model: sources, facts, size. One that cannot be applied goes
    back to the user with the reason, so that no edit is lost.

    Args:
        proposal: The proposal to apply.
        writing: The writer of the proposal.
        writers: Writers for another summary, best first.
        policy: Defines the minimum gain.
        reviewer: Decides.
        written: Set while only the reviewer has to act.
    """
    offered, problem = proposal, ""
    while True:
        written.set()
        answer = await reviewer(proposal, problem)
        if answer is None:
            done = proposal.complete
            return replace(
                writing.blank,
                outcome="discarded",
                reason=DECLINED,
                performed_by=done.performed_by,
                model=done.model,
                duration_s=done.duration_s,
            )
        if isinstance(answer, Attempt):
            written.clear()
            offered = proposal = priced(await writing.tried(offered), writing, offered.complete.duration_s)
            problem = ""
            continue
        if isinstance(answer, Refocus):
            written.clear()
            again = replace(
                writing,
                plan=replace(writing.plan, focus=answer.focus),
                blank=replace(writing.blank, focus=answer.focus),
            )
            started = monotonic()
            outcome = await again.write(writers)
            if isinstance(outcome, Proposal):
                seconds = round(proposal.complete.duration_s + monotonic() - started, 3)
                outcome = refuse_gain(outcome.complete, policy) or priced(outcome, again, seconds)
            if isinstance(outcome, str):
                problem = f"none was written with that focus: {outcome}"
            else:
                writing, offered, proposal, problem = again, outcome, outcome, ""
            continue
        if answer == offered.complete.summary:
            return offered
        outcome = await writing.rewritten(offered, answer) if answer.strip() else EMPTY
        if isinstance(outcome, Proposal):
            outcome = refuse_gain(outcome.complete, policy) or outcome
        if isinstance(outcome, Proposal):
            return outcome
        problem = outcome
        proposal = replace(proposal, complete=replace(proposal.complete, summary=answer))
