"""Compacts a conversation that idles, while its provider still has it cached."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.counting.prompt_cache import CacheRates
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.events import CompactionComplete, Notice, Record, SessionEnd, TurnEnd, TurnStart

MARGIN_S = 45.0
"""Seconds before a cache expires at which a request for a summary is sent."""

_FULL = 0.25
"""Share of the size at which a compaction would start anyway, below which an idle one is not worth it."""

_WRITTEN = 5.0
"""Price of a token that a model writes, as a multiple of one that it reads: what most vendors ask."""

IDLE = "The session is idle: compacting before the prompt cache expires."

OFFERED = (
    "The prompt cache expires in less than a minute; the next turn reads {:,} tokens again. "
    "compact_idle = true under [cache] in the settings compacts a conversation that idles before that."
)


@dataclass(slots=True)
class IdleCompaction:
    """Compacts a conversation whose cache is about to expire, or offers once to do so from then on."""

    compactions: Compactions
    is_busy: Callable[[], bool]
    rates: Callable[[], CacheRates | None]
    """What tokens of the conversation cost just now, as shares of the plain price."""
    left: Callable[[], float]
    """Seconds until the cache of the present model expires; 0 where that is not known, or none is kept."""
    wanted: bool
    """Whether the user has switched it on."""
    offered: Path
    """A file that is there once it was offered."""
    _timer: asyncio.TimerHandle | None = None

    def on_record(self, record: Record) -> None:
        """Look after each turn, shortly before the cache expires, unless something happens until then."""
        happened = record.data
        if self._timer is not None and isinstance(
            happened, TurnStart | TurnEnd | CompactionComplete | SessionEnd
        ):
            self._timer.cancel()
        if isinstance(happened, TurnEnd) and (left := self.left()) > 0:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, left - MARGIN_S), self.look)

    def look(self) -> bool:
        """Compact, or offer it, where that pays; whether a compaction was started."""
        compactions, history = self.compactions, self.compactions.history
        compactor, usage, rates = compactions.compactor, history.usage(), self.rates()
        # A process that was asleep comes too late.
        if rates is None or rates.kept >= rates.changed or self.is_busy():
            return False
        if not compactor.policy.automatic or not compactor.should_start("background"):
            return False
        if usage.total < _FULL * compactor.policy.background_mark(usage.window):
            return False
        try:
            plan = compactor.preview("background")
        except CompactionRefused:
            return False
        spent = rates.kept * usage.total + _WRITTEN * plan.summary_budget
        if spent + rates.changed * (plan.floor + plan.summary_budget) >= rates.changed * usage.total:
            return False
        if not self.wanted:
            try:
                self.offered.touch(exist_ok=False)
            except OSError:  # it was offered, or nothing can be kept of it
                return False
            history.append(Notice(text=OFFERED.format(usage.total)))
            return False
        history.append(Notice(text=IDLE))
        compactor.start("background", "", compactions.reviews.of("background"))
        compactions.follow_background()
        return True
