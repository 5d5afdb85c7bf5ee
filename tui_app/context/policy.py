"""A governance policy as data: what triggers a compaction, what stays of the view, and how it is worded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any, Literal, TypeVar

from tui_app.usage import ContextUsage, ContextWindow

# Sizes of the stages, as data that a policy holds. Imports nothing, so that policies are known at once.

SMALLEST_HEAD_TAIL = 4
"""Lines that head, mark, tail and notice of a cut result take together."""
MARKER = '\n[… trimmed: {length:,} characters in all; search_history "#{key}" has all of it …]'
SLIDING_WINDOW_MARKER = "\n[… cut here; {length} characters in all]"
_FIELDS = frozenset({"length", "key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NormaliseLimits:
    """How large a tool result may be."""

    lines: int = 2_000
    bytes: int = 50 * 1024
    """Of UTF-8."""
    chars: int = 200 * 1024
    spill_chars: int = 200 * 1024
    """Characters above which nothing but a notice stays, and the text goes to a file."""
    mode: Literal["head_tail", "head"] = "head_tail"

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ValueError: if a limit is below 1, or too few lines are allowed for a head and a tail.
        """
        if min(self.lines, self.bytes, self.chars, self.spill_chars) < 1:
            raise ValueError("Every limit of tool output must be at least 1.")
        if self.mode == "head_tail" and self.lines < SMALLEST_HEAD_TAIL:
            raise ValueError(f"Mode head_tail needs a limit of at least {SMALLEST_HEAD_TAIL} lines.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """Which results are moved to a file, and what is shown of them."""

    tokens: int = 20_000
    """Largest result that stays."""
    preview_lines: int = 10

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ValueError: if a size is negative.
        """
        if min(self.tokens, self.preview_lines) < 0:
            raise ValueError("Sizes of offloading must not be negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """How many tool results stay, and how the digest of the others is written."""

    cutoff: int = 10
    """Tool results that may be visible."""
    strategy: Literal["heuristic", "llm", "off"] = "heuristic"
    digest_chars: int = 800
    """Longest digest that is written without a model."""
    llm_input_chars: int = 12_000
    llm_output_chars: int = 1_200
    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it runs whenever the cutoff is passed."""
    batch: float = 0.5
    """Share of the cutoff that stays: archiving comes in batches, so that prompt caches keep hitting."""

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ValueError: if the cutoff is negative or a size below 1.
        """
        if self.cutoff < 0 or min(self.digest_chars, self.llm_input_chars, self.llm_output_chars) < 1:
            raise ValueError("The cutoff must not be negative, and sizes of a digest must be at least 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """How much stays of an older result, and which results are old."""

    chars: int = 2_000
    """Characters that stay; 0 trims nothing."""
    keep_messages: int | None = None
    """How many of the last messages are left alone; None leaves the present turn alone, and earlier failures
    that nothing has solved yet."""
    marker: str = MARKER
    """What is put behind the head: a template with the full length in characters and the handle's number."""
    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it always does."""
    batch: int = 4
    """Results that are cut at once, so that prompt caches keep hitting; fewer where that frees much."""

    def __post_init__(self) -> None:
        """Check the sizes and the marker.

        Raises:
            ValueError: if a size is negative, or the marker is no template of length and key.
        """
        if self.chars < 0 or (self.keep_messages or 0) < 0:
            raise ValueError("Sizes of trimming must not be negative.")
        unknown = {name for _, name, _, _ in Formatter().parse(self.marker) if name is not None} - _FIELDS
        if unknown:
            raise ValueError(f"A trim marker may name length and key, not {', '.join(sorted(unknown))!r}.")
        self.marker.format(length=0, key=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointers:
    """When file bodies leave the conversation, and what stays of them."""

    threshold: float = 0.85
    """Share of the window from which the stage runs."""
    preview_chars: int = 100
    min_chars: int = 400
    """Characters below which a body stays."""
    result_chars: int = 500
    """Characters above which the result of such a call becomes a note."""
    batch: int = 4
    """Messages rewritten at once, so that prompt caches keep hitting; fewer where that frees much."""

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ValueError: if a size is negative or the threshold no share of the window.
        """
        if min(self.preview_chars, self.min_chars, self.result_chars) < 0 or not 0 < self.threshold <= 1:
            raise ValueError(
                "Sizes of pointers must not be negative, and the threshold lies between 0 and 1."
            )


# How what replaces history is worded, as data: frames around a summary, a marker where there is none.
#
# Imports nothing of the agent side, so that policies are known at once.

_SUMMARY_FIELDS = frozenset({"summary", "count"})
_MARKER_FIELDS = frozenset({"count"})
FORMS_MARKER = "[{count} messages that stood here are gone to make room; there are no notes on them]"


def _check(template: str, allowed: frozenset[str]) -> None:
    try:
        named = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:
        raise ValueError(f"{template!r} is no template: {error}.") from None
    if unknown := named - allowed:
        raise ValueError(
            f"A template may name {' and '.join(sorted(allowed))}, not {', '.join(sorted(unknown))!r}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The wording of a replacement. ``count`` is the number of messages that leave."""

    summary: str = "{summary}"
    """Template around a summary."""
    marker: str = FORMS_MARKER
    """Template of what stands there when no summary was written."""
    acknowledgement: str = ""
    """What the assistant says behind it, as a message of its own; empty for none."""
    way_back: bool = True
    """Whether it ends with how messages that left are found again."""

    def __post_init__(self) -> None:
        """Check the templates.

        Raises:
            ValueError: if a template names anything else, or the summary's place is missing.
        """
        _check(self.summary, _SUMMARY_FIELDS)
        _check(self.marker, _MARKER_FIELDS)
        if "{summary}" not in self.summary:
            raise ValueError("The template of a summary must hold {summary}.")


NOTES = Form()
"""The summary as it was written."""


def framed(form: Form, summary: str, *, count: int, written: bool = True) -> str:
    """Word what replaces history.

    Args:
        form: The wording.
        summary: The notes; braces in them mean nothing.
        count: How many messages leave.
        written: Whether there are notes; without them the marker stands in their place.
    """
    if not written:
        return form.marker.format(count=count)
    return form.summary.format(summary=summary.strip(), count=count)


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


# The policies that are built in, and policies that a person makes out of them.
#
# Each preset stands for a known way to govern a context window, with the sizes that belong to it.

Sizes = NormaliseLimits | Offload | Archive | Trim | Pointers
S = TypeVar("S", bound=Sizes)

SLIDING_WINDOW = Policy(
    name="sliding-window",
    about="above 40 messages; keeps the first run and the last 20 messages, cuts older tool results",
    limit=MessageLimit(messages=40),
    keep_first_run=True,
    manual_keeps_recent=False,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    fallback="marker",
    form=Form(summary="[Notes on {count} messages that stood here]\n{summary}", way_back=False),
    manual_form=Form(
        summary="[Notes on the whole conversation so far]\n{summary}",
        acknowledgement="Understood, I know what was said so far.",
        way_back=False,
    ),
    stages=Stages(trim=Trim(chars=2_000, keep_messages=2, marker=SLIDING_WINDOW_MARKER)),
)
RESERVE = Policy(
    name="reserve",
    about="after a turn that leaves less than 16,384 tokens; keeps the last 20,000, archives tool results",
    limit=TokenLimit(reserve=16_384, unknown=8_000, messages=50),
    at_turn_end=True,
    recent_tokens=20_000,
    recent_messages=5,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    fallback="none",
    form=Form(summary="[Notes on what was said before]\n{summary}", way_back=False),
    stages=Stages(normalise=NormaliseLimits(), archive=Archive(cutoff=10, strategy="llm")),
)
BACKGROUND = Policy(
    name="background",
    about="starts at 80 % in the background, waits at 95 %; keeps your words and what came after",
    recent_share=0.0,
    facts_share=0.0,
    fallback="none",
    form=Form(way_back=False),
)
PROGRESSIVE = Policy(
    name="progressive",
    about="large results to files, pointers at 85 %, a summary at 95 %; keeps the last 20 %",
    background_threshold=0.95,
    blocking_threshold=0.95,
    recent_share=0.20,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    form=Form(
        summary=(
            "[BEGINNING OF THE NOTES]\nThis stands for what was said before. All of it is kept in "
            "conversation_history/, where grep and read_file find it.\n\n{summary}\n\n[END OF THE NOTES]"
        ),
        way_back=False,
    ),
    stages=Stages(offload=Offload(tokens=20_000, preview_lines=10), pointers=Pointers(threshold=0.85)),
)
PRESETS: dict[str, Policy] = {
    policy.name: policy for policy in (PLIMSOLL, SLIDING_WINDOW, RESERVE, BACKGROUND, PROGRESSIVE, OFF)
}

_AS_THEY_ARE = (
    "automatic", "background_threshold", "blocking_threshold", "minimum_messages", "at_turn_end",
    "recent_share", "recent_tokens", "recent_messages", "keep_first_run", "user_share", "facts_share",
    "pinned_share", "plan_share", "summary_share", "summary_by", "fallback",
)  # fmt: skip
"""Keys that are fields of a policy."""
_NORMALISE = {
    "tool_output_max_lines": "lines",
    "tool_output_max_bytes": "bytes",
    "tool_output_max_chars": "chars",
    "tool_output_spill_chars": "spill_chars",
    "tool_output_mode": "mode",
}
_OFFLOAD = {"offload_tokens": "tokens", "offload_preview_lines": "preview_lines"}
_ARCHIVE = {"tool_call_cutoff": "cutoff", "tool_summary_strategy": "strategy"}
_TRIM = {"tool_output_trim_chars": "chars", "trim_keep_messages": "keep_messages"}
_POINTERS = {"pointers_threshold": "threshold"}


def derive(name: str, changes: Mapping[str, object]) -> Policy:
    """Make a policy of one's own from a preset.

    Args:
        name: What it is called.
        changes: ``base`` names the preset; each other key replaces one size. The keys are flat and have been
            checked; a size of a stage turns the stage on unless the stage's own key is false.

    Raises:
        KeyError: if there is no such preset.
        ValueError: if the sizes of a stage do not go together.
    """
    base = PRESETS[str(changes["base"])]
    own: dict[str, Any] = {key: changes[key] for key in _AS_THEY_ARE if key in changes}
    return replace(
        base,
        name=name,
        about=f"your own, made from {base.name}",
        limit=_limit(base.limit, changes),
        stages=_stages(base.stages, changes),
        **own,
    )


def _limit(base: MessageLimit | TokenLimit | None, changes: Mapping[str, object]) -> Any:
    """What is counted: tokens take the place of messages, and both the place of shares."""
    messages = _renamed(changes, {"max_messages": "messages"})
    tokens = _renamed(changes, {"reserve_tokens": "reserve", "unknown_window_tokens": "unknown"})
    if tokens or isinstance(base, TokenLimit):
        return replace(base if isinstance(base, TokenLimit) else TokenLimit(), **tokens, **messages)
    if messages:
        return MessageLimit(**messages)
    return base


def _stages(base: Stages, changes: Mapping[str, object]) -> Stages:
    return Stages(
        normalise=_stage("normalise", base.normalise, NormaliseLimits, _NORMALISE, changes),
        offload=_stage("offload", base.offload, Offload, _OFFLOAD, changes),
        archive=_stage("archive", base.archive, Archive, _ARCHIVE, changes),
        trim=_stage("trim", base.trim, Trim, _TRIM, changes),
        pointers=_stage("pointers", base.pointers, Pointers, _POINTERS, changes),
    )


def _stage(
    name: str, base: S | None, built_in: type[S], keys: Mapping[str, str], changes: Mapping[str, object]
) -> S | None:
    sizes = _renamed(changes, keys)
    if not changes.get(name, base is not None or bool(sizes)):
        return None
    return replace(base if base is not None else built_in(), **sizes)


def _renamed(changes: Mapping[str, object], keys: Mapping[str, str]) -> dict[str, Any]:
    return {field: changes[key] for key, field in keys.items() if key in changes}
