"""Replay of a conversation through the governor, request by request, without calling a model."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RunUsage

from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.prompt_cache import CacheLife, CacheRates, cache_rates, cache_rule, cached_price
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import EVENTS, ListHistory, RunningCount, ignore
from tui_app.context.policy import Policy
from tui_app.context.requests.pipeline import Pipeline, compact_at_turn_end
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.views.cuts import sections
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item, is_prompt, to_messages
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import ContextTooLarge, Limits
from tui_app.events import CompactionComplete, Payload, Truncation, UsageInfo, ViewRewrite
from tui_app.records import frozen, picked
from tui_app.usage import ContextWindow


@dataclass(slots=True)
class ReplayHistory(ListHistory):
    """The view of a conversation whose messages are appended one at a time.

    Recorded usage is ignored: it measured other requests than those of a replay.
    """

    files: dict[str, str] = field(default_factory=dict)
    """Offloaded texts, by file name."""

    def append(self, message: ModelMessage) -> None:
        parts = sections(message)
        for part in parts:
            item = Item(self._next, part, whole=message if len(parts) > 1 else None)
            self._next += 1
            self._items.append(item)
            self._tally.add(self._message_weight(item))

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Nothing to do: all messages are appended before the next request."""

    def spilled(self) -> Collection[str]:
        """Names of the files with tool results."""
        return self.files.keys()

    def rewrite(self, rewrite: Rewrite) -> None:
        """Keep the files, then change the view."""
        self.files.update((file.name, file.text) for file in rewrite.files)
        ListHistory.rewrite(self, rewrite)


STAGES = (*EVENTS, "compact", "truncate")
"""Stages of the governor that change what is sent, in order."""
_BY_TYPE: dict[str, str] = {kind.TYPE: stage for stage, kind in EVENTS.items()}


@frozen
class Work:
    """The work of one stage."""

    actions: int = 0
    """Messages rewritten, compactions applied, or requests cut."""
    tokens_removed: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.actions + other.actions, self.tokens_removed + other.tokens_removed)

    def to_json(self) -> dict[str, int]:
        return picked(self, "actions tokens_removed")


def work_of(events: Iterable[Payload]) -> dict[str, Work]:
    """Add up the work of each stage; stages that did nothing are left out."""
    done: dict[str, Work] = {}
    for event in events:
        match event:
            case ViewRewrite(changes=changes, tokens_removed=removed):
                stage, work = _BY_TYPE[event.TYPE], Work(len(changes), removed)
            case CompactionComplete(outcome="success", tokens_removed=removed):
                stage, work = "compact", Work(1, removed)
            case Truncation(tokens_removed=removed):
                stage, work = "truncate", Work(1, removed)
            case _:
                continue
        if work.actions:
            done[stage] = done.get(stage, Work()) + work
    return {stage: done[stage] for stage in STAGES if stage in done}


@frozen(kw_only=True)
class Request:
    """One request of a replay; all sizes in tokens."""

    number: int = 0
    """From 1; 0 before it is in the list."""
    tokens: int = 0
    """Tokens sent; 0 if no request could be built."""
    messages: int = 0
    prefix_tokens: int = 0
    """Tokens at the start that are byte for byte those of the previous request, so a cache can reuse them."""
    previous_tokens: int = 0
    """Tokens of the previous request; 0 for the first."""
    read_tokens: int = 0
    """Tokens of that prefix still in the provider's cache when the request was sent."""
    output_tokens: int = 0
    """Tokens of the answer; 0 if there was none."""
    cost_usd: float | None = None
    """None if the price is unknown."""
    failed: bool
    """Whether no request could be built, or it was too large under a policy that never compacts."""
    needed: int
    """Tokens of the whole request, or of the smallest possible one if it failed after all stages."""
    stages: dict[str, Work] = field(default_factory=dict)
    """Work done since the previous request."""

    @property
    def prefix_kept(self) -> float | None:
        """Share of the previous request that this one starts with; None if there was none."""
        return self.prefix_tokens / self.previous_tokens if self.previous_tokens else None

    def to_json(self, window: ContextWindow) -> dict[str, Any]:
        kept = self.prefix_kept
        return {
            "request": self.number,
            **picked(self, "tokens messages prefix_tokens output_tokens failed needed"),
            "utilization": round(self.tokens / window.limit, 4),
            "prefix_kept": None if kept is None else round(kept, 4),
            "cache_read_tokens": self.read_tokens,
            "cost_usd": _dollars(self.cost_usd),
            "stages": {stage: work.to_json() for stage, work in self.stages.items()},
        }


@frozen(kw_only=True)
class FactsKept:
    """What was kept of the facts of the whole history. Shares are by weight, from 0 to 1."""

    retention: float
    """Share in the next request to the model."""
    recoverable: float
    """Share not in it, but recoverable by its handle."""
    counts: dict[str, int]
    """Number of facts that are ``kept``, ``recoverable`` and ``lost``."""


@frozen(kw_only=True)
class Outcome:
    """The result of one policy on one conversation in one window."""

    policy: str
    window: ContextWindow
    background_mark: int
    """Tokens at which the policy compacts in the background; 0 for never."""
    blocking_mark: int
    """Tokens at which a request waits for a compaction; 0 for never."""
    requests: tuple[Request, ...]
    work: dict[str, Work]
    """Total work of each stage, including what followed the last request."""
    view: tuple[ModelMessage, ...] = field(repr=False)
    """The agent view at the end."""
    view_tokens: int
    facts: FactsKept

    @property
    def sent(self) -> list[Request]:
        return [request for request in self.requests if request.tokens]

    @property
    def peak_tokens(self) -> int:
        """Tokens of the largest request."""
        return max((request.tokens for request in self.sent), default=0)

    @property
    def mean_tokens(self) -> int:
        """Average tokens of a request."""
        return round(self.input_tokens / len(self.sent)) if self.sent else 0

    @property
    def input_tokens(self) -> int:
        """Tokens of all requests together."""
        return sum(request.tokens for request in self.sent)

    @property
    def cached_tokens(self) -> int:
        """Tokens of them that a provider's cache could reuse."""
        return sum(request.prefix_tokens for request in self.sent)

    @property
    def cached_share(self) -> float:
        """Share of the input that a provider's cache could reuse."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def prefix_kept(self) -> float | None:
        """Share of each request that the next one starts with, over all requests; None for fewer than two."""
        previous = sum(request.previous_tokens for request in self.sent)
        return self.cached_tokens / previous if previous else None

    @property
    def cost_usd(self) -> float | None:
        """Price of all requests and answers; None if any is unknown."""
        costs = [request.cost_usd for request in self.sent]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None

    @property
    def failed(self) -> int:
        return sum(request.failed for request in self.requests)

    @property
    def compactions(self) -> int:
        return self.work.get("compact", Work()).actions

    def to_json(self) -> dict[str, Any]:
        kept = self.prefix_kept
        return {
            **picked(self, "policy background_mark blocking_mark failed compactions"),
            "requests": len(self.requests),
            **picked(self, "peak_tokens mean_tokens input_tokens cached_tokens"),
            "output_tokens": sum(request.output_tokens for request in self.sent),
            "cached_share": round(self.cached_share, 4),
            "cache_read_tokens": sum(request.read_tokens for request in self.sent),
            "prefix_kept": None if kept is None else round(kept, 4),
            "cost_usd": _dollars(self.cost_usd),
            "stages": {stage: self.work.get(stage, Work()).to_json() for stage in STAGES},
            "total": self.view_tokens,
            "messages": len(self.view),
            **picked(self.facts, "retention recoverable"),
            "facts": self.facts.counts,
            "details": [request.to_json(self.window) for request in self.requests],
        }


def _dollars(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 6)


_THEN = datetime(2000, 1, 1, tzinfo=UTC)
"""Time used in file names, so that the same replay gives the same bytes."""


class Replay:
    """One conversation under one policy in one window. Use it once.

    Args:
        policy: The policy.
        window: In tokens.
        counter: Counts messages.
        model: The model whose prices and prompt cache apply; empty for none.
        retention: Retention of caches that must be requested: ``auto``, ``1h`` or ``off``.
        watch: Called after every request with the number of requests so far.

    Attributes:
        seen: Number of events that belong to the requests so far; later ones belong to the next request.
    """

    def __init__(
        self,
        policy: Policy,
        window: int,
        counter: TokenCounter,
        *,
        model: str = "",
        retention: str = "auto",
        watch: Callable[[int], None] = ignore,
    ) -> None:
        self.policy, self.counter, self._model, self.watch = policy, counter, model, watch
        self._cache = CacheLife(cache_rule(model, retention) if model else None)
        self.events, self.requests, self.seen = list[Payload](), list[Request](), 0
        self._count = RunningCount(counter)
        self._sent, self._asked, self._idle = 0, 0.0, 0.0
        # Tokens of the newest request sent, its time, and the seconds since the one before.
        self.history = ReplayHistory(counter, self.events.append)
        writer = ExtractiveSummariser(counter.text)
        self._compactor = Compactor(self.history, policy, PlainHost((writer,), writer))
        limits = Limits(LearntModels(None), setting=window)
        around = StageHost(now=lambda: _THEN, cache=self._rates)
        self.pipeline = Pipeline(policy, self.history, self._compactor, counter, limits, around)

        def never_asked(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            raise RuntimeError("a replay asks no model")

        nobody = FunctionModel(never_asked, model_name="replay", profile=ModelProfile())
        self._request = ModelRequestContext(
            model=nobody, messages=[], model_settings=None, model_request_parameters=ModelRequestParameters()
        )

    @property
    def known_window(self) -> ContextWindow:
        """The window, including the reserve for the answer."""
        return self.pipeline.limits.window(self._request.model)

    @property
    def work(self) -> dict[str, Work]:
        """Work of each stage so far."""
        return work_of(self.events)

    async def play(self, messages: Iterable[ModelMessage]) -> None:
        """Play the messages: one request before every answer, and the work due at the end of each turn."""
        answered = False
        try:
            for message in messages:
                if isinstance(message, ModelResponse):
                    if not answered:
                        await self.ask(message)
                    answered = True
                else:
                    if answered and is_prompt(message):
                        await self._turn_ends()
                    answered = False
                self.history.append(message)
            if answered:
                await self._turn_ends()
        finally:
            await self._compactor.aclose()

    def outgoing(self) -> Sequence[ModelMessage]:
        """The next request to the model; empty if none can be made small enough."""
        try:
            return self.pipeline.again(self._request).messages
        except ContextTooLarge:
            return ()

    def view(self) -> list[ModelMessage]:
        return to_messages(self.history.items())

    async def ask(self, answer: ModelResponse) -> None:
        """Play the request that this answer replied to, if it can be built."""
        at = self.clock(answer)
        self._idle, self._asked = at - self._asked, at
        run = RunContext(deps=None, model=self._request.model, usage=RunUsage(), messages=[])
        try:
            request = await self.pipeline.first(run, self._request)
        except ContextTooLarge as too_large:
            self._add(Request(failed=True, needed=too_large.requested))
        else:
            self._add(self._measured(request.messages, answer))
        # A summary written in the background is applied by the next request.
        await self._compactor.settled()
        self.watch(len(self.requests))
        # Yield, so that a signal is handled between two requests.
        await asyncio.sleep(0)

    def clock(self, answer: ModelResponse) -> float:
        """The time when the request with this answer is sent."""
        return answer.timestamp.timestamp()

    def _rates(self) -> CacheRates | None:
        """The current cost of changing the start of a request."""
        rule = self._cache.rule
        return cache_rates(self._model, rule and rule.with_hour_share(self._cache.held.share), self._idle)

    async def _turn_ends(self) -> None:
        await self._compactor.finish()
        await compact_at_turn_end(self._compactor)
        self._compactor.breaker.turn_begins()

    def _measured(self, messages: Sequence[ModelMessage], answer: ModelResponse) -> Request:
        previous, self._sent = self._sent, self._count.kinds(messages).tokens
        kept = next(each for each in reversed(self.events) if isinstance(each, UsageInfo)).prefix_kept or 0.0
        tokens, prefix = self._sent, round(kept * previous)
        written, whole = self.counter.message(answer).total, self.history.usage().total
        read = self._cache.read(prefix, tokens, self._asked)
        paid = self._cache.rule and self._cache.rule.writing(self._cache.held.share)
        return Request(
            tokens=tokens,
            messages=len(messages),
            prefix_tokens=prefix,
            previous_tokens=previous,
            read_tokens=read,
            output_tokens=written,
            cost_usd=cached_price(self._model, paid, tokens, read, written) if self._model else None,
            # Under a policy that never compacts, only cutting would keep it from being refused.
            failed=whole > self.known_window.effective and not self.policy.automatic,
            needed=whole,
        )

    def _add(self, request: Request) -> None:
        stages = work_of(self.events[self.seen :])
        self.seen = len(self.events)
        self.requests.append(replace(request, number=len(self.requests) + 1, stages=stages))
