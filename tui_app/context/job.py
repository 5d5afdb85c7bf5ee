"""A compaction that is under way, or has ended and not been applied yet."""

import asyncio
from dataclasses import dataclass, replace
from time import monotonic

from tui_app.context.before import Veto
from tui_app.context.events import CompactionComplete
from tui_app.context.history import Proposal

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

    def ended(self, complete: CompactionComplete) -> CompactionComplete:
        """Put the time it took into its last event."""
        return replace(complete, duration_s=round(monotonic() - self.started, 3))


def fetch(task: Work) -> None:
    """Take the outcome of a cancelled job, so that asyncio does not complain that nobody did."""
    if not task.cancelled():
        task.exception()
