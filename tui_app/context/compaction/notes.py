"""Notes of a session by one or more writers, with time limits, bound to the log."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from tui_app.context.binding.bind import Binder, BoundNotes
from tui_app.context.binding.second_reader import read_again
from tui_app.context.compaction.plan import rough_tokens
from tui_app.context.compaction.replacement import earlier_notes
from tui_app.context.compaction.sections import deeds_section
from tui_app.context.counting.expenses import Ledger as Costs
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.message_marks import is_acknowledgement, is_note
from tui_app.context.summaries.extractive import ExtractiveSummariser, MarkerSummariser
from tui_app.context.summaries.notes_request import SummaryFailed
from tui_app.context.summaries.prompt import SummaryTask, second_try, split_title
from tui_app.context.summaries.writer import AsksModel, Summariser, Summary
from tui_app.context.views.view import Item
from tui_app.events import CompactionProgress
from tui_app.wires.error_text import outline

_T = TypeVar("_T")
_WITHOUT_MODEL = (ExtractiveSummariser, MarkerSummariser)
"""Writers that need no model: the last resort must not time out."""
_KNOWN_TOKENS = 1_500
"""Maximum tokens of the sections by code that a writer is shown."""
_LOG = logging.getLogger(__name__)


@dataclass(kw_only=True)
class NotesWriter(ABC):
    """Requests notes of one session from writers; failures are returned as text."""

    job: str
    """Job name in progress events."""
    timeout_s: float = 120.0
    """Seconds a model may take for each part it reads."""
    describe: Callable[[BaseException], str]
    """Describes why a model call failed."""
    progress: Callable[[CompactionProgress], object] = lambda _progress: None
    ledger: Costs = field(default_factory=Costs)
    """Records the cost of all attempts."""
    verify: bool = False
    """Whether a model checks the notes against their sources."""

    @property
    @abstractmethod
    def binder(self) -> Binder:
        """Binder of notes to the log; building it takes a while."""

    @abstractmethod
    def task(self) -> SummaryTask:
        """Return the task; building it takes a while."""

    async def notes(self, writer: Summariser) -> Summary | str:
        """Have one writer write, and bind a model's notes to the log; return the reason if that fails."""
        try:
            summary = await self._summarise(writer)
            if summary.performed_by != "model":
                return summary  # it only quotes
            bound = await self.bound(summary.text)
            if bound.refusal:
                summary = await self._summarise(writer, bound.lacking)
                bound = await self.bound(summary.text)
            if bound.refusal:
                self.ledger.refused = self.ledger.refused or summary.text
                raise SummaryFailed(bound.refusal)
            if self.verify and isinstance(writer, AsksModel):
                # If that fails, the lines are unchanged.
                again = partial(read_again, bound, self.binder.sources)
                bound = await self.asked(writer, again) or bound
            return with_sources(summary, bound)
        except SummaryFailed as failed:
            return str(failed)
        except Exception as error:
            # Whatever a provider raises.
            return self.describe_error(error)

    async def asked(
        self, model: AsksModel, work: Callable[[Callable[[str, str], Awaitable[str]]], Awaitable[_T]]
    ) -> _T | None:
        """Do something with a model that answers questions; None if that fails."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await work(partial(model.ask, ledger=self.ledger))
        except Exception as error:
            self.describe_error(error)
            return None

    async def bound(self, notes: str) -> BoundNotes:
        return await asyncio.to_thread(lambda: self.binder.bind(notes))

    def describe_error(self, error: BaseException) -> str:
        """Log an error, and describe it."""
        _LOG.warning("a summary was not written: %s", outline(error))
        _LOG.debug("a summary was not written", exc_info=error)
        return self.describe(error) or type(error).__name__

    async def _summarise(self, writer: Summariser, lacking: Sequence[str] = ()) -> Summary:
        seconds = None if isinstance(writer, _WITHOUT_MODEL) else self.timeout_s
        new: list[str] = []  # text not reported yet
        written: list[str] = []
        reached = parts_in_all = 1

        def progress(part: int, parts: int, count: int) -> None:
            nonlocal reached, parts_in_all
            parts_in_all = parts
            if part > reached and limit.when() is not None:
                # Each part has the whole time: there may be many.
                reached = part
                limit.reschedule(asyncio.get_running_loop().time() + self.timeout_s)
            text = "".join(new)
            new.clear()
            written.append(text)
            self.progress(
                CompactionProgress(
                    job=self.job,
                    part=part,
                    parts=parts,
                    tokens_written=count,
                    model=writer.model_name,
                    text=text,
                )
            )

        task = await asyncio.to_thread(self.task)
        wishes = "\n\n".join(filter(None, (task.instructions, second_try(lacking) if lacking else "")))
        try:
            async with asyncio.timeout(seconds) as limit:
                task = replace(task, instructions=wishes, again=bool(lacking), overheard=new.append)
                summary = await writer.summarise(task, progress, self.ledger)
        except TimeoutError:
            if not limit.expired():
                raise
            late = f"the model did not finish within {self.timeout_s:.0f} s"
            partial = await self._partial("".join((*written, *new))) if parts_in_all == 1 else None
            if partial is None:
                raise SummaryFailed(late) from None
            return replace(partial, model=writer.model_name, note=f"{late}; what it had written is used")
        if not summary.text.strip():
            raise SummaryFailed("the model gave no answer")
        return summary

    async def _partial(self, written: str) -> Summary | None:
        """Return what a slow model has written in time, up to the last whole line, if it is well sourced."""
        title, text = split_title(written.rpartition("\n")[0])
        bound = await self.bound(text)
        return Summary(text=text, title=title) if bound.sourced * 2 > max(4, len(bound.lines)) else None


def task_of(leaving: Sequence[Item], ledger: Ledger, budget: int) -> SummaryTask:
    """Return the task of summarising removed messages, without the summaries to be updated.

    Args:
        leaving: Messages, oldest first.
        ledger: The whole session.
        budget: Tokens of the notes.
    """
    fresh = tuple(
        item
        for item in leaving
        if not (is_acknowledgement(item.message) or is_note(item.message) or earlier_notes((item,)))
    )
    known = deeds_section(ledger, _KNOWN_TOKENS, rough_tokens).text
    return SummaryTask(items=fresh, previous=earlier_notes(leaving), known=known, budget_tokens=budget)


def with_sources(summary: Summary, bound: BoundNotes) -> Summary:
    return replace(
        summary, text=bound.text, lines=len(bound.lines), sourced=bound.sourced, not_in_log=bound.not_in_log
    )
