"""Whatever a server does to an answer: no crash, no lost prompt, a valid history, words one understands."""

import asyncio
import json
import re
from dataclasses import dataclass

import pytest

from tests.conversation.driving import Desk, assert_valid, cancelled_within, of, turn
from tests.servers.behaviours import (
    Behaviour,
    CutStream,
    Empty,
    Failure,
    HangBeforeHeaders,
    HangMidStream,
    ReasoningOnly,
    Text,
)
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.faults import Calls, CutAtOnce, CutCall, Drip, EndsInCall, Garbage, call, counted, read
from tests.servers.wire import problems
from tui_app.agent.turn import RetryRules
from tui_app.conversation.assembly import OpenSession
from tui_app.events import AssistantMessage, Error, Record, ToolResult, TurnEnd, TurnRetry

SOON = RetryRules(retries=2, first_s=0.01)
ASKS = "At most about"
"""Stands in every request for a summary."""
PROMPT = "What does the README say?"
_OF_A_PROGRAM = re.compile(r"Traceback|\w+(?:Error|Exception)\b|pydantic|httpx|<[a-z]+ object|None\b")


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def impatient(opened: OpenSession) -> OpenSession:
    opened.turns.rules = SOON
    return opened


def assert_understandable(told: Error) -> None:
    """A sentence, and what to do next; nothing of the program's inside."""
    assert told.message.endswith((".", "!", "?"))
    assert told.hint
    for text in (told.message, told.hint):
        assert not _OF_A_PROGRAM.search(text), text


def ended(records: list[Record]) -> TurnEnd:
    [end] = of(records, TurnEnd)
    assert isinstance(end, TurnEnd)
    return end


async def assert_goes_on(opened: OpenSession, server: FakeOpenAI) -> None:
    """The next prompt is answered, and no request was one that a provider refuses."""
    server.add(*(Text("Title: T\n## Intent\nRead it.") for _ in range(9)), phrase=ASKS)
    server.fallback = Text("It goes on.")
    records = await turn(opened.conversation, "And now?")
    assert ended(records).outcome == "done"
    messages = [item.message for item in opened.conversation.history.items()]
    # An answer that says nothing stays in the view, for the record, and is never sent.
    if all(any(part.part_kind != "thinking" for part in message.parts) for message in messages):
        assert_valid(opened.conversation)
    assert [found for body in server.journal for found in problems(body)] == []


@dataclass(frozen=True)
class Fault:
    """What the server does, each time it is asked, and what a person is told in the end."""

    behaviour: Behaviour
    words: str
    requests: int = 3
    """How often it is asked: once, and again as often as the rules allow."""
    answered: bool = False
    """Whether something of an answer stands, so that the prompt stays too."""


LIMITED = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
FAILING = {
    "cut before the first byte": Fault(CutAtOnce(), "connection to"),
    "cut in mid text": Fault(CutStream(), "connection to", answered=True),
    "cut in mid arguments": Fault(CutCall(), "connection to", answered=True),
    "429": Fault(Failure(429, LIMITED), "limiting requests"),
    "429 with a pause": Fault(Failure(429, LIMITED, {"retry-after": "0"}), "limiting requests"),
    "429 with a long pause": Fault(Failure(429, LIMITED, {"retry-after": "600"}), "asks to wait 10 min", 1),
    "429 with nonsense": Fault(Failure(429, LIMITED, {"retry-after": "soon"}), "limiting requests"),
    "429 without a body": Fault(Failure(429, ""), "limiting requests"),
    "500": Fault(Failure(500, {"error": {"message": "boom"}}), "internal error"),
    "500 with a page": Fault(Failure(500, "<html><body>Oops</body></html>"), "internal error"),
    "503 with a pause": Fault(Failure(503, OVERLOADED, {"retry-after": "0"}), "overloaded"),
    "529": Fault(Failure(529, OVERLOADED), "overloaded"),
    "a page instead of an answer": Fault(Failure(200, "<html>Log in</html>"), "", 1),
    "nothing at all": Fault(Failure(200, ""), "", 1),
    "an error in the stream": Fault(
        Garbage('{"error": {"message": "upstream died", "type": "server_error", "code": 502}}'), "", 0
    ),
    "malformed chunk": Fault(Garbage(), "", 0),
    "malformed first chunk": Fault(Garbage(words=""), "", 0),
    "a chunk of another kind": Fault(Garbage('{"hello": "world"}'), "", 0),
    "a chunk that is a list": Fault(Garbage("[1, 2, 3]"), "", 0),
    "empty": Fault(Empty(), "", 0),
    "reasoning only": Fault(ReasoningOnly(), "", 0),
    "ends in mid arguments": Fault(EndsInCall(), "", 0),
}


@pytest.mark.parametrize("name", FAILING)
async def test_a_fault_that_lasts_ends_in_a_sentence(desk: Desk, server: FakeOpenAI, name: str) -> None:
    fault = FAILING[name]
    server.add(*[fault.behaviour] * 12)
    async with desk.session() as opened:
        records = await turn(impatient(opened).conversation, PROMPT)
        asked = len(server.journal)
        end, told = ended(records), [one for one in of(records, Error) if isinstance(one, Error)]
        assert asked <= 10
        assert asked == (fault.requests or asked)
        assert len(of(records, TurnRetry)) <= SOON.retries
        if end.outcome == "failed":
            assert len(told) == 1
            assert_understandable(told[0])
            assert fault.words in told[0].message, told[0].message
            stands = any(item.model for item in opened.conversation.history.items())
            assert (end.prompt == PROMPT) != stands, "the prompt goes back, or stands with what answers it"
        else:
            assert (end.outcome, told) == ("done", [])
        server._queues[""].clear()
        await assert_goes_on(opened, server)


@pytest.mark.parametrize("name", FAILING)
async def test_a_fault_that_passes_is_got_over(desk: Desk, server: FakeOpenAI, name: str) -> None:
    fault = FAILING[name]
    server.add(fault.behaviour, Text("The sea is below."), Text("The sea is below."))
    async with desk.session() as opened:
        records = await turn(impatient(opened).conversation, PROMPT)
        if fault.requests == 3:
            assert ended(records).outcome == "done"
            assert of(records, AssistantMessage)[-1].text == "The sea is below."
        server._queues[""].clear()
        await assert_goes_on(opened, server)


@pytest.mark.parametrize(
    "hang", [HangBeforeHeaders(), HangMidStream()], ids=["before headers", "in mid stream"]
)
async def test_a_socket_that_hangs_is_given_up_and_asked_again(
    desk: Desk, server: FakeOpenAI, hang: Behaviour
) -> None:
    server.add(*[hang] * 3)
    async with desk.session(answer_timeout_s=0.3) as opened:
        records = await turn(impatient(opened).conversation, PROMPT)
        assert ended(records).outcome == "failed"
        [told] = of(records, Error)
        assert isinstance(told, Error)
        assert_understandable(told)
        assert len(server.journal) == 3
        await asyncio.gather(*(exchange.closed.wait() for exchange in server.exchanges))
        await assert_goes_on(opened, server)


@pytest.mark.parametrize(
    "hang", [HangBeforeHeaders(), HangMidStream()], ids=["before headers", "in mid stream"]
)
async def test_a_socket_that_hangs_can_be_left_at_once(
    desk: Desk, server: FakeOpenAI, hang: Behaviour
) -> None:
    server.add(hang)
    async with desk.session() as opened:
        sending = asyncio.create_task(turn(opened.conversation, PROMPT))
        exchange = await server.request(1)
        await exchange.paused.wait()
        await cancelled_within(opened.conversation)
        await exchange.closed.wait()
        assert ended(await sending).outcome == "cancelled"
        await assert_goes_on(opened, server)


async def test_a_slow_drip_is_no_silence(desk: Desk, server: FakeOpenAI) -> None:
    text = "Slowly but surely it comes."
    server.add(Drip(text, pause_s=0.05))
    async with desk.session(answer_timeout_s=0.8) as opened:
        records = await turn(impatient(opened).conversation, PROMPT)
        assert of(records, AssistantMessage)[-1].text == text
        assert of(records, TurnRetry) == []


@pytest.mark.filterwarnings("ignore::pydantic_ai.exceptions.UsageExtractionFailedWarning")
@pytest.mark.parametrize(
    ("prompt", "completion"),
    [(0, 0), (10**12, 5), (5, 10**12), (-1, -1), (-(10**9), 7), (31_999, 1)],
)
async def test_wrong_usage_spoils_nothing(
    desk: Desk, server: FakeOpenAI, prompt: int, completion: int
) -> None:
    server.add(*(counted(f"Answer {number}.", prompt, completion) for number in range(4)))
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(4):
            server.add(Text("Title: T\n## Intent\nTalk."), phrase=ASKS)
            assert ended(await turn(conversation, f"Question {number}?")).outcome == "done"
            usage = conversation.usage
            assert usage.total >= 0
            assert usage.utilization >= 0
        await conversation.settle()
        assert conversation.usage.total < 64_000, "what cannot be is not believed"
        server._queues[""].clear()
        await assert_goes_on(opened, server)


HUGE = json.dumps({"path": "x" * 400_000})
WRONG_CALLS = {
    "duplicate ids": Calls((read("README.md", "same"), read("README.md", "same"))),
    "no id": Calls((read("README.md", ""),)),
    "unknown tool": call("launch_rocket", "{}"),
    "a tool without a name": call("", "{}"),
    "a tool with a strange name": call("read file; rm -rf /", "{}"),
    "not JSON": call("read_file", "path=README.md"),
    "half JSON": call("read_file", '{"path": "READ'),
    "nothing": call("read_file", ""),
    "a list": call("read_file", '["README.md"]'),
    "a number": call("read_file", "7"),
    "null": call("read_file", "null"),
    "a missing argument": call("read_file", "{}"),
    "a wrong type": call("read_file", '{"path": {"a": 1}}'),
    "an unknown argument": call("read_file", '{"path": "README.md", "colour": "red"}'),
    "a number that overflows": call("read_file", '{"path": "README.md", "start": 1e999}'),
    "nested deeply": call("read_file", '{"path": ' + "[" * 5_000 + "]" * 5_000 + "}"),
    "huge": call("read_file", HUGE),
    "lone surrogates": call("read_file", '{"path": "\\ud800\\udfff\\u0000"}'),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
async def test_a_wrong_call_is_answered_and_the_model_may_do_better(
    desk: Desk, server: FakeOpenAI, name: str
) -> None:
    server.add(WRONG_CALLS[name], Text("Never mind: the sea is below."))
    async with desk.session() as opened:
        records = await turn(impatient(opened).conversation, PROMPT)
        if name == "huge":  # more than the window holds
            assert "longer than the 32,000 tokens" in of(records, Error)[0].message
            server._queues[""].clear()
        else:
            assert ended(records).outcome == "done", [one.message for one in of(records, Error)]
            assert of(records, AssistantMessage)[-1].text == "Never mind: the sea is below."
        assert len(of(records, ToolResult)) >= 1
        await assert_goes_on(opened, server)


@pytest.mark.parametrize("name", WRONG_CALLS)
async def test_a_model_that_never_does_better_is_stopped(desk: Desk, server: FakeOpenAI, name: str) -> None:
    server.add(*[WRONG_CALLS[name]] * 40)
    async with desk.session(max_steps=30) as opened:
        records = await turn(impatient(opened).conversation, PROMPT)
        assert ended(records).outcome == "failed"
        [told] = of(records, Error)
        assert isinstance(told, Error)
        assert_understandable(told)
        assert len(server.journal) <= 30
        server._queues[""].clear()
        await assert_goes_on(opened, server)


async def test_a_resumed_session_can_be_sent_after_every_wrong_call(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        for each in WRONG_CALLS.values():
            server.add(each, Text("Never mind."))
            await turn(opened.conversation, PROMPT)
        session = opened.conversation.session
    async with desk.session(session=session) as again:
        await assert_goes_on(again, server)
