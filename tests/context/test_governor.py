"""The governor in real runs: triggers, sizes, failures, refusals and speed."""

import asyncio
from collections.abc import Callable
from time import process_time

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall

from tests.context.governor_kit import (
    NOTES,
    Heard,
    Provider,
    agent,
    per_minute,
    plain_counter,
    rate_limited,
    rig,
    run,
    sized,
    tokens,
    too_long,
)
from tests.context.histories import as_bytes, complaints, long_conversation, prompts
from tui_app.context.compaction.compactor import State
from tui_app.context.compaction.guards import NO_PROGRESS
from tui_app.context.compaction.plan import plan_compaction
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import request_guard
from tui_app.context.history import ListHistory
from tui_app.context.policy import OFF, PLIMSOLL, Policy
from tui_app.context.requests.builder import build
from tui_app.context.requests.pipeline import SILENT_TRUNCATION
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.context.windows.windows import resolve_window
from tui_app.events import (
    CompactionAwaited,
    CompactionComplete,
    CompactionStart,
    Notice,
    Payload,
    Truncation,
    UsageInfo,
)
from tui_app.usage import Breakdown, Overhead

# When the governor compacts and when it waits, in real runs of pydantic-ai agents.


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_below_the_threshold_nothing_happens() -> None:
    made = rig(Provider(4_000))
    history = sized(made.provider, 3_199)
    after = await run(made, history)
    assert as_bytes(made.provider.sent[0][:-1]) == as_bytes(history)
    assert as_bytes(after[: len(history)]) == as_bytes(history)
    assert [type(event) for event in made.heard.events] == [UsageInfo]
    assert made.compactor.state is State.IDLE


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_only_what_no_model_has_answered_is_initial() -> None:
    made = rig(Provider(2_000))
    history = await run(made, [], "Begin.")
    while not made.heard.of(CompactionComplete):
        history = await run(made, history, "Go on. " + "word " * 300)
        await asyncio.sleep(0)
    assert [event.usage["is_initial"] for event in made.heard.of(UsageInfo)][:2] == [True, False]
    assert sum(event.usage["is_initial"] for event in made.heard.of(UsageInfo)) == 1
    start, complete = made.heard.of(CompactionStart)[0], made.heard.of(CompactionComplete)[0]
    assert sum(start.breakdown.values()) == start.tokens_before
    assert complete.breakdown == start.breakdown
    assert {"user", "assistant"} <= start.breakdown.keys()


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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
    awaited = CompactionAwaited(job=job, trigger="blocking", began_as="background", model="scripted")
    assert made.heard.of(CompactionAwaited) == [awaited]
    assert not CompactionAwaited.STORED
    made.provider.gate.set()
    await asked
    assert not made.compactor.awaited
    assert made.heard.outcomes == ["success"]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_two_runs_of_one_conversation_do_not_start_two_jobs() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    history = await run(made, sized(made.provider, 6_500))
    await run(made, history, "More?")
    assert len(made.heard.of(CompactionStart)) == 1
    made.compactor.cancel()


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_instructions_and_tools_count() -> None:
    made = rig(Provider(4_000))
    history = sized(made.provider, 3_100)
    talkative = Agent(made.provider, instructions="be brief " * 50, capabilities=[made.governor])
    await talkative.run("Go on.", message_history=history)
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["background"]
    await made.compactor.settled()


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_nothing_is_heard_of_a_governor_without_listener() -> None:
    made = rig(Provider(8_000))
    assert isinstance(made.heard, Heard)
    made.history.listener = lambda _payload: None
    await run(made, sized(made.provider, 7_500))
    assert made.heard.events == []
    assert NOTES.splitlines()[-1] in str(made.history.items()[0].message.parts[0].content)


# Estimates, reports and extreme sizes, in real runs of pydantic-ai agents.


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_usage_from_before_a_compaction_is_not_believed() -> None:
    made = rig(Provider(8_000))
    history = await run(made, sized(made.provider, 5_000))
    made.history.sync(history)
    made.compactor.start("manual")
    complete = await made.compactor.finish()
    assert complete is not None
    assert complete.outcome == "success"
    view = [item.message for item in made.history.items()]
    assert any(isinstance(message, ModelResponse) and message.usage.input_tokens > 4_900 for message in view)
    assert not made.history.usage().exact
    assert made.history.usage().total == made.provider.real(view) < 2_500


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_truncated_request_is_recorded_and_its_report_ignored() -> None:
    made = rig(Provider(4_000), OFF)
    history = long_conversation(20, 800)
    after = await run(made, history)
    [truncation] = made.heard.of(Truncation)
    assert truncation.tokens_after <= 3_750 < truncation.tokens_before
    assert truncation.messages_removed > 0
    assert as_bytes(after[: len(history)]) == as_bytes(history)
    made.history.sync(after)
    assert made.history.usage().total == made.provider.real(after)
    assert not made.history.usage().exact


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_silent_truncation_teaches_no_factor_and_is_not_believed() -> None:
    made = rig(Provider(100_000))
    made.provider.reported = 1_500
    after = await run(made, sized(made.provider, 6_000))
    assert made.limits.factor(made.provider) == 1.0
    assert [notice.text for notice in made.heard.of(Notice)] == [SILENT_TRUNCATION]
    made.history.sync(after)
    assert made.history.usage().total == made.provider.real(after)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_window_set_too_large_is_corrected_aloud_and_once() -> None:
    made = rig(Provider(4_000))
    made.limits.setting = 64_000
    history: list[ModelMessage] = sized(made.provider, 6_000)
    for _ in range(2):
        history = await run(made, history)
    [said] = [notice.text for notice in made.heard.of(Notice) if "64,000" in notice.text]
    assert "4,000" in said


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_server_that_reports_only_what_was_not_cached_drops_nothing() -> None:
    made = rig(Provider(100_000))
    history: list[ModelMessage] = sized(made.provider, 6_000)
    for _ in range(4):
        before = made.provider.real(history)
        made.provider.reported = 60
        history = await run(made, history)
        assert made.provider.real(history) > before
    assert made.heard.of(Notice) == []
    assert made.limits.factor(made.provider) == 1.0
    made.history.sync(history)
    assert made.history.usage().total == made.provider.real(history)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_factor_that_was_wrong_is_mended_without_an_alarm() -> None:
    made = rig(Provider(100_000))
    made.limits.learnt.observe(made.limits.model_key(made.provider), 1_000, 2_600)
    history: list[ModelMessage] = sized(made.provider, 6_000)
    for _ in range(2):
        history = await run(made, history)
    assert made.heard.of(Notice) == []
    assert made.limits.factor(made.provider) == pytest.approx(1.0, abs=0.05)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_only_a_conversation_teaches_by_what_requests_grow() -> None:
    """Sizes of unrelated requests vary in both directions, so they teach nothing about growth."""
    made = rig(Provider(window=50_000, factor=1.2))
    alone = request_guard(TextCounter("o200k_base"), made.limits)
    sender: Agent[None, str] = Agent(made.provider, capabilities=[alone])
    for number in range(8):
        await sender.run(f"{number} " * (300 + 40 * number))
    key = made.limits.model_key(made.provider)
    assert made.limits.learnt.growth(key) is None
    assert made.limits.factor(made.provider) > 1.1
    history: list[ModelMessage] = []
    for number in range(8):
        history = await run(made, history, f"{number} " * 300)
    growth = made.limits.learnt.growth(key)
    assert growth is not None
    assert growth.text == pytest.approx(1.2, rel=0.02)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_factor_is_learnt_from_the_count_without_factor() -> None:
    made = rig(Provider(100_000, factor=1.5))
    history: list[ModelMessage] = sized(rig(Provider()).provider, 3_000)
    for _ in range(3):
        history = await run(made, history)
        assert made.limits.factor(made.provider) == pytest.approx(1.5, abs=0.01)
    assert made.history.usage().total == pytest.approx(made.provider.real(history), rel=0.02)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_hidden_overhead_neither_crashes_nor_compacts_in_circles() -> None:
    """The provider counts thousands of tokens outside of messages, which no compaction can remove."""
    made = rig(Provider(8_000, real_window=20_000))
    made.provider.reported = 7_900
    history: list[ModelMessage] = list(long_conversation(3, 200))
    for turn in range(8):
        history = await run(made, history, f"Question {turn}?")
        await made.compactor.settled()
    assert len(made.heard.of(CompactionStart)) <= 4
    assert len(made.provider.sent) == 8


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("window", [512, 1_024, 2_048])
async def test_tiny_windows(window: int) -> None:
    made = rig(Provider(window))
    made.compactor.host.fallback = ExtractiveSummariser(lambda text: len(text) // 4 + 1)
    history: list[ModelMessage] = []
    for turn in range(25):
        history = await run(made, history, f"Question {turn}: " + "word " * 20)
        await made.compactor.settled()
    assert len(made.provider.sent) == 25
    assert all(made.provider.real(sent) <= window for sent in made.provider.sent)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_one_giant_result_in_the_running_turn_is_cut_for_the_request() -> None:
    made = rig(Provider(2_000))
    made.provider.reply = lambda number: (
        ModelResponse([ToolCallPart("read", {}, "big")]) if number == 1 else ModelResponse([TextPart("done")])
    )
    reader = agent(made)
    reader.tool_plain(lambda: "x " * 50_000, name="read")
    result = await reader.run("Read it.")
    assert result.output == "done"
    sent = made.provider.sent[-1]
    assert made.provider.real(sent) <= 2_000
    assert "cut to fit this request" in str(sent[-1].parts[0].content)
    kept = result.all_messages()[2].parts[0]
    assert isinstance(kept, ToolReturnPart)
    assert 50_000 < len(str(kept.content)) < 52_000, "cut on arrival, as every long result"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_prompt_that_cannot_fit_is_refused_before_it_is_sent() -> None:
    made = rig(Provider(2_000))
    with pytest.raises(ContextTooLarge) as error:
        await run(made, [], "word " * 3_000)
    assert made.provider.sent == []
    assert error.value.requested > error.value.limit == 2_000


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_images_in_results_are_left_out_when_nothing_else_helps() -> None:
    made = rig(Provider(2_000))
    picture = BinaryContent(b"\x89PNG" + b"x" * 500, media_type="image/png")
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Look.")]),
        ModelResponse(parts=[ToolCallPart("shot", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("shot", ["two", picture, picture], "a")]),
    ]
    result = await agent(made).run(None, message_history=history)
    assert result.output == "answer 1"
    assert "files left out of this request: 2" in str(made.provider.sent[0][-1].parts[0].content)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_floor_above_the_limit_says_so_and_still_sends_what_fits() -> None:
    made = rig(Provider(2_000))
    history: list[ModelMessage] = [
        *long_conversation(1, 100),
        ModelRequest(parts=[UserPromptPart("Read it.")]),
        ModelResponse(parts=[ToolCallPart("read", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("read", "x " * 9_000, "a")]),
    ]
    result = await agent(made).run(None, message_history=history)
    assert result.output == "answer 1"
    [notice] = made.heard.of(Notice)
    assert notice.text.startswith("Compaction cannot help")


# Compactions that fail, hang or are stopped, in real runs: nothing changes, and the next turn works.


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_breaker_stops_after_two_compactions_without_progress() -> None:
    made = rig(Provider(8_000), Policy(minimum_gain=0.99))
    for _ in range(3):
        await run(made, sized(made.provider, 7_500))
        await made.compactor.settled()
    assert made.heard.outcomes == ["success", "success"]
    assert [notice.text for notice in made.heard.of(Notice)] == [NO_PROGRESS]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_summary_that_raises_leaves_every_byte_as_it_was() -> None:
    made = rig(Provider(8_000))
    made.provider.summary_failures = [RuntimeError("the wire is cut")]
    history = sized(made.provider, 7_500)
    after = await run(made, history)
    assert made.heard.of(CompactionComplete)[0].reason == "the wire is cut"
    assert as_bytes(after[: len(history)]) == as_bytes(history)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_summary_that_takes_too_long_leaves_every_byte_as_it_was() -> None:
    made = rig(Provider(8_000))
    made.provider.gate = asyncio.Event()
    made.compactor.timeout_s = 0.0
    history = sized(made.provider, 7_500)
    after = await run(made, history)
    assert made.heard.of(CompactionComplete)[0].reason == "the model did not finish within 0 s"
    assert as_bytes(after[: len(history)]) == as_bytes(history)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_an_automatic_compaction_falls_back_to_extraction() -> None:
    made = rig(Provider(8_000))
    made.compactor.host.fallback = ExtractiveSummariser(lambda text: len(text) // 4 + 1)
    made.provider.summary_failures = [RuntimeError("down")]
    await run(made, sized(made.provider, 7_500))
    [complete] = made.heard.of(CompactionComplete)
    assert (complete.outcome, complete.performed_by) == ("success", "heuristic")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


# Requests refused as too long, in real runs.


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_an_overflow_is_recovered_once_with_a_compaction() -> None:
    made = rig(Provider(100_000, real_window=4_000))
    after = await run(made, long_conversation(30, 800))
    assert made.heard.outcomes == ["success"]
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["overflow"]
    assert len(made.provider.sent) == 1
    assert made.limits.window(made.provider).limit == 4_000
    assert prompts(after)[-1] == "Go on."


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_an_overflow_that_stays_is_a_stated_error() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [too_long(4_000, 5_000), too_long(4_000, 4_500)]
    with pytest.raises(ContextTooLarge) as error:
        await run(made, sized(made.provider, 2_000))
    assert (error.value.limit, error.value.requested) == (4_000, 4_500)
    assert len(made.provider.sent) == 2
    assert isinstance(error.value.__cause__, ModelHTTPError)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_limit_that_cannot_be_is_not_told() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [too_long(1, 2_000), too_long(1, 1_000)]
    with pytest.raises(ContextTooLarge) as error:
        await run(made, sized(made.provider, 2_000))
    assert (error.value.limit, error.value.requested) == (4_000, 1_000)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_second_try_is_smaller_also_when_nothing_could_be_compacted() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [too_long(2_000, 4_000)]
    made.provider.summary_failures = [RuntimeError("down")]
    await run(made, sized(made.provider, 2_000))
    first, second = made.provider.sent
    assert made.heard.outcomes == ["failed"]
    assert made.provider.real(second) <= made.provider.real(first) // 2
    assert len(made.heard.of(Truncation)) == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_an_overflow_without_numbers_makes_the_next_request_smaller() -> None:
    made = rig(Provider(None))
    made.provider.failures = [nameless()]
    history = sized(made.provider, 3_000)
    await run(made, history)
    assert made.provider.real(made.provider.sent[1]) < 2_700
    assert made.limits.window(made.provider).effective == 60_000, "half of what is announced outlasts it"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_retry_that_broke_off_binds_its_model_no_longer_once_another_was_asked() -> None:
    made = rig(Provider(None))
    made.provider.failures = [nameless(), RuntimeError("down")]
    history = sized(made.provider, 3_000)
    with pytest.raises(RuntimeError):
        await run(made, history)
    assert made.limits.window(made.provider).effective < 3_000
    other = Provider(None)
    other._model_name = "another"
    await Agent(other, capabilities=[made.governor]).run("Go on.", message_history=history)
    assert other.real(other.sent[0]) >= 3_000
    assert made.limits.window(made.provider).effective == 60_000


def nameless() -> ModelHTTPError:
    body = {"message": "input is too long for requested model"}
    return ModelHTTPError.for_category(None, status_code=400, model_name="scripted", body=body)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_retry_that_cannot_be_smaller_is_told_with_the_window_of_the_model() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [nameless(), nameless()]
    with pytest.raises(ContextTooLarge) as error:
        await run(made, [], "word " * 2_500)
    assert error.value.limit == 4_000
    assert len(made.provider.sent) == 2
    assert made.limits.window(made.provider).effective >= 1_875, "the next request may be tried again"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_retry_that_cannot_be_smaller_is_sent_for_the_provider_to_decide() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [nameless()]
    after = await run(made, [], "word " * 2_500)
    assert len(made.provider.sent) == 2
    assert prompts(after) == ["word " * 2_500]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_rate_limit_is_not_touched() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [rate_limited()]
    with pytest.raises(ModelHTTPError, match="429"):
        await run(made, sized(made.provider, 2_000))
    assert made.heard.of(CompactionStart) == []
    assert made.limits.window(made.provider).limit == 4_000


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_what_is_larger_than_a_minute_may_have_is_not_waited_for() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [per_minute(1_500)]
    await run(made, sized(made.provider, 2_000))
    assert made.heard.outcomes == ["success"]
    assert made.provider.real(made.provider.sent[-1]) < 1_500
    made.provider.failures = [per_minute(1_500)]
    with pytest.raises(ModelHTTPError, match="429"):
        await run(made, sized(made.provider, 1_000))


# The governor processes a long view in linear time.


def view_of(turns: int, counter: TokenCounter | None = None) -> ListHistory:
    view = ListHistory(counter or plain_counter())
    view.sync([*long_conversation(turns), ModelRequest(parts=[UserPromptPart("Go on.")])])
    view.set_overhead(Overhead(resolve_window(setting=10**9), Breakdown(), 1.1), "m")
    return view


def one_pass(view: ListHistory) -> None:
    view.sync([item.message for item in view.items()])
    build(view, [], PLIMSOLL)


def cut_pass(view: ListHistory) -> None:
    view.set_overhead(Overhead(resolve_window(setting=view.usage().total // 2), Breakdown(), 1.1), "m")
    assert build(view, [], PLIMSOLL).truncation is not None


def plan_pass(view: ListHistory) -> None:
    plan_compaction(view.items(), view.usage(), tokens, PLIMSOLL, trigger="manual")


class Asked(TokenCounter):
    """Records how often it counted a message."""

    times = 0

    def message(self, message: object) -> Breakdown:  # type: ignore[override]
        self.times += 1
        return super().message(message)  # type: ignore[arg-type]


@pytest.mark.parametrize("work", [one_pass, cut_pass])
def test_messages_are_weighed_a_fixed_number_of_times(work: Callable[[ListHistory], None]) -> None:
    asked = []
    for turns in (100, 400):
        counter = Asked(plain_counter()._text)
        view = view_of(turns, counter)
        before = counter.times
        work(view)
        asked.append(counter.times - before)
    assert asked[1] <= asked[0] * 4 + 40


@pytest.mark.benchmark
@pytest.mark.parametrize("work", [one_pass, cut_pass, plan_pass])
def test_eight_times_the_messages_take_no_more_than_sixteen_times_as_long(
    work: Callable[[ListHistory], None],
) -> None:
    short, long = view_of(300), view_of(2_400)
    fastest = [min(seconds(work, view) for _ in range(5)) for view in (short, long)]
    assert fastest[1] < fastest[0] * 16


def seconds(work: Callable[[ListHistory], None], view: ListHistory) -> float:
    started = process_time()
    work(view)
    return process_time() - started
