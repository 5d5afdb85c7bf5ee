"""Summaries without any model: extraction, and as the last resort a marker."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tui_app.context.counting.prices import Ledger
from tui_app.context.history import OriginalView
from tui_app.context.summaries.extractive import extractive_summary, marker_summary
from tui_app.context.summaries.writer import Progress, Summary, SummaryFailed, SummaryTask
from tui_app.providers import OFFLINE_MODEL

NO_ROOM = "beside what must stay there is no room to keep the earlier summary"


@dataclass(frozen=True, slots=True)
class MarkerSummariser:
    """Says only how many messages left; the policy words it."""

    model_name: str = ""

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Write the marker."""
        progress(1, 1, 0)
        return Summary(text=marker_summary(len(task.items)), performed_by="marker")


@dataclass(frozen=True, slots=True)
class ExtractiveSummariser:
    """Quotes what matters instead of rewriting it; needs no key, no network and no weights."""

    count: Callable[[str], int]
    model_name: str = OFFLINE_MODEL

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Write the summary in a thread; a long history takes seconds.

        Raises:
            SummaryFailed: if not even one line has room, and a marker would wipe an earlier summary out.
        """
        progress(1, 1, 0)
        whole = task.whole or OriginalView(items=task.items)
        text = await asyncio.to_thread(
            extractive_summary,
            whole.items,
            in_sight=whole.in_sight,
            budget_tokens=task.budget_tokens,
            count=self.count,
            focus=task.focus,
            previous=task.previous,
            # Whoever places the notes has room beside them for the user's words: half of theirs at least,
            # and three characters of those are taken for a token.
            words_beside=task.budget_tokens * 4 // 3,
        )
        performed_by = "heuristic"
        if not text.strip() and task.previous.strip():
            raise SummaryFailed(NO_ROOM)
        if not text.strip():
            text, performed_by = marker_summary(len(task.items)), "marker"
        progress(1, 1, self.count(text))
        return Summary(text=text, performed_by=performed_by, model=self.model_name)
