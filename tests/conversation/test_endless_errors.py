"""A server that says "too long" for ever: the conversation tells it, loses nothing, and goes on after it."""

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn, view_bytes
from tests.servers.behaviours import Failure, Text, error, too_long
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import AssistantMessage, Error, Truncation, TurnEnd, UserMessage

TURNS = 3
SUMMARIES = 16
"""Requests for summaries that one turn may cost in vain: two compactions, in ever smaller parts."""
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
LONG = "The sea is below and the sky above. " * 60


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("earlier", [0, 5], ids=["first prompt", "long conversation"])
async def test_a_conversation_outlives_it(
    desk: Desk, fake_openai: FakeOpenAI, body: Failure, earlier: int
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    for _ in range(earlier):
        fake_openai.add(Text(LONG))
    fake_openai.fallback = body
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(earlier):
            await turn(conversation, f"Earlier {number}? {LONG}")
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
    """What is on the screen cannot be taken back for a retry: the turn ends, and the next one goes on."""
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
    """Reading the log again gives the view as it was: the cut concerned a request, not the conversation."""
    desk.server("local", fake_openai.base_url, window=32_000)
    for _ in range(5):
        fake_openai.add(Text(LONG))
    async with desk.session() as opened:
        conversation, session = opened.conversation, opened.conversation.session
        for number in range(5):
            await turn(conversation, f"Earlier {number}? {LONG}")
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
        assert len(fake_openai.journal[-1]["messages"]) == told.messages_after + 1, "and the instructions"
        stored = [record.data for record, _ in opened.store.records(session)]
        assert [each for each in stored if isinstance(each, Truncation)] == [told]
        after = view_bytes(conversation)
        assert after.startswith(before)
    async with desk.session(session=session) as again:
        assert view_bytes(again.conversation) == after
