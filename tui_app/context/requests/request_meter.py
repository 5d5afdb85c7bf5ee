"""Measuring requests: their size, how much of them the provider may have cached, and the reported usage.

Prompt caches of providers match from the first byte on, so a changed tool result makes everything after it
uncached.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from operator import eq
from time import time
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from tui_app.context.counting.prompt_cache import (
    CacheContents,
    CachedAnswer,
    CacheOutlook,
    CacheRates,
    CacheRule,
    cache_outlook,
    cache_rates,
    cache_rule,
)
from tui_app.context.counting.tally import believable, is_silent_truncation, is_uncached_only
from tui_app.context.counting.tokens import TokenCounter, to_json_text, wire_text
from tui_app.context.history import RunningCount, same_objects
from tui_app.context.windows.prefix_break import Sources, SourceWatch, message_break
from tui_app.context.windows.window_limits import Limits
from tui_app.events import PrefixBreak, UsageInfo
from tui_app.providers import ANTHROPIC
from tui_app.records import frozen
from tui_app.usage import Breakdown, ContextUsage, Kinds
from tui_app.wires.answer_end import context_input

_NEVER_SENT = {"timestamp", "metadata"}
_DIGEST_BYTES = 16


@frozen
class Piece:
    """A tool definition, the instructions, or one part of a message."""

    digest: bytes
    tokens: int


def prefix_kept(before: Sequence[Piece], now: Sequence[Piece]) -> float:
    """Return the share of a request's tokens that the next request begins with.

    Args:
        before: Pieces of the earlier request, in order.
        now: Pieces of the later one.

    Returns:
        1.0 only when everything was kept; a changed piece counts as changed from its beginning.
    """
    kept = _common_prefix(before, now)
    if kept == len(before):
        return 1.0
    total = sum(piece.tokens for piece in before)
    # Rounding must not turn almost all into all.
    return min(round(sum(piece.tokens for piece in before[:kept]) / total, 4), 0.9999) if total else 0.0


def _common_prefix(before: Sequence[Piece], now: Sequence[Piece]) -> int:
    """Return the length of the common prefix of both."""
    same = map(eq, (piece.digest for piece in before), (piece.digest for piece in now))
    return next((place for place, equal in enumerate(same) if not equal), min(len(before), len(now)))


@dataclass(slots=True)
class PrefixMeter:
    """Comparison of each request of one conversation with the previous one.

    Messages never change once they are sent: those that are the same objects as before are not examined
    again.
    """

    counter: TokenCounter
    goes_on: bool = False
    """Whether the newest request shares any part with the previous one; otherwise they are of two
    conversations.
    """
    broken: PrefixBreak | None = None
    """The first changed message part after an unchanged prefix."""
    head: Sequence[Piece] = ()
    """Pieces sent before the messages of the newest request."""
    _messages: Sequence[ModelMessage] | None = None
    _pieces: Sequence[Sequence[Piece]] = ()
    """Pieces of each message."""

    def next(
        self, instructions: str, tools: Sequence[ToolDefinition], messages: Sequence[ModelMessage]
    ) -> float | None:
        """Compare a request that is about to be sent with the previous one.

        Args:
            instructions: Sent before the messages.
            tools: Tool definitions, sent before everything else.
            messages: The messages as they are sent, in a list that is not changed afterwards.

        Returns:
            Share of the previous request's tokens that this one begins with; None for the first one.
        """
        earlier, before, front = self._messages, [*self.head, *chain(*self._pieces)], self.head
        same = same_objects(earlier or (), messages)
        known = () if same else {id(part) for part in message_parts(earlier or ())}
        self.goes_on = bool(same) or any(id(part) in known for part in message_parts(messages))
        self._messages, self.head = messages, list(self._head(instructions, tools))
        self._pieces = [*self._pieces[:same], *map(self._of_message, messages[same:])]
        now, self.broken = [*self.head, *chain(*self._pieces)], None
        if earlier is None:
            return None
        place = _common_prefix(before, now)
        if len(front) == len(self.head) <= place < len(before):
            self.broken = message_break(earlier, place - len(front), message_parts(messages), _sent)
        return prefix_kept(before, now)

    def _of_message(self, message: ModelMessage) -> Sequence[Piece]:
        role = "user" if isinstance(message, ModelRequest) else "assistant"
        return [Piece(_digest(_sent(part)), self.counter.part(part, role)) for part in message.parts]

    def _head(self, instructions: str, tools: Sequence[ToolDefinition]) -> Iterator[Piece]:
        for tool in tools:
            yield Piece(_digest(wire_text(tool).encode("utf-8", "surrogatepass")), self.counter.tools([tool]))
        if instructions:
            sent = instructions.encode("utf-8", "surrogatepass")
            yield Piece(_digest(sent), self.counter.instructions(instructions))


def _sent(part: object) -> bytes:
    """Serialize a part for comparison, without the fields that no provider is sent."""
    try:
        return to_json(
            part, exclude=_NEVER_SENT, fallback=repr, inf_nan_mode="constants", bytes_mode="base64"
        )
    except (ValueError, TypeError, RecursionError):
        return to_json_text(part).encode("utf-8", "surrogatepass")


def _digest(sent: bytes) -> bytes:
    return blake2b(sent, digest_size=_DIGEST_BYTES).digest()


@dataclass(slots=True)
class CacheWatch:
    """Observed prompt cache state of one conversation, for histories without a log."""

    now: Callable[[], float] = time
    chosen: bool = False
    """Whether the cache lifetime of the newest request is chosen by this program."""
    _rule: CacheRule | None = None
    _answers: deque[CachedAnswer] = field(default_factory=lambda: deque(maxlen=2))
    _asked: float = 0.0
    _kept: float | None = None
    _held: CacheContents = field(default_factory=CacheContents)
    """The cached prefix left by the last answered request, in counted tokens."""
    _leaves: CacheContents = field(default_factory=CacheContents)
    """The cached prefix that the newest request leaves if it is answered."""
    _model: str = ""
    _version: int = 0
    """Version of the view at the newest answer."""
    _figures: bool = False
    """Whether any answer reported cached tokens."""

    @property
    def hour(self) -> float:
        """Share of the newest request that is cached for an hour, if this program chooses the lifetime."""
        return self._leaves.share

    def asked(self, kept: float | None, total: int, model: str) -> None:
        """Record that a request is about to be sent, and decide how long it is cached.

        Args:
            kept: Share of the previous request that it begins with.
            total: Its tokens.
            model: Name of the model it is sent to.
        """
        self._asked, self._kept = self.now(), kept
        if model != self._model:
            self._model, self._held = model, CacheContents()
        rule = cache_rule(f"{ANTHROPIC}:{model}")
        if rule is not None:
            shared = round((kept or 0.0) * self._held.tokens)
            self._leaves = self._held.next(rule, shared, total, self._asked)

    def answered(self, request: ModelRequestContext, response: ModelResponse, version: int) -> None:
        """Record the usage that an answer reports for its request."""
        usage, size = response.usage, context_input(response)
        if response.state != "complete" or not size:
            return
        self._figures = self._figures or bool(usage.cache_read_tokens or usage.cache_write_tokens)
        self._held = self._leaves
        model = f"{request.model.system}:{request.model.model_name}"
        # Cache settings of providers that cache only on request.
        settings = [
            value
            for name, value in (request.model_settings or {}).items()
            if name.startswith(("cache", "anthropic_cache"))
        ]
        retention = "1h" if "1h" in settings and not self.chosen else "auto" if any(settings) else "off"
        self._rule = cache_rule(model, retention)
        self._version = version
        self._answers.append(
            CachedAnswer(
                model=model,
                asked=self._asked,
                input_tokens=size,
                output_tokens=usage.output_tokens,
                read_tokens=min(size, usage.cache_read_tokens),
                figures=self._figures,
                kept=self._kept,
                hour=self._held.share if self.chosen else 0.0,
            )
        )

    def outlook(self, usage: ContextUsage, version: int) -> CacheOutlook | None:
        """Return what the next request reads from the cache and costs; None before the first answer."""
        if not self._answers:
            return None
        *before, last = self._answers
        if version != self._version:
            last = replace(last, changes=("rewrite",))
        front = usage.parts.system + usage.parts.tools + usage.parts.memory
        return cache_outlook(
            last.model, self._rule, [*before, last], total=usage.total, front=front, now=self.now()
        )

    def rates(self) -> CacheRates | None:
        """Return what rewriting already sent messages costs at this moment; None if unknown."""
        if not self._answers:
            return None
        last, rule = self._answers[-1], self._rule
        return cache_rates(last.model, rule and rule.with_hour_share(last.hour), self.now() - last.asked)


class AnsweredRequest(NamedTuple):
    """An answered request, kept to compare its reported tokens with those of the next one."""

    model: str
    head: Sequence[Piece]
    sent: Kinds
    """Counted tokens of the messages."""
    reported: int
    """Input tokens reported by the provider."""


@dataclass(slots=True)
class RequestMeter:
    """Measuring the requests of one conversation as they are sent, and learning from the reported usage."""

    counter: TokenCounter
    limits: Limits
    cache: CacheWatch
    sources: Sources = lambda text: [("instructions", text)]
    """Splits the instructions into pieces by source."""
    counted: int = field(default=0, init=False)
    """Tokens of the newest request, without calibration factor."""
    plain: bool = field(default=True, init=False)
    """Whether it was text only."""
    _prefix: PrefixMeter = field(init=False)
    _front: SourceWatch = field(init=False)
    _running: RunningCount = field(init=False)
    _messages: Kinds = field(default_factory=Kinds, init=False)
    """Tokens of the messages in the newest request, without calibration factor."""
    _new: int = field(default=0, init=False)
    """Tokens of the newest request that a server cannot have cached."""
    _cache_read: int | None = field(default=None, init=False)
    """Cached input tokens of the newest answer, if reported."""
    _told: AnsweredRequest | None = field(default=None, init=False)
    """The last answered request."""
    _short: bool = field(default=False, init=False)
    """Whether the newest report was unexpectedly low."""

    def __post_init__(self) -> None:
        self._prefix = PrefixMeter(self.counter)
        self._front = SourceWatch(self.counter, self.sources)
        self._running = RunningCount(self.counter)

    def count_as(self, form: Callable[[object], object], model: str) -> None:
        """Count messages in the form the model receives; counts in another form are discarded."""
        if self.counter.count_as(form, model):
            self._running = RunningCount(self.counter)

    def size(self, factor: float) -> int:
        """Return the tokens of the newest request, scaled by a model's calibration factor."""
        return round(Kinds(self.counted, attached=self._messages.attached).scaled(factor))

    def overhead(self, request: ModelRequestContext) -> Breakdown:
        """Return the tokens of instructions and tools, without calibration factor."""
        return self.counter.overhead(*request_head(request))

    def sent(self, request: ModelRequestContext, usage: ContextUsage, *, hour: bool) -> UsageInfo:
        """Measure a request that is about to be sent.

        Args:
            request: With its messages as they are sent, in a list that is not changed afterwards.
            usage: Usage of the view it was built from.
            hour: Whether this program has the provider cache it for an hour.
        """
        messages, model = request.messages, request.model
        head = request_head(request)
        kept = self._prefix.next(*head, messages)
        parts, broken = self._front.next(request, head[1])
        carried, growth = self.overhead(request), self.limits.learnt.growth(self.limits.model_key(model))
        self._messages = self._running.kinds(messages)
        before, self.counted = self.counted, self._messages.tokens + carried.total
        self.cache.asked(kept, self.counted, model.model_name)
        self.cache.chosen = hour
        answers = (at for at, each in enumerate(reversed(messages), 1) if isinstance(each, ModelResponse))
        last = len(messages) - next(answers, len(messages))
        since = sum(self.counter.message(message).total for message in messages[last:])
        changed = 0 if kept is None else self.counted - round(kept * before)
        self._new = max(changed, since)
        self.plain = not any(self.counter.message(message).pictured for message in messages)
        return UsageInfo(
            usage=usage.to_json(),
            prefix_kept=kept,
            cache_read_tokens=self._cache_read,
            factor=self.limits.factor(model),
            carried=carried.nonzero(),
            growth=growth._asdict() if growth is not None else None,
            cache_hour=round(self.cache.hour, 4) if hour else None,
            parts=parts,
            broken=broken or self._prefix.broken,
        )

    def answered(self, request: ModelRequestContext, response: ModelResponse) -> bool:
        """Learn how the model's own tokenizer compares with the count.

        Returns:
            Whether the server seems to have dropped part of the request, because it reports far too few
            tokens.
        """
        self._cache_read = response.usage.cache_read_tokens or None
        reported = believable(self.counted, context_input(response))
        # One report below the plain count is enough; one below a possibly wrong factor has to repeat.
        low = is_silent_truncation(self.size(min(1.0, self.limits.factor(request.model))), reported)
        key = self.limits.model_key(request.model)
        factor = self.limits.learnt.observe(key, self.counted, 0 if low or not self.plain else reported)
        if not is_silent_truncation(self.size(factor), reported):
            self._short = False
            self._learn_growth(key, reported)
            self.limits.observe(request.model, self.counted, reported, plain=False)
            return False
        cached = reported + response.usage.cache_read_tokens
        if is_uncached_only(round(self._new * factor), reported) or cached >= self.counted * min(1.0, factor):
            return False
        again, self._short = self._short, True
        return low or again

    def _learn_growth(self, key: str, reported: int) -> None:
        """Learn from the difference between two answered requests of a model, if both were text only."""
        before, now = self._told, AnsweredRequest(key, self._prefix.head, self._messages, reported)
        self._told = now if self.plain and reported else None
        # Requests with nothing in common, such as those for summaries, say nothing about growth.
        if not self._prefix.goes_on:
            return
        if before is not None and self._told is not None and before[:2] == now[:2]:
            self.limits.learnt.grew(key, now.sent.plus(before.sent, -1), reported - before.reported)


def message_parts(messages: Sequence[ModelMessage]) -> list[object]:
    """Return the parts of messages, which keep their identity when agents join neighbouring requests."""
    return [part for message in messages for part in message.parts]


def request_head(request: ModelRequestContext) -> tuple[str, list[ToolDefinition]]:
    """Return instructions and tools, which are sent before the messages."""
    parameters = request.model_request_parameters
    instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    return instructions, sent_tools(parameters)


def sent_tools(parameters: ModelRequestParameters) -> list[ToolDefinition]:
    """Return the tools sent to the model; of those it has to search for, only the ones found."""
    found = parameters.revealed_tool_names
    shown = (
        replace(tool, defer_loading=False) if tool.name in found else tool
        for tool in parameters.function_tools
        if not tool.defer_loading or tool.name in found
    )
    return [*shown, *parameters.output_tools]
