"""When the governor starts and waits, in real runs of pydantic-ai agents."""

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    CompactionPart,
)

from tests.context.governor_kit import (
    NOTES,
    Heard,
    Provider,
    rig,
    run,
    sized,
)
from tests.context.validity import as_bytes, complaints, prompts
from tui_app.context.compaction.compactor import State
from tui_app.context.policy import Policy
from tui_app.events import CompactionAwaited, CompactionComplete, CompactionStart, Payload, UsageInfo

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


async def test_below_the_threshold_nothing_happens() -> None:
    made = rig(Provider(4_000))
    history = sized(made.provider, 3_199)
    after = await run(made, history)
    assert as_bytes(made.provider.sent[0][:-1]) == as_bytes(history)
    assert as_bytes(after[: len(history)]) == as_bytes(history)
    assert [type(event) for event in made.heard.events] == [UsageInfo]
    assert made.compactor.state is State.IDLE


async def test_at_exactly_80_percent_a_background_compaction_starts_and_the_turn_goes_on() -> None:
    made = rig(Provider(4_000))
    made.provider.gate = asyncio.Event()
    history = sized(made.provider, 3_200)
    after = await run(made, history)
    assert as_bytes(after[: len(history)]) == as_bytes(history)
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["background"]
    assert made.compactor.state is State.RUNNING
    made.provider.gate.set()
    await made.compactor.settled()
    again = await run(made, after, "And then?")
    assert made.heard.outcomes == ["success"]
    assert any(isinstance(part, CompactionPart) for message in again for part in message.parts)
    assert prompts(made.provider.sent[-1])[-1] == "And then?"
    assert complaints(again, ends_with_request=False) == []


async def test_at_95_percent_the_request_waits_for_the_compaction() -> None:
    made = rig(Provider(8_000))
    after = await run(made, sized(made.provider, 7_500))
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["blocking"]
    assert made.heard.of(CompactionAwaited) == []
    assert made.heard.outcomes == ["success"]
    assert made.provider.real(made.provider.sent[0]) < 4_000
    assert after[-1].parts[0].content == "answer 1"
    complete = made.heard.of(CompactionComplete)[0]
    assert complete.tokens_after < complete.tokens_before
    assert complete.input_tokens > 0


async def test_a_full_window_waits_for_the_background_job_under_way() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    history = await run(made, sized(made.provider, 6_600))
    assert made.compactor.trigger == "background"
    asked = asyncio.create_task(run(made, history, "word " * 1_000))
    await made.provider.asked.wait()
    assert len(made.provider.sent) == 1
    made.provider.gate.set()
    await asked
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["background"]
    assert made.heard.outcomes == ["success"]
    assert len(made.provider.sent) == 2


async def test_waiting_for_a_background_job_is_told_before_it_ends() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    history = await run(made, sized(made.provider, 6_600))
    waits = asyncio.Event()

    def listen(payload: Payload) -> None:
        made.heard(payload)
        if isinstance(payload, CompactionAwaited):
            waits.set()

    made.history.listener = listen
    assert not made.compactor.awaited
    asked = asyncio.create_task(run(made, history, "word " * 1_000))
    await waits.wait()
    assert made.compactor.awaited
    assert made.compactor.state is State.RUNNING
    job = made.heard.of(CompactionStart)[0].job
    awaited = CompactionAwaited(job=job, trigger="blocking", model="scripted")
    assert made.heard.of(CompactionAwaited) == [awaited]
    assert not CompactionAwaited.STORED
    made.provider.gate.set()
    await asked
    assert not made.compactor.awaited
    assert made.heard.outcomes == ["success"]


async def test_a_request_that_stops_waiting_leaves_the_background_job_alone() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    history = await run(made, sized(made.provider, 6_600))
    waits = asyncio.Event()
    made.history.listener = lambda payload: waits.set() if isinstance(payload, CompactionAwaited) else None
    asked = asyncio.create_task(run(made, history, "word " * 1_000))
    await waits.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not made.compactor.awaited
    assert made.compactor.state is State.RUNNING
    made.compactor.cancel()


async def test_what_a_person_stopped_is_tried_again_with_the_turn_after_the_next() -> None:
    made = rig(Provider(8_000), Policy(background_threshold=0.5, blocking_threshold=0.5))
    made.provider.gate = asyncio.Event()
    history = sized(made.provider, 5_000)
    asked = asyncio.create_task(run(made, history))
    await made.provider.asked.wait()
    made.compactor.cancel()
    history = await asked
    made.provider.gate.set()
    assert made.heard.outcomes == ["cancelled"]
    history = await run(made, history, "More?")
    assert made.heard.outcomes == ["cancelled"], "this one is sent as it is"
    assert len(made.provider.sent) == 2
    await run(made, history, "And more?")
    assert made.heard.outcomes == ["cancelled", "success"]
    assert made.provider.real(made.provider.sent[-1]) < 4_000


async def test_two_runs_of_one_conversation_do_not_start_two_jobs() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    history = await run(made, sized(made.provider, 6_500))
    await run(made, history, "More?")
    assert len(made.heard.of(CompactionStart)) == 1
    made.compactor.cancel()


async def test_instructions_and_tools_count() -> None:
    made = rig(Provider(4_000))
    history = sized(made.provider, 3_100)
    talkative = Agent(made.provider, instructions="be brief " * 50, capabilities=[made.governor])
    await talkative.run("Go on.", message_history=history)
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["background"]
    await made.compactor.settled()


async def test_nothing_is_heard_of_a_governor_without_listener() -> None:
    made = rig(Provider(8_000))
    assert isinstance(made.heard, Heard)
    made.history.listener = lambda _payload: None
    await run(made, sized(made.provider, 7_500))
    assert made.heard.events == []
    assert NOTES.splitlines()[-1] in str(made.history.items()[0].message.parts[0].content)
