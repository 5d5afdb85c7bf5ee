"""Compaction of an idle conversation while it is still in its provider's cache."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.counting.prompt_cache import CacheRates
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.events import CompactionComplete, Notice, Record, SessionEnd, TurnEnd, TurnStart

MARGIN_S = 45.0
"""Seconds before the cache expires at which a summary is requested."""

_FULL = 0.25
"""An idle compaction is not worth it below this share of the size that starts one anyway."""

_WRITTEN = 5.0
"""Price of an output token as a multiple of an input token: what most vendors charge."""

IDLE = "The session is idle: compacting before the prompt cache expires."

OFFERED = (
    "The prompt cache expires in less than a minute; the next turn reads {:,} tokens again. "
    "compact_idle = true under [cache] in the settings compacts a conversation that idles before that."
)


@dataclass(slots=True)
class IdleCompaction:
    """Compacts a conversation whose cache is about to expire, or offers that once."""

    compactions: Compactions
    is_busy: Callable[[], bool]
    rates: Callable[[], CacheRates | None]
    """Current cost of the conversation's tokens, as multiples of the plain input price."""
    left: Callable[[], float]
    """Seconds until the current model's cache expires; 0 if unknown, or if there is none."""
    wanted: bool
    """Whether the user turned it on."""
    offered: Path
    """A file that exists once it was offered."""
    _timer: asyncio.TimerHandle | None = None

    def on_record(self, record: Record) -> None:
        """After each turn, schedule a check shortly before the cache expires. Other activity cancels it."""
        happened = record.data
        if self._timer is not None and isinstance(
            happened, TurnStart | TurnEnd | CompactionComplete | SessionEnd
        ):
            self._timer.cancel()
        if isinstance(happened, TurnEnd) and (left := self.left()) > 0:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, left - MARGIN_S), self.look)

    def look(self) -> bool:
        """Compact, or offer it, if that saves money. Returns whether a compaction was started."""
        compactions, history = self.compactions, self.compactions.history
        compactor, usage, rates = compactions.compactor, history.usage(), self.rates()
        # Too late, for example after the machine was asleep.
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
            except OSError:  # offered already, or the file cannot be written
                return False
            history.append(Notice(text=OFFERED.format(usage.total)))
            return False
        history.append(Notice(text=IDLE))
        compactor.start("background", "", compactions.reviews.of("background"))
        compactions.follow_background()
        return True
