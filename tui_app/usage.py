"""Context usage: how full the window is, and with what; the one number for gauge, triggers and reports."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from operator import add, attrgetter
from typing import NamedTuple, Self

from tui_app.records import frozen, picked


class Kinds(NamedTuple):
    """Counted tokens by how providers weight them."""

    tokens: int = 0
    results: int = 0
    """Tokens of tool results among them."""
    calls: int = 0
    """Tokens of calls."""
    attached: int = 0
    """Tokens of attachments that no tokenizer counts, such as pictures."""
    thoughts: int = 0
    """Tokens of thinking."""
    around: int = 0
    """Tokens sent around them as text that are not counted: ids, and text around thinking."""

    def plus(self, other: "Kinds", times: int = 1) -> "Kinds":
        """Add others, ``times`` times; a negative factor subtracts."""
        return Kinds._make([own + times * more for own, more in zip(self, other, strict=True)])

    @property
    def text(self) -> int:
        """Tokens that add to a request as text does: all but calls and thinking."""
        return self.tokens - self.calls - self.thoughts + self.around

    def scaled(self, factor: float) -> float:
        """Scale by a factor learned from text, which does not apply to pictures."""
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
    """Summaries of compacted history."""
    user: int = 0
    assistant: int = 0
    thinking: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    attachments: int = 0
    """Images, audio and documents."""
    pictured: int = field(default=0, compare=False)
    """The part of the attachments that is no text; not a category."""
    around: int = field(default=0, compare=False)
    """Tokens that are not counted; not a category, nor part of one. See :func:`around`."""

    @property
    def total(self) -> int:
        """Sum over all categories, in tokens."""
        # Written out for speed: computed for every message of every request.
        written = self.summary + self.user + self.assistant + self.thinking + self.tool_calls
        return self.system + self.tools + self.memory + written + self.tool_results + self.attachments

    def __add__(self, other: Self) -> Self:
        return type(self)(**dict(zip(_FIELDS, map(add, _values(self), _values(other)), strict=True)))

    def scaled(self, factor: float, attached: float = 1.0) -> Self:
        """Scale text by a factor learned for a model's tokenizer, which does not apply to pictures.

        Args:
            factor: Factor for text.
            attached: Factor for pictures and other attachments.
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
        """The tokens by how providers weight them."""
        return Kinds(
            self.total, self.tool_results, self.tool_calls, self.pictured, self.thinking, self.around
        )

    def nonzero(self) -> dict[str, int]:
        """Return the non-empty categories, as stored in the log."""
        return {name: value for name in CATEGORIES if (value := getattr(self, name))}


_FIELDS = tuple(f.name for f in fields(Breakdown))
_values = attrgetter(*_FIELDS)
CATEGORIES: tuple[str, ...] = tuple(name for name in _FIELDS if name not in ("pictured", "around"))


AROUND_THOUGHTS = 9
"""Tokens sent around the thinking of a message."""


def around(thinking: int, ids: Iterable[str]) -> int:
    """Return the tokens sent around a message, which most providers do not count.

    Args:
        thinking: Counted tokens of its thinking.
        ids: Ids of the calls that it makes or answers; three characters are about two tokens.
    """
    return AROUND_THOUGHTS * (thinking > 0) + sum(map(len, ids)) * 2 // 3


class Growth(NamedTuple):
    """How many actual tokens of the model a request grows by per counted token."""

    text: float
    results: float
    """Additional growth of tool results, which differ from text written by people."""
    calls: float
    """Growth of calls: ids and signatures sent around them are not counted."""
    thoughts: float = 1.0
    """Growth of thinking, which not every provider reads again."""

    def of(self, added: Kinds) -> float:
        """Return how much a request grows with some messages, or shrinks without them."""
        text = self.text * (added.text - added.attached)
        more = self.results * added.results + self.calls * added.calls + self.thoughts * added.thoughts
        return text + more + added.attached


def sum_breakdowns(breakdowns: Iterable[Breakdown]) -> Breakdown:
    """Sum up many breakdowns; much faster than adding them one by one."""
    columns = zip(*map(_values, breakdowns), strict=True)
    return Breakdown(**dict(zip(_FIELDS, map(sum, columns), strict=False)))


@frozen(kw_only=True)
class ContextWindow:
    """The size of a model's context window, and its source."""

    limit: int
    """Tokens the model accepts in one request, including the answer."""
    source: str
    """``setting``, ``learnt``, ``server``, ``model`` or ``default``."""
    reserve: int = 0
    """Tokens kept free for the answer."""
    announced: int = 0
    """Original limit if a refusal has temporarily reduced ``limit``; else 0."""

    @property
    def stated(self) -> int:
        """Tokens the model is known to accept, as shown to the user."""
        return self.announced or self.limit

    @property
    def effective(self) -> int:
        """Tokens a request may use: limit minus reserve."""
        return max(1, self.limit - self.reserve)


def percent_text(used: int, limit: int, marks: Iterable[float] = ()) -> str:
    """Format a share in whole percent, rounded half up but never to a threshold that is not reached.

    ``<1%`` instead of a false zero, ``?%`` if the limit is unknown.

    Args:
        used: In tokens.
        limit: In tokens, and itself a threshold; 0 if unknown.
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
    """What the size of a request is computed from, besides its messages."""

    window: ContextWindow
    fixed: Breakdown = field(default_factory=Breakdown)
    """What each request carries, instructions and tools, as counted without a factor."""
    factor: float = 1.0
    """Actual tokens of the model per counted token."""
    growth: Growth | None = None
    """How a request grows, in actual tokens, with what is added; None while unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsage:
    """The contents of the next request: the state of the gauge.

    ``total`` is the provider's own figure plus the count of later additions if ``exact``; ``unmeasured`` is
    the part of it that no category explains (it may be 0).
    """

    parts: Breakdown
    window: ContextWindow
    messages: int
    exact: bool = False
    unmeasured: int = 0
    is_initial: bool = False
    """Whether no model has answered in it yet."""
    scale: float = 1.0
    """Actual tokens of the model per counted token, for displaying the size of single messages."""

    @property
    def total(self) -> int:
        """Tokens of the next request."""
        return self.parts.total + self.unmeasured

    @property
    def breakdown(self) -> dict[str, int]:
        """The non-empty categories, including ``unmeasured``; they add up to the total."""
        return {**self.parts.nonzero(), **({"unmeasured": self.unmeasured} if self.unmeasured else {})}

    @property
    def utilization(self) -> float:
        """Used share of the known window; above 1.0 if the view is too large."""
        return self.total / max(1, self.window.stated)

    def to_json(self) -> dict[str, int | float | bool | str]:
        """Return the values by the JSON names that scripts rely on."""
        return {
            **picked(self.parts, " ".join(CATEGORIES)),
            **picked(self, "unmeasured total messages exact is_initial"),
            "limit": self.window.stated,
            "limit_source": self.window.source,
            "reserve": self.window.reserve,
            "utilization": round(self.utilization, 4),
        }
