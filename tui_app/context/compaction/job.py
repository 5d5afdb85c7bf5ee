"""A compaction under way: what is known of it, and the task that writes."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic
from typing import Any

from tui_app.context.compaction.before import Veto
from tui_app.context.compaction.planner import Plan
from tui_app.context.compaction.review import Declined
from tui_app.context.compaction.span import Span
from tui_app.context.compaction.spending import Ledger
from tui_app.context.history import Proposal
from tui_app.events import CompactionComplete, CompactionStart
from tui_app.events.base import Outcome as Ending

WITHOUT_MODEL = frozenset({"heuristic", "marker"})
"""Whoever writes a summary that costs nothing."""
Outcome = Proposal | Veto | Declined | str
"""A job ends with what can be applied, who is against it or does not want it, or why nothing came of it."""


class State(StrEnum):
    """Where the current job stands."""

    IDLE = "idle"
    RUNNING = "running"
    READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A running or finished job."""

    blank: CompactionComplete
    """How it ends unless it succeeds, with everything known at its start."""
    started: float
    """Monotonic seconds."""
    replaces: frozenset[int]
    """Keys of the part of the view it replaces, with what stays in between."""
    task: asyncio.Task[Outcome]
    written: asyncio.Event
    """Set once nothing more is asked of a model; a person may still have to look at the summary."""
    ledger: Ledger

    @property
    def stranded(self) -> bool:
        """Whether it still runs in an event loop that is not the present one: nobody here can wait for it."""
        return not self.task.done() and not self._is_here()

    def ended(self, complete: CompactionComplete) -> CompactionComplete:
        """Put what it took into its last event, however it ends; time only where it is not known yet."""
        spent, free = self.ledger.total, complete.performed_by in WITHOUT_MODEL
        return replace(
            complete,
            duration_s=complete.duration_s or round(monotonic() - self.started, 3),
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


def _swallow(task: asyncio.Task[Outcome]) -> None:
    """Fetch the outcome of a cancelled job, so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()


def begin(
    work: Coroutine[Any, Any, Outcome],
    blank: CompactionComplete,
    replaces: frozenset[int],
    written: asyncio.Event,
    ledger: Ledger,
) -> Job:
    """Start a job; ``written`` is set at its end at the latest."""
    task = asyncio.create_task(work, name=f"compaction-{blank.job}")
    task.add_done_callback(lambda _: written.set())
    return Job(blank=blank, started=monotonic(), replaces=replaces, task=task, written=written, ledger=ledger)


def unwritten(plan: Plan, job: str, policy: str, model: str, span: Span) -> CompactionComplete:
    """How a job ends unless it succeeds, with everything known at its start."""
    return CompactionComplete(
        job=job,
        outcome="failed",
        trigger=plan.trigger,
        policy=policy,
        focus=plan.focus,
        model=model,
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_before,
        messages_before=plan.messages_before,
        messages_after=plan.messages_before,
        from_message=span.first,
        up_to_message=span.last,
    )


def without_effect(complete: CompactionComplete, ending: Ending, reason: str) -> CompactionComplete:
    """How a job ends whose summary was written and is not applied: the view is as large as it was."""
    return replace(
        complete,
        outcome=ending,
        reason=reason,
        tokens_after=complete.tokens_before,
        messages_after=complete.messages_before,
        tokens_removed=0,
        messages_removed=0,
    )


def announced(blank: CompactionComplete, *, reviewed: bool = False) -> CompactionStart:
    """How a job is announced."""
    return CompactionStart(
        job=blank.job,
        trigger=blank.trigger,
        tokens_before=blank.tokens_before,
        messages_before=blank.messages_before,
        model=blank.model,
        policy=blank.policy,
        focus=blank.focus,
        from_message=blank.from_message,
        up_to_message=blank.up_to_message,
        reviewed=reviewed,
    )
