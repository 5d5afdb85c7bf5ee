"""A governance policy as data: what triggers a compaction, what stays of the view, and how it is worded."""

from dataclasses import dataclass
from typing import Literal

from tui_app.context.counting.usage import ContextUsage, ContextWindow
from tui_app.context.stages.settings import Archive, NormaliseLimits, Offload, Pointers, Trim
from tui_app.context.summaries.forms import NOTES, Form

Pressure = Literal["none", "background", "blocking"]
SummaryBy = Literal["llm", "heuristic"]
Fallback = Literal["heuristic", "marker", "none"]
_UNKNOWN = "default"
"""Source of a window that nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Which reversible stages run, and with what sizes; None leaves a stage out."""

    normalise: NormaliseLimits | None = None
    offload: Offload | None = None
    archive: Archive | None = None
    trim: Trim | None = None
    pointers: Pointers | None = None


NO_STAGES = Stages()
RELIEF = 0.80
"""Share of the window at which the default policy's reversible stages make room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLimit:
    """A compaction is due in a view of more than so many messages, counted as they are sent."""

    messages: int = 40
    """0 never compacts."""

    @property
    def enabled(self) -> bool:
        """Whether anything is ever due."""
        return self.messages > 0

    @property
    def recent(self) -> int:
        """Newest messages that stay: half of them, at least 4."""
        return max(4, self.messages // 2)

    def mark(self, window: ContextWindow) -> int | None:
        """Tokens at which a compaction is due; there is no such size."""
        return None

    def reached(self, usage: ContextUsage) -> bool:
        """Whether a compaction is due."""
        return self.enabled and usage.messages > self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimit:
    """A compaction is due when fewer tokens than a reserve are left."""

    reserve: int = 16_384
    """Tokens to keep free below the window."""
    unknown: int = 8_000
    """Tokens that may be used while the window is unknown or within the reserve; 0 counts messages."""
    messages: int = 50
    """Messages at which it is due where no tokens are counted; 0 never."""

    @property
    def enabled(self) -> bool:
        """Whether anything is ever due."""
        return True

    @property
    def recent(self) -> int:
        """Newest messages that stay by the limit itself: none."""
        return 0

    def mark(self, window: ContextWindow) -> int | None:
        """Tokens at which a compaction is due; None where messages are counted instead."""
        known = window.limit - self.reserve if window.source != _UNKNOWN else 0
        tokens = known if known > 0 else self.unknown
        return min(tokens, window.effective) if tokens > 0 else None

    def reached(self, usage: ContextUsage) -> bool:
        """Whether a compaction is due. Sitting exactly on the limit counts as reached."""
        mark = self.mark(usage.window)
        if mark is not None:
            return usage.total >= mark
        return 0 < self.messages <= usage.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """How much of the newest stays; with neither only what the model has not answered yet."""

    tokens: int = 0
    messages: int = 0
    """Used where there is no number of tokens; counted as they are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Triggers and sizes of one way to govern a context window. Shares are of the window's limit."""

    name: str = "plimsoll"
    about: str = ""
    """One line for a person who chooses."""
    automatic: bool = True
    """Whether anything but an overflow or a person's own command may start a compaction."""
    background_threshold: float = 0.80
    """Share at which a background compaction starts while the turn goes on."""
    blocking_threshold: float = 0.95
    """Share at which a request waits for the compaction."""
    minimum_messages: int = 4
    """Background compactions below this many messages are not worth a model call."""
    limit: MessageLimit | TokenLimit | None = None
    """What is counted in place of the two shares."""
    at_turn_end: bool = False
    """Whether a compaction is due after a turn, not before each request."""
    recent_share: float = 0.20
    """Share of the window that the newest messages keep, unchanged; at 0 only what came after stays."""
    recent_tokens: int = 0
    """Tokens that they keep instead, at most half of what may be used; 0 for none."""
    recent_messages: int = 0
    """How many of them stay instead where no tokens are set; 0 for none."""
    keep_first_run: bool = False
    """Whether all up to the first answer with text stays."""
    manual_keeps_recent: bool = True
    """Whether a compaction by hand keeps what an automatic one keeps; else all of it is summarised."""
    user_share: float = 0.05
    """Share of the window for what the person said, carried word for word beside the summary."""
    pinned_share: float = 0.20
    """Share of the window that pinned messages may take; what has no room leaves as if it were not pinned."""
    facts_share: float = 0.03
    """Share of the window for facts the summary left out."""
    plan_share: float = 0.05
    """Share of the window for the plan and the todo list, carried word for word beside the summary."""
    summary_share: float = 0.06
    """Share of the window a summary may take."""
    summary_by: SummaryBy = "llm"
    """Who writes it: a model, or extraction without any."""
    fallback: Fallback = "heuristic"
    """What stands in when the model fails in an automatic compaction: extraction, a marker, nothing."""
    form: Form = NOTES
    """How the replacement is worded."""
    manual_form: Form | None = None
    """How it is worded after a compaction by hand; None is the same."""
    safety_margin: float = 0.05
    """The truncator aims this far below the limit."""
    minimum_gain: float = 0.05
    """A compaction that frees a smaller share of the view made no progress."""
    stages: Stages = NO_STAGES
    """What runs before anything is summarised."""
    breaker_after: int = 2
    """Automatic compaction stops after this many in a row without progress."""

    def form_of(self, *, by_hand: bool) -> Form:
        """The wording of the replacement.

        Args:
            by_hand: Whether a person asked for the compaction.
        """
        return self.manual_form if by_hand and self.manual_form is not None else self.form

    def background_mark(self, window: ContextWindow) -> int:
        """Tokens at which a compaction is due; all that may be used where something else is counted."""
        if self.limit is not None:
            return self.limit.mark(window) or window.effective
        return min(int(window.limit * self.background_threshold), window.effective)

    def blocking_mark(self, window: ContextWindow) -> int:
        """Tokens at which a request waits; never above what leaves room for the answer."""
        if self.limit is not None:
            return window.effective
        return min(int(window.limit * self.blocking_threshold), window.effective)

    def recent_budget(self, window: ContextWindow) -> int:
        """Tokens of newest messages that stay as they are."""
        if self.recent_tokens:
            mark = window.effective if self.limit is None else self.limit.mark(window)
            return max(1, self.recent_tokens if mark is None else min(self.recent_tokens, mark // 2))
        if not self.recent_share:
            return 0
        return max(1, min(int(window.limit * self.recent_share), window.effective // 2))

    def pinned_budget(self, window: ContextWindow) -> int:
        """Tokens that pinned messages may take."""
        return min(int(window.limit * self.pinned_share), window.effective // 2)

    def recent(self, window: ContextWindow) -> Recent:
        """What stays of the newest messages."""
        by_limit = self.limit.recent if self.limit is not None else 0
        messages = self.recent_messages or by_limit
        if messages and not self.recent_tokens:
            return Recent(messages=messages)
        return Recent(tokens=self.recent_budget(window))

    def pressure(self, usage: ContextUsage) -> Pressure:
        """How urgent a compaction is before a request. Sitting exactly on a mark counts as reached.

        With a limit a request waits as soon as it is reached (unless turns are compacted when they have
        ended), and in any case when it would not fit.
        """
        if not self.automatic or usage.total <= 0:
            return "none"
        if self.limit is not None:
            due = self.limit.reached(usage) and not self.at_turn_end
            too_large = self.limit.enabled and usage.total > usage.window.effective
            return "blocking" if due or too_large else "none"
        if usage.total >= self.blocking_mark(usage.window):
            return "blocking"
        if usage.total >= self.background_mark(usage.window) and usage.messages >= self.minimum_messages:
            return "background"
        return "none"

    def due_at_turn_end(self, usage: ContextUsage) -> bool:
        """Whether a compaction is due now that a turn has ended."""
        if not self.automatic or not self.at_turn_end or usage.total <= 0:
            return False
        if self.limit is not None:
            return self.limit.reached(usage)
        return usage.total >= self.background_mark(usage.window)


PLIMSOLL = Policy(
    about="starts at 80 % in the background, waits at 95 %; keeps your words, facts and the last 20 %",
    stages=Stages(
        normalise=NormaliseLimits(),
        offload=Offload(),
        archive=Archive(start=RELIEF),
        trim=Trim(start=RELIEF),
        pointers=Pointers(),
    ),
)
OFF = Policy(name="off", automatic=False, about="compacts only when asked, or when a request was refused")
