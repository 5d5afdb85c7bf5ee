"""How full the context window is, and with what: the one number behind gauge, triggers and reports."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from operator import add, attrgetter
from typing import NamedTuple, Self

from tui_app.records import frozen, picked


class Kinds(NamedTuple):
    """Counted tokens, by what their providers make of them."""

    tokens: int = 0
    results: int = 0
    """Those of them that are of tool results."""
    calls: int = 0
    """Those of calls."""
    attached: int = 0
    """Those of pictures and the like, which no tokenizer counts."""
    thoughts: int = 0
    """Those of thoughts."""
    around: int = 0
    """What is not counted and goes out with them as text: ids, and what stands around thoughts."""

    def plus(self, other: "Kinds", times: int = 1) -> "Kinds":
        """These and others, or less others."""
        return Kinds._make([own + times * more for own, more in zip(self, other, strict=True)])

    @property
    def text(self) -> int:
        """What a request grows with as it does with text: all but calls and thoughts."""
        return self.tokens - self.calls - self.thoughts + self.around

    def scaled(self, factor: float) -> float:
        """All of them by a factor learnt of text, which is none of pictures."""
        return (self.tokens - self.attached) * factor + self.attached


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Tokens by category. Categories follow the JSON names of ``session.usage_info``."""

    system: int = 0
    """System prompts and instructions."""
    tools: int = 0
    """Tool definitions, schemas included."""
    memory: int = 0
    """Context board and skills."""
    summary: int = 0
    """Summaries that stand for compacted history."""
    user: int = 0
    assistant: int = 0
    thinking: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    attachments: int = 0
    """Images, audio and documents."""
    pictured: int = field(default=0, compare=False)
    """Those of the attachments that are no text: no category, but a share of one."""
    around: int = field(default=0, compare=False)
    """What is not counted: no category, nor part of one. See :func:`around`."""

    @property
    def total(self) -> int:
        """Sum over all categories, in tokens."""
        # Written out: this is asked for every message of every request.
        written = self.summary + self.user + self.assistant + self.thinking + self.tool_calls
        return self.system + self.tools + self.memory + written + self.tool_results + self.attachments

    def __add__(self, other: Self) -> Self:
        return type(self)(**dict(zip(_FIELDS, map(add, _values(self), _values(other)), strict=True)))

    def scaled(self, factor: float, attached: float = 1.0) -> Self:
        """Multiply what is text by a factor learnt for a model's own tokenizer, which is none of pictures.

        Args:
            factor: That of the text.
            attached: That of pictures and the like.
        """
        if factor == attached == 1.0:
            return self
        scaled = {name: round(getattr(self, name) * factor) for name in CATEGORIES}
        if self.pictured:
            scaled["pictured"] = round(self.pictured * attached)
            scaled["attachments"] = round((self.attachments - self.pictured) * factor) + scaled["pictured"]
        return replace(self, **scaled)

    @property
    def kinds(self) -> Kinds:
        """The tokens by what their providers make of them."""
        return Kinds(
            self.total, self.tool_results, self.tool_calls, self.pictured, self.thinking, self.around
        )

    def nonzero(self) -> dict[str, int]:
        """The categories that are not empty, as stored in the log."""
        return {name: value for name in CATEGORIES if (value := getattr(self, name))}


_FIELDS = tuple(f.name for f in fields(Breakdown))
_values = attrgetter(*_FIELDS)
CATEGORIES: tuple[str, ...] = tuple(name for name in _FIELDS if name not in ("pictured", "around"))


AROUND_THOUGHTS = 9
"""Tokens of what goes out around the thoughts of a message."""


def around(thinking: int, ids: Iterable[str]) -> int:
    """Tokens of what goes out around a message and is not counted, as most providers count none of it.

    Args:
        thinking: Counted tokens of its thoughts.
        ids: Those of the calls that it makes or answers; three characters of one are two tokens.
    """
    return AROUND_THOUGHTS * (thinking > 0) + sum(map(len, ids)) * 2 // 3


class Growth(NamedTuple):
    """By how many tokens, as its model counts them, a request grows with each token that is counted."""

    text: float
    results: float
    """What those of tool results add to that; they are written otherwise than what people say."""
    calls: float
    """Of calls: what goes out around them, such as ids and signatures, is not counted."""
    thoughts: float = 1.0
    """Of thoughts, which not every provider reads again."""

    def of(self, added: Kinds) -> float:
        """By how much a request grows with messages, or shrinks without them."""
        text = self.text * (added.text - added.attached)
        more = self.results * added.results + self.calls * added.calls + self.thoughts * added.thoughts
        return text + more + added.attached


def sum_breakdowns(breakdowns: Iterable[Breakdown]) -> Breakdown:
    """Add up many counts at once; much faster than adding them one by one."""
    columns = zip(*map(_values, breakdowns), strict=True)
    return Breakdown(**dict(zip(_FIELDS, map(sum, columns), strict=False)))


@frozen(kw_only=True)
class ContextWindow:
    """The size of a model's context window and where that number comes from."""

    limit: int
    """Tokens the model accepts in one request, answer included."""
    source: str
    """``setting``, ``learnt``, ``server``, ``model`` or ``default``."""
    reserve: int = 0
    """Tokens kept free for the answer."""
    announced: int = 0
    """Limit by whoever knows the model, where a refusal has made ``limit`` smaller for a while; else 0."""

    @property
    def stated(self) -> int:
        """Tokens the model is known to accept: what the user sees."""
        return self.announced or self.limit

    @property
    def effective(self) -> int:
        """Tokens a request may use: limit minus reserve."""
        return max(1, self.limit - self.reserve)


def percent_text(used: int, limit: int, marks: Iterable[float] = ()) -> str:
    """Share of a limit in whole percent, rounded half up but never to a threshold that is not reached.

    ``<1%`` instead of a false zero, ``?%`` where the limit is not known.

    Args:
        used: In tokens.
        limit: In tokens, and itself a threshold; 0 where it is not known.
        marks: Further thresholds, as shares of the limit; 0 is none.
    """
    if limit <= 0:
        return "?%"
    share = _whole_percent(used, limit, marks)
    return "0%" if used <= 0 else f"{share}%" if share else "<1%"


def _whole_percent(used: int, limit: int, marks: Iterable[float]) -> int:
    share = (used * 200 + limit) // (2 * limit)
    ahead = any(used < int(limit * mark) and share >= round(mark * 100) for mark in (*marks, 1.0) if mark > 0)
    return used * 100 // limit if ahead else share


@frozen
class Overhead:
    """What the size of a request is worked out from, besides its messages."""

    window: ContextWindow
    fixed: Breakdown = field(default_factory=Breakdown)
    """What each request carries, instructions and tools, as counted without any factor."""
    factor: float = 1.0
    """Real tokens of the model per counted token."""
    growth: Growth | None = None
    """By how many of them a request grows with what is added; None while that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsage:
    """What the next request would hold: the state of the gauge.

    ``total`` is the provider's own figure plus the count of what came after it when ``exact``;
    ``unmeasured`` is the part of it that no category explains (it may be 0).
    """

    parts: Breakdown
    window: ContextWindow
    messages: int
    exact: bool = False
    unmeasured: int = 0
    is_initial: bool = False
    """Whether no model has answered anything of it yet."""
    scale: float = 1.0
    """Tokens as the model counts them for each counted one: sizes of single messages are shown on it."""

    @property
    def total(self) -> int:
        """Tokens of the next request."""
        return self.parts.total + self.unmeasured

    @property
    def breakdown(self) -> dict[str, int]:
        """The tokens by category that are not empty, ``unmeasured`` included: they add up to the total."""
        return {**self.parts.nonzero(), **({"unmeasured": self.unmeasured} if self.unmeasured else {})}

    @property
    def utilization(self) -> float:
        """Share of the whole window in use, as it is known; above 1.0 when the view is too large."""
        return self.total / max(1, self.window.stated)

    def to_json(self) -> dict[str, int | float | bool | str]:
        """The JSON names that scripts rely on."""
        return {
            **picked(self.parts, " ".join(CATEGORIES)),
            **picked(self, "unmeasured total messages exact is_initial"),
            "limit": self.window.stated,
            "limit_source": self.window.source,
            "reserve": self.window.reserve,
            "utilization": round(self.utilization, 4),
        }
