"""The governor as other programs use it: every way to run an agent, and whatever stands beside it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.capabilities import Hooks, Instrumentation, ProcessHistory, ReinjectSystemPrompt
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import UsageLimits

from tests.context.governor_kit import NOTES, Delta, Heard, Provider
from tests.context.validity import complaints, system_prompts
from tui_app.context import PRESETS, ContextGovernor
from tui_app.context.summaries.prompt import INSTRUCTIONS
from tui_app.events import CompactionComplete, CompactionStart, Truncation, UsageInfo

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]
WINDOW = ModelProfile(context_window=2_000)


class Timetable(BaseModel):
    """What an agent may be asked for."""

    city: str
    ferries: list[int]


def model(answer: Callable[[Sequence[ModelMessage]], ModelResponse] | None = None) -> FunctionModel:
    """A model of a test of theirs, with usage as pydantic-ai invents it."""

    def write(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return answer(messages) if answer else ModelResponse([TextPart("an answer " * 20)])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield NOTES if info.instructions == INSTRUCTIONS else "an answer " * 20

    return FunctionModel(write, stream_function=stream, profile=WINDOW)


def summaries(messages: Sequence[ModelMessage]) -> list[CompactionPart]:
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


async def test_run_stream_is_governed_although_the_reported_usage_is_made_up(heard: Heard) -> None:
    agent = Agent(model(), capabilities=[ContextGovernor(listener=heard)])
    history: list[ModelMessage] = []
    for turn in range(40):
        async with agent.run_stream(prompt(turn), message_history=history) as answer:
            assert [text async for text in answer.stream_text(delta=True)]
        history = answer.all_messages()
    assert "success" in heard.outcomes
    assert len(summaries(history)) == 1


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
    assert len(summaries(history)) == 1


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
    assert len(summaries(history)) == 1


async def test_parallel_results_that_are_too_much_together_are_cut_for_one_request(heard: Heard) -> None:
    """Nothing can be put in a file here: three results of 60 % of the window each."""
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


@pytest.mark.parametrize("name", BESIDE)
async def test_other_capabilities_beside_it(name: str, heard: Heard) -> None:
    agent = Agent(
        model(), system_prompt="Be kind.", capabilities=BESIDE[name](ContextGovernor(listener=heard))
    )
    history = await ask(agent, 25)
    assert "success" in heard.outcomes
    assert len(summaries(history)) == 1
    assert system_prompts(history) == ["Be kind."]


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
    assert len(summaries(again)) == 1


async def test_a_summary_takes_nothing_of_the_limits_of_the_run(heard: Heard) -> None:
    agent = Agent(model(), capabilities=[ContextGovernor(listener=heard)])
    await ask(agent, 25, usage_limits=UsageLimits(request_limit=1))
    assert "success" in heard.outcomes


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


async def test_a_usage_that_leaves_cached_tokens_out_does_not_blind_it(heard: Heard) -> None:
    """Some servers report only what was not in their cache."""
    provider = Provider(2_000)
    provider.reported = 60
    await ask(Agent(provider, capabilities=[ContextGovernor(listener=heard)]), 40)
    assert "success" in heard.outcomes
    assert all(provider.real(sent) <= 2_000 for sent in provider.sent)


async def test_the_usage_of_every_request_is_heard(heard: Heard) -> None:
    await ask(Agent(model(), capabilities=[ContextGovernor(listener=heard)]), 3)
    totals = [event.usage["total"] for event in heard.of(UsageInfo)]
    assert totals == sorted(totals)
    assert {event.usage["limit"] for event in heard.of(UsageInfo)} == {2_000}


def in_a_thread(work: Callable[[], None]) -> None:
    """Do something in a thread of its own; it fails here if it failed there."""
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


async def test_each_run_may_have_an_event_loop_of_its_own(heard: Heard) -> None:
    """As with ``run_sync`` in the threads of a web server: a loop stops in the middle of a summary."""

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
