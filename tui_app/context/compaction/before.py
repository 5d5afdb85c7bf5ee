"""What may happen between deciding on a compaction and writing its summary."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tui_app.events import CompactionStart


@dataclass(frozen=True, slots=True)
class Veto:
    """The compaction must not run."""

    reason: str
    """Who says so and why, in one sentence without its full stop."""


Before = Callable[[CompactionStart], Awaitable[str | Veto]]
"""Asked once for each job, before anything is written: further instructions for the summary, or a veto.

It may take its time, is cancelled with the job, and must not raise anything else.
"""


async def unhindered(_start: CompactionStart) -> str:
    """Nothing to add and nothing against it."""
    return ""
