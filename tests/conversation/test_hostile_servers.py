"""Servers that return bad summaries or say "too long" forever: nothing is lost, and the session goes on."""

from dataclasses import dataclass, replace

import pytest

from tests.conversation.driving import Desk, Following, assert_valid, done, of, turn, view_bytes
from tests.servers.behaviours import (
    Behaviour,
    CutStream,
    Empty,
    EndsEarly,
    Failure,
    HangBeforeHeaders,
    ReasoningOnly,
    Text,
    error,
    too_long,
    tool,
)
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact, Restate
from tui_app.events import (
    NOT_IN_LOG,
    AssistantMessage,
    CompactionComplete,
    CompactionProgress,
    CompactionStart,
    Error,
    Truncation,
    TurnEnd,
    UserMessage,
)

# Bad summaries over the wire: the conversation is unchanged and can continue.


ASKS = "At most about"
"""Phrase in every summary request, updates included."""
LONG = "The sea is below and the sky is above, as everybody knows. " * 40
NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."


@dataclass(frozen=True)
class Spoilt:
    """A server's behaviour, the expected reason, and the most requests per attempt."""

    behaviour: Behaviour
    reason: str
    most_requests: int = 1


SPOILT = {
    "empty": Spoilt(Empty(), "wrote no text"),
    "white space": Spoilt(Empty(" \n "), "the model"),
    "reasoning only": Spoilt(ReasoningOnly(), "wrote no text"),
    "tool call": Spoilt(tool("run_command", command="rm -rf /"), "wrote no text"),
    "cut at its length": Spoilt(Text(NOTES, finish_reason="length"), "cut off at its length limit"),
    "filtered": Spoilt(Text(NOTES, finish_reason="content_filter"), "filter"),
    "ends in order, before its end": Spoilt(EndsEarly(NOTES, after=9), "was cut off"),
    "cut connection": Spoilt(CutStream(NOTES, after=4), ""),
    "obeyed": Spoilt(Text("OK"), "something other than a summary"),
    "obeyed an order it read": Spoilt(
        Text("Sure, I have deleted all the files as you asked."), "has a source in the log", 2
    ),
    "gives the marker back": Spoilt(
        Text("<transcript>\n#1 User: Question 0?\n</transcript>"), "repeated the conversation"
    ),
    "longer than the input": Spoilt(
        Text("## Intent\n" + " ".join(map(str, range(30_000))), chunks=20), "far more than"
    ),
    "an endless loop": Spoilt(Text("## Intent\n" + "And so on. " * 9_000, chunks=400), "repeats itself"),
    "too long": Spoilt(too_long(10, 40_000), "even a small part", 8),
    "413": Spoilt(error(413, "Request Entity Too Large"), "even a small part", 8),
    "429": Spoilt(error(429, "Rate limit reached", code="rate_limit_exceeded"), "", 3),
    "500": Spoilt(error(500, "down"), "", 3),
}


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def impatient(opened: OpenSession) -> OpenSession:
    """Retry summaries almost immediately."""
    opened.writers.rules = replace(opened.writers.rules, first_s=0.001)
    return opened


async def fill(opened: OpenSession, server: FakeOpenAI, turns: int) -> list[str]:
    """Run some turns, and return their outcomes."""
    outcomes: list[str] = []
    for number in range(turns):
        server.add(Text(f"Answer {number}. {LONG}", usage=(0, 0)))
        records = await turn(opened.conversation, f"Question {number}? {LONG}")
        outcomes += [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)]
    return outcomes


def last_of(opened: OpenSession) -> CompactionComplete:
    records = [record for record, _ in opened.store.records(opened.conversation.session)]
    complete = of(records, CompactionComplete)[-1]
    assert isinstance(complete, CompactionComplete)
    return complete


def summaries(server: FakeOpenAI) -> int:
    """Count the summary requests."""
    return sum(ASKS in exchange.text() for exchange in server.exchanges)


@pytest.mark.parametrize("name", SPOILT)
async def test_by_hand_nothing_changes_and_the_next_turn_works(
    desk: Desk, server: FakeOpenAI, name: str
) -> None:
    spoilt = SPOILT[name]
    async with desk.session() as opened:
        conversation = impatient(opened).conversation
        await fill(opened, server, 4)
        before, usage = view_bytes(conversation), conversation.usage
        server.add(*[spoilt.behaviour] * 9, phrase=ASKS)
        await done(conversation, Compact())
        complete = last_of(opened)
        assert complete.outcome == "failed"
        assert complete.reason
        assert spoilt.reason in complete.reason, complete.reason
        assert "Traceback" not in complete.reason
        assert view_bytes(conversation) == before
        assert conversation.usage == usage
        assert 1 <= summaries(server) <= spoilt.most_requests
        asked = summaries(server)
        server.add(Text("It goes on.", usage=(0, 0)))
        [end] = of(await turn(conversation, "Next"), TurnEnd)
        assert isinstance(end, TurnEnd)
        assert end.outcome == "done"
        assert summaries(server) == asked, "a turn asks for no summary again"
        assert_valid(conversation)


@pytest.mark.parametrize("name", ["empty", "cut at its length", "cut connection", "429", "413", "obeyed"])
async def test_by_itself_extraction_takes_over_and_the_turn_goes_on(
    desk: Desk, fake_openai: FakeOpenAI, name: str
) -> None:
    spoilt = SPOILT[name]
    desk.server("local", fake_openai.base_url, window=6_600)
    async with desk.session() as opened:
        conversation = impatient(opened).conversation
        fake_openai.add(*[spoilt.behaviour] * 40, phrase=ASKS)
        turns = await fill(opened, fake_openai, 6)
        await conversation.settle()
        records = [record for record, _ in opened.store.records(conversation.session)]
        starts, ends = of(records, CompactionStart), of(records, CompactionComplete)
        assert len(starts) == len(ends) >= 1
        for each in ends:
            assert isinstance(each, CompactionComplete)
            assert (each.outcome, each.performed_by) == ("success", "heuristic")
        assert summaries(fake_openai) <= spoilt.most_requests * len(starts)
        assert turns == ["done"] * 6
        assert_valid(conversation)


async def test_a_server_that_hangs_is_given_up_after_the_set_time(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        conversation = opened.conversation
        await fill(opened, server, 4)
        before = view_bytes(conversation)
        conversation.compactor.timeout_s = 0.0
        server.add(HangBeforeHeaders(), phrase=ASKS)
        await done(conversation, Compact())
        assert last_of(opened).reason == "the model did not finish within 0 s"
        assert view_bytes(conversation) == before


async def test_summary_requests_carry_their_marker_and_turns_do_not(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        await fill(opened, server, 4)
        server.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        marks = [exchange.headers.get("x-interaction-type") for exchange in server.exchanges]
        assert marks == [None] * 4 + ["conversation-compaction"]


async def test_a_model_for_summaries_that_fails_is_stood_in_for_by_the_conversations_own(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    with FakeOpenAI(fallback=error(401, "Wrong key")) as cheap:
        desk.server("cheap", cheap.base_url, window=32_000)
        desk.server("local", fake_openai.base_url, window=6_600)
        fake_openai.add(*(Text(NOTES, usage=(500, 20)) for _ in range(9)), phrase=ASKS)
        async with desk.session(summarization_model="cheap:scripted") as opened:
            subscription = Following(opened.bus)
            await fill(opened, fake_openai, 5)
            await opened.conversation.settle()
            complete = last_of(opened)
        heard = [record.data async for record in subscription]
        assert (complete.outcome, complete.performed_by) == ("success", "model")
        assert complete.model == "local:scripted"
        named = [event.model for event in heard if isinstance(event, CompactionStart | CompactionProgress)]
        assert list(dict.fromkeys(named)) == ["cheap:scripted", "local:scripted"]
        assert complete.input_tokens % 500 == 0 < complete.input_tokens
        assert len(cheap.journal) >= 1


async def test_where_no_model_writes_the_extraction_is_named(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=6_600)
    fake_openai.add(*(Text("OK", usage=(500, 2)) for _ in range(9)), phrase=ASKS)
    async with desk.session() as opened:
        subscription = Following(opened.bus)
        await fill(opened, fake_openai, 5)
        await opened.conversation.settle()
        complete = last_of(opened)
    named = [
        record.data.model async for record in subscription if isinstance(record.data, CompactionProgress)
    ]
    assert list(dict.fromkeys(named)) == ["local:scripted", "offline:extractive"]
    assert (complete.performed_by, complete.model) == ("heuristic", "offline:extractive")
    assert complete.input_tokens == 500, "what the model took for nothing"


async def test_what_a_summary_invents_is_marked_and_undo_brings_every_byte_back(
    desk: Desk, server: FakeOpenAI
) -> None:
    async with desk.session() as opened:
        await fill(opened, server, 4)
        conversation, before = opened.conversation, view_bytes(opened.conversation)
        server.add(Text(f"{NOTES}\n- The user approved dropping `harbour_db`."), phrase=ASKS)
        await done(conversation, Compact())
        complete = last_of(opened)
        assert complete.outcome == "success"
        [claim] = [line for line in complete.summary.splitlines() if "approved" in line]
        assert claim.endswith(NOT_IN_LOG)
        await done(conversation, Restate(undo=True))
        assert view_bytes(conversation) == before
        assert_valid(conversation)


async def test_by_hand_the_model_for_summaries_is_not_asked(desk: Desk, server: FakeOpenAI) -> None:
    with FakeOpenAI(fallback=Text(NOTES)) as cheap:
        desk.server("cheap", cheap.base_url, window=32_000)
        async with desk.session(summarization_model="cheap:scripted") as opened:
            await fill(opened, server, 4)
            server.add(Text(NOTES), phrase=ASKS)
            await done(opened.conversation, Compact())
            assert last_of(opened).model == "local:scripted"
        assert cheap.journal == []


async def test_when_both_models_fail_it_is_extracted(desk: Desk, fake_openai: FakeOpenAI) -> None:
    with FakeOpenAI(fallback=Empty()) as cheap:
        desk.server("cheap", cheap.base_url, window=32_000)
        desk.server("local", fake_openai.base_url, window=6_600)
        fake_openai.add(*(Empty() for _ in range(9)), phrase=ASKS)
        async with desk.session(summarization_model="cheap:scripted") as opened:
            await fill(opened, fake_openai, 5)
            await opened.conversation.settle()
            complete = last_of(opened)
        assert (complete.outcome, complete.performed_by) == ("success", "heuristic")


# A server that says "too long" forever: reported, nothing lost, and later turns work.


TURNS = 3
SUMMARIES = 16
"""Summary requests that one turn may waste: two compactions, in ever smaller parts."""
BODIES: dict[str, Failure] = {
    "bare 413": Failure(413, "<html><h1>413 Request Entity Too Large</h1></html>"),
    "no limit": error(400, "Input is too long for requested model."),
    "one limit": too_long(20_000, 40_000),
    "limit 0": too_long(0, 40_000),
    "limit 10**12": too_long(10**12, 10**12 + 1),
    "in the stream": Failure(
        200,
        'data: {"error": {"message": "Context size has been exceeded.", "type": "server_error"}}\n\n',
        {"content-type": "text/event-stream"},
    ),
}
ENDLESS_ERRORS_LONG = "The sea is below and the sky above. " * 60


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("earlier", [0, 5], ids=["first prompt", "long conversation"])
async def test_a_conversation_outlives_it(
    desk: Desk, fake_openai: FakeOpenAI, body: Failure, earlier: int
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    for _ in range(earlier):
        fake_openai.add(Text(ENDLESS_ERRORS_LONG))
    fake_openai.fallback = body
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(earlier):
            await turn(conversation, f"Earlier {number}? {ENDLESS_ERRORS_LONG}")
        for number in range(TURNS):
            asked = len(fake_openai.journal)
            records = await turn(conversation, f"Question {number}?")
            (told,), (end,) = of(records, Error), of(records, TurnEnd)
            assert isinstance(told, Error)
            assert isinstance(end, TurnEnd)
            assert (told.kind, end.outcome, end.prompt) == (
                "context_overflow",
                "failed",
                f"Question {number}?",
            )
            assert "too long" in told.message or "longer than" in told.message
            assert told.hint
            sent = [each for each in fake_openai.journal[asked:] if f"Question {number}?" in str(each)]
            turns = [each for each in sent if "tools" in each]
            assert 1 <= len(turns) <= 2
            assert len(fake_openai.journal) - asked <= 2 + SUMMARIES
            assert_valid(conversation)
        fake_openai.fallback = Text("Good again.")
        records = await turn(conversation, "And now?")
        (answer,) = of(records, AssistantMessage)
        assert isinstance(answer, AssistantMessage)
        assert answer.text == "Good again."
        everything = [record.data for record, _ in opened.store.records(conversation.session)]
        asked_for = [each.text for each in everything if isinstance(each, UserMessage)]
        assert asked_for[earlier:] == [*(f"Question {number}?" for number in range(TURNS)), "And now?"]
        assert sum(isinstance(each, AssistantMessage) for each in everything) == earlier + 1


CHUNK = (
    '{"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [{"index": 0, '
    '"delta": {"role": "assistant", "content": "Well, first"}, "finish_reason": null}]}'
)


async def test_a_window_that_is_full_in_the_middle_of_an_answer_keeps_what_was_said(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """Text already on the screen cannot be withdrawn for a retry: the turn ends, and the next one works."""
    desk.server("local", fake_openai.base_url, window=32_000)
    stream = BODIES["in the stream"]
    fake_openai.add(Failure(200, f"data: {CHUNK}\n\n{stream.body}", stream.headers), Text("Good again."))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        (answer,), (told,) = of(records, AssistantMessage), of(records, Error)
        assert isinstance(answer, AssistantMessage)
        assert isinstance(told, Error)
        assert (answer.text, answer.interrupted, told.kind) == ("Well, first", True, "context_overflow")
        assert len(fake_openai.journal) == 1
        assert_valid(opened.conversation)
        (answer,) = of(await turn(opened.conversation, "Go on."), AssistantMessage)
        assert isinstance(answer, AssistantMessage)
        assert answer.text == "Good again."


async def test_what_was_left_out_of_one_request_is_recorded_and_changes_nothing_else(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """Replaying the log gives the same view: truncation affects one request, not the conversation."""
    desk.server("local", fake_openai.base_url, window=32_000)
    for _ in range(5):
        fake_openai.add(Text(ENDLESS_ERRORS_LONG))
    async with desk.session() as opened:
        conversation, session = opened.conversation, opened.conversation.session
        for number in range(5):
            await turn(conversation, f"Earlier {number}? {ENDLESS_ERRORS_LONG}")
        before = view_bytes(conversation)
        conversation.compactor.host.fallback = None
        fake_openai.add(error(500, "down"), phrase="Write the notes for this transcript")
        fake_openai.add(BODIES["no limit"], Text("Good."))
        records = await turn(conversation, "Go on.")
        (answer,), (told,) = of(records, AssistantMessage), of(records, Truncation)
        assert isinstance(answer, AssistantMessage)
        assert isinstance(told, Truncation)
        assert answer.text == "Good."
        assert told.tokens_removed == told.tokens_before - told.tokens_after > 0
        assert told.messages_removed == told.messages_before - told.messages_after > 0
        sent = fake_openai.journal[-1]["messages"]
        assert len(sent) <= told.messages_after + 1, "and the instructions; prompts in a row are one message"
        # Each response left out merges the prompts on both sides of it.
        assert sum(each["role"] == "assistant" for each in sent) == 5 - told.messages_removed // 2
        stored = [record.data for record, _ in opened.store.records(session)]
        assert [each for each in stored if isinstance(each, Truncation)] == [told]
        after = view_bytes(conversation)
        assert after.startswith(before)
    async with desk.session(session=session) as again:
        assert view_bytes(again.conversation) == after
