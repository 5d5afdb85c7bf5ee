"""One compaction's work: summaries are written, checked and proposed, or it is said why not."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tui_app.context.events import CompactionComplete
from tui_app.context.guards import refuse_result
from tui_app.context.heuristic import ExtractiveSummariser, MarkerSummariser
from tui_app.context.history import History, Proposal
from tui_app.context.planner import Plan
from tui_app.context.proposing import propose, summary_task
from tui_app.context.provenance import Utterance, mark_unconfirmed, utterances
from tui_app.context.replacement import earlier_summary
from tui_app.context.spending import Spent
from tui_app.context.summary import Progress, Summariser, Summary, SummaryFailed

_WITHOUT_MODEL = (ExtractiveSummariser, MarkerSummariser)
"""Writers that wait for nobody; the last resort must not run out of time."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failed:
    """No summary helped."""

    reason: str
    """Why not, in one sentence."""
    spent: Spent
    """What the attempts have cost all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Turns a plan into a proposal. Never changes the view, and fails in words."""

    history: History
    plan: Plan
    blank: CompactionComplete
    """The completion event with everything known before."""
    timeout_s: float
    """Seconds a model may take for each part it reads."""
    describe: Callable[[BaseException], str]
    way_back: str
    progress: Progress

    async def run(self, writers: Sequence[Summariser]) -> Proposal | str:
        """Let writers try in turn; see ``attempt``.

        Returns:
            The first proposal that is a gain; else why the best writer's attempt was none.
        """
        outcome = await self.attempt(writers)
        return outcome.reason if isinstance(outcome, Failed) else outcome

    async def attempt(self, writers: Sequence[Summariser]) -> Proposal | Failed:
        """Let writers try in turn, until one has written something that helps.

        Args:
            writers: Whoever may write the summary, best first; at least one.

        Returns:
            The first proposal that is a gain, at the cost of all attempts; else why the best writer's attempt
            was none.
        """
        failures: list[Failed] = []
        for writer in writers:
            spent = sum((failed.spent for failed in failures), Spent())
            outcome = await self._try(writer, spent)
            if isinstance(outcome, Proposal):
                return outcome
            failures.append(outcome)
        return Failed(failures[0].reason, sum((failed.spent for failed in failures), Spent()))

    async def _try(self, writer: Summariser, before: Spent) -> Proposal | Failed:
        spent = Spent()
        try:
            summary = await self._summarise(writer)
            spent = summary.spent
            summary = (await self._checked(summary)).costing(before + spent)
            proposal = await propose(self.history, self.plan, summary, self.blank, way_back=self.way_back)
        except SummaryFailed as failed:
            return Failed(str(failed) or self._said(failed.__cause__ or failed), failed.spent)
        except Exception as error:
            # Whatever a provider raises, the view must stay as it is.
            return Failed(self._said(error), spent)
        refusal = refuse_result(proposal.complete, self.plan)
        return Failed(refusal, spent) if refusal else proposal

    async def rewritten(self, proposal: Proposal, text: str) -> Proposal | Failed:
        """Propose a summary that a person has edited, at the cost of the one it comes from."""
        done = proposal.complete
        edited = Summary(
            text=text,
            title=done.title,
            performed_by=done.performed_by,
            model=done.model,
            input_tokens=done.input_tokens,
            output_tokens=done.output_tokens,
            cost_usd=done.cost_usd,
        )
        blank = replace(self.blank, edited=True, duration_s=done.duration_s)
        try:
            edited = await self._marked(edited)
            again = await propose(self.history, self.plan, edited, blank, way_back=self.way_back)
        except Exception as error:
            # Whatever goes wrong, the view must stay as it is and the text must not be lost.
            return Failed(self._said(error), edited.spent)
        refusal = refuse_result(again.complete, self.plan)
        return Failed(refusal, edited.spent) if refusal else again

    async def _summarise(self, writer: Summariser) -> Summary:
        seconds = None if isinstance(writer, _WITHOUT_MODEL) else self.timeout_s
        try:
            async with asyncio.timeout(seconds) as limit:
                summary = await writer.summarise(summary_task(self.plan), self._renewing(limit))
        except TimeoutError:
            if not limit.expired():
                raise
            raise SummaryFailed(f"the model did not finish within {self.timeout_s:.0f} s") from None
        if not summary.text.strip():
            raise SummaryFailed("the model answered nothing", summary.spent)
        return summary

    def _renewing(self, limit: asyncio.Timeout) -> Progress:
        """Report progress, and give each new part the whole time: a long history takes many."""
        reached = 1

        def progress(part: int, parts: int, written: int) -> None:
            nonlocal reached
            if part > reached and limit.when() is not None:
                reached = part
                limit.reschedule(asyncio.get_running_loop().time() + self.timeout_s)
            self.progress(part, parts, written)

        return progress

    async def _checked(self, summary: Summary) -> Summary:
        """Mark what a model ascribes to the user without any message of theirs; extraction only quotes."""
        return await self._marked(summary) if summary.performed_by == "model" else summary

    async def _marked(self, summary: Summary) -> Summary:
        split = self.plan.split
        earlier = earlier_summary(split.old)
        carried = (*(text for _, text in earlier.prompts), *(rule.text for rule in earlier.rules))

        def check() -> str:
            said = utterances((*split.head, *split.old, *split.recent))
            return mark_unconfirmed(summary.text, (*map(Utterance, carried), *said), earlier.notes)

        # In a thread: a long conversation takes a moment, and a person may cancel meanwhile.
        return replace(summary, text=await asyncio.to_thread(check))

    def _said(self, error: BaseException) -> str:
        _LOG.warning("a summary was not written", exc_info=error)
        return self.describe(error) or type(error).__name__
