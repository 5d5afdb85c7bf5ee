"""Between two steps of a turn: the person may let another prompt in, and circles are broken."""

import asyncio

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn, until
from tests.servers.behaviours import Text, Tool, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.agent.turn import RetryRules
from tui_app.conversation.work import Prompt
from tui_app.events import AssistantMessage, Error, ToolResult, TurnEnd, TurnRetry


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    (desk.cwd / "notes.txt").write_text("low tide at four\n")
    return fake_openai


async def test_a_waiting_prompt_is_let_in_after_the_present_step(desk: Desk, server: FakeOpenAI) -> None:
    hold = Signal()
    server.add(
        Tool(calls=(("read_file", {"path": "notes.txt"}),), hold=hold),
        Text("High tide, then."),
        Text("Never asked for."),
    )
    async with desk.session() as opened:
        conversation = opened.conversation
        seen = conversation.watch()
        conversation.submit(Prompt("When is low tide?"))
        await (await server.request(1)).paused.wait()
        conversation.submit(Prompt("No, high tide."))
        conversation.steer()
        hold.set()
        first = await until(seen, lambda payload: isinstance(payload, TurnEnd))
        assert first.data.outcome == "done"
        await until(seen, lambda payload: isinstance(payload, TurnEnd))
        await conversation.settle()
        records = [record for record, _ in opened.store.records(conversation.session)]
        # The step that was under way counts, and nothing was asked between it and the new prompt.
        assert len(of(records, ToolResult)) == 1
        assert of(records, AssistantMessage)[-1].text == "High tide, then."
        assert_valid(conversation)
    assert len(server.journal) == 2
    assert [each["role"] for each in server.journal[1]["messages"]] == [
        "system", "user", "assistant", "tool", "user",
    ]  # fmt: skip


async def test_steering_without_anything_waiting_changes_nothing(desk: Desk, server: FakeOpenAI) -> None:
    hold = Signal()
    server.add(Tool(calls=(("read_file", {"path": "notes.txt"}),), hold=hold), Text("At four."))
    async with desk.session() as opened:
        conversation = opened.conversation
        talking = asyncio.create_task(turn(conversation, "When is low tide?"))
        await (await server.request(1)).paused.wait()
        conversation.steer()
        hold.set()
        assert of(await talking, AssistantMessage)[-1].text == "At four."


async def test_steering_ends_a_pause_between_tries(desk: Desk, server: FakeOpenAI) -> None:
    server.add(error(503, "Overloaded"), Text("Here again."))
    async with desk.session() as opened:
        opened.turns.rules = RetryRules(retries=3, first_s=600)
        conversation = opened.conversation
        seen = conversation.watch()
        conversation.submit(Prompt("One?"))
        await until(seen, lambda payload: isinstance(payload, TurnRetry))
        conversation.submit(Prompt("Two?"))
        conversation.steer()
        await until(seen, lambda payload: isinstance(payload, AssistantMessage))
        await conversation.settle()
        assert_valid(conversation)
    assert [each["content"] for each in server.journal[-1]["messages"][1:]] == ["One?", "Two?"]


async def test_a_model_that_goes_in_circles_is_told_and_then_stopped(desk: Desk, server: FakeOpenAI) -> None:
    server.fallback = tool("read_file", path="notes.txt")
    async with desk.session() as opened:
        happened = await turn(opened.conversation, "When is low tide?")
        results = of(happened, ToolResult)
        assert [each.outcome for each in results[:2]] == ["success", "success"]
        assert "the third time in a row" in results[2].text
        [told] = of(happened, Error)
        assert told.kind == "tool"
        assert "read_file with the same arguments" in told.message
        assert of(happened, TurnEnd)[-1].outcome == "failed"
        assert_valid(opened.conversation)
    assert len(server.journal) == 6


async def test_the_same_call_with_another_result_is_no_circle(desk: Desk, server: FakeOpenAI) -> None:
    (desk.cwd / "b.txt").write_text("b\n")
    calls = [tool("read_file", path=name) for name in ("notes.txt", "b.txt") * 5]
    server.add(*calls, Text("Read both, often."))
    async with desk.session() as opened:
        happened = await turn(opened.conversation, "Read them.")
        assert of(happened, Error) == []
        assert all(each.outcome == "success" for each in of(happened, ToolResult))


async def test_a_turn_takes_so_many_steps_and_no_more(desk: Desk, server: FakeOpenAI) -> None:
    server.add(*(tool("read_file", path="notes.txt", start=n) for n in range(1, 9)))
    async with desk.session(max_steps=3) as opened:
        happened = await turn(opened.conversation, "Go on for ever.")
        [told] = of(happened, Error)
        assert "limit of 3" in told.message
        assert_valid(opened.conversation)
    assert len(server.journal) == 3
