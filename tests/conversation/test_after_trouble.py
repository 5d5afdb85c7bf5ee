"""After trouble: what was streamed is kept, what is sent again goes out, compactions end on the screen."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conversation.driving import Desk, assert_valid, done, of, turn, until
from tests.servers.behaviours import CutStream, HangBeforeHeaders, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    Payload,
    SessionRewind,
    TurnEnd,
)

LONG = "The sea is below and the sky above. " * 60
NOTES = "Title: Sea\nThe sea is salty."
ASKS = "Write the notes for this transcript"


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


@contextmanager
def unwritable(opened: OpenSession) -> Iterator[None]:
    opened.store._db.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        opened.store._db.execute("PRAGMA query_only = OFF")


@contextmanager
def full_disk(opened: OpenSession) -> Iterator[None]:
    """No room for another page; what is written already stays readable."""
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
        watching = conversation.watch()
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
            watching = conversation.watch()
            conversation.compactor.start("background")
            conversation._compactions.follow_background()
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
            conversation._compactions.follow_background()
            await conversation._compactions.compactor.settled()
            watcher = conversation._compactions._watcher
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
        conversation, watching = opened.conversation, opened.conversation.watch()
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
