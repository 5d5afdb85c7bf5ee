"""Governance policies as data: compaction triggers, what stays in the view, and the wording."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from string import Formatter
from sys import maxsize
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from tui_app.records import frozen
from tui_app.tool_specs import GREP, READ_FILE, SEARCH_HISTORY
from tui_app.usage import ContextUsage, ContextWindow


class Bounds(NamedTuple):
    """The range of a number, including both ends."""

    low: float
    high: float
    allowed: str
    """The same in words, for an error message."""
    whole: bool = False


_MOST = maxsize
SMALLEST_HEAD_TAIL = 4
"""Minimum lines of a shortened result: head, mark, tail and notice."""


LONGEST_INSTRUCTIONS = 4_000
"""Maximum characters that a policy may add to each summary request."""
Flag = Annotated[bool, ""]
Threshold = Annotated[float, Bounds(0.01, 1.0, "a share of the window from 0.01 to 1.0, such as 0.8")]
Share = Annotated[float, Bounds(0.0, 0.5, "a share of the window from 0 to 0.5, such as 0.05")]
SummaryShare = Annotated[float, Bounds(0.01, 0.5, "a share of the window from 0.01 to 0.5, such as 0.06")]
_FROM_0 = Bounds(0, _MOST, "a whole number from 0", whole=True)
Count = Annotated[int, _FROM_0]
Size = Annotated[int, Bounds(1, _MOST, "a whole number from 1", whole=True)]
Lines = Annotated[int, Bounds(SMALLEST_HEAD_TAIL, _MOST, "a whole number of lines from 4", whole=True)]
Tokens = Annotated[int, Bounds(0, _MOST, "a whole number of tokens from 0", whole=True)]


class Key(NamedTuple):
    """One key of ``[policies.NAME]``; a flag if it has neither bounds nor words."""

    name: str
    bounds: Bounds | None = None
    words: tuple[str, ...] = ()
    """Allowed words."""
    longest: int = 0
    """Maximum characters of a text; 0 if it is not a text."""
    owner: type = object
    """The class with its field."""
    field: str = ""
    optional: bool = False


def _wrong(key: Key, value: object) -> str:
    """Return what is allowed if a value is invalid; empty if it is valid."""
    if value is None and key.optional:
        return ""
    if key.words:
        return "" if value in key.words else " or ".join(key.words)
    if key.longest:
        fits = isinstance(value, str) and len(value) <= key.longest
        return "" if fits else f"a text of at most {key.longest:,} characters"
    if key.bounds is None:
        return "" if isinstance(value, bool) else "true or false"
    number = isinstance(value, int if key.bounds.whole else int | float) and not isinstance(value, bool)
    return "" if number and key.bounds.low <= value <= key.bounds.high else key.bounds.allowed  # type: ignore[operator]


@cache
def _keys_in(cls: Any) -> tuple[Key, ...]:
    return tuple(_found_keys(cls))


def _found_keys(cls: Any) -> Iterator[Key]:
    """Yield the keys of a dataclass and its fields; sizes of stages come after the stages."""
    sizes: list[Key] = []
    for name, hint in get_type_hints(cls, include_extras=True).items():
        plain, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        inner = [key for part in (plain, *get_args(plain)) if is_dataclass(part) for key in _found_keys(part)]
        if not extras:
            yield from inner
            continue
        bounds = next((each for each in extras if isinstance(each, Bounds)), None)
        called = next((each for each in extras if isinstance(each, str)), "") or name
        words = get_args(plain) if get_origin(plain) is Literal else ()
        longest = next((each for each in extras if isinstance(each, int)), 0)
        optional = type(None) in get_args(plain)
        yield Key(called, bounds, words, longest, cls, name, optional)
        sizes.extend(inner)
    yield from sizes


class _Checked:
    """Base class that validates every field with bounds on creation.

    Raises:
        ValueError: if one is out of range; the message names it and what is allowed.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        own: Any = type(self)
        for key in _keys_in(own):
            if key.owner is own and (wrong := _wrong(key, value := getattr(self, key.field))):
                raise ValueError(f"{own.__name__}.{key.field} is {value!r}; allowed: {wrong}.")


def _check(template: str, allowed: frozenset[str]) -> None:
    try:
        named = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
        if named <= allowed:
            template.format(**dict.fromkeys(allowed, 0))
    except ValueError as error:
        raise ValueError(f"{template!r} is no template: {error}.") from None
    if unknown := named - allowed:
        raise ValueError(
            f"A template may name {' and '.join(sorted(allowed))}, not {', '.join(sorted(unknown))!r}."
        )


MARKER = f'\n[… trimmed: {{length:,}} characters in all; {SEARCH_HISTORY.name} "#{{key}}" has all of it …]'
SLIDING_WINDOW_MARKER = "\n[… cut here; {length} characters in all]"
_FIELDS = frozenset({"length", "key"})


@frozen(kw_only=True)
class NormaliseLimits(_Checked):
    """The largest size of a tool result."""

    lines: Annotated[Lines, "tool_output_max_lines"] = 2_000
    bytes: Annotated[Size, "tool_output_max_bytes"] = 50 * 1024
    chars: Annotated[Size, "tool_output_max_chars"] = 200 * 1024
    """How much of a result stays when it arrives."""
    spill_chars: Annotated[Size, "tool_output_spill_chars"] = 200 * 1024
    """Longer results go to a file as a whole."""
    mode: Annotated[Literal["head_tail", "head"], "tool_output_mode"] = "head_tail"
    """What stays of a result that is cut as it arrives: `head_tail`, its head and its tail, or `head`."""


@frozen(kw_only=True)
class Offload(_Checked):
    """Sizes for moving results to files."""

    tokens: Annotated[Tokens, "offload_tokens"] = 20_000
    preview_lines: Annotated[Count, "offload_preview_lines"] = 10
    """The largest result that stays, and how many lines are shown of one that does not."""


@frozen(kw_only=True)
class Superseded(_Checked):
    """Sizes for leaving out superseded reads and thinking of earlier turns."""

    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it always does."""
    batch: Annotated[Size, "superseded_batch"] = 4
    """Messages that lose outdated reads or thinking at once, so that prompt caches keep hitting; fewer where
    that frees much."""


@frozen(kw_only=True)
class Archive(_Checked):
    """Sizes for replacing old tool results by a digest."""

    cutoff: Annotated[Count, "tool_call_cutoff"] = 10
    """How many tool results stay visible."""
    strategy: Annotated[Literal["llm", "heuristic", "off"], "tool_summary_strategy"] = "heuristic"
    """Who writes the digest of the others: `llm`, `heuristic`, or `off`."""
    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it runs whenever the cutoff is exceeded."""
    batch: Annotated[Size, "archive_batch"] = 4
    """Messages beyond the cutoff that are archived at once, so that prompt caches keep hitting; fewer the
    first time, and where that frees much."""


@frozen(kw_only=True)
class Trim(_Checked):
    """Sizes for trimming older tool results."""

    chars: Annotated[Count, "tool_output_trim_chars"] = 2_000
    """How much of an older result stays; 0 cuts nothing."""
    # None spares the current turn, and earlier failures that are still unsolved.
    keep_messages: Annotated[int | None, _FROM_0, "trim_keep_messages"] = None
    """The last messages that are left alone."""
    marker: str = MARKER
    """Text after the head: a template with the full length in characters and the handle's number."""
    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it always does."""
    batch: Annotated[Size, "trim_batch"] = 4
    """Messages that are cut at once, so that prompt caches keep hitting; fewer the first time, and where that
    frees much."""

    def __post_init__(self) -> None:
        _Checked.__post_init__(self)
        _check(self.marker, _FIELDS)


@frozen(kw_only=True)
class Pointers(_Checked):
    """Sizes for replacing file bodies by pointers."""

    threshold: Annotated[Threshold, "pointers_threshold"] = 0.85
    """Share of the window at which file bodies become pointers."""
    batch: Annotated[Size, "pointers_batch"] = 4
    """Messages rewritten at once, so that prompt caches keep hitting; fewer where that frees much."""


_SUMMARY_FIELDS = frozenset({"summary", "count"})
_MARKER_FIELDS = frozenset({"count"})
FORMS_MARKER = "[{count} messages that stood here are gone to make room; there are no notes on them]"


@frozen(kw_only=True)
class Wording:
    """The wording of the message that replaces history. ``count`` is the number of removed messages."""

    summary: str = "{summary}"
    """Template around a summary."""
    marker: str = FORMS_MARKER
    """Template used when no summary was written."""
    acknowledgement: str = ""
    """The assistant's acknowledgement after it, as a separate message; empty for none."""
    way_back: bool = True
    """Whether it ends with how to retrieve removed messages."""

    def __post_init__(self) -> None:
        """Check the templates.

        Raises:
            ValueError: if a template has an unknown field, or no place for the summary.
        """
        _check(self.summary, _SUMMARY_FIELDS)
        _check(self.marker, _MARKER_FIELDS)
        if "{summary}" not in self.summary:
            raise ValueError("The template of a summary must hold {summary}.")


NOTES = Wording()
"""The summary as it was written."""


def framed(form: Wording, summary: str, *, count: int, written: bool = True) -> str:
    """Put a summary into a policy's wording.

    Args:
        form: The wording.
        summary: The notes; braces in them have no meaning.
        count: Number of removed messages.
        written: Whether there are notes; otherwise the marker is used.
    """
    if not written:
        return form.marker.format(count=count)
    return form.summary.format(summary=summary.strip(), count=count)


Pressure = Literal["none", "background", "blocking"]
SummaryBy = Literal["llm", "heuristic"]
ModelCompacts = Literal["allow", "ask", "ignore"]
Verify = Literal["off", "model"]
Fallback = Literal["heuristic", "marker", "none"]
_UNKNOWN = "default"
"""Source of an unknown window."""


@frozen(kw_only=True)
class Stages:
    """The reversible stages with their sizes; None for a stage that does not run."""

    normalise: Annotated[NormaliseLimits | None, "normalise"] = None
    offload: Annotated[Offload | None, "offload"] = None
    superseded: Annotated[Superseded | None, "superseded"] = None
    archive: Annotated[Archive | None, "archive"] = None
    trim: Annotated[Trim | None, "trim"] = None
    pointers: Annotated[Pointers | None, "pointers"] = None
    """Whether a stage runs. A size of a stage, below, turns it on as well."""


NO_STAGES = Stages()
RELIEF = 0.80
"""Share of the window from which the default policy's reversible stages run."""


@frozen(kw_only=True)
class MessageLimit(_Checked):
    """Limit by the number of messages, counted as they are sent."""

    messages: Annotated[Count, "max_messages"] = 40
    """Compact above so many messages (the results of one answer are one), in place of the shares; 0 never.
    With `reserve_tokens`: where no tokens are counted."""

    def mark(self, window: ContextWindow) -> int | None:
        """Return None: no number of tokens is the threshold."""
        return None

    def reached(self, usage: ContextUsage) -> bool:
        return usage.messages > self.messages > 0


@frozen(kw_only=True)
class TokenLimit(_Checked):
    """Limit by a reserve of tokens."""

    reserve: Annotated[Tokens, "reserve_tokens"] = 16_384
    """Compact when fewer tokens are left below the window, in place of shares and messages."""
    # Also if the window is smaller than the reserve.
    unknown: Annotated[Tokens, "unknown_window_tokens"] = 8_000
    """The limit for that while the window is unknown; 0 counts messages."""
    messages: Annotated[Count, "max_messages"] = 50
    """Messages at which it is due where no tokens are counted; 0 never."""

    def mark(self, window: ContextWindow) -> int | None:
        """Return the tokens at which a compaction is due; None if messages are counted instead."""
        known = window.limit - self.reserve if window.source != _UNKNOWN else 0
        tokens = known if known > 0 else self.unknown
        return min(tokens, window.effective) if tokens > 0 else None

    def reached(self, usage: ContextUsage) -> bool:
        """Whether a compaction is due. Exactly at the limit counts as reached."""
        mark = self.mark(usage.window)
        if mark is not None:
            return usage.total >= mark
        return 0 < self.messages <= usage.messages


@frozen(kw_only=True)
class Recent:
    """How many of the newest messages stay; without numbers only those the model has not responded to yet."""

    tokens: int = 0
    messages: int = 0
    """Used if there is no number of tokens; counted as they are sent."""


@frozen(kw_only=True)
class Policy(_Checked):
    """Triggers and sizes of one way to govern a context window. Shares are of the window's limit."""

    name: str = "plimsoll"
    about: str = ""
    """One line for the user who chooses."""
    # An overflow and the user's own command start a compaction all the same.
    automatic: Flag = True
    """Whether anything is compacted automatically."""
    # At the first a compaction starts while the turn continues, at the second a request waits for it.
    background_threshold: Threshold = 0.80
    blocking_threshold: Threshold = 0.95
    """Shares of the window, 0.01 to 1; they rank above the settings of the same names."""
    minimum_messages: Count = 4
    """Background compactions need so many messages."""
    limit: MessageLimit | TokenLimit | None = None
    """What is counted instead of the two shares."""
    at_turn_end: Flag = False
    """Compact after a turn, not before a request."""
    recent_share: Share = 0.20
    """Share of the window that the newest messages keep, 0 to 0.5; at 0 only what is not answered yet
    stays."""
    recent_tokens: Tokens = 0
    """Tokens they keep instead, at most half of the limit; 0 for none."""
    recent_messages: Count = 0
    """How many of them stay instead, where `recent_tokens` is 0; 0 for none."""
    keep_first_run: Flag = False
    """Whether all up to the first answer in words stays."""
    manual_keeps_recent: bool = True
    """Whether a manual compaction keeps what an automatic one keeps; otherwise everything is summarised."""
    user_share: Share = 0.05
    facts_share: Share = 0.03
    """Shares of the window for your own words and for facts in addition to the summary, 0 to 0.5."""
    target_share: Share = 0.0
    """Share of the window at which a compaction ends, 0 to 0.5: what your words, the facts and the summary do
    not need of it goes to the newest messages and to names. At 0 each part has its own share."""
    target_tokens: Tokens = 40_000
    """Tokens at which it ends at most."""
    pinned_share: Share = 0.20
    """Share of the window that pinned messages may take, 0 to 0.5; with more of them the oldest leave as if
    they were not pinned."""
    plan_share: Share = 0.05
    """Share of the window for the session's plan and todo list in addition to the summary, 0 to 0.5."""
    restore_files_share: Share = 0.0
    """Share of the window for the files worked on last, as they are on disk by then, in addition to the
    summary, 0 to 0.5."""
    summary_share: SummaryShare = 0.06
    """Share of the window the summary may take, 0.01 to 0.5."""
    summary_by: Annotated[SummaryBy, "summary_by"] = "llm"
    """`llm`, or `heuristic`: an extract, without any model."""
    summary_instructions: Annotated[str, LONGEST_INSTRUCTIONS] = ""
    """What is asked of every summary besides; ranks above the setting of the same name."""
    least_answered: Annotated[float, Bounds(0.0, 1.0, "a share from 0 to 1, such as 0.5")] = 0.5
    """Share of the questions that the log can answer and the new view must, 0 to 1: below it the next writer
    is asked, and the best of all is used."""
    model_compacts: Annotated[ModelCompacts, "model_compacts"] = "allow"
    """When the model asks for a compaction: `allow`, `ask` you, or `ignore`: it is not told that it can."""
    verify: Annotated[Verify, "verify"] = "off"
    """Whether the model reads its notes once more against the messages they cite: `off`, or `model`, which
    costs a request and marks lines as doubtful."""
    fallback: Annotated[Fallback, "fallback"] = "heuristic"
    """When the model fails in an automatic compaction: `heuristic`, `marker` or `none`."""
    form: Wording = NOTES
    manual_form: Wording | None = None
    """Wording after a manual compaction; None for the same."""
    safety_margin: float = 0.05
    """Share of the limit by which a truncated request stays below it."""
    minimum_gain: float = 0.05
    """A compaction that frees a smaller share of the view made no progress."""
    stages: Stages = NO_STAGES
    """What runs before anything is summarised."""
    breaker_after: int = 2
    """Automatic compaction stops after this many in a row without progress."""

    def form_of(self, *, by_hand: bool) -> Wording:
        """Return the wording of the replacement.

        Args:
            by_hand: Whether the user requested the compaction.
        """
        return self.manual_form if by_hand and self.manual_form is not None else self.form

    def background_mark(self, window: ContextWindow) -> int:
        """Return the tokens at which a compaction is due; all usable ones if something else is counted."""
        if self.limit is not None:
            return self.limit.mark(window) or window.effective
        return min(int(window.limit * self.background_threshold), window.effective)

    def blocking_mark(self, window: ContextWindow) -> int:
        """Return the tokens at which a request waits; never more than leaves room for the answer."""
        if self.limit is not None:
            return window.effective
        return min(int(window.limit * self.blocking_threshold), window.effective)

    def recent_budget(self, window: ContextWindow) -> int:
        """Return the tokens of newest messages that stay unchanged."""
        if self.recent_tokens:
            mark = window.effective if self.limit is None else self.limit.mark(window)
            return max(1, self.recent_tokens if mark is None else min(self.recent_tokens, mark // 2))
        if not self.recent_share:
            return 0
        return max(1, min(int(window.limit * self.recent_share), window.effective // 2))

    def pinned_budget(self, window: ContextWindow) -> int:
        """Return the tokens that pinned messages may take."""
        return min(int(window.limit * self.pinned_share), window.effective // 2)

    def recent(self, window: ContextWindow) -> Recent:
        """Return how much of the newest messages stays."""
        half = max(4, self.limit.messages // 2) if isinstance(self.limit, MessageLimit) else 0
        messages = self.recent_messages or half
        if messages and not self.recent_tokens:
            return Recent(messages=messages)
        return Recent(tokens=self.recent_budget(window))

    def pressure(self, usage: ContextUsage) -> Pressure:
        """Return how urgent a compaction is before a request. Exactly at a threshold counts as reached.

        With a limit a request waits as soon as it is reached (unless turns are compacted when they have
        ended), and in any case when it would not fit.
        """
        if not self.automatic or usage.total <= 0:
            return "none"
        if self.limit is not None:
            due = self.limit.reached(usage) and not self.at_turn_end
            is_off = isinstance(self.limit, MessageLimit) and not self.limit.messages
            too_large = not is_off and usage.total > usage.window.effective
            return "blocking" if due or too_large else "none"
        if usage.total >= self.blocking_mark(usage.window):
            return "blocking"
        if usage.total >= self.background_mark(usage.window) and usage.messages >= self.minimum_messages:
            return "background"
        return "none"

    def is_due_at_turn_end(self, usage: ContextUsage) -> bool:
        """Whether a compaction is due after a turn."""
        if not self.automatic or not self.at_turn_end or usage.total <= 0:
            return False
        if self.limit is not None:
            return self.limit.reached(usage)
        return usage.total >= self.background_mark(usage.window)


PLIMSOLL = Policy(
    restore_files_share=0.05,
    target_share=0.25,
    recent_share=0.12,
    user_share=0.08,
    facts_share=0.12,
    summary_share=0.10,
    about="compacts in the background at 80%, blocks at 95%; ends at 25% with prompts, actions, newest turns",
    stages=Stages(
        normalise=NormaliseLimits(),
        offload=Offload(),
        superseded=Superseded(start=RELIEF),
        archive=Archive(start=RELIEF),
        trim=Trim(start=RELIEF),
        pointers=Pointers(),
    ),
)
OFF = Policy(
    name="off",
    about="only when asked, or when a request was refused; then up to 20% of the window stays",
    automatic=False,
    model_compacts="ignore",
)


SLIDING_WINDOW = Policy(
    name="sliding-window",
    about="above 40 messages; keeps the first run and the last 20 messages, cuts older tool results",
    model_compacts="ignore",
    limit=MessageLimit(messages=40),
    keep_first_run=True,
    manual_keeps_recent=False,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    fallback="marker",
    form=Wording(summary="[Notes on {count} messages that stood here]\n{summary}", way_back=False),
    manual_form=Wording(
        summary="[Notes on the whole conversation so far]\n{summary}",
        acknowledgement="Understood, I know what was said so far.",
        way_back=False,
    ),
    stages=Stages(trim=Trim(chars=2_000, keep_messages=2, marker=SLIDING_WINDOW_MARKER)),
)
RESERVE = Policy(
    name="reserve",
    about="after a turn that leaves less than 16,384 tokens; keeps the last 20,000, archives tool results",
    model_compacts="ignore",
    limit=TokenLimit(reserve=16_384, unknown=8_000, messages=50),
    at_turn_end=True,
    recent_tokens=20_000,
    recent_messages=5,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    fallback="none",
    form=Wording(summary="[Notes on what was said before]\n{summary}", way_back=False),
    stages=Stages(normalise=NormaliseLimits(), archive=Archive(cutoff=10, strategy="llm")),
)
BACKGROUND = Policy(
    name="background",
    about="compacts in the background at 80%, blocks at 95%; keeps your prompts and what came after",
    model_compacts="ignore",
    recent_share=0.0,
    facts_share=0.0,
    fallback="none",
    form=Wording(way_back=False),
)
PROGRESSIVE = Policy(
    name="progressive",
    about="large results to files, pointers at 85%, a summary at 95%; keeps up to 20%",
    model_compacts="ignore",
    background_threshold=0.95,
    blocking_threshold=0.95,
    recent_share=0.20,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    form=Wording(
        summary=(
            "[BEGINNING OF THE NOTES]\nThis stands for what was said before. All of it is kept in "
            f"conversation_history/, where {GREP.name} and {READ_FILE.name} find it."
            "\n\n{summary}\n\n[END OF THE NOTES]"
        ),
        way_back=False,
    ),
    stages=Stages(offload=Offload(tokens=20_000, preview_lines=10), pointers=Pointers(threshold=0.85)),
)
PRESETS: dict[str, Policy] = {
    policy.name: policy for policy in (PLIMSOLL, SLIDING_WINDOW, RESERVE, BACKGROUND, PROGRESSIVE, OFF)
}


@cache
def policy_keys() -> Mapping[str, Key]:
    """Return every key of a user's own policy by its name, ``base`` first."""
    keys: dict[str, Key] = {"base": Key("base", words=tuple(PRESETS))}
    for key in _keys_in(Policy):
        keys.setdefault(key.name, key)
    return keys


def derive(name: str, changes: Mapping[str, object]) -> Policy:
    """Make a user's own policy from a preset.

    Args:
        name: Its name.
        changes: ``base`` names the preset; each other key replaces one size. The keys are flat and have been
            checked; a size of a stage turns the stage on unless the stage's own key is false.

    Raises:
        KeyError: if there is no such preset.
        ValueError: if the sizes of a stage do not go together.
    """
    base = PRESETS[str(changes["base"])]
    return replace(
        base,
        name=name,
        about=f"your own, made from {base.name}",
        limit=_limit(base.limit, changes),
        stages=_stages(base.stages, changes),
        **_changed(Policy, changes),
    )


def _changed(cls: type, changes: Mapping[str, object]) -> dict[str, Any]:
    """Return the changes of one dataclass, by field."""
    own = [key for key in _keys_in(cls) if key.owner is cls]
    return {key.field: changes[key.name] for key in own if key.name in changes}


def _limit(
    base: MessageLimit | TokenLimit | None, changes: Mapping[str, object]
) -> MessageLimit | TokenLimit | None:
    """Return the limit: tokens replace messages, and both replace shares."""
    messages, tokens = _changed(MessageLimit, changes), _changed(TokenLimit, changes)
    if isinstance(base, TokenLimit):
        return replace(base, **tokens)
    if tokens.keys() - messages.keys():
        return TokenLimit(**tokens)
    return MessageLimit(**messages) if messages else base


def _stages(base: Stages, changes: Mapping[str, object]) -> Stages:
    stages: dict[str, Any] = {}
    for name, hint in get_type_hints(Stages).items():
        present, built_in = getattr(base, name), get_args(hint)[0]
        sizes = _changed(built_in, changes)
        if changes.get(name, present is not None or bool(sizes)):
            stages[name] = replace(present or built_in(), **sizes)
    return Stages(**stages)
