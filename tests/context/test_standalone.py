"""The governor in other programs, with lists of messages and agents of any kind."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.capabilities import Hooks, Instrumentation, ProcessHistory, ReinjectSystemPrompt
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage, UsageLimits

from tests.context.governor_kit import NOTES, Delta, Heard, Provider, WordCounter, plain_counter
from tests.context.histories import as_bytes, as_items, complaints, long_conversation, prompts, system_prompts
from tui_app.context import PRESETS, ContextGovernor, Policy, resident_memory
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import CONVERSATIONS_KEPT, Conversations
from tui_app.context.history import ListHistory, Proposal, reported_tokens
from tui_app.context.ledger.summary_ledger import ledger_dumps
from tui_app.context.policy import OFF, derive
from tui_app.context.summaries.prompt import INSTRUCTIONS
from tui_app.context.views.cuts import place_summary
from tui_app.context.views.rewrites import Change, Rewrite
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.windows import resolve_window
from tui_app.events import (
    CompactionComplete,
    CompactionStart,
    MemoryPressure,
    ToolTrimmed,
    Truncation,
    UsageInfo,
)
from tui_app.usage import Overhead

# One line adds the governor to an agent that knows nothing of this program.


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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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
    assert (summary.content or "").count("## The user's words") == 1
    assert "search_history" not in (summary.content or "")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_off_policy_cuts_requests_and_never_compacts() -> None:
    heard, provider = Heard(), Provider(2_000)
    history = await talk(Agent(provider, capabilities=[ContextGovernor(OFF, listener=heard)]), 40)
    assert heard.of(CompactionStart) == []
    assert len(history) == 80
    assert all(provider.real(sent) <= 2_000 for sent in provider.sent)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("policy", PRESETS.values(), ids=list(PRESETS))
async def test_six_conversations_with_tools_at_once_end_under_every_policy(policy: Policy) -> None:
    provider = Provider(8_000)

    def read_then_answer(number: int) -> ModelResponse:
        asked = any(isinstance(part, UserPromptPart) for part in provider.sent[-1][-1].parts)
        part = ToolCallPart("read", {"n": number}, f"id-{number}") if asked else TextPart(f"seen {number}")
        return ModelResponse([part])

    provider.reply = read_then_answer
    agent = Agent(provider, capabilities=[ContextGovernor(policy)])
    agent.tool_plain(lambda n: f"file {n}\n" + "a line of the file\n" * 500, name="read")
    histories = await asyncio.gather(*(talk(agent, 8, first=f"The number is {n}0{n}.") for n in range(6)))
    assert len(histories) == 6
    assert len(provider.sent) == 6 * 8 * 2
    assert all(provider.real(sent) <= 8_000 for sent in provider.sent)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_system_prompt_in_the_first_request_survives_with_an_old_summary_behind_it() -> None:
    """pydantic-ai merges adjacent requests, so summary, system prompt and prompt are one message."""
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_only_so_many_conversations_are_remembered() -> None:
    governor = ContextGovernor()
    agent = Agent(Provider(2_000), capabilities=[governor])
    for _ in range(CONVERSATIONS_KEPT + 3):
        await agent.run("Hello.")
    pipelines = governor._pipelines
    assert isinstance(pipelines, Conversations)
    assert len(pipelines._resting) == CONVERSATIONS_KEPT


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_policy_that_compacts_after_turns_does_so_when_a_run_has_ended() -> None:
    provider, heard = Provider(40_000), Heard()
    governor = ContextGovernor(PRESETS["reserve"], listener=heard)
    agent = Agent(provider, capabilities=[governor])
    history: list[ModelMessage] = []
    for turn in range(12):
        result = await agent.run(f"Question {turn}: " + "about part " * 1_500, message_history=history)
        history = result.all_messages()
        done = heard.of(CompactionComplete)
        assert bool(summaries(history)) == bool(done)
        assert complaints(history, ends_with_request=False) == []
        assert result.new_messages()[-1] is history[-1]
        assert result.output == f"answer {turn + 1}"
    assert {event.trigger for event in heard.of(CompactionComplete)} == {"turn_end"}
    assert set(heard.outcomes) == {"success"}
    await agent.run("And then?", message_history=history)
    assert len(summaries(provider.sent[-1])) == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_so_does_one_that_counts_messages_and_a_streamed_run() -> None:
    heard = Heard()
    policy = derive("counts", {"base": "reserve", "recent_tokens": 0, "unknown_window_tokens": 0})
    agent = Agent(Provider(None), capabilities=[ContextGovernor(policy, listener=heard)])
    async with agent.run_stream_events("x", message_history=long_conversation(30)) as events:
        async for event in events:
            last = event
    history = last.result.all_messages()  # type: ignore[union-attr]
    assert heard.outcomes == ["success"]
    assert len(history) <= 7
    assert isinstance(history[0].parts[0], CompactionPart)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_result_of_run_stream_keeps_its_list_and_the_next_run_goes_on_from_the_summary() -> None:
    provider, heard = Provider(None), Heard()
    policy = derive("counts", {"base": "reserve", "recent_tokens": 0, "unknown_window_tokens": 0})
    agent = Agent(provider, capabilities=[ContextGovernor(policy, listener=heard)])
    async with agent.run_stream("x", message_history=long_conversation(30)) as streamed:
        await streamed.get_output()
    assert heard.outcomes == ["success"]
    assert len(streamed.new_messages()) == 2
    async with agent.run_stream("y", message_history=streamed.all_messages()) as again:
        await again.get_output()
    assert heard.outcomes == ["success"]
    assert len(summaries(provider.sent[-1])) == 1
    assert prompts(provider.sent[-1])[-2:] == ["x", "y"]
    assert len(again.all_messages()) < 12


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_run_that_waits_for_an_approval_has_not_ended_its_turn() -> None:
    provider, heard = Provider(40_000), Heard()
    provider.reply = lambda _number: ModelResponse([ToolCallPart("delete", {}, "d1")])
    governor = ContextGovernor(PRESETS["reserve"], listener=heard)
    agent = Agent(provider, output_type=[str, DeferredToolRequests], capabilities=[governor])
    agent.tool_plain(lambda: "gone", name="delete", requires_approval=True)
    result = await agent.run("delete it " + "word " * 30_000, message_history=long_conversation(5))
    assert isinstance(result.output, DeferredToolRequests)
    assert heard.of(CompactionStart) == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_pinned_messages_stay_word_for_word() -> None:
    provider = Provider(2_000)
    pinned = "The harbour key is under the third stone. " * 5

    def is_pinned(message: ModelMessage) -> bool:
        return any(getattr(part, "content", None) == pinned for part in message.parts)

    agent = Agent(provider, capabilities=[ContextGovernor(PRESETS["background"], is_pinned=is_pinned)])
    history = await talk(agent, 60, first=pinned)
    assert len(provider.summary_requests) > 1
    assert any(is_pinned(message) for message in history)
    assert all(any(map(is_pinned, sent)) for sent in provider.sent)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_short_memory_is_relieved_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    statm = tmp_path / "statm"
    statm.write_text("1 1", encoding="ascii")
    monkeypatch.setattr(resident_memory, "_STATM", statm)
    heard = Heard()
    agent = Agent(Provider(200_000), capabilities=[ContextGovernor(listener=heard, memory_limit_mb=900)])
    result = await agent.run("word " * 30_000, message_history=long_conversation(5))
    assert heard.of(MemoryPressure) == []
    statm.write_text(f"1 {1_000_000_000 // os.sysconf('SC_PAGE_SIZE')}", encoding="ascii")
    for _ in range(3):
        result = await agent.run("word " * 30_000, message_history=result.all_messages())
    assert [event.action for event in heard.of(MemoryPressure)] == ["drop", "compact"]
    assert [event.trigger for event in heard.of(CompactionComplete)] == ["memory_pressure"]
    assert heard.outcomes == ["success"]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
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


# Every way to run an agent, with whatever else it uses.


WINDOW = ModelProfile(context_window=2_000)


class Timetable(BaseModel):
    """An output type."""

    city: str
    ferries: list[int]


def model(answer: Callable[[Sequence[ModelMessage]], ModelResponse] | None = None) -> FunctionModel:
    """A model for tests of other programs, with the usage that pydantic-ai makes up."""

    def write(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return answer(messages) if answer else ModelResponse([TextPart("an answer " * 20)])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield NOTES if info.instructions == INSTRUCTIONS else "an answer " * 20

    return FunctionModel(write, stream_function=stream, profile=WINDOW)


def strangers_summaries(messages: Sequence[ModelMessage]) -> list[CompactionPart]:
    return [part for message in messages for part in message.parts if isinstance(part, CompactionPart)]


def prompt(turn: int) -> str:
    return f"Question {turn}: " + "why that " * 40


async def ask(agent: Agent[None, Any], turns: int, **more: Any) -> list[ModelMessage]:
    history: list[ModelMessage] = []
    for turn in range(turns):
        history = (await agent.run(prompt(turn), message_history=history, **more)).all_messages()
        assert complaints(history, ends_with_request=False) == []
    return history


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_run_stream_is_governed_although_the_reported_usage_is_made_up(heard: Heard) -> None:
    agent = Agent(model(), capabilities=[ContextGovernor(listener=heard)])
    history: list[ModelMessage] = []
    for turn in range(40):
        async with agent.run_stream(prompt(turn), message_history=history) as answer:
            assert [text async for text in answer.stream_text(delta=True)]
        history = answer.all_messages()
    assert "success" in heard.outcomes
    assert len(strangers_summaries(history)) == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_iter_is_governed(heard: Heard) -> None:
    agent = Agent(model(), capabilities=[ContextGovernor(listener=heard)])
    history: list[ModelMessage] = []
    for turn in range(30):
        async with agent.iter(prompt(turn), message_history=history) as run:
            async for _node in run:
                pass
        assert run.result is not None
        history = run.result.all_messages()
    assert "success" in heard.outcomes
    assert len(strangers_summaries(history)) == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_output_types_and_tools(heard: Heard) -> None:
    agent = Agent(
        TestModel(profile=WINDOW),
        output_type=Timetable,
        capabilities=[ContextGovernor(PRESETS["sliding-window"], listener=heard)],
    )
    agent.tool_plain(lambda day: f"{day} at 05:15 " * 30, name="timetable")
    history: list[ModelMessage] = []
    for turn in range(20):
        result = await agent.run(prompt(turn), message_history=history)
        assert isinstance(result.output, Timetable)
        history = result.all_messages()
    assert "success" in heard.outcomes
    assert {complete.policy for complete in heard.of(CompactionComplete)} == {"sliding-window"}


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_agents_as_tools_share_a_governor(heard: Heard) -> None:
    governor = ContextGovernor(listener=heard)

    def delegate(messages: Sequence[ModelMessage]) -> ModelResponse:
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([TextPart("done " * 60)])
        return ModelResponse([ToolCallPart("clerk", {"question": "When? " * 40})])

    clerk = Agent(model(), capabilities=[governor])
    captain: Agent[None, str] = Agent(model(delegate), capabilities=[governor])

    @captain.tool(name="clerk")
    async def _clerk(ctx: RunContext[None], question: str) -> str:
        return (await clerk.run(question, usage=ctx.usage)).output

    history = await ask(captain, 20)
    assert "success" in heard.outcomes
    assert len(strangers_summaries(history)) == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_parallel_results_that_are_too_much_together_are_cut_for_one_request(heard: Heard) -> None:
    """Offloading is not possible here; each of the three results has 60% of the window."""
    sent: list[Sequence[ModelMessage]] = []

    def three(messages: Sequence[ModelMessage]) -> ModelResponse:
        sent.append(messages)
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([TextPart("read")])
        return ModelResponse([ToolCallPart("read", {"n": number}, f"c{number}") for number in range(3)])

    agent: Agent[None, str] = Agent(model(three), capabilities=[ContextGovernor(listener=heard)])
    agent.tool_plain(lambda n: f"file {n} " + "abc " * 1_200, name="read")
    result = await agent.run("Read all three.")
    assert Provider(None).real(sent[-1]) <= 2_000
    assert len(heard.of(Truncation)) == 1
    whole = [part for part in result.all_messages()[2].parts if isinstance(part, ToolReturnPart)]
    assert [len(str(part.content)) for part in whole] == [4_807] * 3


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_run_that_waits_for_an_approval_goes_on_where_it_was(heard: Heard) -> None:
    def remove(messages: Sequence[ModelMessage]) -> ModelResponse:
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([TextPart("removed " * 60)])
        return ModelResponse([ToolCallPart("remove", {"path": "old.txt"})])

    agent: Agent[None, str | DeferredToolRequests] = Agent(
        model(remove), output_type=[str, DeferredToolRequests], capabilities=[ContextGovernor(listener=heard)]
    )
    agent.tool_plain(lambda path: f"{path} is gone. " * 20, name="remove", requires_approval=True)
    history: list[ModelMessage] = []
    for turn in range(20):
        asked = await agent.run(prompt(turn), message_history=history)
        assert isinstance(asked.output, DeferredToolRequests)
        approved = DeferredToolResults(approvals={call.tool_call_id: True for call in asked.output.approvals})
        result = await agent.run(message_history=asked.all_messages(), deferred_tool_results=approved)
        assert isinstance(result.output, str)
        history = result.all_messages()
    assert "success" in heard.outcomes
    assert complaints(history, ends_with_request=False) == []


BESIDE: dict[str, Callable[[ContextGovernor], list[Any]]] = {
    "a history processor in front": lambda governor: [ProcessHistory(list), governor],
    "a history processor behind": lambda governor: [governor, ProcessHistory(list)],
    "the system prompt put back": lambda governor: [ReinjectSystemPrompt(), governor],
    "instrumentation": lambda governor: [Instrumentation(), governor],
    "hooks": lambda governor: [Hooks(), governor],
    "another governor": lambda governor: [governor, ContextGovernor()],
    "itself": lambda governor: [governor, governor],
}


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", BESIDE)
async def test_other_capabilities_beside_it(name: str, heard: Heard) -> None:
    agent = Agent(
        model(), system_prompt="Be kind.", capabilities=BESIDE[name](ContextGovernor(listener=heard))
    )
    history = await ask(agent, 25)
    assert "success" in heard.outcomes
    assert len(strangers_summaries(history)) == 1
    assert system_prompts(history) == ["Be kind."]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_for_a_single_run_and_from_a_stored_history(heard: Heard) -> None:
    agent = Agent(model())
    history = await ask(agent, 20)
    assert heard.events == []
    stored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))
    result = await agent.run(
        "And now?", message_history=stored, capabilities=[ContextGovernor(listener=heard)]
    )
    assert heard.outcomes == ["success"]
    again = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(result.all_messages()))
    assert again == result.all_messages()
    assert len(strangers_summaries(again)) == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_summary_takes_nothing_of_the_limits_of_the_run(heard: Heard) -> None:
    agent = Agent(model(), capabilities=[ContextGovernor(listener=heard)])
    await ask(agent, 25, usage_limits=UsageLimits(request_limit=1))
    assert "success" in heard.outcomes


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_model_that_cannot_stream_writes_summaries_too(heard: Heard) -> None:
    class Plain(Provider):
        def request_stream(self, *_args: Any, **_more: Any) -> Any:
            raise NotImplementedError

        def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if info.instructions == INSTRUCTIONS:
                return ModelResponse([TextPart(NOTES)])
            return super().answer(messages, info)

    await ask(Agent(Plain(2_000), capabilities=[ContextGovernor(listener=heard)]), 25)
    done = [complete for complete in heard.of(CompactionComplete) if complete.outcome == "success"]
    assert done
    assert {complete.performed_by for complete in done} == {"model"}
    assert all(complete.output_tokens for complete in done)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_usage_that_leaves_cached_tokens_out_does_not_blind_it(heard: Heard) -> None:
    """Some servers report only tokens that were not in their cache."""
    provider = Provider(2_000)
    provider.reported = 60
    await ask(Agent(provider, capabilities=[ContextGovernor(listener=heard)]), 40)
    assert "success" in heard.outcomes
    assert all(provider.real(sent) <= 2_000 for sent in provider.sent)


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_usage_of_every_request_is_heard(heard: Heard) -> None:
    await ask(Agent(model(), capabilities=[ContextGovernor(listener=heard)]), 3)
    totals = [event.usage["total"] for event in heard.of(UsageInfo)]
    assert totals == sorted(totals)
    assert {event.usage["limit"] for event in heard.of(UsageInfo)} == {2_000}


def in_a_thread(work: Callable[[], None]) -> None:
    """Run ``work`` in its own thread, and raise here what it raised there."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it waits for a job of another thread's loop"
    assert failures == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_each_run_may_have_an_event_loop_of_its_own(heard: Heard) -> None:
    """As with ``run_sync`` in a web server's threads: a loop stops in the middle of a summary."""

    class NeverInTheBackground(Provider):
        async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Delta]:
            if heard.of(CompactionStart)[-1].trigger == "background":
                self.asked.set()
                await asyncio.Event().wait()
            async for delta in super().stream(messages, info):
                yield delta

    provider = NeverInTheBackground(2_000)
    agent = Agent(provider, capabilities=[ContextGovernor(listener=heard)])
    history: list[ModelMessage] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        provider.asked = asyncio.Event()
        history[:] = (await agent.run("Why that? " * 40, message_history=history)).all_messages()
        if len(heard.of(CompactionStart)) > len(heard.outcomes):
            await provider.asked.wait()

    def turn() -> None:
        loops.append(asyncio.new_event_loop())
        loops[-1].run_until_complete(run())

    while "success" not in heard.outcomes:
        await asyncio.to_thread(in_a_thread, turn)
        assert len(loops) < 40
    for loop in loops:
        await asyncio.to_thread(_close, loop)
    assert "cancelled" in heard.outcomes, "the job of the loop that had stopped"


def _close(loop: asyncio.AbstractEventLoop) -> None:
    async def let_go() -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    loop.run_until_complete(let_go())
    loop.close()


# The history of any agent: a list of messages, followed from request to request.


def said(text: str = "hello") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def answered(text: str = "well", reported: int = 0) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], usage=RequestUsage(input_tokens=reported))


def followed(*messages: ModelMessage) -> ListHistory:
    view = ListHistory(plain_counter(), Heard())
    view.sync(messages)
    view.set_overhead(Overhead(resolve_window(setting=20_000)), "m")
    return view


def test_known_messages_keep_their_key() -> None:
    one, two, three = said("1"), answered("2"), said("3")
    view = followed(one, two)
    view.sync([two, three, one])
    assert [(item.key, item.message) for item in view.items()] == [(2, two), (3, three), (1, one)]


def test_requests_that_the_agent_has_joined_keep_their_keys() -> None:
    """pydantic-ai merges requests between runs, perhaps while a summary of them is being written."""
    summary, prompt = ModelRequest(parts=[CompactionPart("notes")]), said("go on")
    view = followed(summary, prompt, answered())
    joined = ModelRequest(parts=[*summary.parts, *prompt.parts])
    view.sync([joined, view.items()[2].message, said("more")])
    assert [item.key for item in view.items()] == [1, 2, 3, 4]
    assert view.items()[0].whole is view.items()[1].whole is joined


def test_the_report_of_the_answer_to_the_last_request_counts() -> None:
    first, reply = said(), answered(reported=500)
    view = followed(first)
    view.sync([first, reply])
    assert view.usage().total == 500
    assert view.usage().exact
    view.sync([first, reply, said("more")])
    assert view.usage().total == 500 + plain_counter().message(said("more")).total


def test_reports_of_a_history_from_elsewhere_do_not_count() -> None:
    view = followed(said(), answered(reported=500), said())
    assert view.usage().total < 50
    first = said()
    view = followed(first)
    view.sync([first, said("not ours"), answered(reported=500)])
    assert view.usage().total < 50


def test_a_report_is_forgotten_when_the_list_is_rewritten() -> None:
    first, reply = said(), answered(reported=500)
    view = followed(first)
    view.sync([first, reply])
    view.sync([reply, said()])
    assert view.usage().total < 50


def test_a_distrusted_answer_does_not_count_and_the_next_does() -> None:
    first, reply, second, third = said(), answered(reported=500), said(), answered(reported=700)
    view = followed(first)
    view.distrust()
    view.sync([first, reply, second])
    assert view.usage().total < 50
    view.sync([first, reply, second, third])
    assert view.usage().total == 700


def test_counts_made_before_the_tokenizer_was_there_are_made_again() -> None:
    words = WordCounter()
    view = ListHistory(TokenCounter(words))
    view.sync([said("one two three")])
    before = view.usage().total
    words.ready = True
    assert view.usage().total == before + 27


def test_a_commit_puts_the_summary_behind_the_system_prompts() -> None:
    system = ModelRequest(parts=[SystemPromptPart("be kind"), UserPromptPart("first")])
    view = followed(system, answered(), *long_conversation(2))
    assert [item.key for item in view.items()] == list(range(1, 12))
    note = ModelRequest(parts=[CompactionPart("notes")])
    blank = CompactionComplete(job="j", outcome="success", trigger="manual")
    complete = view.commit(Proposal(complete=blank, message=note, left=frozenset({2, 3, 4, 5})))
    kinds = [message.parts[0].part_kind for message in to_messages(view.items())][:3]
    assert kinds == ["system-prompt", "compaction", "tool-return"]
    assert view.version == 1
    assert (complete.messages_before, complete.messages_after, complete.messages_removed) == (11, 8, 3)
    assert complete.tokens_before - complete.tokens_after == complete.tokens_removed > 0
    assert isinstance(view.listener, Heard)
    assert view.listener.events == [complete]
    view.sync(to_messages(view.items()))
    kept = view.items()[1].message.parts[0]
    assert isinstance(kept, CompactionPart)
    assert kept.content == "notes"
    assert next(ledger_dumps([view.items()[1]]))["keys"], "no log keeps what left"


def test_a_message_that_was_given_other_parts_is_new() -> None:
    first = said()
    view = followed(first, answered())
    first.parts = [*first.parts, UserPromptPart("and this")]
    view.sync([first, answered()])
    assert view.items()[0].key > 2
    assert view.usage().parts.user == plain_counter().message(first).user


def test_where_a_summary_stands() -> None:
    system, other = as_items([ModelRequest(parts=[SystemPromptPart("s")]), said()])
    note = Item(9, ModelRequest(parts=[CompactionPart("c")]))
    assert [item.key for item in place_summary([system, other], [note])] == [1, 9, 2]
    assert place_summary([], [note]) == [note]


@pytest.mark.parametrize(
    ("behind", "order"), [(0, [9, 1, 2]), (1, [1, 9, 2]), (2, [1, 2, 9]), (7, [9, 1, 2])]
)
def test_a_summary_stands_behind_what_a_policy_keeps_in_front_of_it(behind: int, order: list[int]) -> None:
    stays = as_items([said(), answered()])
    note = Item(9, ModelRequest(parts=[CompactionPart("c")]))
    assert [item.key for item in place_summary(stays, [note], behind)] == order


def test_what_a_response_reports() -> None:
    reply = answered(reported=500)
    assert reported_tokens(reply) == 500
    assert reported_tokens(replace(reply, state="interrupted")) == 0
    assert reported_tokens(said()) == 0


def test_a_rewritten_view_stays_on_the_scale_of_the_report_before() -> None:
    first, long = said(), said("x " * 2_000)
    view = followed(first)
    reply = answered(reported=5_000)
    view.sync([first, reply])
    view.sync([first, reply, long])
    before = view.usage().total
    short = Change(key=view.items()[-1].key, message=said("x"))
    view.rewrite(Rewrite(stage="trim", changes=(short,)))
    assert not view.usage().exact
    assert view.usage().total == 5_000 + view.weigh(view.items()[-1]).total
    assert isinstance(view.listener, Heard)
    [event] = view.listener.of(ToolTrimmed)
    assert event.tokens_before == before
    assert event.tokens_removed == before - view.usage().total > 990
