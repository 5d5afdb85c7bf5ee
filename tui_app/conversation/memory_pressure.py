"""What is done when the process has grown too large: caches are dropped, then the history is compacted."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.context.compaction.compactor import State
from tui_app.context.resident_memory import Past, Reading, Step, collect, next_step, resident_mb
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.session_history import Subscription
from tui_app.conversation.threads import log_defect
from tui_app.conversation.work import Compact
from tui_app.events import AssistantMessage, MemoryPressure, TurnEnd

EVERY_S = 30.0
"""Seconds between two looks while nothing happens."""
SOON_S = 2.0
"""Seconds after caches were dropped until the next look: the screen drops its own meanwhile."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class MemoryGuard:
    """Looks after each answer, at the end of each turn, and every half minute.

    Attributes:
        read: Megabytes the process holds; None where that is not known.
    """

    conversation: Conversation
    limit_mb: int
    read: Callable[[], int | None] = resident_mb
    past: Past = field(default_factory=Past)
    _task: "asyncio.Task[None] | None" = field(default=None)

    def start_watching(self) -> None:
        if self.limit_mb and self._task is None:
            self._task = asyncio.create_task(self._watch(self.conversation.watch()), name="memory")
            self._task.add_done_callback(log_defect(_log, "watching the memory failed"))

    async def stop_watching(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> Step:
        """Look once and do what is due; what was done is told with an event."""
        rss_mb = await asyncio.to_thread(self.read)
        if rss_mb is None:
            return "nothing"
        conversation = self.conversation
        now = Reading(
            rss_mb=rss_mb,
            limit_mb=self.limit_mb,
            tokens=conversation.usage.total,
            automatic=conversation.compactor.policy.automatic,
            idle=not conversation.busy and conversation.compactor.state is State.IDLE,
        )
        step, self.past = next_step(now, self.past)
        if step == "nothing":
            return step
        conversation.history.report(MemoryPressure(rss_mb=now.rss_mb, limit_mb=now.limit_mb, action=step))
        if step == "drop":
            if now.idle:
                conversation.history.shed()
            collect()
        elif conversation.busy:
            conversation.compactor.pressed = True
        else:
            conversation.submit(Compact(trigger="memory_pressure"))
        return step

    async def _watch(self, events: Subscription) -> None:
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
                compactor = self.conversation.compactor
                if isinstance(record.data, TurnEnd) and compactor.pressed:
                    # No further request of the turn has had it done.
                    compactor.pressed = False
                    self.conversation.submit(Compact(trigger="memory_pressure"))
            wait = SOON_S if await self.look() == "drop" else EVERY_S
