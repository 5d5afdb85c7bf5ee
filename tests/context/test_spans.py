"""Telemetry spans from events: figures and fixed words, never content."""

import subprocess
import sys
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tui_app.context.telemetry import Spans
from tui_app.events import (
    CompactionComplete,
    CompactionStart,
    Error,
    Outcome,
    Payload,
    ToolOffloaded,
    Truncation,
    TurnEnd,
    TurnStart,
    UsageInfo,
)

START = CompactionStart(job="1-1", trigger="background", tokens_before=900, messages_before=12, model="a:b")
SECRET = "the password is heron"
DONE = CompactionComplete(
    job="1-1",
    outcome="success",
    trigger="background",
    policy="reserve",
    model="a:b",
    summary=SECRET,
    title=SECRET,
    focus=SECRET,
    tokens_before=900,
    tokens_after=300,
    tokens_removed=600,
    messages_before=12,
    messages_after=4,
    messages_removed=8,
    retention=0.9,
    checkpoint_number=2,
    request_id="resp-7",
    duration_s=2.5,
    input_tokens=700,
    output_tokens=50,
    cost_usd=0.01,
)
CUT = Truncation(
    tokens_before=9, tokens_after=6, messages_before=3, messages_after=2, tokens_removed=3, messages_removed=1
)


def spans_of(*events: Payload, close: bool = False) -> Sequence[ReadableSpan]:
    """Record events one second apart, from second 100 on, and return the finished spans."""
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    spans = Spans(provider.get_tracer("tests"), "f12f203a")
    for second, event in enumerate(events, 100):
        spans.record(event, float(second))
    if close:
        spans.end_open(200.0)
    return memory.get_finished_spans()


def named(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    [span] = [span for span in spans if span.name == name]
    return span


def test_a_compaction_is_a_span_with_all_its_figures() -> None:
    [span] = spans_of(START, DONE)
    assert (span.name, span.start_time, span.end_time) == (
        "plimsoll.compaction",
        100_000_000_000,
        101_000_000_000,
    )
    assert dict(span.attributes or {}) == {
        "gen_ai.conversation.id": "f12f203a",
        "gen_ai.request.model": "a:b",
        "plimsoll.compaction.outcome": "success",
        "plimsoll.compaction.trigger": "background",
        "plimsoll.compaction.policy": "reserve",
        "plimsoll.compaction.performed_by": "model",
        "plimsoll.compaction.tokens_before": 900,
        "plimsoll.compaction.tokens_after": 300,
        "plimsoll.compaction.tokens_removed": 600,
        "plimsoll.compaction.messages_before": 12,
        "plimsoll.compaction.messages_after": 4,
        "plimsoll.compaction.messages_removed": 8,
        "plimsoll.compaction.retention": 0.9,
        "plimsoll.compaction.checkpoint_number": 2,
        "plimsoll.compaction.request_id": "resp-7",
        "plimsoll.compaction.duration_s": 2.5,
        "plimsoll.compaction.input_tokens": 700,
        "plimsoll.compaction.output_tokens": 50,
        "plimsoll.compaction.cost_usd": 0.01,
    }


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("success", StatusCode.UNSET),
        ("cancelled", StatusCode.UNSET),
        ("discarded", StatusCode.UNSET),
        ("failed", StatusCode.ERROR),
    ],
)
def test_only_a_failure_is_an_error(outcome: Outcome, status: StatusCode) -> None:
    ended = CompactionComplete(job="1-1", outcome=outcome, trigger="manual", reason=SECRET)
    [span] = spans_of(START, ended)
    assert span.status.status_code is status
    assert ((span.attributes or {}).get("error.type") == "compaction_failed") is (outcome == "failed")
    assert SECRET not in span.to_json()


def test_what_happens_in_a_turn_is_inside_its_span() -> None:
    usage = UsageInfo(usage={"total": 70, "limit": 100, "utilization": 0.7, "messages": 4, "parts": SECRET})
    offloaded = ToolOffloaded(tokens_before=50, tokens_after=10, tokens_removed=40)
    events = (TurnStart(text=SECRET), usage, CUT, offloaded, START, DONE, TurnEnd(outcome="done"))
    spans = spans_of(*events)
    turn, compaction = named(spans, "plimsoll.turn"), named(spans, "plimsoll.compaction")
    assert compaction.parent is not None
    assert compaction.parent.span_id == turn.context.span_id
    assert [event.name for event in turn.events] == ["plimsoll.session.truncation", "plimsoll.tool.offloaded"]
    assert (turn.events[0].attributes or {})["plimsoll.tokens_removed"] == 3
    assert turn.events[0].timestamp == 102_000_000_000
    assert (turn.attributes or {})["plimsoll.context.utilization"] == 0.7
    assert (turn.attributes or {})["plimsoll.turn.outcome"] == "done"
    assert SECRET not in "".join(span.to_json() for span in spans)


def test_a_failed_turn_says_the_kind_of_its_error() -> None:
    error = Error(kind="rate_limit", message=SECRET, detail=SECRET)
    [turn] = spans_of(TurnStart(text=""), error, TurnEnd(outcome="failed"))
    assert turn.status.status_code is StatusCode.ERROR
    assert (turn.attributes or {})["error.type"] == "rate_limit"
    assert SECRET not in turn.to_json()


def test_an_end_without_a_start_begins_as_long_before_as_it_took() -> None:
    [span] = spans_of(DONE)
    assert (span.start_time, span.end_time) == (97_500_000_000, 100_000_000_000)


def test_what_is_open_at_the_end_is_ended() -> None:
    spans = spans_of(TurnStart(text=""), START, close=True)
    assert {(span.name, span.end_time) for span in spans} == {
        ("plimsoll.turn", 200_000_000_000),
        ("plimsoll.compaction", 200_000_000_000),
    }


ALONE = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from tests.context.governor_kit import Provider
from tui_app.context import ContextGovernor

memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)

async def main():
    model = Provider(2_000)
    agent = Agent(model, capabilities=[ContextGovernor()])
    agent.instrument_all()
    history = None
    for number in range(12):
        prompt = f"Question {number}? " + "The sea is below and the sky above. " * 20
        history = (await agent.run(prompt, message_history=history)).all_messages()

asyncio.run(main())
spans = memory.get_finished_spans()
parents = {span.context.span_id: span.name for span in spans}
done = [span for span in spans if span.name == "plimsoll.compaction"]
marked = [span for span in spans if span.attributes.get("plimsoll.interaction")]
chats = [span for span in spans if span.name.startswith("chat")]
print(len(done) > 0, {parents[span.parent.span_id].partition(" ")[0] for span in done})
print({span.attributes["plimsoll.interaction"] for span in marked}, {span.name.split()[0] for span in marked})
print(len({span.attributes["gen_ai.conversation.id"] for span in (*done, *marked, *chats)}))
"""


def test_governor_alone_writes_spans_where_the_program_has_a_tracer_provider() -> None:
    # In a separate process, because the global provider can be set only once.
    done = subprocess.run([sys.executable, "-c", ALONE], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "True {'chat'}",
        "{'conversation-compaction'} {'chat'}",
        "1",
    ]
