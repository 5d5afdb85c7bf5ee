"""One compaction's work: summaries are written, checked and proposed, or it is said why not."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_app.context.events import CompactionComplete
from tui_app.context.guards import refuse_result
from tui_app.context.history import History, Proposal
from tui_app.context.planner import Plan
from tui_app.context.proposing import propose, summary_task
from tui_app.context.summary import Progress, Summariser, Summary, SummaryFailed

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Turns a plan into a proposal. Never changes the view, and fails in words."""

    history: History
    plan: Plan
    blank: CompactionComplete
    """The completion event with everything known before."""
    timeout_s: float
    describe: Callable[[BaseException], str]
    way_back: str
    progress: Progress
    version: int
    """Version of the view when the job began."""

    async def run(self, writers: Sequence[Summariser]) -> Proposal | str:
        """Let writers try in turn, until one has written something that helps.

        Args:
            writers: Whoever may write the summary, best first; at least one.

        Returns:
            The first proposal that is a gain; else why the best writer's attempt was none.
        """
        reasons: list[str] = []
        for writer in writers:
            outcome = await self._attempt(writer)
            if isinstance(outcome, Proposal):
                return outcome
            reasons.append(outcome)
        return reasons[0]

    async def _attempt(self, writer: Summariser) -> Proposal | str:
        try:
            summary = await self._summarise(writer)
            proposal = await propose(
                self.history, self.plan, summary, self.blank, version=self.version, way_back=self.way_back
            )
        except SummaryFailed as error:
            return str(error)
        except Exception as error:
            # Whatever a provider raises, the view must stay as it is.
            _LOG.warning("a summary was not written", exc_info=True)
            return self.describe(error) or type(error).__name__
        return refuse_result(proposal.complete, self.plan) or proposal

    async def _summarise(self, writer: Summariser) -> Summary:
        try:
            async with asyncio.timeout(self.timeout_s) as limit:
                summary = await writer.summarise(summary_task(self.plan), self.progress)
        except TimeoutError:
            if not limit.expired():
                raise
            raise SummaryFailed(f"the model did not finish within {self.timeout_s:.0f} s") from None
        if not summary.text.strip():
            raise SummaryFailed("the model answered nothing")
        return summary
