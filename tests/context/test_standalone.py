"""The governor in an agent that knows nothing of this program: one line, and nothing else."""

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)

from tests.context.governor_kit import Heard, Provider, plain_counter
from tests.context.validity import as_bytes, complaints, system_prompts
from tui_app.context import PRESETS, ContextGovernor, Policy
from tui_app.context.governor import CONVERSATIONS_KEPT, Conversations
from tui_app.context.history import ListHistory
from tui_app.context.policy import OFF
from tui_app.events import CompactionComplete, CompactionStart, UsageInfo

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]
RULE = "Never touch the file legacy/schema.sql, whatever happens."


async def talk(agent: Agent[None, str], turns: int, first: str = "") -> list[ModelMessage]:
    history: list[ModelMessage] = []
    for turn in range(turns):
        prompt = first if first and turn == 0 else f"Question {turn}: " + f"about part {turn} " * 12
        result = await agent.run(prompt, message_history=history)
        assert result.new_messages()[-1] is result.all_messages()[-1]
        history = result.all_messages()
        assert complaints(history, ends_with_request=False) == []
        await asyncio.sleep(0)
    return history


def summaries(history: list[ModelMessage]) -> list[CompactionPart]:
    return [part for message in history for part in message.parts if isinstance(part, CompactionPart)]


async def test_one_line_keeps_a_growing_conversation_in_its_window() -> None:
    provider = Provider(2_000)
    agent = Agent(provider, system_prompt="You are kind.", capabilities=[ContextGovernor()])
    history = await talk(agent, 60, first=RULE)
    assert len(provider.sent) == 60
    assert provider.summary_requests
    assert all(provider.real(sent) <= 2_000 for sent in provider.sent)
    assert system_prompts(history) == ["You are kind."]
    [summary] = summaries(history)
    assert RULE in (summary.content or "")
    assert (summary.content or "").count("## Said by the user, word for word") == 1
    assert "search_history" not in (summary.content or "")


async def test_with_a_tool_in_every_turn() -> None:
    provider = Provider(3_000)

    def call_then_answer(number: int) -> ModelResponse:
        if number % 2:
            return ModelResponse([ToolCallPart("look", {"n": number}, f"id-{number % 4}")])
        return ModelResponse([TextPart(f"seen {number}")])

    provider.reply = call_then_answer
    agent = Agent(provider, instructions="Look first.", capabilities=[ContextGovernor()])
    agent.tool_plain(lambda n: f"line {n} " * 60, name="look")
    history = await talk(agent, 40)
    assert len(provider.sent) == 80
    assert len(summaries(history)) == 1


async def test_streamed_runs_are_governed_too() -> None:
    provider = Provider(2_000)
    turns, heard = Provider(2_000), Heard()
    agent = Agent(turns, capabilities=[ContextGovernor(listener=heard, summary_model=provider)])
    history: list[ModelMessage] = []
    for turn in range(30):
        prompt = f"Question {turn}: " + "why " * 60
        async with agent.run_stream_events(prompt, message_history=history) as events:
            async for event in events:
                last = event
        history = last.result.all_messages()  # type: ignore[union-attr]
    assert heard.outcomes.count("success") >= 1
    assert len(summaries(history)) == 1


async def test_the_listener_hears_what_happens() -> None:
    heard = Heard()
    await talk(Agent(Provider(2_000), capabilities=[ContextGovernor(listener=heard)]), 60)
    assert len(heard.of(UsageInfo)) == 60
    assert len(heard.of(CompactionStart)) >= 1
    complete = heard.of(CompactionComplete)[0]
    assert complete.outcome == "success"
    assert complete.tokens_after < complete.tokens_before
    assert complete.messages_after < complete.messages_before
    assert {fact.state for fact in complete.facts} <= {"kept", "lost"}


async def test_the_off_policy_cuts_requests_and_never_compacts() -> None:
    heard, provider = Heard(), Provider(2_000)
    history = await talk(Agent(provider, capabilities=[ContextGovernor(OFF, listener=heard)]), 40)
    assert heard.of(CompactionStart) == []
    assert len(history) == 80
    assert all(provider.real(sent) <= 2_000 for sent in provider.sent)


async def test_one_instance_serves_many_conversations_at_once() -> None:
    heard = Heard()
    governor = ContextGovernor(Policy(minimum_messages=6), listener=heard)
    one, other = Provider(2_000), Provider(3_000)
    first, second, third = await asyncio.gather(
        talk(Agent(one, capabilities=[governor]), 30, first="The first word is apple."),
        talk(Agent(one, capabilities=[governor]), 30, first="The first word is pear."),
        talk(Agent(other, capabilities=[governor]), 30, first="The first word is plum."),
    )
    for history, word in ((first, "apple"), (second, "pear"), (third, "plum")):
        text = as_bytes(history).decode()
        assert word in text
        assert sum(fruit in text for fruit in ("apple", "pear", "plum")) == 1


@pytest.mark.parametrize("policy", PRESETS.values(), ids=list(PRESETS))
async def test_six_conversations_with_tools_at_once_end_under_every_policy(policy: Policy) -> None:
    provider = Provider(8_000)

    def read_then_answer(number: int) -> ModelResponse:
        asked = any(isinstance(part, UserPromptPart) for part in provider.sent[-1][-1].parts)
        part = ToolCallPart("read", {"n": number}, f"id-{number}") if asked else TextPart(f"seen {number}")
        return ModelResponse([part])

    provider.reply = read_then_answer
    agent = Agent(provider, capabilities=[ContextGovernor(policy)])
    agent.tool_plain(lambda n: f"file {n}\n" + "a line of the file\n" * 150, name="read")
    histories = await asyncio.gather(*(talk(agent, 25, first=f"The number is {n}0{n}.") for n in range(6)))
    assert len(histories) == 6
    assert len(provider.sent) == 6 * 25 * 2
    assert all(provider.real(sent) <= 8_000 for sent in provider.sent)


async def test_a_conversation_goes_on_from_json() -> None:
    provider = Provider(2_000)
    agent = Agent(provider, capabilities=[ContextGovernor()])
    history = await talk(agent, 25, first=RULE)
    for _ in range(25):
        stored = ModelMessagesTypeAdapter.validate_json(as_bytes(history))
        fresh = Agent(provider, capabilities=[ContextGovernor()])
        history = (await fresh.run("More, and say why. " * 8, message_history=stored)).all_messages()
    [summary] = summaries(history)
    assert RULE in (summary.content or "")


async def test_forks_that_run_at_the_same_time_do_not_meet() -> None:
    provider = Provider(2_000)
    agent = Agent(provider, capabilities=[ContextGovernor()])
    trunk = await talk(agent, 8)
    left, right = await asyncio.gather(
        agent.run("Go left. " * 40, message_history=trunk),
        agent.run("Go right. " * 40, message_history=trunk),
    )
    assert "Go right" not in as_bytes(left.all_messages()).decode()
    assert "Go left" not in as_bytes(right.all_messages()).decode()


async def test_a_system_prompt_in_the_first_request_survives_with_an_old_summary_behind_it() -> None:
    """pydantic-ai joins neighbouring requests, so summary, system prompt and prompt come as one message."""
    provider = Provider(2_000)
    agent = Agent(provider, system_prompt="You are kind.", capabilities=[ContextGovernor()])
    history = await talk(agent, 60)
    assert [part.part_kind for part in history[0].parts][:2] == ["system-prompt", "compaction"]
    more = await talk_on(agent, history, 40)
    assert system_prompts(more) == ["You are kind."]
    assert len(summaries(more)) == 1
    assert summaries(more)[0].content != summaries(history)[0].content


async def talk_on(agent: Agent[None, str], history: list[ModelMessage], turns: int) -> list[ModelMessage]:
    for turn in range(turns):
        history = (
            await agent.run(f"And {turn}? " + "tell more " * 20, message_history=history)
        ).all_messages()
    return history


async def test_only_so_many_conversations_are_remembered() -> None:
    governor = ContextGovernor()
    agent = Agent(Provider(2_000), capabilities=[governor])
    for _ in range(CONVERSATIONS_KEPT + 3):
        await agent.run("Hello.")
    pipelines = governor._pipelines
    assert isinstance(pipelines, Conversations)
    assert len(pipelines._resting) == CONVERSATIONS_KEPT


async def test_closing_stops_what_runs_in_the_background() -> None:
    heard, provider = Heard(), Provider(2_000)
    provider.gate = asyncio.Event()
    governor = ContextGovernor(Policy(blocking_threshold=1.0), listener=heard)
    agent = Agent(provider, capabilities=[governor])
    history: list[ModelMessage] = []
    while not heard.of(CompactionStart):
        history = (await agent.run("Tell me more. " * 10, message_history=history)).all_messages()
    await provider.asked.wait()
    await governor.aclose()
    assert heard.outcomes == ["cancelled"]
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("compaction-")]
    await agent.run("Still there?", message_history=history)


async def test_a_compactor_needs_its_history() -> None:
    heard = Heard()
    counter = plain_counter()
    history = ListHistory(counter, heard)
    guarded = Agent(Provider(1_000), capabilities=[ContextGovernor(history=history)])
    await talk(guarded, 30)
    assert heard.of(CompactionStart) == []
    compactor = object()
    with pytest.raises(ValueError, match="belongs to a history"):
        ContextGovernor(compactor=compactor)  # type: ignore[arg-type]
