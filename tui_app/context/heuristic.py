"""Summaries without any model: extraction, and as the last resort a marker."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tui_app.context.extractive import extractive_summary, marker_summary
from tui_app.context.summary import Progress, Summary, SummaryTask


@dataclass(frozen=True, slots=True)
class ExtractiveSummariser:
    """Quotes what matters instead of rewriting it; needs no key, no network and no weights."""

    count: Callable[[str], int]
    model_name: str = "offline:extractive"

    async def summarise(self, task: SummaryTask, progress: Progress) -> Summary:
        """Write the summary in a thread; a long history takes seconds."""
        progress(1, 1, 0)
        text = await asyncio.to_thread(self._write, task)
        performed_by = "heuristic"
        if not text.strip():
            text, performed_by = marker_summary(len(task.items)), "marker"
        progress(1, 1, self.count(text))
        return Summary(text=text, performed_by=performed_by, model=self.model_name)

    def _write(self, task: SummaryTask) -> str:
        return extractive_summary(
            task.items,
            budget_tokens=task.budget_tokens,
            count=self.count,
            focus=task.focus,
            previous=task.previous,
        )
