"""Provider failures: retried within bounds, stoppable, reported; and nothing is lost."""

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from pydantic_ai.exceptions import UnexpectedModelBehavior

from tests.conversation.driving import Desk, Following, assert_valid, cancelled_within, done, of, turn, until
from tests.servers.behaviours import (
    Behaviour,
    Calls,
    CutAtOnce,
    CutCall,
    CutStream,
    Damaged,
    Drip,
    Empty,
    EndsInCall,
    Failure,
    Garbage,
    HangBeforeHeaders,
    HangMidStream,
    ReasoningOnly,
    Text,
    call,
    counted,
    error,
    read,
    tool,
)
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.servers.wire import problems
from tui_app.agent.retry_rules import RetryRules
from tui_app.agent.turn import TurnRunner
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.models.retry_advice import KEPT
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    ModelChange,
    Notice,
    Payload,
    Record,
    SessionRewind,
    ToolResult,
    TurnEnd,
    TurnRetry,
)
from tui_app.next_steps import editor_text, shell_text

# Transient failures are retried: visibly, within bounds, and stoppable with one key.


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
    # The partial answer is not sent: the model writes the answer from the beginning.
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
        # A rejected request is tried in the forms that other servers require.
        assert len(server.journal) <= (4 if lasting.status == 400 else 1)


async def test_a_pause_the_provider_asks_for_is_kept(desk: Desk, server: FakeOpenAI) -> None:
    limited = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "1"})
    server.add(limited, Text("Now."))
    async with desk.session() as opened:
        happened = await turn(impatient(opened).conversation, "Hello?")
        [pause] = of(happened, TurnRetry)
        assert 1.0 <= pause.wait_s <= 1.3
        assert of(happened, AssistantMessage)[-1].text == "Now."


@pytest.mark.parametrize("settings", [{}, {"window": 32_000}], ids=["endpoint", "general"])
@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            Failure(400, {"error": {"message": "maximum context length is 8192 tokens, you requested 9400"}}),
            "scripted allows 8,192 tokens, says its provider, not the 32,000 set as its window",
        ),
        (
            Failure(429, {"error": {"message": "on tokens per min (TPM): Limit 8192, Requested 9400."}}),
            "refuses single requests over 8,192 tokens",
        ),
    ],
    ids=["window", "tokens per minute"],
)
async def test_a_window_that_is_set_too_large_is_corrected_once_and_aloud(
    desk: Desk, server: FakeOpenAI, refusal: Failure, words: str, settings: dict[str, int]
) -> None:
    server.add(refusal, *[Text("The sea is below.")] * 5)
    async with desk.session(**settings) as opened:
        conversation = impatient(opened).conversation
        happened = await turn(conversation, "Look at the pier. " * 1_800)
        happened += await turn(conversation, "Hello?")
        told = [one.text for one in of(happened, Notice) if "32,000" in one.text]
        assert len(told) == 1
        assert words in told[0]


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
        await until(Following(conversation.bus), lambda payload: isinstance(payload, TurnRetry))
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
        assert "in place of local:scripted" in why
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


# After a failure: streamed text is kept, the prompt can be sent again, and compactions end on the screen.


LONG = "The sea is below and the sky above. " * 60
NOTES = "Title: Sea\n## State\nThe sea is salty."
ASKS = "Write the notes for this transcript"


@contextmanager
def unwritable(opened: OpenSession) -> Iterator[None]:
    opened.store._db.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        opened.store._db.execute("PRAGMA query_only = OFF")


@contextmanager
def full_disk(opened: OpenSession) -> Iterator[None]:
    """Allow the database no further page; reading still works."""
    db = opened.store._db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    before = db.execute("PRAGMA max_page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        db.execute(f"PRAGMA max_page_count = {before}")


def answers(said: list[Payload]) -> list[tuple[str, bool]]:
    return [(each.text, each.interrupted) for each in said if isinstance(each, AssistantMessage)]


async def test_prompt_sent_right_after_cancelling_is_not_held_back(desk: Desk, server: FakeOpenAI) -> None:
    server.add(HangBeforeHeaders(), Text("Second."))
    async with desk.session() as opened:
        conversation = opened.conversation
        conversation.submit(Prompt("first"))
        await (await server.request(1)).paused.wait()
        conversation.cancel()
        conversation.submit(Prompt("second"))
        await conversation.settle()
        ends = of([r for r, _ in opened.store.records(conversation.session)], AssistantMessage)
        assert [text for text, _ in answers(ends)] == ["Second."]


async def test_what_was_streamed_before_the_connection_broke_is_kept(desk: Desk, server: FakeOpenAI) -> None:
    server.add(CutStream(text="One two three four five six", after=3), Text("Good again."))
    async with desk.session() as opened:
        conversation = opened.conversation
        records = await turn(conversation, "First")
        shown = "".join(each.text for each in of(records, AssistantDelta) if isinstance(each, AssistantDelta))
        assert shown
        assert answers(of(records, AssistantMessage)) == [(shown, True)]
        kinds = [type(each) for each in of(records, AssistantMessage, Error, TurnEnd)]
        assert kinds == [AssistantMessage, Error, TurnEnd]
        (end,) = of(records, TurnEnd)
        assert isinstance(end, TurnEnd)
        assert (end.outcome, end.prompt) == ("failed", "")
        assert not of(records, SessionRewind)
        assert_valid(conversation)
        assert answers(of(await turn(conversation, "Second"), AssistantMessage)) == [("Good again.", False)]
    assert shown.strip() in str(server.journal[1]["messages"])


async def test_only_the_broken_answer_is_kept_not_the_one_before(desk: Desk, server: FakeOpenAI) -> None:
    server.add(tool("ls"), CutStream(text="One two three four", after=2))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Look")
        assert [text for text, _ in answers(of(records, AssistantMessage))][1:] == ["One two"]
        assert_valid(opened.conversation)


async def test_nothing_streamed_nothing_kept(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Fine."), CutStream(after=0))
    async with desk.session() as opened:
        await turn(opened.conversation, "First")
        records = await turn(opened.conversation, "Second")
        assert not of(records, AssistantMessage)
        assert of(records, SessionRewind)


async def test_compaction_that_the_log_refuses_ends_on_the_screen(desk: Desk, server: FakeOpenAI) -> None:
    for _ in range(4):
        server.add(Text(LONG, usage=(0, 0)))
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(4):
            await turn(conversation, f"Question {number}? {LONG}")
        before = conversation.history.items()
        hanging = HangBeforeHeaders(text=NOTES)
        server.add(hanging, phrase=ASKS)
        watching = Following(conversation.bus)
        conversation.submit(Compact())
        await (await server.request(5)).paused.wait()
        with unwritable(opened):
            conversation.cancel()
            record = await until(watching, lambda data: isinstance(data, CompactionComplete))
            await conversation.settle()
        assert (record.seq, record.data.outcome) == (0, "cancelled")  # type: ignore[attr-defined]
        assert conversation.history.items() == before


async def test_compaction_that_cannot_be_applied_is_a_failed_one(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        server.add(Text(LONG, usage=(0, 0)))
    server.add(Text(NOTES), phrase=ASKS)
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(4):
            await turn(conversation, f"Question {number}? {LONG}")
        before = list(conversation.history.items())

        def refused(*_: object, **__: object) -> None:
            raise sqlite3.OperationalError("database is locked")

        with monkeypatch.context() as patched:
            patched.setattr(opened.store.__class__, "append_many", refused)
            patched.setattr(opened.store.__class__, "append", refused)
            watching = Following(conversation.bus)
            conversation.compactor.start("background")
            conversation.compactions.follow_background()
            record = await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert isinstance(record.data, CompactionComplete)
        assert record.data.outcome == "failed"
        assert "database is locked" in record.data.reason
        assert list(conversation.history.items()) == before
        await done(conversation, Compact())


async def test_defect_behind_a_background_compaction_is_logged(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(4):
        server.add(Text(LONG, usage=(0, 0)))
    server.add(Text(NOTES), phrase=ASKS)
    async with desk.session() as opened:
        conversation = opened.conversation
        for number in range(4):
            await turn(conversation, f"Question {number}? {LONG}")

        def broken(_: object) -> None:
            raise RuntimeError("a defect")

        with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
            patched.setattr(conversation.compactor.__class__, "apply_ready", broken)
            conversation.compactor.start("background")
            conversation.compactions.follow_background()
            await conversation.compactions.compactor.settled()
            watcher = conversation.compactions._watcher
            assert watcher is not None
            with pytest.raises(RuntimeError):
                await watcher
        assert "a defect" in caplog.text


async def test_full_disk_is_told_and_the_prompt_comes_back(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Good again."))
    async with desk.session() as opened:
        conversation = opened.conversation
        with full_disk(opened):
            records = await turn(conversation, LONG * 20)
        (error,), (end,) = of(records, Error), of(records, TurnEnd)
        assert isinstance(error, Error)
        assert error.message == "The disk is full: the sessions file could not be written."
        assert error.hint.startswith("Everything saved before is kept.")
        assert "database or disk is full" in error.detail
        assert isinstance(end, TurnEnd)
        assert (end.outcome, end.prompt) == ("failed", LONG * 20)
        assert not server.journal
        assert answers(of(await turn(conversation, end.prompt), AssistantMessage)) == [("Good again.", False)]
        assert_valid(conversation)


async def test_answer_that_does_not_fit_on_the_disk_is_told(desk: Desk, server: FakeOpenAI) -> None:
    release = Signal()
    server.add(HangBeforeHeaders(release, LONG * 20))
    async with desk.session() as opened:
        conversation, watching = opened.conversation, Following(opened.conversation.bus)
        conversation.submit(Prompt("Tell me."))
        await (await server.request(1)).paused.wait()
        with full_disk(opened):
            release.set()
            record = await until(watching, lambda data: isinstance(data, Error))
            end = await until(watching, lambda data: isinstance(data, TurnEnd))
        assert isinstance(record.data, Error)
        assert record.data.message.startswith("The disk is full")
        assert isinstance(end.data, TurnEnd)
        assert end.data.outcome == "failed"


# Every error of a turn: what happened, what to do, and the key for retrying.


SERVED = {
    "auth 401": (error(401, "no", code="invalid_api_key"), "auth"),
    "auth 403": (error(403, "no"), "auth"),
    "provider 400": (error(400, "Unsupported parameter: 'top_k'"), "provider"),
    "provider 500": (error(500, "boom"), "provider"),
    "rate_limit 429": (error(429, "slow down"), "rate_limit"),
    "rate_limit 402": (error(402, "pay"), "rate_limit"),
    "input 404": (error(404, "no", code="model_not_found"), "input"),
    "context_overflow 413": (error(413, "too large"), "context_overflow"),
}
RAISED = {
    "internal": (KeyError("parts"), "internal"),
    "tool": (UnexpectedModelBehavior("Tool 'edit_file' exceeded max retries count of 1"), "tool"),
    "disk": (OSError(28, "No space left on device"), "internal"),
}


async def failed(desk: Desk, text: str = "why?", **settings: object) -> tuple[Error, TurnEnd]:
    async with desk.session(**settings) as opened:
        records = await turn(opened.conversation, text)
    errors, ends = of(records, Error), of(records, TurnEnd)
    assert isinstance(errors[-1], Error)
    assert isinstance(ends[-1], TurnEnd)
    return errors[-1], ends[-1]


def assert_whole(told: Error, way: str) -> None:
    """Assert that the error says what happened and what to do, and offers the retry action once.

    Shells and editors must not be told keys or commands that they do not have.
    """
    assert told.message.endswith(".")
    assert told.actions.count(way) == 1
    assert told.hint.count(KEPT) == (way == "retry")
    for elsewhere in (shell_text(told.hint, told.actions), editor_text(told.hint, told.actions)):
        assert "enter " not in elsewhere
        assert "/retry" not in elsewhere
        assert elsewhere.endswith(".")


@pytest.mark.parametrize(("failure", "kind"), SERVED.values(), ids=SERVED)
async def test_what_got_no_answer_goes_back(
    desk: Desk, fake_openai: FakeOpenAI, failure: Behaviour, kind: str
) -> None:
    desk.server("local", fake_openai.base_url, window=8_000)
    fake_openai.fallback = failure
    told, end = await failed(desk)
    assert (told.kind, end.prompt) == (kind, "why?")
    assert_whole(told, "resend")


@pytest.mark.parametrize(("error", "kind"), RAISED.values(), ids=RAISED)
async def test_what_went_wrong_here_does_too(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: str
) -> None:
    async def run(*_: object) -> object:
        raise error

    desk.server("local", fake_openai.base_url, window=8_000)
    monkeypatch.setattr(TurnRunner, "run", run)
    told, end = await failed(desk)
    assert (told.kind, end.prompt) == (kind, "why?")
    assert_whole(told, "resend")


async def test_a_prompt_that_cannot_fit_and_one_without_a_model(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=2_000)
    told, end = await failed(desk, "long " * 4_000)
    assert (told.kind, bool(end.prompt)) == ("context_overflow", True)
    assert_whole(told, "resend")
    told, end = await failed(desk, model="openai:gpt-5")
    assert (told.kind, end.prompt) == ("auth", "why?")
    assert_whole(told, "resend")


async def test_a_server_that_is_not_there(desk: Desk) -> None:
    desk.server("local", "http://127.0.0.1:9/v1", window=8_000)
    told, end = await failed(desk)
    assert (told.kind, end.prompt) == ("network", "why?")
    assert_whole(told, "resend")


@pytest.mark.parametrize(
    "answers", [(CutStream(),), (tool("ls", path="."), error(400, "no"))], ids=["cut", "behind a tool"]
)
async def test_what_was_answered_in_part_is_tried_again_by_a_command(
    desk: Desk, fake_openai: FakeOpenAI, answers: tuple[Behaviour, ...]
) -> None:
    desk.server("local", fake_openai.base_url, window=8_000)
    fake_openai.add(*answers)
    told, end = await failed(desk)
    assert end.prompt == ""
    assert_whole(told, "retry")


# Whatever a server does to an answer: no crash, no lost prompt, a valid history, and readable messages.


FAULTS_SOON = RetryRules(retries=2, first_s=0.01)
FAULTS_ASKS = "At most about"
"""Phrase in every summary request."""
PROMPT = "What does the README say?"
_OF_A_PROGRAM = re.compile(r"Traceback|\w+(?:Error|Exception)\b|pydantic|httpx|<[a-z]+ object|None\b")


def faults_impatient(opened: OpenSession) -> OpenSession:
    opened.turns.rules = FAULTS_SOON
    return opened


def assert_understandable(told: Error) -> None:
    """Assert that the error is a sentence with a hint, without internal names."""
    assert told.message.endswith((".", "!", "?"))
    assert told.hint
    for text in (told.message, told.hint):
        assert not _OF_A_PROGRAM.search(text), text


def ended(records: list[Record]) -> TurnEnd:
    [end] = of(records, TurnEnd)
    assert isinstance(end, TurnEnd)
    return end


async def assert_goes_on(opened: OpenSession, server: FakeOpenAI) -> None:
    """Assert that the next prompt is answered, and that every request sent was valid."""
    server.add(*(Text("Title: T\n## Intent\nRead it.") for _ in range(9)), phrase=FAULTS_ASKS)
    server.fallback = Text("It goes on.")
    records = await turn(opened.conversation, "And now?")
    assert ended(records).outcome == "done"
    messages = [item.message for item in opened.conversation.history.items()]
    # An answer with only thinking stays in the view for the record, but is never sent.
    if all(any(part.part_kind != "thinking" for part in message.parts) for message in messages):
        assert_valid(opened.conversation)
    assert [found for body in server.journal for found in problems(body)] == []


@dataclass(frozen=True)
class Fault:
    """A server's behaviour on each request, and the message expected in the end."""

    behaviour: Behaviour
    words: str
    requests: int = 3
    """Requests made: the first one and all retries."""
    answered: bool = False
    """Whether a partial answer is kept, and with it the prompt."""


LIMITED = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
FAILING = {
    "cut before the first byte": Fault(CutAtOnce(), "connection to"),
    "cut in mid text": Fault(CutStream(), "connection to", answered=True),
    "cut in mid arguments": Fault(CutCall(), "connection to", answered=True),
    "429": Fault(Failure(429, LIMITED), "limiting requests"),
    "429 with a pause": Fault(Failure(429, LIMITED, {"retry-after": "0"}), "limiting requests"),
    "429 with a long pause": Fault(Failure(429, LIMITED, {"retry-after": "600"}), "asks to wait 10 min", 1),
    "429 with Google's long pause": Fault(
        Failure(429, {"error": {"details": [{"retryDelay": "600s"}]}}), "asks to wait 10 min", 1
    ),
    "429 with Google's quota of a day": Fault(
        Failure(429, {"error": {"details": [{"violations": [{"quotaId": "RequestsPerDayPerProject"}]}]}}),
        "daily quota",
        1,
    ),
    "429 with nonsense": Fault(Failure(429, LIMITED, {"retry-after": "soon"}), "limiting requests"),
    "429 without a body": Fault(Failure(429, ""), "limiting requests"),
    "500": Fault(Failure(500, {"error": {"message": "boom"}}), "internal error"),
    "500 with a page": Fault(Failure(500, "<html><body>Oops</body></html>"), "internal error"),
    "503 with a pause": Fault(Failure(503, OVERLOADED, {"retry-after": "0"}), "overloaded"),
    "529": Fault(Failure(529, OVERLOADED), "overloaded"),
    "409": Fault(Failure(409, {"error": "conflict"}), "just now (HTTP 409)"),
    "425 with a page": Fault(Failure(425, "<html>Too Early</html>"), "just now (HTTP 425)"),
    "524 with a page": Fault(Failure(524, "<html>A timeout occurred</html>"), "HTTP 524"),
    "a page instead of an answer": Fault(Failure(200, "<html>Log in</html>"), "A web page came in place of"),
    "nothing at all": Fault(Failure(200, ""), "before its first word"),
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
        records = await turn(faults_impatient(opened).conversation, PROMPT)
        asked = len(server.journal)
        end, told = ended(records), [one for one in of(records, Error) if isinstance(one, Error)]
        assert asked <= 10
        assert asked == (fault.requests or asked)
        assert len(of(records, TurnRetry)) <= FAULTS_SOON.retries
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


@pytest.mark.parametrize(
    "answer",
    [
        ReasoningOnly(usage=(900, 4_096), finish_reason="length"),
        Text("", usage=(900, 4_096), finish_reason="length"),
    ],
    ids=["thoughts", "hidden thoughts"],
)
async def test_thinking_that_takes_the_room_of_an_answer_is_named(
    desk: Desk, server: FakeOpenAI, answer: Behaviour
) -> None:
    server.add(answer)
    async with desk.session() as opened:
        records = await turn(faults_impatient(opened).conversation, PROMPT)
        assert ended(records).outcome == "failed"
        [told] = of(records, Error)
        assert isinstance(told, Error)
        assert "used up the room for its answer (4,096 tokens)" in told.message
        assert "thinking" in told.message
        assert "Lower" in told.hint
        assert len(server.journal) == 1
        await assert_goes_on(opened, server)


@pytest.mark.parametrize("name", FAILING)
async def test_a_fault_that_passes_is_got_over(desk: Desk, server: FakeOpenAI, name: str) -> None:
    fault = FAILING[name]
    server.add(fault.behaviour, Text("The sea is below."), Text("The sea is below."))
    async with desk.session() as opened:
        records = await turn(faults_impatient(opened).conversation, PROMPT)
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
        records = await turn(faults_impatient(opened).conversation, PROMPT)
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
        records = await turn(faults_impatient(opened).conversation, PROMPT)
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
            server.add(Text("Title: T\n## Intent\nTalk."), phrase=FAULTS_ASKS)
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
        records = await turn(faults_impatient(opened).conversation, PROMPT)
        if name == "huge":  # larger than the window
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
        records = await turn(faults_impatient(opened).conversation, PROMPT)
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
