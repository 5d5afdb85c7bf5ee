"""Summaries without a model: extraction, and a marker as the last resort."""

from collections.abc import Callable

from tui_app.context.counting.expenses import Ledger
from tui_app.context.summaries.notes_request import SummaryFailed
from tui_app.context.summaries.prompt import SummaryTask, fitted
from tui_app.context.summaries.writer import Progress, Summary
from tui_app.providers import OFFLINE_MODEL
from tui_app.records import frozen

NO_NOTES = "No model wrote notes: what follows comes from the log."

NO_ROOM = "there is no room for the earlier summary with what must stay"


@frozen
class MarkerSummariser:
    """Writes only how many messages were removed."""

    model_name: str = ""

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        progress(1, 1, 0)
        return Summary(text=marker_summary(len(task.items)), performed_by="marker")


@frozen
class ExtractiveSummariser:
    """Quotes important text instead of rewriting it; needs no API key, network or model weights."""

    count: Callable[[str], int]
    model_name: str = OFFLINE_MODEL

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Quote; text that code adds next to the notes is not repeated.

        Raises:
            SummaryFailed: if nothing fits and a marker would erase an earlier summary.
        """
        progress(1, 1, 0)
        text, performed_by = fitted(task.quoted, task.budget_tokens, self.count), "heuristic"
        if not text.strip() and task.known:
            text = NO_NOTES
        if not text.strip():
            if task.previous.strip():
                raise SummaryFailed(NO_ROOM)
            text, performed_by = marker_summary(len(task.items)), "marker"
        progress(1, 1, self.count(text))
        return Summary(text=text, performed_by=performed_by, model=self.model_name)


def marker_summary(count_removed: int) -> str:
    """Return the last resort: a fixed line that states how many messages were removed.

    Args:
        count_removed: Number of removed messages.
    """
    noun = "message was" if count_removed == 1 else "messages were"
    return f"[{count_removed} earlier {noun} removed to make room. No summary could be made.]"
