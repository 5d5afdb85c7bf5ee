"""Frees memory when the process has grown too large: caches first, then a compaction."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.context.compaction.compactor import State
from tui_app.context.resident_memory import Past, Reading, Step, collect, next_step, resident_mb
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.history.event_bus import Subscription
from tui_app.conversation.work import Compact
from tui_app.events import AssistantMessage, MemoryPressure, TurnEnd

EVERY_S = 30.0
"""Seconds between two looks while nothing happens."""

SOON_S = 2.0
"""Seconds after caches were dropped until the next look: the screen drops its own meanwhile."""


@dataclass(slots=True, kw_only=True)
class MemoryGuard:
    """Looks after each answer, at the end of each turn, and every half minute.

    Attributes:
        read: Megabytes the process holds; None where that is not known.
    """

    compactions: Compactions
    is_busy: Callable[[], bool]
    submit: Callable[[Compact], object]
    limit_mb: int
    read: Callable[[], int | None] = resident_mb
    past: Past = field(default_factory=Past)

    async def look(self) -> Step:
        """Look once and do what is due; what was done is told with an event."""
        rss_mb = await asyncio.to_thread(self.read)
        if rss_mb is None:
            return "nothing"
        history, compactor = self.compactions.history, self.compactions.compactor
        now = Reading(
            rss_mb=rss_mb,
            limit_mb=self.limit_mb,
            tokens=history.usage().total,
            automatic=compactor.policy.automatic,
            idle=not self.is_busy() and compactor.state is State.IDLE,
        )
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

    async def watch(self, events: Subscription) -> None:
        wait = SOON_S
        while True:
            try:
                async with asyncio.timeout(wait):
                    record = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                pass
            else:
                if not isinstance(record.data, AssistantMessage | TurnEnd):
                    continue
                compactor = self.compactions.compactor
                if isinstance(record.data, TurnEnd) and compactor.pressed:
                    # No further request of the turn has had it done.
                    compactor.pressed = False
                    self.submit(Compact(trigger="memory_pressure"))
            wait = SOON_S if await self.look() == "drop" else EVERY_S
