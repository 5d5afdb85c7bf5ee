"""Context utilization against the thresholds of the policy: in words, as a zone and as a bar."""

from typing import Literal, NamedTuple

from tui_app.records import frozen
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.text import tokens
from tui_app.usage import ContextUsage, percent_text

Zone = Literal["ok", "near", "full"]
BACKGROUND = 0.8
"""Share of the window at which a background compaction starts, unless the policy sets it."""
BLOCKING = 0.95
"""Share of the window at which sending waits for compaction, unless the policy sets it."""
LOADING = "loading model …"
NOT_OPEN = "no session is open"


class Bar(NamedTuple):
    """The bar in cells: ``used`` drawn strong, ``pending`` lighter after it, ``marks`` over both."""

    used: int
    pending: int
    marks: tuple[int, ...]
    leaving: int = 0
    """Number of the last used cells that the running compaction would free."""
    half: bool = False
    """Whether another half cell is used."""


@frozen
class Load:
    """Context utilization."""

    usage: ContextUsage | None = None
    """The measured usage; ``None`` while it is unknown."""
    background: float = BACKGROUND
    """Share of the window from which the zone is *near*; 0 for none."""
    blocking: float = BLOCKING
    """Share of the window from which the zone is *full*; 0 for none."""
    pending: int = 0
    """Tokens that the draft or the streamed answer would add, which make the usage an estimate."""
    leaving: int = 0
    """Tokens that the running compaction would free."""

    @property
    def used(self) -> int:
        return self.usage.total + self.pending if self.usage is not None else 0

    @property
    def limit(self) -> int:
        """Tokens of the window; 0 while it is unknown."""
        return max(0, self.usage.window.stated) if self.usage is not None else 0

    @property
    def zone(self) -> Zone:
        """The zone; *full* also without thresholds once the limit itself is exceeded."""
        used, limit = self.used, self.limit
        if limit and (used > limit or (self.blocking > 0 and used >= int(limit * self.blocking))):
            return "full"
        return "near" if limit and self.background > 0 and used >= int(limit * self.background) else "ok"

    @property
    def text(self) -> str:
        """``71% of 128k · ~91.5k · ok``, ``over by 3.1k of 128k · full`` or ``~91.5k of ?``, in 29 cells.

        ``128k?`` is an assumed limit, and ``~`` marks whatever the provider has not reported.
        """
        if self.usage is None:
            return LOADING
        used, limit = self.used, self.limit
        size = window_text(limit) + ("?" if self.usage.window.source == "default" else "")
        amount = f"{'' if self.usage.exact and not self.pending else '~'}{tokens(used)}"
        if not limit:
            return f"{amount} of ?"
        if used > limit:
            return f"over by {tokens(used - limit)} of {size} · {self.zone}"
        share = percent_text(used, limit, (self.background, self.blocking))
        return f"{share} of {size} · {amount} · {self.zone}"

    @property
    def threshold(self) -> str:
        """When compaction starts, ``compacts at 80%``; empty if that is not a share of the window."""
        return f"compacts at {self.background:.0%}" if 0 < self.background < 1 else ""

    @property
    def start(self) -> str:
        """When compaction starts, in any case."""
        by_messages = self.background <= 0 < self.blocking
        return (
            self.threshold or f"compacts {'by the number of messages' if by_messages else 'only when asked'}"
        )

    def bar(self, width: int) -> Bar:
        """Divide a number of cells; what is not empty gets at least one cell."""
        lines = (self.background, self.blocking)
        marks = tuple(min(width - 1, int(width * line)) for line in lines if 0 < line < 1)
        if self.usage is None or not self.limit:
            return Bar(0, 0, marks)
        limit, total, pending = self.limit, self.usage.total, self.pending
        used = min(width, max(int(total > 0), width * total // limit))
        end = min(width, width * (total + pending) // limit)
        frees = min(used - 1, width * self.leaving // limit) if self.leaving and used else 0
        half = not pending and not frees and used == width * total // limit < width
        half = half and 2 * (width * total % limit) >= limit
        return Bar(used, max(int(pending > 0 and used < width), end - used), marks, frees, half)
