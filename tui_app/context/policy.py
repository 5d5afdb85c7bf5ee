"""A governance policy as data: what triggers a compaction, and how much of the view stays."""

from dataclasses import dataclass
from typing import Literal

from tui_app.context.usage import ContextUsage, ContextWindow

Pressure = Literal["none", "background", "blocking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Triggers and sizes of one way to govern a context window. Shares are of the window's limit."""

    name: str = "plimsoll"
    automatic: bool = True
    """Whether anything but an overflow or a person's own command may start a compaction."""
    background_threshold: float = 0.80
    """Share at which a background compaction starts while the turn goes on."""
    blocking_threshold: float = 0.95
    """Share at which a request waits for the compaction."""
    minimum_messages: int = 4
    """Automatic compactions below this many messages are not worth a model call."""
    recent_share: float = 0.20
    """Share of the window that the newest messages keep, unchanged."""
    user_share: float = 0.05
    """Share of the window for what the person said, carried word for word beside the summary."""
    facts_share: float = 0.03
    """Share of the window for facts the summary left out."""
    summary_share: float = 0.06
    """Share of the window a summary may take."""
    safety_margin: float = 0.05
    """The truncator aims this far below the limit."""
    heuristic_fallback: bool = True
    """When the summary's model fails in an automatic compaction, summarise by extraction instead."""
    minimum_gain: float = 0.05
    """A compaction that frees a smaller share of the view made no progress."""
    breaker_after: int = 2
    """Automatic compaction stops after this many in a row without progress."""

    def background_mark(self, window: ContextWindow) -> int:
        """Tokens at which a background compaction starts."""
        return min(int(window.limit * self.background_threshold), window.effective)

    def blocking_mark(self, window: ContextWindow) -> int:
        """Tokens at which a request waits; never above what leaves room for the answer."""
        return min(int(window.limit * self.blocking_threshold), window.effective)

    def recent_budget(self, window: ContextWindow) -> int:
        """Tokens of newest messages that stay as they are."""
        return max(1, min(int(window.limit * self.recent_share), window.effective // 2))

    def pressure(self, usage: ContextUsage) -> Pressure:
        """How urgent a compaction is. Sitting exactly on a mark counts as reached."""
        if not self.automatic or usage.total <= 0:
            return "none"
        if usage.total >= self.blocking_mark(usage.window):
            return "blocking"
        if usage.total >= self.background_mark(usage.window) and usage.messages >= self.minimum_messages:
            return "background"
        return "none"


PLIMSOLL = Policy()
OFF = Policy(name="off", automatic=False)
PRESETS: dict[str, Policy] = {policy.name: policy for policy in (PLIMSOLL, OFF)}
