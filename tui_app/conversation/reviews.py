"""Summaries that wait for a person: shown as events, decided by whoever shows them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.context.compaction.review import Refocus
from tui_app.context.history import Proposal
from tui_app.events import CompactionProposed, Payload, Trigger
from tui_app.settings import ReviewMode

_BY_A_PERSON: frozenset[Trigger] = frozenset({"manual", "model_switch"})
"""Compactions that a person has just asked for."""
_UNASKED: frozenset[Trigger] = frozenset({"headless", "memory_pressure"})
"""Compactions that never wait for anybody: nobody is there, or there is no memory to wait with."""


@dataclass(slots=True)
class Reviews:
    """Asks a person about summaries. Belongs to one event loop."""

    report: Callable[[Payload], object]
    """Shows an event."""
    mode: ReviewMode = "never"
    """Which compactions wait for a decision. Stays so where nobody is there to decide."""
    _asked: dict[str, "asyncio.Future[str | Refocus | None]"] = field(default_factory=dict)

    def of(self, trigger: Trigger) -> "Reviews | None":
        """Whoever decides on a summary of that trigger; None applies it as it is written."""
        if self.mode == "never" or trigger in _UNASKED:
            return None
        return self if self.mode == "always" or trigger in _BY_A_PERSON else None

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | Refocus | None:
        """Show a summary and wait for the decision; see ``Reviewer``."""
        done = proposal.complete
        answer: asyncio.Future[str | Refocus | None] = asyncio.get_running_loop().create_future()
        self._asked[done.job] = answer
        self.report(
            CompactionProposed(
                job=done.job,
                summary=done.summary,
                problem=problem,
                model=done.model,
                tokens_before=done.tokens_before,
                tokens_after=done.tokens_after,
                messages_before=done.messages_before,
                messages_after=done.messages_after,
                messages_leave=len(proposal.left),
                messages_stay=done.messages_before - len(proposal.left),
                in_files=proposal.in_files,
                cost_usd=done.cost_usd,
                retention=done.retention,
                facts_lost=sum(fact.state == "lost" for fact in done.facts),
                facts=done.facts,
            )
        )
        try:
            return await answer
        finally:
            del self._asked[done.job]

    def ask_about(self, mode: ReviewMode) -> None:
        """Say which summaries a person wants to see before they are applied: there is one to decide."""
        self.mode = mode

    def decide(self, job: str, summary: str | Refocus | None) -> bool:
        """Answer the question about a job's summary.

        Args:
            job: Which job.
            summary: The summary to apply, as it was or edited; a focus to have another one written; None
                discards it.

        Returns:
            Whether the job was waiting for it.
        """
        answer = self._asked.get(job)
        if answer is None or answer.done():
            return False
        answer.set_result(summary)
        return True

    def refocus(self, job: str, focus: str) -> bool:
        """Have a job's summary written once more, keeping something else above all; as :meth:`decide`."""
        return self.decide(job, Refocus(focus))
