"""A compaction that is under way, or has ended and not been applied yet."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from tui_app.context.before import Veto
from tui_app.context.events import CompactionComplete, CompactionStart
from tui_app.context.history import Proposal
from tui_app.context.review import Declined

Outcome = Proposal | Veto | Declined | str
"""A job ends with what can be applied, who is against it or does not want it, or why nothing came of it."""


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

    def ended(self, complete: CompactionComplete) -> CompactionComplete:
        """Put the time it took into its last event, unless that is known already."""
        return replace(complete, duration_s=complete.duration_s or round(monotonic() - self.started, 3))


def fetch(task: asyncio.Task[Outcome]) -> None:
    """Take the outcome of a cancelled job, so that asyncio does not complain that nobody did."""
    if not task.cancelled():
        task.exception()


def begin(
    work: Coroutine[Any, Any, Outcome],
    blank: CompactionComplete,
    replaces: frozenset[int],
    written: asyncio.Event,
) -> Job:
    """Start a job; ``written`` is set at its end at the latest."""
    task = asyncio.create_task(work, name=f"compaction-{blank.job}")
    task.add_done_callback(lambda _: written.set())
    return Job(blank=blank, started=monotonic(), replaces=replaces, task=task, written=written)


def announced(blank: CompactionComplete) -> CompactionStart:
    """How a job is announced."""
    return CompactionStart(
        job=blank.job,
        trigger=blank.trigger,
        tokens_before=blank.tokens_before,
        messages_before=blank.messages_before,
        model=blank.model,
        policy=blank.policy,
        focus=blank.focus,
    )
