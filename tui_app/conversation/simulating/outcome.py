"""What came out of a replay: one row for each request, and what they add up to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage

from tui_app.context.counting.usage import ContextWindow
from tui_app.context.history import EVENTS
from tui_app.events import CompactionComplete, Payload, Truncation, ViewRewrite

STAGES = (*EVENTS, "compact", "truncate")
"""Stages of the governor that change what is sent, in their order."""
_BY_TYPE: dict[str, str] = {kind.TYPE: stage for stage, kind in EVENTS.items()}


@dataclass(frozen=True, slots=True)
class Work:
    """What one stage did."""

    actions: int = 0
    """Messages rewritten, compactions applied, or requests cut."""
    tokens_removed: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.actions + other.actions, self.tokens_removed + other.tokens_removed)

    def to_json(self) -> dict[str, int]:
        """The JSON names that scripts rely on."""
        return {"actions": self.actions, "tokens_removed": self.tokens_removed}


def work_of(events: Iterable[Payload]) -> dict[str, Work]:
    """Add up what each stage did; stages that did nothing are left out."""
    done: dict[str, Work] = {}
    for event in events:
        stage, work = _deed(event)
        if work.actions:
            done[stage] = done.get(stage, Work()) + work
    return {stage: done[stage] for stage in STAGES if stage in done}


def _deed(event: Payload) -> tuple[str, Work]:
    match event:
        case ViewRewrite(changes=changes, tokens_removed=removed):
            return _BY_TYPE[event.TYPE], Work(len(changes), removed)
        case CompactionComplete(outcome="success", tokens_removed=removed):
            return "compact", Work(1, removed)
        case Truncation(tokens_removed=removed):
            return "truncate", Work(1, removed)
        case _:
            return "", Work()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a replay; all sizes in tokens."""

    number: int
    """From 1."""
    tokens: int = 0
    """Sent; 0 when nothing could be sent."""
    messages: int = 0
    prefix_tokens: int = 0
    """At the beginning of it, byte for byte those of the request before: what a cache would hold."""
    previous_tokens: int = 0
    """Of the request before; 0 for the first."""
    output_tokens: int = 0
    """Of the answer; 0 when there was none."""
    cost_usd: float | None = None
    """None where no price is known."""
    failed: bool
    """Whether it would not have fitted: whatever is left out, or as it stood where nothing compacts."""
    needed: int
    """What it would have taken whole, or at the smallest where it failed in spite of everything."""
    stages: dict[str, Work]
    """What was done since the request before."""

    @property
    def prefix_kept(self) -> float | None:
        """Share of the request before that this one begins with; None where there was none."""
        return self.prefix_tokens / self.previous_tokens if self.previous_tokens else None

    def to_json(self, window: ContextWindow) -> dict[str, Any]:
        """The JSON names that scripts rely on."""
        kept = self.prefix_kept
        return {
            "request": self.number,
            "tokens": self.tokens,
            "messages": self.messages,
            "utilization": round(self.tokens / window.limit, 4),
            "prefix_tokens": self.prefix_tokens,
            "prefix_kept": None if kept is None else round(kept, 4),
            "output_tokens": self.output_tokens,
            "cost_usd": _dollars(self.cost_usd),
            "failed": self.failed,
            "needed": self.needed,
            "stages": {stage: work.to_json() for stage, work in self.stages.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsKept:
    """What became of the facts of the whole history. Shares go by weight, from 0 to 1."""

    retention: float
    """Share that stands in what the model would be given next."""
    recoverable: float
    """Share that does not, but can be brought back by its handle."""
    counts: dict[str, int]
    """How many facts are ``kept``, ``recoverable`` and ``lost``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one policy made of one conversation in one window."""

    policy: str
    window: ContextWindow
    background_mark: int
    """Tokens at which the policy compacts in the background; 0 where it never does."""
    blocking_mark: int
    """Tokens at which a request waits for it; 0 where none does."""
    requests: tuple[Request, ...]
    work: dict[str, Work]
    """What each stage did in all, what came after the last request included."""
    view: tuple[ModelMessage, ...] = field(repr=False)
    """The agent view at the end."""
    view_tokens: int
    facts: FactsKept

    @property
    def sent(self) -> list[Request]:
        """The requests that went out."""
        return [request for request in self.requests if request.tokens]

    @property
    def peak_tokens(self) -> int:
        """Tokens of the largest request."""
        return max((request.tokens for request in self.sent), default=0)

    @property
    def mean_tokens(self) -> int:
        """Tokens of a request on the average."""
        return round(self.input_tokens / len(self.sent)) if self.sent else 0

    @property
    def input_tokens(self) -> int:
        """Tokens of all requests together."""
        return sum(request.tokens for request in self.sent)

    @property
    def cached_tokens(self) -> int:
        """Those of them that a provider's cache would have held."""
        return sum(request.prefix_tokens for request in self.sent)

    @property
    def cached_share(self) -> float:
        """Share of the input that a provider's cache would have held."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def prefix_kept(self) -> float | None:
        """Share of each request that the next one begins with, over all of them; None below two requests."""
        previous = sum(request.previous_tokens for request in self.sent)
        return self.cached_tokens / previous if previous else None

    @property
    def cost_usd(self) -> float | None:
        """Price of all requests and answers; None where one is not known."""
        costs = [request.cost_usd for request in self.sent]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None

    @property
    def failed(self) -> int:
        """Requests that would have failed."""
        return sum(request.failed for request in self.requests)

    @property
    def compactions(self) -> int:
        """Compactions applied."""
        return self.work.get("compact", Work()).actions

    def to_json(self) -> dict[str, Any]:
        """The JSON names that scripts rely on."""
        kept = self.prefix_kept
        return {
            "policy": self.policy,
            "background_mark": self.background_mark,
            "blocking_mark": self.blocking_mark,
            "requests": len(self.requests),
            "failed": self.failed,
            "peak_tokens": self.peak_tokens,
            "mean_tokens": self.mean_tokens,
            "input_tokens": self.input_tokens,
            "output_tokens": sum(request.output_tokens for request in self.sent),
            "cached_tokens": self.cached_tokens,
            "cached_share": round(self.cached_share, 4),
            "prefix_kept": None if kept is None else round(kept, 4),
            "cost_usd": _dollars(self.cost_usd),
            "compactions": self.compactions,
            "stages": {stage: self.work.get(stage, Work()).to_json() for stage in STAGES},
            "total": self.view_tokens,
            "messages": len(self.view),
            "retention": self.facts.retention,
            "recoverable": self.facts.recoverable,
            "facts": self.facts.counts,
            "details": [request.to_json(self.window) for request in self.requests],
        }


def _dollars(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 6)
