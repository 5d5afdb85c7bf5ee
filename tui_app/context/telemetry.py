"""OpenTelemetry spans from events: kinds, durations and costs, never the text of the conversation.

Only the API of OpenTelemetry is used. Without a tracer provider, which a program has to set up, every call
here does nothing.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import Span, Status, StatusCode, Tracer, get_current_span, set_span_in_context
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

from tui_app.events import (
    CompactionComplete,
    CompactionStart,
    Error,
    Payload,
    Truncation,
    TurnEnd,
    TurnStart,
    UsageInfo,
    ViewRewrite,
)
from tui_app.wires.library import PreparesAttempts

SCOPE = "plimsoll"
"""Name of the instrumentation scope, and the prefix of every attribute of ours."""
CONVERSATION = "gen_ai.conversation.id"
MODEL = "gen_ai.request.model"
TURN = f"{SCOPE}.turn"
COMPACTION = f"{SCOPE}.compaction"
INTERACTION_ATTRIBUTE = f"{SCOPE}.interaction"
"""Set on the span of a model request outside of turns; the value is its purpose."""
Values = Mapping[str, str | int | float | None]
_USAGE = ("total", "limit", "utilization", "messages")
_CUT = ("tokens_before", "tokens_after", "tokens_removed", "messages_before", "messages_after")
_ENDED = (
    "outcome", "trigger", "policy", "performed_by", *_CUT, "messages_removed", "retention",
    "checkpoint_number", "duration_s", "input_tokens", "output_tokens", "cost_usd",
)  # fmt: skip
"""Fields of the event that are figures or fixed words; reasons and summaries may quote the conversation."""


@dataclass(slots=True)
class SpanConversation(AbstractCapability[Any]):
    """Assigns a run without a conversation, such as one for a summary, to the conversation of its spans."""

    conversation: str

    def get_default_conversation_id(self, run_id: str) -> str | None:
        return self.conversation or None


@dataclass(slots=True)
class SpanMarker(PreparesAttempts):
    """Marks the span of a model request outside of turns, if the agent is instrumented."""

    interaction: str

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Mark the open span around each attempt."""
        get_current_span().set_attribute(INTERACTION_ATTRIBUTE, self.interaction)
        return request_context


@dataclass(slots=True)
class Spans:
    """Spans of one conversation, written from its events in order.

    A turn is a span, and so is a compaction; one that starts during a turn is its child. Outside of a turn,
    as in an agent that has only the governor, the parent is whatever span is current.
    """

    tracer: Tracer
    conversation: str = ""
    _turn: Span | None = None
    _failure: str = ""
    """Kind of the newest error of the turn."""
    _jobs: dict[str, Span] = field(default_factory=dict)

    def record(self, payload: Payload, at: float) -> None:
        """Process one event.

        Args:
            payload: The event.
            at: Its time, in seconds since the epoch.
        """
        when = round(at * 1_000_000_000)
        match payload:
            case TurnStart():
                self._turn, self._failure = self._start(TURN, when), ""
            case TurnEnd():
                self._end_turn(payload, when)
            case Error(kind=kind):
                self._failure = kind
            case CompactionStart():
                self._jobs[payload.job] = self._start(COMPACTION, when, payload.model)
            case CompactionComplete():
                self._end_job(payload, when)
            case UsageInfo(usage=usage):
                if self._turn is not None:
                    named = {f"{SCOPE}.context.{name}": usage.get(name) for name in _USAGE}
                    self._turn.set_attributes(_known(named))
            case Truncation():
                self._event(payload, _CUT, when)
            case ViewRewrite():
                self._event(payload, _CUT[:3], when)

    def end_open(self, at: float) -> None:
        """End the open spans, for example when a session is closed in the middle of a turn."""
        for span in (*self._jobs.values(), self._turn):
            if span is not None:
                span.end(round(at * 1_000_000_000))
        self._jobs.clear()
        self._turn = None

    def _start(self, name: str, when: int, model: str = "") -> Span:
        parent = None if self._turn is None else set_span_in_context(self._turn)
        known = {CONVERSATION: self.conversation or None, MODEL: model or None}
        return self.tracer.start_span(name, context=parent, attributes=_known(known), start_time=when)

    def _end_turn(self, end: TurnEnd, when: int) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        turn.set_attribute(f"{TURN}.outcome", end.outcome)
        if end.outcome == "failed":
            _failed(turn, self._failure or "internal")
        turn.end(when)

    def _end_job(self, complete: CompactionComplete, when: int) -> None:
        span = self._jobs.pop(complete.job, None)
        if span is None:
            begun = when - round(complete.duration_s * 1_000_000_000)
            span = self._start(COMPACTION, begun, complete.model)
        span.set_attributes(_known({f"{COMPACTION}.{name}": getattr(complete, name) for name in _ENDED}))
        before = {f"{COMPACTION}.breakdown.{kind}": tokens for kind, tokens in complete.breakdown.items()}
        span.set_attributes(_known({f"{COMPACTION}.request_id": complete.request_id or None, **before}))
        if complete.outcome == "failed":
            _failed(span, "compaction_failed")
        span.end(when)

    def _event(self, payload: Payload, names: tuple[str, ...], when: int) -> None:
        span = self._turn or get_current_span()
        figures = {f"{SCOPE}.{name}": getattr(payload, name) for name in names}
        span.add_event(f"{SCOPE}.{payload.TYPE}", _known(figures), when)


def traced(listener: Callable[[Payload], None], spans: Spans) -> Callable[[Payload], None]:
    """Return a listener that also writes spans, with the current time for each event."""

    def heard(payload: Payload) -> None:
        spans.record(payload, time.time())
        listener(payload)

    return heard


def _failed(span: Span, kind: str) -> None:
    # No description: a provider's error message may quote the request.
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _known(values: Values) -> dict[str, str | int | float]:
    return {name: value for name, value in values.items() if value is not None}
