"""A provider that cannot answer for a moment is asked again: seen, bounded, stopped with one key."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn, until
from tests.servers.behaviours import CutStream, Damaged, Failure, Text, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.turn import RetryRules
from tui_app.conversation.assembly import OpenSession
from tui_app.events import AssistantMessage, Error, ModelChange, Notice, ToolResult, TurnEnd, TurnRetry

SOON = RetryRules(retries=3, first_s=0.01)
BUSY = error(503, "Overloaded", type="overloaded_error")


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def impatient(opened: OpenSession, rules: RetryRules = SOON) -> OpenSession:
    opened.turns.rules = rules
    return opened


@pytest.mark.parametrize(
    "passing",
    [
        BUSY,
        error(500, "internal error"),
        error(502, "bad gateway"),
        error(429, "Rate limit reached", type="requests"),
        CutStream(),
    ],
    ids=["busy", "500", "502", "429", "cut"],
)
async def test_what_passes_is_tried_again_and_answered(
    desk: Desk, server: FakeOpenAI, passing: Failure | CutStream
) -> None:
    server.add(passing, passing, Text("The ferry leaves at nine."))
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "When does it leave?")
        assert [each.attempt for each in of(happened, TurnRetry)] == [2, 3]
        assert all(each.attempts == 4 and each.reason.endswith(".") for each in of(happened, TurnRetry))
        assert of(happened, Error) == []
        assert of(happened, TurnEnd)[-1].outcome == "done"
        assert of(happened, AssistantMessage)[-1].text == "The ferry leaves at nine."
        assert_valid(opened.conversation)
    # What broke off is not sent: the model writes the answer from the beginning.
    assert [message["role"] for message in server.journal[-1]["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    "chunk", ["null", "[]", "17", '"text"', '{"choices": 5}', '{"choices": [null]}', "not json"]
)
async def test_a_damaged_answer_is_asked_for_again(desk: Desk, server: FakeOpenAI, chunk: str) -> None:
    server.add(Damaged(chunk), Text("The ferry leaves at nine."))
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "When does it leave?")
        [again] = of(happened, TurnRetry)
        assert "damaged" in again.reason
        assert of(happened, AssistantMessage)[-1].text == "The ferry leaves at nine."
        assert_valid(opened.conversation)


async def test_it_gives_up_after_so_many_tries_and_says_what_happened(desk: Desk, server: FakeOpenAI) -> None:
    server.add(*[BUSY] * 10)
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        assert len(server.journal) == 4
        assert len(of(happened, TurnRetry)) == 3
        [told] = of(happened, Error)
        assert "overloaded" in told.message
        end = of(happened, TurnEnd)[-1]
        assert (end.outcome, end.prompt) == ("failed", "Hello?")


@pytest.mark.parametrize(
    "lasting",
    [
        error(401, "Incorrect API key provided"),
        error(404, "model not found"),
        error(400, "temperature must be a number"),
        error(429, "You exceeded your current quota", code="insufficient_quota", type="insufficient_quota"),
        error(501, "not implemented"),
    ],
    ids=["401", "404", "400", "quota", "501"],
)
async def test_what_does_not_pass_is_said_at_once(desk: Desk, server: FakeOpenAI, lasting: Failure) -> None:
    server.add(*[lasting] * 5)
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        assert of(happened, TurnRetry) == []
        assert len(of(happened, Error)) == 1
        assert len(server.journal) == 1


async def test_a_pause_the_provider_asks_for_is_kept(desk: Desk, server: FakeOpenAI) -> None:
    limited = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "1"})
    server.add(limited, Text("Now."))
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        [pause] = of(happened, TurnRetry)
        assert 1.0 <= pause.wait_s <= 1.3
        assert of(happened, AssistantMessage)[-1].text == "Now."


async def test_nobody_is_made_to_wait_for_minutes(desk: Desk, server: FakeOpenAI) -> None:
    limited = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "900"})
    server.add(*[limited] * 5)
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        assert of(happened, TurnRetry) == []
        assert "15 min" in of(happened, Error)[0].message


async def test_the_pause_is_cancelled_at_once_and_nothing_is_lost(desk: Desk, server: FakeOpenAI) -> None:
    server.add(*[BUSY] * 5)
    async with desk.session() as opened:
        conversation = impatient(opened, RetryRules(retries=3, first_s=600)).conversation
        talking = asyncio.create_task(turn(conversation, "Hello?"))
        await until(conversation.watch(), lambda payload: isinstance(payload, TurnRetry))
        assert opened.turns.is_answering
        conversation.cancel()
        happened = await asyncio.wait_for(talking, 5)
        assert of(happened, TurnEnd)[-1].outcome == "cancelled"
        assert not opened.turns.is_answering
        assert_valid(opened.conversation)


async def test_tools_that_have_run_do_not_run_again(desk: Desk, server: FakeOpenAI) -> None:
    (desk.cwd / "notes.txt").write_text("low tide at four\n")
    server.add(tool("read_file", path="notes.txt"), BUSY, CutStream(), Text("At four."))
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "When is low tide?")
        assert len(of(happened, ToolResult)) == 1
        assert of(happened, AssistantMessage)[-1].text == "At four."
        assert_valid(opened.conversation)
    roles = [message["role"] for message in server.journal[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]


async def test_each_answer_starts_the_count_anew(desk: Desk, server: FakeOpenAI) -> None:
    (desk.cwd / "notes.txt").write_text("low tide at four\n")
    read = tool("read_file", path="notes.txt")
    server.add(BUSY, BUSY, BUSY, read, BUSY, BUSY, BUSY, Text("At four."))
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "When is low tide?")
        assert [each.attempt for each in of(happened, TurnRetry)] == [2, 3, 4, 2, 3, 4]
        assert of(happened, TurnEnd)[-1].outcome == "done"


async def test_it_can_be_switched_off(desk: Desk, server: FakeOpenAI) -> None:
    server.add(BUSY, Text("Never asked."))
    async with desk.session(retries=0) as opened:
        happened = await turn(opened.conversation, "Hello?")
        assert of(happened, TurnRetry) == []
        assert of(happened, TurnEnd)[-1].outcome == "failed"


async def test_a_resumed_session_goes_on_after_an_answer_that_broke_off(
    desk: Desk, server: FakeOpenAI
) -> None:
    server.add(CutStream(), Text("The whole answer."), Text("And more."))
    async with desk.session() as opened:
        await turn(impatient(opened).conversation, "Say it.")
        session = opened.conversation.session
    async with desk.session(session=session) as again:
        await turn(again.conversation, "And?")
        assert_valid(again.conversation)
    said = [message["content"] for message in server.journal[-1]["messages"][1:]]
    assert said == ["Say it.", "The whole answer.", "And?"]


@pytest.fixture
def other() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


async def test_the_next_model_of_the_chain_goes_on_in_the_same_turn(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI
) -> None:
    (desk.cwd / "notes.txt").write_text("low tide at four\n")
    desk.server("spare", other.base_url, window=32_000)
    server.add(tool("read_file", path="notes.txt"), *[BUSY] * 9)
    other.add(Text("At four."), Text("Still here."))
    async with desk.session(fallback_models="nowhere:model, spare:scripted") as opened:
        conversation = impatient(opened).conversation
        happened = await turn(conversation, "When is low tide?")
        assert of(happened, TurnEnd)[-1].outcome == "done"
        assert len(of(happened, ToolResult)) == 1
        [change] = of(happened, ModelChange)
        assert (change.old, change.new) == ("local:scripted", "spare:scripted")
        absent, why = (notice.text for notice in of(happened, Notice))
        assert "nowhere:model cannot take over" in absent
        assert "overloaded" in why
        assert "/model local:scripted goes back" in why
        assert [each.model for each in of(happened, AssistantMessage)] == ["local:scripted", "spare:scripted"]
        assert of(await turn(conversation, "And now?"), AssistantMessage)[-1].text == "Still here."
        assert_valid(conversation)


async def test_a_model_the_conversation_does_not_fit_is_passed_over(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI
) -> None:
    desk.server("tiny", other.base_url, window=2_000)
    server.add(Text("word " * 3_000, usage=(0, 0)), *[BUSY] * 9)
    async with desk.session(fallback_models="tiny:scripted") as opened:
        conversation = impatient(opened).conversation
        await turn(conversation, "Say a lot.")
        happened = await turn(conversation, "And now?")
        assert of(happened, TurnEnd)[-1].outcome == "failed"
        assert "2,000 of window" in of(happened, Notice)[0].text
        assert conversation.model == "local:scripted"
        assert other.journal == []


async def test_two_models_that_both_fail_end_the_turn(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI
) -> None:
    desk.server("spare", other.base_url, window=32_000)
    server.add(*[BUSY] * 9)
    other.add(*[BUSY] * 9)
    async with desk.session(fallback_models="spare:scripted,local:scripted") as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        assert of(happened, TurnEnd)[-1].outcome == "failed"
        assert (len(server.journal), len(other.journal)) == (4, 4)


async def test_a_wrong_key_does_not_change_the_model(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI
) -> None:
    desk.server("spare", other.base_url, window=32_000)
    server.add(error(401, "Incorrect API key provided"))
    async with desk.session(fallback_models="spare:scripted") as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        assert of(happened, ModelChange) == []
        assert of(happened, Error)[0].kind == "auth"
