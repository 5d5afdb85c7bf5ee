"""Turns against a scripted server: streaming, cancelling at any point, failing; never a broken history."""

import asyncio
import threading
from typing import Any

import pytest

from tests.conversation.driving import Desk, assert_valid, cancelled_within, of, turn, until, view_bytes
from tests.servers.behaviours import (
    Behaviour,
    CutStream,
    HangBeforeHeaders,
    HangMidStream,
    Text,
    Tool,
    error,
    tool,
)
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.tools import files
from tui_app.agent.tools.commands import Stop
from tui_app.context.requests.builder import INTERRUPTED
from tui_app.conversation.work import Prompt
from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    Error,
    GaugeChanged,
    Record,
    SessionRewind,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def end_of(records: list[Record]) -> TurnEnd:
    (end,) = of(records, TurnEnd)
    assert isinstance(end, TurnEnd)
    return end


def error_of(records: list[Record]) -> Error:
    (said,) = of(records, Error)
    assert isinstance(said, Error)
    return said


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


async def test_answer_streams_and_is_logged_before_the_turn_ends(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("The sea is salty.", usage=(812, 7)))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Why?")
        kinds = [type(record.data) for record in records if not isinstance(record.data, GaugeChanged)]
        deltas = "".join(
            each.text for each in of(records, AssistantDelta) if isinstance(each, AssistantDelta)
        )
        (answer,) = of(records, AssistantMessage)
        assert isinstance(answer, AssistantMessage)
        assert deltas == answer.text == "The sea is salty."
        assert (answer.input_tokens, answer.output_tokens, answer.model) == (812, 7, "local:scripted")
        wanted = (TurnStart, UserMessage, AssistantDelta, AssistantMessage, TurnEnd)
        assert list(dict.fromkeys(kind for kind in kinds if kind in wanted)) == list(wanted)
        assert kinds[-1] is TurnEnd
        assert end_of(records).outcome == "done"
        assert opened.conversation.usage.total == pytest.approx(819, abs=3)
        stored = [record for record, _ in opened.store.records(opened.conversation.session)]
        assert [r.data for r in stored if isinstance(r.data, AssistantMessage)] == [answer]


async def test_gauge_does_not_jump_with_the_first_request(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Yes.", usage=(0, 0)))
    async with desk.session() as opened:
        before = opened.conversation.usage.parts
        await turn(opened.conversation, "Is it?")
        after = opened.conversation.usage.parts
    assert before.system > 0
    assert (before.system, before.tools) == (after.system, after.tools)


async def test_tools_run_and_their_results_reach_the_model(desk: Desk, server: FakeOpenAI) -> None:
    server.add(
        Tool(calls=(("read_file", {"path": "README.md"}), ("ls", {}))), Text("The sea is below the sky.")
    )
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Read it.")
        assert [type(each).__name__ for each in of(records, ToolCall, ToolResult)] == [
            "ToolCall",
            "ToolCall",
            "ToolResult",
            "ToolResult",
        ]
        assert_valid(opened.conversation)
    assert roles(server.journal[1])[-3:] == ["assistant", "tool", "tool"]
    assert "The sea is below" in server.journal[1]["messages"][-2]["content"]


@pytest.mark.parametrize("hanging", [HangBeforeHeaders(), HangMidStream("One two three four", after=2)])
async def test_cancel_while_the_model_answers(desk: Desk, server: FakeOpenAI, hanging: Behaviour) -> None:
    server.add(hanging, Text("Now it works."))
    async with desk.session() as opened:
        conversation = opened.conversation
        watching = conversation.watch()
        conversation.submit(Prompt("First"))
        exchange = await server.request(1)
        await exchange.paused.wait()
        if isinstance(hanging, HangMidStream):
            await until(watching, lambda data: isinstance(data, AssistantDelta) and "two" in data.text)
        await cancelled_within(conversation)
        await exchange.closed.wait()
        said = [r.data for r, _ in opened.store.records(conversation.session)]
        partial = [each for each in said if isinstance(each, AssistantMessage)]
        if isinstance(hanging, HangMidStream):
            assert [(each.text, each.interrupted) for each in partial] == [("One two", True)]
        else:
            assert partial == []
        assert not [each for each in said if isinstance(each, SessionRewind | Error)]
        assert_valid(conversation)
        records = await turn(conversation, "Second")
        assert end_of(records).outcome == "done"
        assert_valid(conversation)
    sent = server.journal[1]["messages"]
    assert "First" in str(sent)
    assert sent[-1]["role"] == "user"
    assert "Second" in str(sent[-1]["content"])


async def test_cancel_while_a_tool_runs(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def endless(_ws: object, _path: str, _start: int, _lines: int, *, stop: Stop) -> str:
        begun.set()
        stop.cancelled.wait(30)
        stopped.set()
        return "too late"

    monkeypatch.setattr(files, "read_file", endless)
    server.add(Tool(calls=(("read_file", {"path": "README.md"}), ("ls", {}))), Text("Fine."))
    async with desk.session() as opened:
        conversation = opened.conversation
        watching = conversation.watch()
        conversation.submit(Prompt("Read it"))
        await until(watching, lambda data: isinstance(data, ToolResult) and data.name == "ls")
        assert await asyncio.to_thread(begun.wait, 30), "the other call has begun beside it"
        await cancelled_within(conversation)
        assert stopped.wait(10), "the tool's thread was told"
        results = [r.data for r, _ in opened.store.records(conversation.session)]
        outcomes = {r.name: (r.outcome, r.text) for r in results if isinstance(r, ToolResult)}
        assert outcomes["read_file"] == ("interrupted", INTERRUPTED)
        assert outcomes["ls"][0] == "success"
        assert_valid(conversation)
        records = await turn(conversation, "Go on")
        assert end_of(records).outcome == "done"
    assert roles(server.journal[1])[-4:] == ["assistant", "tool", "tool", "user"]


async def test_cancel_while_the_server_is_asked_for_its_window(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connecting is part of a turn: it can be cancelled, and the prompt that was never sent comes back."""
    entered = threading.Event()
    leave = threading.Event()

    def slow(*_args: object, **_options: object) -> None:
        entered.set()
        leave.wait(30)
        raise RuntimeError("too late")

    async with desk.session() as opened:
        conversation = opened.conversation
        conversation.history.model = "local:other"
        monkeypatch.setattr("tui_app.agent.catalog.build_model", slow)
        watching = conversation.watch()
        conversation.submit(Prompt("Hello"))
        await until(watching, lambda data: isinstance(data, TurnStart))
        await asyncio.to_thread(entered.wait, 30)
        await cancelled_within(conversation)
        record = await until(watching, lambda data: isinstance(data, TurnEnd))
        leave.set()
        assert isinstance(record.data, TurnEnd)
        assert (record.data.outcome, record.data.prompt) == ("cancelled", "Hello")
        assert conversation.history.items() == []


FAILURES: dict[str, Behaviour] = {
    "auth": error(401, "Incorrect API key provided", code="invalid_api_key"),
    "provider": error(500, "The server had an error"),
    "network": CutStream(after=0),
    "rate_limit": error(429, "Rate limit reached"),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_failed_turn_gives_the_prompt_back(desk: Desk, server: FakeOpenAI, kind: str) -> None:
    server.add(Text("Good."), FAILURES[kind], Text("Good again."))
    async with desk.session() as opened:
        conversation = opened.conversation
        await turn(conversation, "First")
        before = view_bytes(conversation)
        records = await turn(conversation, "Second")
        said = error_of(records)
        assert said.kind == kind
        assert said.message.endswith(".")
        assert "Error" not in said.message
        assert (end_of(records).outcome, end_of(records).prompt) == ("failed", "Second")
        assert view_bytes(conversation) == before
        assert end_of(await turn(conversation, "Third")).outcome == "done"
    assert "Second" not in str(server.journal[2])


async def test_nobody_listens_there(desk: Desk) -> None:
    with FakeOpenAI() as gone:
        address = gone.base_url
    desk.server("local", address, window=9_000)
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Hello")
        assert error_of(records).kind == "network"
        assert "refused the connection" in error_of(records).message
        assert end_of(records).prompt == "Hello"


async def test_failure_behind_a_tool_keeps_what_was_done(desk: Desk, server: FakeOpenAI) -> None:
    server.add(tool("ls"), error(500, "down"), Text("There it is."))
    async with desk.session() as opened:
        conversation = opened.conversation
        records = await turn(conversation, "Look")
        assert (end_of(records).outcome, end_of(records).prompt) == ("failed", "")
        assert_valid(conversation)
        await turn(conversation, "Go on")
    assert roles(server.journal[2])[-4:] == ["user", "assistant", "tool", "user"]


async def test_unknown_model_and_missing_key(desk: Desk) -> None:
    async with desk.session(model="nobody:nothing") as opened:
        records = await turn(opened.conversation, "Hello")
        assert error_of(records).message.endswith(".")
        assert end_of(records).prompt == "Hello"
    async with desk.session(model="openai:gpt-5-mini") as opened:
        assert "OPENAI_API_KEY" in error_of(await turn(opened.conversation, "Hello")).message


async def test_prompt_that_cannot_fit_is_never_sent(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=2_000)
    fake_openai.add(Text("Short and good."))
    async with desk.session() as opened:
        long = "many words " * 2_000
        records = await turn(opened.conversation, long)
        said = error_of(records)
        assert (said.kind, said.limit) == ("context_overflow", 2_000)
        assert said.requested is not None
        assert said.requested > 4_000
        assert end_of(records).prompt == long
        assert fake_openai.journal == []
        assert end_of(await turn(opened.conversation, "Short")).outcome == "done"


async def test_view_is_the_same_bytes_when_read_again(desk: Desk, server: FakeOpenAI) -> None:
    server.add(tool("ls"), Text("There it is."), Text("Bye."))
    async with desk.session() as opened:
        for prompt in ("Look", "Thanks"):
            await turn(opened.conversation, prompt)
        before, session = view_bytes(opened.conversation), opened.conversation.session
        usage = opened.conversation.usage
    async with desk.session(session=session) as opened:
        assert view_bytes(opened.conversation) == before
        assert opened.conversation.usage == usage


async def test_half_characters_reach_neither_log_nor_server(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Odd."))
    async with desk.session() as opened:
        assert end_of(await turn(opened.conversation, "Half \ud83d here")).outcome == "done"
        before, session = view_bytes(opened.conversation), opened.conversation.session
    assert "Half \ufffd here" in str(server.journal[0])
    async with desk.session(session=session) as opened:
        assert view_bytes(opened.conversation) == before


async def test_broken_log_ends_the_turn_with_an_error(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Never shown."))
    async with desk.session() as opened:
        opened.store._db.execute("PRAGMA query_only = ON")
        records = await turn(opened.conversation, "Hello")
        assert error_of(records).message.endswith(".")
        assert (end_of(records).outcome, end_of(records).prompt) == ("failed", "Hello")
        assert not opened.conversation.busy
        opened.store._db.execute("PRAGMA query_only = OFF")
        assert end_of(await turn(opened.conversation, "Hello")).outcome == "done"
