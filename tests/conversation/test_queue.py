"""The queue: order, pausing after a cancelled turn, removing entries, and following one's own turn."""

import asyncio

import pytest

from tests.conversation.driving import (
    Desk,
    Following,
    assert_valid,
    cancelled_within,
    done,
    of,
    send,
    turn,
    until,
)
from tests.servers.behaviours import HangBeforeHeaders, Text, Tool, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.agent.retry_rules import RetryRules
from tui_app.conversation.turns.work_queue import WorkQueue
from tui_app.conversation.work import Clear, Compact, Prompt, Restate, Switch, Work
from tui_app.events import (
    AssistantMessage,
    Error,
    QueueChanged,
    Record,
    SessionClear,
    ToolResult,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
)


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def prompts(records: list[Record]) -> list[str]:
    return [each.text for each in of(records, UserMessage) if isinstance(each, UserMessage)]


async def test_prompts_run_in_order_one_a_turn(desk: Desk, server: FakeOpenAI) -> None:
    release = Signal()
    server.add(Text("One two three", hold=release), Text("Second."), Text("Third."))
    async with desk.session() as opened:
        conversation = opened.conversation
        watching = Following(conversation.bus)
        for text in ("first", "second", "third"):
            conversation.submit(Prompt(text))
        await (await server.request(1)).paused.wait()
        assert conversation.busy
        await until(watching, lambda data: data == QueueChanged(prompts=("second", "third")))
        release.set()
        await conversation.settle()
        stored = [record for record, _ in opened.store.records(conversation.session)]
        assert prompts(stored) == ["first", "second", "third"]
    assert [body["messages"][-1]["content"] for body in server.journal] == ["first", "second", "third"]


async def test_cancel_pauses_what_waits_until_something_is_sent(desk: Desk, server: FakeOpenAI) -> None:
    server.add(HangBeforeHeaders(), Text("Second."), Text("Third."), Text("Fourth."))
    async with desk.session() as opened:
        conversation = opened.conversation
        for text in ("first", "second", "third"):
            conversation.submit(Prompt(text))
        await (await server.request(1)).paused.wait()
        watching = Following(conversation.bus)
        await cancelled_within(conversation)
        await until(watching, lambda data: data == QueueChanged(prompts=("second", "third"), paused=True))
        assert len(server.journal) == 1
        assert conversation.queue.take_last() == "third"
        conversation.resume_queue()
        await conversation.settle()
        assert [body["messages"][-1]["content"] for body in server.journal[1:]] == ["first\n\nsecond"]
        await turn(conversation, "fourth")
        assert len(server.journal) == 3


async def test_failed_turn_pauses_too(desk: Desk, server: FakeOpenAI) -> None:
    server.add(error(500, "down"), Text("Second."))
    async with desk.session() as opened:
        conversation = opened.conversation
        await done(conversation, Prompt("first"), Prompt("second"))
        assert len(server.journal) == 1
        conversation.resume_queue()
        await conversation.settle()
        assert len(server.journal) == 2


async def test_sending_follows_its_own_turn(desk: Desk, server: FakeOpenAI) -> None:
    """Even if others with the same text are queued before it."""
    server.add(Text("First."), Text("Second."), Text("Third."))
    async with desk.session() as opened:
        conversation = opened.conversation
        conversation.submit(Prompt("same"))
        conversation.submit(Prompt("same"))
        records = await turn(conversation, "same")
        assert len(of(records, TurnEnd)) == 3
        assert len(server.journal) == 3


async def test_who_stops_listening_cancels_only_their_own_prompt(desk: Desk, server: FakeOpenAI) -> None:
    release = Signal()
    server.add(Text("One two", hold=release), HangBeforeHeaders())
    async with desk.session() as opened:
        conversation = opened.conversation
        conversation.submit(Prompt("first"))
        await (await server.request(1)).paused.wait()
        sending = send(conversation, "second")
        await anext(aiter(sending))
        await sending.aclose()
        release.set()
        await conversation.settle()
        assert len(server.journal) == 1, "the second was withdrawn, the first went on"
        assert opened.store.info(conversation.session).messages == 2
        running = asyncio.create_task(turn(conversation, "third"))
        exchange = await server.request(2)
        await exchange.paused.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await exchange.closed.wait()
        await conversation.settle()


async def test_cancelling_when_idle_does_nothing(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Fine."))
    async with desk.session() as opened:
        opened.conversation.cancel()
        assert opened.conversation.queue.take_last() == ""
        records = await turn(opened.conversation, "Hello")
        assert isinstance(records[-1].data, TurnEnd)
        assert of(records, TurnStart)


def test_queue_shows_what_waits() -> None:
    queue = WorkQueue()
    prompt, compact = Prompt("hi"), Compact("tides")
    work: list[Work] = [prompt, compact, Compact(), Restate(undo=True), Restate(undo=False), Clear()]
    for each in (*work, Switch("a:b")):
        queue.enqueue(each)
    assert queue.labels == ("hi", "/compact tides", "/compact", "/undo", "/redo", "/clear", "/model a:b")
    assert not queue.remove(Prompt("hi")), "another prompt with the same words is another prompt"
    assert queue.remove(prompt)
    assert queue.next() is compact
    queue.enqueue(prompt)
    queue.pause()
    assert queue.paused
    assert queue.next() == Compact(), "only prompts are held back"
    while len(queue.labels) > 1:
        assert queue.next() not in (None, prompt)
    assert queue.next() is None
    while queue.take_last():
        assert queue.paused == bool(queue.labels)
    queue.pause()
    assert not queue.paused


async def test_a_command_sends_no_prompt_that_is_held_back(desk: Desk, server: FakeOpenAI) -> None:
    server.add(HangBeforeHeaders(), Text("Second."))
    async with desk.session() as opened:
        conversation = opened.conversation
        conversation.submit(Prompt("first"))
        conversation.submit(Prompt("second"))
        await (await server.request(1)).paused.wait()
        watching = Following(conversation.bus)
        conversation.cancel()
        await until(watching, lambda data: isinstance(data, TurnEnd))
        conversation.submit(Clear())
        held = await until(watching, lambda data: data == QueueChanged(prompts=("second",), paused=True))
        assert isinstance(held.data, QueueChanged)
        await conversation.settle()
        assert len(server.journal) == 1
        conversation.resume_queue()
        await conversation.settle()
        assert [body["messages"][-1]["content"] for body in server.journal] == ["first", "second"]


def test_what_is_sent_during_a_pause_comes_before_what_it_holds_back() -> None:
    queue = WorkQueue()
    for work in (Prompt("second"), Compact(), Prompt("third")):
        queue.enqueue(work)
    queue.pause()
    queue.enqueue(Prompt("now"))
    assert queue.labels == ("/compact", "now", "second", "third"), (
        "what is asked for of the history is done first"
    )
    assert not queue.paused
    queue.enqueue(Prompt("last"))
    assert queue.labels[-1] == "last"


def test_what_waits_is_named_by_place_and_text() -> None:
    queue = WorkQueue()
    for text in ("a", "b", "a", "c"):
        queue.enqueue(Prompt(text))
    assert queue.take(2, "a") == "a"
    assert queue.labels == ("a", "b", "c")
    assert queue.take(2, "b") == "b", "it has moved up since somebody looked"
    assert queue.take(0, "c") == "", "what stands further down is another one"
    assert queue.take(5, "z") == ""
    assert queue.labels == ("a", "c")


def test_what_waits_can_come_earlier_or_later() -> None:
    queue = WorkQueue()
    for text in ("a", "b", "c"):
        queue.enqueue(Prompt(text))
    queue.move(2, "c", -1)
    assert queue.labels == ("a", "c", "b")
    queue.move(0, "a", -1)
    assert queue.labels == ("a", "c", "b")
    queue.move(0, "a", 5)
    assert queue.labels == ("c", "b", "a")
    queue.move(1, "gone", 1)
    assert queue.labels == ("c", "b", "a")


def test_taking_the_last_one_ends_the_pause() -> None:
    queue = WorkQueue()
    queue.enqueue(Prompt("a"))
    queue.pause()
    queue.take(0, "a")
    assert not queue.paused


async def test_closing_does_nothing_more_of_what_waits(desk: Desk, server: FakeOpenAI) -> None:
    server.add(HangBeforeHeaders())
    async with desk.session() as opened:
        conversation = opened.conversation
        for work in (Prompt("first"), Clear(), Prompt("second")):
            conversation.submit(work)
        await (await server.request(1)).paused.wait()
        await conversation.close()
        stored = [record for record, _ in opened.store.records(conversation.session)]
        assert of(stored, SessionClear) == []
        assert prompts(stored) == ["first"]
    assert len(server.journal) == 1


# Between two steps of a turn: the user may insert another prompt, and loops are broken.


@pytest.fixture
def steering_server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    (desk.cwd / "notes.txt").write_text("low tide at four\n")
    return fake_openai


async def test_a_waiting_prompt_is_let_in_after_the_present_step(
    desk: Desk, steering_server: FakeOpenAI
) -> None:
    hold = Signal()
    steering_server.add(
        Tool(calls=(("read_file", {"path": "notes.txt"}),), hold=hold),
        Text("High tide, then."),
        Text("Never asked for."),
    )
    async with desk.session() as opened:
        conversation = opened.conversation
        seen = Following(conversation.bus)
        conversation.submit(Prompt("When is low tide?"))
        await (await steering_server.request(1)).paused.wait()
        conversation.submit(Prompt("No, high tide."))
        conversation.steer()
        hold.set()
        first = await until(seen, lambda payload: isinstance(payload, TurnEnd))
        assert first.data.outcome == "done"
        await until(seen, lambda payload: isinstance(payload, TurnEnd))
        await conversation.settle()
        records = [record for record, _ in opened.store.records(conversation.session)]
        # The current step is kept, and no request was made between it and the new prompt.
        assert len(of(records, ToolResult)) == 1
        assert of(records, AssistantMessage)[-1].text == "High tide, then."
        assert_valid(conversation)
    assert len(steering_server.journal) == 2
    assert [each["role"] for each in steering_server.journal[1]["messages"]] == [
        "system", "user", "assistant", "tool", "user",
    ]  # fmt: skip


async def test_steering_without_anything_waiting_changes_nothing(
    desk: Desk, steering_server: FakeOpenAI
) -> None:
    hold = Signal()
    steering_server.add(Tool(calls=(("read_file", {"path": "notes.txt"}),), hold=hold), Text("At four."))
    async with desk.session() as opened:
        conversation = opened.conversation
        talking = asyncio.create_task(turn(conversation, "When is low tide?"))
        await (await steering_server.request(1)).paused.wait()
        conversation.steer()
        hold.set()
        assert of(await talking, AssistantMessage)[-1].text == "At four."


async def test_steering_ends_a_pause_between_tries(desk: Desk, steering_server: FakeOpenAI) -> None:
    steering_server.add(error(503, "Overloaded"), Text("Here again."))
    async with desk.session() as opened:
        opened.turns.rules = RetryRules(retries=3, first_s=600)
        conversation = opened.conversation
        seen = Following(conversation.bus)
        conversation.submit(Prompt("One?"))
        await until(seen, lambda payload: isinstance(payload, TurnRetry))
        conversation.submit(Prompt("Two?"))
        conversation.steer()
        await until(seen, lambda payload: isinstance(payload, AssistantMessage))
        await conversation.settle()
        assert_valid(conversation)
    assert [each["content"] for each in steering_server.journal[-1]["messages"][1:]] == ["One?\n\nTwo?"]


async def test_a_model_that_goes_in_circles_is_told_and_then_stopped(
    desk: Desk, steering_server: FakeOpenAI
) -> None:
    steering_server.fallback = tool("read_file", path="notes.txt")
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
    assert len(steering_server.journal) == 6


async def test_the_same_call_with_another_result_is_no_circle(
    desk: Desk, steering_server: FakeOpenAI
) -> None:
    (desk.cwd / "b.txt").write_text("b\n")
    calls = [tool("read_file", path=name) for name in ("notes.txt", "b.txt") * 5]
    steering_server.add(*calls, Text("Read both, often."))
    async with desk.session() as opened:
        happened = await turn(opened.conversation, "Read them.")
        assert of(happened, Error) == []
        assert all(each.outcome == "success" for each in of(happened, ToolResult))


async def test_a_turn_takes_so_many_steps_and_no_more(desk: Desk, steering_server: FakeOpenAI) -> None:
    steering_server.add(*(tool("read_file", path="notes.txt", start=n) for n in range(1, 9)))
    async with desk.session(max_steps=3) as opened:
        happened = await turn(opened.conversation, "Go on for ever.")
        [told] = of(happened, Error)
        assert "limit of 3" in told.message
        assert_valid(opened.conversation)
    assert len(steering_server.journal) == 3
