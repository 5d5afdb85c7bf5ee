"""A compaction under way: what is known of it, and the task that writes."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic

from tui_app.context.before import Veto
from tui_app.context.events import CompactionComplete, CompactionStart
from tui_app.context.history import Proposal
from tui_app.context.spending import Ledger

WITHOUT_MODEL = frozenset({"heuristic", "marker"})
"""Whoever writes a summary that costs nothing."""
Work = asyncio.Task[Proposal | Veto | str]
"""Ends with what can be applied, with who is against it, or with why nothing came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A running or finished job."""

    blank: CompactionComplete
    """How it ends unless it succeeds, with everything known at its start."""
    started: float
    """Monotonic seconds."""
    replaces: frozenset[int]
    """Keys of the part of the view it replaces, with what stays in between."""
    task: Work
    ledger: Ledger

    @property
    def stranded(self) -> bool:
        """Whether it still runs in an event loop that is not the present one: nobody here can wait for it."""
        return not self.task.done() and not self._is_here()

    def ended(self, complete: CompactionComplete) -> CompactionComplete:
        """Put what it took into its last event, however it ends: time, tokens and money."""
        spent, free = self.ledger.total, complete.performed_by in WITHOUT_MODEL
        return replace(
            complete,
            duration_s=round(monotonic() - self.started, 3),
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=0.0 if free and not self.ledger.requests else spent.cost_usd,
        )

    def stop(self) -> None:
        """Cancel the task, also one whose event loop runs in another thread or not at all any more."""
        self.task.add_done_callback(_swallow)
        if self._is_here():
            self.task.cancel()
            return
        with suppress(RuntimeError):  # a loop that was closed has dropped its tasks
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    def _is_here(self) -> bool:
        try:
            return self.task.get_loop() is asyncio.get_running_loop()
        except RuntimeError:
            return False


def started(blank: CompactionComplete) -> CompactionStart:
    """The event of a job that begins."""
    return CompactionStart(
        job=blank.job,
        trigger=blank.trigger,
        tokens_before=blank.tokens_before,
        messages_before=blank.messages_before,
        model=blank.model,
        policy=blank.policy,
        focus=blank.focus,
    )


def _swallow(task: Work) -> None:
    """Fetch the outcome of a cancelled job, so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
