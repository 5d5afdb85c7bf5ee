"""Estimates, reports and extreme sizes, in real runs of pydantic-ai agents."""

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import Provider, agent, rig, run, sized
from tests.context.histories import long_conversation
from tests.context.validity import as_bytes
from tui_app.context.policy import OFF
from tui_app.context.requests.pipeline import SILENT_TRUNCATION
from tui_app.context.summaries.writer import ExtractiveSummariser
from tui_app.context.window_limits import ContextTooLarge
from tui_app.events import CompactionStart, Notice, Truncation

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


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


async def test_silent_truncation_teaches_no_factor_and_is_not_believed() -> None:
    made = rig(Provider(100_000))
    made.provider.reported = 1_500
    after = await run(made, sized(made.provider, 6_000))
    assert made.limits.factor(made.provider) == 1.0
    assert [notice.text for notice in made.heard.of(Notice)] == [SILENT_TRUNCATION]
    made.history.sync(after)
    assert made.history.usage().total == made.provider.real(after)


async def test_the_factor_is_learnt_from_the_count_without_factor() -> None:
    made = rig(Provider(100_000, factor=1.5))
    history: list[ModelMessage] = sized(rig(Provider()).provider, 3_000)
    for _ in range(3):
        history = await run(made, history)
        assert made.limits.factor(made.provider) == pytest.approx(1.5, abs=0.01)
    assert made.history.usage().total == pytest.approx(made.provider.real(history), rel=0.02)


async def test_a_hidden_overhead_neither_crashes_nor_compacts_in_circles() -> None:
    """The provider counts thousands of tokens that stand in no message, so no compaction can remove them."""
    made = rig(Provider(8_000, real_window=20_000))
    made.provider.reported = 7_900
    history: list[ModelMessage] = list(long_conversation(3, 200))
    for turn in range(8):
        history = await run(made, history, f"Question {turn}?")
        await made.compactor.settled()
    assert len(made.heard.of(CompactionStart)) <= 4
    assert len(made.provider.sent) == 8


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


async def test_a_prompt_that_cannot_fit_is_refused_before_it_is_sent() -> None:
    made = rig(Provider(2_000))
    with pytest.raises(ContextTooLarge) as error:
        await run(made, [], "word " * 3_000)
    assert made.provider.sent == []
    assert error.value.requested > error.value.limit == 2_000


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
