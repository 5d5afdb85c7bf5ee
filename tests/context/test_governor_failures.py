"""Compactions that fail, hang or are stopped, in real runs: nothing changes, the next turn works."""

import asyncio

import pytest
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall

from tests.context.governor_kit import (
    Provider,
    rig,
    run,
    sized,
)
from tests.context.validity import as_bytes
from tui_app.context.compaction.compactor import State
from tui_app.context.compaction.guards import NO_PROGRESS
from tui_app.context.policy import Policy
from tui_app.context.summaries.writer import ExtractiveSummariser
from tui_app.events import CompactionComplete, Notice

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


async def test_the_breaker_stops_after_two_compactions_without_progress() -> None:
    made = rig(Provider(8_000), Policy(minimum_gain=0.99))
    for _ in range(3):
        await run(made, sized(made.provider, 7_500))
        await made.compactor.settled()
    assert made.heard.outcomes == ["success", "success"]
    assert [notice.text for notice in made.heard.of(Notice)] == [NO_PROGRESS]


async def test_a_failed_attempt_is_not_repeated_until_the_view_has_grown() -> None:
    made = rig(Provider(8_000))
    made.provider.summary_failures = [RuntimeError("down")]
    for _ in range(2):
        await run(made, sized(made.provider, 6_500))
        await made.compactor.settled()
        made.compactor.apply_ready()
    assert made.heard.outcomes == ["failed"]
    await run(made, sized(made.provider, 6_900))
    await made.compactor.settled()
    made.compactor.apply_ready()
    assert made.heard.outcomes == ["failed", "success"]


BAD_ANSWERS = {
    "nothing": [""],
    "white space": ["  \n\t "],
    "reasoning only": [{0: DeltaThinkingPart(content="I think so.")}],
    "a tool call": [{0: DeltaToolCall(name="read_file", json_args="{}", tool_call_id="x")}],
    "more than it replaces": ["word " * 60_000],
}


@pytest.mark.parametrize("what", BAD_ANSWERS)
async def test_a_useless_summary_leaves_every_byte_as_it_was(what: str) -> None:
    made = rig(Provider(8_000))
    made.provider.deltas = lambda _number: BAD_ANSWERS[what]
    history = sized(made.provider, 7_500)
    after = await run(made, history)
    assert made.heard.outcomes == ["failed"]
    assert made.heard.of(CompactionComplete)[0].reason
    assert as_bytes(after[: len(history)]) == as_bytes(history)
    assert as_bytes(made.provider.sent[0][:-1]) == as_bytes(history)
    await run(made, after, "And now?")
    assert len(made.provider.sent) == 2


async def test_a_summary_that_raises_leaves_every_byte_as_it_was() -> None:
    made = rig(Provider(8_000))
    made.provider.summary_failures = [RuntimeError("the wire is cut")]
    history = sized(made.provider, 7_500)
    after = await run(made, history)
    assert made.heard.of(CompactionComplete)[0].reason == "the wire is cut"
    assert as_bytes(after[: len(history)]) == as_bytes(history)


async def test_a_summary_that_takes_too_long_leaves_every_byte_as_it_was() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    made.compactor.timeout_s = 0.0
    history = sized(made.provider, 7_500)
    after = await run(made, history)
    assert made.heard.of(CompactionComplete)[0].reason == "the model did not finish within 0 s"
    assert as_bytes(after[: len(history)]) == as_bytes(history)


async def test_an_automatic_compaction_falls_back_to_extraction() -> None:
    made = rig(Provider(8_000))
    made.compactor.host.fallback = ExtractiveSummariser(lambda text: len(text) // 4 + 1)
    made.provider.summary_failures = [RuntimeError("down")]
    await run(made, sized(made.provider, 7_500))
    [complete] = made.heard.of(CompactionComplete)
    assert (complete.outcome, complete.performed_by) == ("success", "heuristic")


async def test_cancelling_a_hanging_summary_is_immediate_and_a_late_result_is_ignored() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    history = await run(made, sized(made.provider, 6_500))
    await made.provider.asked.wait()
    complete = made.compactor.cancel()
    assert complete is not None
    assert complete.outcome == "cancelled"
    assert made.compactor.state is State.IDLE
    made.provider.gate.set()
    await asyncio.sleep(0)
    assert made.compactor.apply_ready() is None
    again = await run(made, history, "Still there?")
    assert made.heard.outcomes == ["cancelled"]
    assert as_bytes(again[: len(history)]) == as_bytes(history)
