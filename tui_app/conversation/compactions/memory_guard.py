"""A guard that frees memory when the process grows too large: caches first, then a compaction."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.context.compaction.compactor import State
from tui_app.context.resident_memory import Past, Reading, Step, collect, next_step, resident_mb
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.work import Compact
from tui_app.events import AssistantMessage, MemoryPressure, Record, TurnEnd

EVERY_S = 30.0
"""Seconds between two checks while nothing happens."""

SOON_S = 2.0
"""Seconds from dropping caches to the next check: the screen drops its own meanwhile."""


@dataclass(slots=True)
class MemoryGuard:
    """Checks memory after each answer, at the end of each turn, and every half minute.

    Attributes:
        read: Returns the megabytes used by the process; None if unknown.
    """

    compactions: Compactions
    is_busy: Callable[[], bool]
    submit: Callable[[Compact], object]
    limit_mb: int
    read: Callable[[], int | None] = resident_mb
    past: Past = field(default_factory=Past)
    _watching: asyncio.Task[None] | None = None

    async def look(self) -> Step:
        """Check once, do what is due, and report it with an event."""
        # On platforms where another program measures it, this takes a while.
        if (rss_mb := await asyncio.to_thread(self.read)) is None:
            return "nothing"
        history, compactor = self.compactions.history, self.compactions.compactor
        idle = not self.is_busy() and compactor.state is State.IDLE
        tokens, automatic = history.usage().total, compactor.policy.automatic
        now = Reading(rss_mb=rss_mb, limit_mb=self.limit_mb, tokens=tokens, automatic=automatic, idle=idle)
        step, self.past = next_step(now, self.past)
        if step == "nothing":
            return step
        history.report(MemoryPressure(rss_mb=now.rss_mb, limit_mb=now.limit_mb, action=step))
        if step == "drop":
            if now.idle:
                history.shed()
            collect()
        elif self.is_busy():
            compactor.pressed = True
        else:
            self.submit(Compact(trigger="memory_pressure"))
        return step

    def on_record(self, record: Record) -> None:
        """Check after each answer and turn, once all listeners were called."""
        if isinstance(record.data, AssistantMessage | TurnEnd):
            self.watch_after(0.0, is_end=isinstance(record.data, TurnEnd))

    def watch_after(self, wait_s: float, *, is_end: bool = False) -> None:
        self.stop_watching()
        self._watching = asyncio.create_task(self._watch(wait_s, is_end), name="watching memory")

    def stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self, wait_s: float, is_end: bool) -> None:
        await asyncio.sleep(wait_s)
        if is_end and self.compactions.compactor.pressed:
            # The turn made no further request that would have compacted.
            self.compactions.compactor.pressed = False
            self.submit(Compact(trigger="memory_pressure"))
        self.watch_after(SOON_S if await self.look() == "drop" else EVERY_S)
