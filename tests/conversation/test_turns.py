"""Turns on a scripted server: streaming, cancelling at any point, failing; the history stays valid."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

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
    view_bytes,
)
from tests.conversation.test_approvals import ONCE, command, results, together, working
from tests.servers.behaviours import (
    Behaviour,
    CutStream,
    Empty,
    EndsEarly,
    HangBeforeHeaders,
    HangMidStream,
    Nothing,
    Text,
    Tool,
    error,
    tool,
)
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.tools import files
from tui_app.agent.tools.commands import Stop
from tui_app.agent.turn import NO_RESULT, TurnRunner
from tui_app.context.requests.builder import INTERRUPTED
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.models.model_switch import ModelSwitch
from tui_app.conversation.work import Prompt, Rewind
from tui_app.events import (
    ApprovalRequested,
    AssistantDelta,
    AssistantMessage,
    Error,
    GaugeChanged,
    ModelChange,
    Notice,
    Record,
    SessionRewind,
    ToolCall,
    ToolOutput,
    ToolResult,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
)
from tui_app.settings import Endpoint


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
        watching = Following(conversation.bus)
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
        watching = Following(conversation.bus)
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
    """Connecting is part of a turn: it can be cancelled, and the unsent prompt is restored."""
    entered = threading.Event()
    leave = threading.Event()

    def slow(*_args: object, **_options: object) -> None:
        entered.set()
        leave.wait(30)
        raise RuntimeError("too late")

    async with desk.session() as opened:
        conversation = opened.conversation
        conversation.history.model = "local:other"
        monkeypatch.setattr("tui_app.agent.model_shelf.build_model", slow)
        watching = Following(conversation.bus)
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
    async with desk.session(retries=4) as opened:
        records = await turn(opened.conversation, "Hello")
        assert error_of(records).kind == "network"
        assert error_of(records).message.startswith("Nothing answers at 127.0.0.1:")
        assert "Start the server" in error_of(records).hint
        assert end_of(records).prompt == "Hello"
        assert not of(records, TurnRetry), "on this machine a later try finds the same"


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


# Stopping a turn before its request is sent, or between two models: nothing more is sent.


BUSY = error(503, "Overloaded", type="overloaded_error")


@dataclass
class Gate:
    """A slow operation: signals when it is entered, and waits to be released."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, *_: object) -> None:
        self.entered.set()
        await self.opened.wait()


@pytest.fixture
def other() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


async def stopped(opened: OpenSession, gate: Gate) -> list[Record]:
    """Send a prompt, and cancel it while it waits at the gate."""
    talking = asyncio.create_task(turn(opened.conversation, "Hello?"))
    await gate.entered.wait()
    opened.conversation.cancel()
    happened = await asyncio.wait_for(talking, 20)
    gate.opened.set()
    return happened


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Cancellations requested of a compaction that continues after the turn."""
    asked: list[str] = []
    monkeypatch.setattr(Compactions, "cancel_job", lambda self: asked.append("cancel"))
    return asked


async def test_while_a_turn_is_prepared(desk: Desk, server: FakeOpenAI, background: list[str]) -> None:
    server.add(Text("Here."))
    gate = Gate()
    async with desk.session() as opened:
        opened.turns.deliver = gate
        happened = await stopped(opened, gate)
        assert of(happened, TurnEnd) == [TurnEnd(outcome="cancelled", prompt="Hello?")]
        assert of(happened, UserMessage, Error) == []
        assert server.journal == []
        assert background == []
        # Cancelling does not affect the next turn.
        assert of(await turn(opened.conversation, "And now?"), TurnEnd)[-1].outcome == "done"
        assert_valid(opened.conversation)


@pytest.mark.parametrize("step", ["forecast", "switch"])
async def test_while_another_model_is_made_ready_to_take_over(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    desk.server("spare", other.base_url, window=32_000)
    desk.server("third", other.base_url, window=32_000)
    server.add(BUSY)
    other.fallback = Text("From another model.")
    gate = Gate()

    def slow(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wait_first(self: ModelSwitch, what: object) -> Any:
            await gate()
            return await original(self, what)

        return wait_first

    async with desk.session(retries=0, fallback_models="spare:scripted,third:scripted") as opened:
        monkeypatch.setattr(ModelSwitch, step, slow(getattr(ModelSwitch, step)))
        happened = await stopped(opened, gate)
        assert of(happened, TurnEnd)[-1].outcome == "cancelled"
        assert of(happened, ModelChange) == []
        assert opened.conversation.model == "local:scripted"
        assert other.journal == []
        assert_valid(opened.conversation)


async def test_a_model_that_is_being_loaded_does_not_hand_over_to_the_next(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.server("spare", other.base_url, window=32_000)
    desk.server("third", other.base_url, window=32_000)
    server.add(BUSY)
    other.fallback = Text("From another model.")
    gate, load = Gate(), ModelSwitch._load

    async def slow(self: ModelSwitch, name: str) -> Any:
        if name == "spare:scripted":
            await gate()
        return await load(self, name)

    monkeypatch.setattr(ModelSwitch, "_load", slow)
    async with desk.session(retries=0, fallback_models="spare:scripted,third:scripted") as opened:
        happened = await stopped(opened, gate)
        assert of(happened, TurnEnd)[-1].outcome == "cancelled"
        assert opened.conversation.model == "local:scripted"
        assert other.journal == []


async def test_whoever_listens_and_fails_changes_nothing(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Here."))

    def fail(record: Record) -> None:
        if isinstance(record.data, TurnEnd):
            raise OSError("no room to take note of it")

    async with desk.session() as opened:
        opened.bus.listen(fail)
        happened = await turn(opened.conversation, "Hello?")
        assert [end.outcome for end in of(happened, TurnEnd)] == ["done"]
        assert of(happened, Error) == []


# An internal error during a turn: reported, the turn ends, and the next one works.


async def broken(*_: object) -> None:
    raise RuntimeError("a defect")


async def test_trying_again_ends_its_turn_too(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.server("local", fake_openai.base_url, 32_000)
    fake_openai.add(Text("One."), Text("Two."))
    async with desk.session() as opened:
        await turn(opened.conversation, "first")
        happened = Following(opened.conversation.bus)
        with monkeypatch.context() as patched:
            patched.setattr(TurnRunner, "run", broken)
            await done(opened.conversation, Rewind(0, again=True))
        async with asyncio.timeout(5):
            assert isinstance((await until(happened, lambda data: isinstance(data, Error))).data, Error)
            end = await until(happened, lambda data: isinstance(data, TurnEnd))
        assert end.data == TurnEnd(outcome="failed", prompt="first")
        assert not opened.conversation.busy
        assert of(await turn(opened.conversation, "second"), TurnEnd)


# Answers that are incomplete or empty: marked and reported.


BAD_ENDS: dict[str, tuple[Behaviour, str]] = {
    "in order, without a word": (EndsEarly(), "The model's answer was cut off. The partial answer is kept"),
    "at its length": (Text("This is", finish_reason="length"), "cut off at its length limit. The partial"),
    "by a filter": (Text("This is", finish_reason="content_filter"), "The provider's filter stopped"),
}


def notices(records: list[Record]) -> list[str]:
    return [one.text for one in of(records, Notice) if isinstance(one, Notice)]


def last_answer(records: list[Record]) -> AssistantMessage:
    answer = of(records, AssistantMessage)[-1]
    assert isinstance(answer, AssistantMessage)
    return answer


@pytest.mark.parametrize("name", BAD_ENDS)
async def test_an_answer_that_is_not_whole_says_so(desk: Desk, fake_openai: FakeOpenAI, name: str) -> None:
    behaviour, words = BAD_ENDS[name]
    desk.server("local", fake_openai.base_url)
    fake_openai.add(behaviour)
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert last_answer(records).text.startswith("This")
        assert last_answer(records).interrupted
        (told,) = notices(records)
        assert words in told
        assert of(records, TurnEnd)[0].outcome == "done"  # type: ignore[attr-defined]


@pytest.mark.parametrize("cut", [EndsEarly(), Nothing()])
async def test_an_answer_that_was_cut_off_is_asked_for_once_more(
    desk: Desk, fake_openai: FakeOpenAI, cut: Behaviour
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(cut, Text("All of it."))
    async with desk.session(retries=1) as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert last_answer(records).text == "All of it."
        assert notices(records) == []
        [retry] = of(records, TurnRetry)
        assert "was cut off" in retry.reason  # type: ignore[attr-defined]


async def test_an_answer_of_blanks_says_so(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Empty(" \n "))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert notices(records) == ["The model gave no answer."]


async def test_a_server_that_tells_no_reasons_but_a_usage_is_believed(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Text("All of it.", finish_reason=None, usage=(9, 3)))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert not last_answer(records).interrupted
        assert notices(records) == []


# Reasoning effort is requested in each model's own terms, or not at all.


@pytest.mark.parametrize(
    ("level", "asked"), [("default", None), ("low", "low"), ("high", "high"), ("off", "none")]
)
async def test_the_level_reaches_the_model(
    desk: Desk, fake_openai: FakeOpenAI, level: str, asked: str | None
) -> None:
    desk.endpoints["thinker"] = Endpoint(name="thinker", base_url=fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Thought about."))
    async with desk.session(model="thinker:gpt-5.2", thinking=level) as opened:
        happened = await turn(opened.conversation, "Think.")
        assert of(happened, TurnEnd)[-1].outcome == "done"
    assert fake_openai.journal[-1].get("reasoning_effort") == asked


# A tool that raises has failed: the model gets the error, and the turn continues.


AGENT = '''
import asyncio, sqlite3, sys

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ToolFailed, UserError

hooks = Hooks()
helper = Agent(retries=1)
mended = Agent(capabilities=[hooks])

@hooks.on.tool_execute
async def _(ctx, *, call, tool_def, args, handler):
    try:
        return await handler(args)
    except KeyError as error:
        return f"mended {error}"

KINDS = {
    "key": KeyError("sunday"),
    "red": ValueError("\\x1b[31mno\\nferry for sk-abcdefghijklmnopqrstuvwx"),
    "net": ConnectionError("refused"),
    "time": TimeoutError(),
    "sql": sqlite3.OperationalError("disk is full"),
    "exit": SystemExit(3),
    "group": ExceptionGroup("many", [KeyError("inner")]),
    "retry": ModelRetry("Say another day."),
    "failed": ToolFailed("No ferry."),
    "lost": ModelRetry("Not with the key f3rr9Qx8LpZ2vT6uW1s."),
    "missed": ToolFailed("Not with the key f3rr9Qx8LpZ2vT6uW1s."),
    "user": UserError("Unknown model: nobody"),
}

def departures(day: str) -> str:
    """List the departures."""
    if day in KINDS:
        raise KINDS[day]
    return "09:00"

async def slow() -> str:
    """Wait."""
    await asyncio.sleep(30)
    return "late"

def pay(amount: int) -> str:
    """Pay."""
    raise KeyError("purse")

for agent in (helper, mended):
    agent.tool_plain(departures)
helper.tool_plain(slow)
paying = Agent(output_type=[str, pay])
'''


async def played(
    desk: Desk, server: FakeOpenAI, *behaviours: object, agent: str = "helper", **more: object
) -> list[Record]:
    (desk.cwd / "agents.py").write_text(AGENT)
    desk.server("local", server.base_url, window=100_000)
    server.add(*behaviours)  # type: ignore[arg-type]
    opening = desk.opening(read_only=False, **more)
    opened = open_session(replace(opening, agent=f"agents.py:{agent}", yes=True))
    try:
        await opened.prepare()
        happened = await turn(opened.conversation, "When?")
        assert_valid(opened.conversation)
        return happened
    finally:
        await opened.close()


def ended(records: list[Record]) -> str:
    [end] = of(records, TurnEnd)
    assert isinstance(end, TurnEnd)
    return end.outcome


@pytest.mark.parametrize(
    ("day", "said"),
    [
        ("key", "The tool departures failed: KeyError: 'sunday'"),
        ("net", "The tool departures failed: ConnectionError: refused"),
        ("time", "The tool departures failed: TimeoutError"),
        ("sql", "The tool departures failed: OperationalError: disk is full"),
        ("exit", "The tool departures failed: SystemExit: 3"),
        ("group", "The tool departures failed: KeyError: 'inner'"),
        ("failed", "No ferry."),
    ],
)
async def test_the_model_is_told_and_the_turn_goes_on(
    desk: Desk, fake_openai: FakeOpenAI, day: str, said: str
) -> None:
    records = await played(desk, fake_openai, tool("departures", day=day), Text("A pity."))
    assert results(records) == [("error", said)]
    assert (ended(records), of(records, Error), of(records, TurnRetry)) == ("done", [], [])
    assert said in fake_openai.journal[-1]["messages"][-1]["content"]


async def test_what_it_raises_is_cleaned_and_its_keys_are_masked(desk: Desk, fake_openai: FakeOpenAI) -> None:
    records = await played(desk, fake_openai, tool("departures", day="red"), Text("A pity."))
    [(_, text)] = results(records)
    assert text.startswith("The tool departures failed: ValueError: [31mno ferry for ")
    assert "abcdefghijklmnop" not in text
    assert "\x1b" not in str(fake_openai.journal[-1])


@pytest.mark.parametrize("day", ["lost", "missed"])
async def test_keys_are_masked_in_a_tools_own_failures(desk: Desk, fake_openai: FakeOpenAI, day: str) -> None:
    desk.env["FERRY_API_KEY"] = "f3rr9Qx8LpZ2vT6uW1s"
    records = await played(desk, fake_openai, tool("departures", day=day), Text("A pity."))
    assert results(records) == [("error", "Not with the key [secret removed].")]
    assert "f3rr9Qx8LpZ2vT6uW1s" not in str(fake_openai.journal)


async def test_those_beside_it_keep_their_results(desk: Desk, fake_openai: FakeOpenAI) -> None:
    both = together(tool("departures", day="key"), tool("departures", day="Monday"))
    records = await played(desk, fake_openai, both, Text("At nine on Mondays."))
    assert sorted(results(records)) == [
        ("error", "The tool departures failed: KeyError: 'sunday'"),
        ("success", "09:00"),
    ]
    assert ended(records) == "done"


async def test_the_traceback_is_for_the_log(
    desk: Desk, fake_openai: FakeOpenAI, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    await played(desk, fake_openai, tool("departures", day="key"), Text("A pity."))
    [written] = [each for each in caplog.records if each.name.startswith("tui_app")]
    assert (written.levelno, written.getMessage()) == (logging.ERROR, "the tool departures failed")
    assert "agents.py" in caplog.text
    assert "Traceback" not in "".join(capfd.readouterr())


async def test_a_tool_that_always_fails_ends_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = tool("departures", day="key")
    records = await played(desk, fake_openai)
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert (told.kind, "departures" in told.message, ended(records)) == ("tool", True, "failed")
    assert len(fake_openai.journal) == 6
    assert INTERRUPTED not in [text for _, text in results(records)]


async def test_a_tool_that_asks_for_another_try_gets_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    records = await played(desk, fake_openai, tool("departures", day="retry"), Text("Which?"))
    [(outcome, text)] = results(records)
    assert (outcome, "Say another day." in text, ended(records)) == ("error", True, "done")


async def test_the_tries_of_a_tool_end(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = tool("departures", day="retry")
    records = await played(desk, fake_openai)
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert "called the tool departures wrongly too many times" in told.message
    assert len(fake_openai.journal) == 2


async def test_hooks_of_the_agent_come_first(desk: Desk, fake_openai: FakeOpenAI) -> None:
    records = await played(desk, fake_openai, tool("departures", day="key"), Text("Good."), agent="mended")
    assert results(records) == [("success", "mended 'sunday'")]


async def test_an_agent_that_is_made_wrongly_ends_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    both = together(tool("departures", day="user"), tool("slow"))
    records = await played(desk, fake_openai, both)
    assert sorted(results(records)) == [
        ("error", "The tool departures failed: UserError: Unknown model: nobody"),
        ("interrupted", NO_RESULT),
    ]
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert (told.kind, told.message) == (
        "tool",
        "The tool departures failed: UserError: Unknown model: nobody.",
    )
    assert "plimsoll.log" in told.hint
    assert ended(records) == "failed"


async def test_a_function_that_takes_the_answer_and_fails_is_named(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    records = await played(desk, fake_openai, tool("final_result", amount=7), agent="paying")
    assert results(records) == [("error", "The tool final_result failed: KeyError: 'purse'")]
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert (told.kind, ended(records)) == ("tool", "failed")


# Commands that the user stops before they finish.


LONG = "printf 'begun\\non the way\\n\\n'; sleep 600"


async def test_what_a_stopped_command_had_printed_is_kept(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(command(LONG), Text("Gone on."))
    async with working(desk, fake_openai) as opened:
        records: list[Record] = []
        async with asyncio.timeout(20):
            async for record in send(opened.conversation, "Run it."):
                records.append(record)
                match record.data:
                    case ApprovalRequested(id=id):
                        opened.conversation.tooling.approvals.decide(id, ONCE)
                    case ToolOutput(text=text) if "way" in text:
                        opened.conversation.cancel()
        [(outcome, text)] = results(records)
        assert outcome == "interrupted"
        assert text == "Interrupted by user. Output until then:\nbegun\non the way"
        assert of(records, TurnEnd)[0].outcome == "cancelled"  # type: ignore[attr-defined]
        assert_valid(opened.conversation)
        async for _ in send(opened.conversation, "Go on."):
            pass
        assert "on the way" in json.dumps(fake_openai.journal[-1])
