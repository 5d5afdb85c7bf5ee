"""What is done when the process has grown too large: caches are dropped, then the history is compacted."""

import asyncio
import ctypes
import gc
import logging
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tui_app.context.compaction.compactor import State
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.session_history import Subscription
from tui_app.conversation.threads import log_defect
from tui_app.conversation.work import Compact
from tui_app.events import AssistantMessage, MemoryPressure, TurnEnd

# How much memory this process holds, read so cheaply that it can be asked between two requests.

_STATM = Path("/proc/self/statm")
_PS = ("ps", "-o", "rss=", "-p")
_MB = 1_000_000


def resident_mb() -> int | None:
    """Megabytes of the resident set; None where the system does not say.

    Linux tells it in a file that is no file, in microseconds. Other Unixes, macOS among them, are asked
    through ``ps``: their own call tells only the highest value ever. On Windows nothing is read.
    """
    with suppress(OSError, ValueError, IndexError):
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // _MB
    with suppress(OSError, ValueError, subprocess.TimeoutExpired):
        if os.name == "posix":
            ps = [*_PS, str(os.getpid())]
            done = subprocess.run(ps, check=False, capture_output=True, text=True, timeout=5)
            # It says kilobytes of 1,024 bytes.
            return int(done.stdout) * 1024 // _MB
    return None


def collect() -> None:
    """Collect garbage and give free pages back to the system, where the C library can do that."""
    gc.collect()
    # glibc keeps what was freed for later, which looks as if nothing had been.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


EVERY_S = 30.0
"""Seconds between two looks while nothing happens."""
SOON_S = 2.0
"""Seconds after caches were dropped until the next look: the screen drops its own meanwhile."""
LARGE = 20_000
"""Tokens of a view below which a compaction would free next to nothing: some hundred kilobytes."""
_REGROWN = 1.1
"""Caches are dropped again when the process has grown by this factor since."""
_log = logging.getLogger(__name__)
Step = Literal["nothing", "drop", "compact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is known at one look."""

    rss_mb: int
    limit_mb: int
    """0 for no limit."""
    tokens: int
    """Size of the view."""
    automatic: bool = True
    """Whether the policy lets a compaction start by itself."""
    idle: bool = True
    """Whether no turn and no compaction is working with the loaded messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was done since the process last was below its limit."""

    dropped_at: int | None = None
    """Megabytes at which caches were dropped; None if they were not."""
    messages_dropped: bool = False
    """Whether the loaded messages were among them; those in use are not."""
    compacted_at: int | None = None
    """Tokens of the view for which a compaction was asked; None if none was."""


def decide(now: Reading, past: Past) -> Step:
    """Choose the next step: caches first, and each step once until something has changed.

    Args:
        now: The present look.
        past: What was done already.
    """
    if not is_short(now):
        return "nothing"
    if past.dropped_at is None or now.rss_mb >= past.dropped_at * _REGROWN:
        return "drop"
    if now.idle and not past.messages_dropped:
        return "drop"
    if not now.automatic or now.tokens < LARGE:
        return "nothing"
    return "compact" if past.compacted_at is None or now.tokens > past.compacted_at else "nothing"


def is_short(now: Reading) -> bool:
    return 0 < now.limit_mb < now.rss_mb


@dataclass(slots=True)
class MemoryGuard:
    """Looks after each answer, at the end of each turn, and every half minute.

    Attributes:
        read: Megabytes the process holds; None where that is not known.
    """

    conversation: Conversation
    limit_mb: int
    read: Callable[[], int | None] = resident_mb
    past: Past = Past()
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
        step = decide(now, self.past)
        if not is_short(now):
            self.past = Past()
        if step == "nothing":
            return step
        conversation.history.report(MemoryPressure(rss_mb=now.rss_mb, limit_mb=now.limit_mb, action=step))
        if step == "drop":
            self.past = replace(self.past, dropped_at=now.rss_mb, messages_dropped=now.idle)
            if now.idle:
                conversation.history.shed()
            collect()
        else:
            self.past = replace(self.past, compacted_at=now.tokens)
            if conversation.busy:
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
