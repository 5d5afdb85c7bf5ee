"""The governor in any agent: the model takes part, messages are excluded, and the next turn has a price."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from tests.context.governor_kit import Heard, Provider
from tests.context.histories import as_bytes, complaints
from tui_app.context import PLIMSOLL, ContextGovernor
from tui_app.context.governor import Conversations
from tui_app.context.message_marks import note_kind
from tui_app.context.policy import OFF, Policy
from tui_app.context.views.view import is_summary
from tui_app.events import CompactionComplete, CompactionStart, FullnessTold

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


async def ask(
    agent: Agent[None, str], prompts: Sequence[str], history: Sequence[ModelMessage] = ()
) -> list[ModelMessage]:
    messages = list(history)
    for prompt in prompts:
        messages = (await agent.run(prompt, message_history=messages)).all_messages()
        assert complaints(messages, ends_with_request=False) == []
    return messages


def questions(count: int) -> list[str]:
    return [f"Question {number}: " + "about the tide " * 30 for number in range(count)]


async def test_the_model_is_told_once_for_each_mark_and_what_was_sent_stays() -> None:
    provider, heard = Provider(4_000), Heard()
    governor = ContextGovernor(OFF, listener=heard, takes_part=True)
    history = await ask(Agent(provider, capabilities=[governor]), questions(26))
    assert [event.mark for event in heard.of(FullnessTold)] == [50, 70]
    told = [part.content for each in history for part in each.parts if note_kind(part) == "fullness"]  # type: ignore[union-attr]
    assert told == [event.text for event in heard.of(FullnessTold)]
    for before, after in pairwise(provider.sent):
        sent = [part for message in before for part in message.parts]
        assert [part for message in after for part in message.parts][: len(sent)] == sent


async def test_the_model_asks_for_a_compaction_at_a_boundary_of_its_own() -> None:
    provider, heard = Provider(8_000), Heard()

    def reply(number: int) -> ModelResponse:
        if number == 20:
            args = {"reason": "the survey is done", "keep": "pier 7"}
            return ModelResponse([ToolCallPart("compact_context", args, "c1")])
        return ModelResponse([TextPart(f"answer {number}")])

    provider.reply = reply
    governor = ContextGovernor(listener=heard, takes_part=True)
    agent = Agent(provider, capabilities=[governor])
    history = await ask(agent, questions(22))
    [start] = heard.of(CompactionStart)
    [complete] = heard.of(CompactionComplete)
    assert (start.trigger, complete.outcome) == ("model", "success")
    assert "the survey is done" in start.headline() + str(start)
    assert sum(map(is_summary, history)) == 1
    said = [part.content for each in history for part in each.parts if isinstance(part, ToolReturnPart)]
    assert said == [
        "The conversation is compacted before your next step. Continue with the next sub-task then."
    ]
    conversations = governor._pipelines
    assert isinstance(conversations, Conversations)
    assert conversations._running == {}


@pytest.mark.parametrize(
    ("policy", "takes_part", "offered"),
    [(PLIMSOLL, True, True), (PLIMSOLL, False, False), (OFF, True, False)],
)
async def test_the_tool_is_there_where_it_is_wanted(policy: Policy, takes_part: bool, offered: bool) -> None:
    provider = Provider(8_000)
    tools: list[str] = []
    answer = provider.function

    def looked_at(messages: list[ModelMessage], info: Any) -> ModelResponse:
        tools.extend(tool.name for tool in info.function_tools)
        about = next((tool.description or "" for tool in info.function_tools), "")
        assert "can be searched" not in about
        return answer(messages, info)  # type: ignore[misc, return-value]

    provider.function = looked_at
    await ask(Agent(provider, capabilities=[ContextGovernor(policy, takes_part=takes_part)]), ["Hello?"])
    assert tools == (["compact_context"] if offered else [])


def words(messages: Sequence[ModelMessage]) -> str:
    return "\n".join(str(part) for message in messages for part in message.parts)


async def test_what_is_excluded_is_not_sent_with_its_results_and_comes_back() -> None:
    provider, left = Provider(8_000), {"weather"}

    def excluded(message: ModelMessage) -> bool:
        return any(word in words([message]) for word in left)

    def reply(number: int) -> ModelResponse:
        if number == 1:
            return ModelResponse([ToolCallPart("look", {"at": "weather"}, "c1")])
        return ModelResponse([TextPart(f"answer {number}")])

    provider.reply = reply
    agent = Agent(provider, capabilities=[ContextGovernor(is_excluded=excluded)])
    agent.tool_plain(lambda at: f"{at}: rain at noon", name="look")
    left.clear()
    history = await ask(agent, ["Look out.", "And now?"])
    before = as_bytes(history)
    left.add("weather")
    history = await ask(agent, ["Is the weather good?"], history)
    assert "rain at noon" not in words(provider.sent[-1])
    assert "c1" not in words(provider.sent[-1])
    assert "Is the weather good?" in words(provider.sent[-1]), "the newest prompt stays"
    assert as_bytes(history)[: len(before) - 1] == before[:-1], "the run's messages keep it"
    left.clear()
    await ask(agent, ["Tell me again."], history)
    assert "rain at noon" in words(provider.sent[-1])


async def test_no_summary_tells_of_what_is_excluded_and_it_is_kept_beside_it() -> None:
    provider, heard = Provider(3_000), Heard()

    def excluded(message: ModelMessage) -> bool:
        return any(
            isinstance(part, UserPromptPart) and "mutiny" in str(part.content) for part in message.parts
        )

    governor = ContextGovernor(is_excluded=excluded, listener=heard)
    agent = Agent(provider, capabilities=[governor])
    history = await ask(agent, ["A mutiny was planned.", *questions(40)])
    assert "success" in heard.outcomes
    assert all("mutiny" not in asked for asked in provider.summary_requests)
    assert all("mutiny" not in words(sent) for sent in provider.sent[1:])
    assert words(history).count("A mutiny was planned.") == 1


class Priced(Provider):
    """Poses as a model with a known price and cache."""

    @property
    def system(self) -> str:
        return "anthropic"

    @property
    def model_name(self) -> str:
        return "claude-sonnet-4-5"


@pytest.mark.parametrize("asks", [True, False])
async def test_the_next_turn_has_a_price_with_a_warm_and_a_cold_cache(asks: bool) -> None:
    provider = Priced(200_000)
    provider.reply = lambda number: ModelResponse(
        [TextPart(f"answer {number}")], usage=RequestUsage(input_tokens=9_000 + number, output_tokens=5)
    )
    governor = ContextGovernor(OFF)
    agent = Agent(provider, capabilities=[governor], model_settings={"cache": True} if asks else {})
    history: list[ModelMessage] = []
    for prompt in ("The log. " * 4_000, "And now?"):
        result = await agent.run(prompt, message_history=history)
        history = result.all_messages()
    outlook = governor.outlook(result.conversation_id)
    assert outlook is not None
    assert outlook.cold_usd is not None
    if not asks:
        assert (outlook.warm_usd, outlook.warm_until) == (None, None)
        return
    assert outlook.warm_usd is not None
    assert outlook.warm_usd < outlook.cold_usd / 3
    assert outlook.warm_until is not None
    assert outlook.is_warm(outlook.warm_until - 1)
    assert not outlook.is_warm(outlook.warm_until)
    assert governor.outlook("another conversation") is None
