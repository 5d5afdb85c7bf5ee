"""One compaction's work: summaries are written, checked and proposed, or it is said why not."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tui_app.context.checking.provenance import mark_unconfirmed, utterances
from tui_app.context.checking.sources import Utterance
from tui_app.context.compaction.guards import refuse_result
from tui_app.context.compaction.planner import Plan
from tui_app.context.compaction.proposing import propose, summary_task
from tui_app.context.compaction.replacement import earlier_summary
from tui_app.context.compaction.spending import Ledger
from tui_app.context.fitting.error_text import outline
from tui_app.context.history import History, Proposal
from tui_app.context.requests.originals import Unabridged
from tui_app.context.summaries.heuristic import ExtractiveSummariser, MarkerSummariser
from tui_app.context.summaries.summary import Progress, Summariser, Summary
from tui_app.context.summaries.summary_request import SummaryFailed
from tui_app.events import CompactionComplete

_WITHOUT_MODEL = (ExtractiveSummariser, MarkerSummariser)
"""Writers that wait for nobody; the last resort must not run out of time."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Turns a plan into a proposal. Never changes the view, and fails in words."""

    history: History
    plan: Plan
    whole: Unabridged
    """The view as it was before any stage touched it."""
    blank: CompactionComplete
    """The completion event with everything known before."""
    timeout_s: float
    """Seconds a model may take for each part it reads."""
    describe: Callable[[BaseException], str]
    way_back: str
    progress: Callable[[str, int, int, int, str], None]
    """Told who writes, then what ``Progress`` is, and what was written since."""
    ledger: Ledger
    """Takes down what all attempts cost."""

    async def run(self, writers: Sequence[Summariser]) -> Proposal | str:
        """Let writers try in turn, until one has written something that helps.

        Args:
            writers: Whoever may write the summary, best first; at least one.

        Returns:
            The first proposal that is a gain; else why the best writer's attempt was none.
        """
        reasons: list[str] = []
        for writer in writers:
            outcome = await self._try(writer)
            if isinstance(outcome, Proposal):
                # Whoever stands in says why, of the writer that was meant to write it.
                done = replace(outcome.complete, reason=reasons[0]) if reasons else outcome.complete
                return replace(outcome, complete=done)
            reasons.append(outcome)
        return reasons[0]

    async def _try(self, writer: Summariser) -> Proposal | str:
        try:
            summary = await self._checked(await self._summarise(writer))
            blank = replace(self.blank, model=writer.model_name)
            proposal = await propose(
                self.history, self.plan, self.whole, summary, blank, way_back=self.way_back
            )
        except SummaryFailed as failed:
            return str(failed)
        except Exception as error:
            # Whatever a provider raises, the view must stay as it is.
            return self._said(error)
        return refuse_result(proposal.complete, self.plan) or proposal

    async def rewritten(self, proposal: Proposal, text: str) -> Proposal | str:
        """Propose a summary that a person has edited, or say why it cannot be applied."""
        done = proposal.complete
        edited = Summary(text=text, title=done.title, performed_by=done.performed_by, model=done.model)
        blank = replace(self.blank, edited=True, duration_s=done.duration_s)
        try:
            edited = await self._marked(edited)
            again = await propose(self.history, self.plan, self.whole, edited, blank, way_back=self.way_back)
        except Exception as error:
            # Whatever goes wrong, the view must stay as it is and the text must not be lost.
            return self._said(error)
        return refuse_result(again.complete, self.plan) or again

    async def _summarise(self, writer: Summariser) -> Summary:
        seconds = None if isinstance(writer, _WITHOUT_MODEL) else self.timeout_s
        try:
            async with asyncio.timeout(seconds) as limit:
                new: list[str] = []
                task = replace(summary_task(self.plan, self.whole), overheard=new.append)
                summary = await writer.summarise(task, self._renewing(writer, limit, new), self.ledger)
        except TimeoutError:
            if not limit.expired():
                raise
            raise SummaryFailed(f"the model did not finish within {self.timeout_s:.0f} s") from None
        if not summary.text.strip():
            raise SummaryFailed("the model answered nothing")
        return summary

    def _renewing(self, writer: Summariser, limit: asyncio.Timeout, new: list[str]) -> Progress:
        """Report progress with the ``new`` text, and give each part the whole time: there may be many."""
        reached = 1

        def progress(part: int, parts: int, written: int) -> None:
            nonlocal reached
            if part > reached and limit.when() is not None:
                reached = part
                limit.reschedule(asyncio.get_running_loop().time() + self.timeout_s)
            text = "".join(new)
            new.clear()
            self.progress(writer.model_name, part, parts, written, text)

        return progress

    async def _checked(self, summary: Summary) -> Summary:
        """Mark what a model ascribes to the user without any message of theirs; extraction only quotes."""
        return await self._marked(summary) if summary.performed_by == "model" else summary

    async def _marked(self, summary: Summary) -> Summary:
        earlier = earlier_summary(self.plan.leaving)
        carried = (*(text for _, text in earlier.prompts), *(rule.text for rule in earlier.rules))

        def check() -> str:
            said = utterances(self.whole.items)
            return mark_unconfirmed(summary.text, (*map(Utterance, carried), *said), earlier.notes)

        # In a thread: a long conversation takes a moment, and a person may cancel meanwhile.
        return replace(summary, text=await asyncio.to_thread(check))

    def _said(self, error: BaseException) -> str:
        _LOG.warning("a summary was not written: %s", outline(error))
        _LOG.debug("a summary was not written", exc_info=error)
        return self.describe(error) or type(error).__name__
