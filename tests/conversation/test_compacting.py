"""Compactions in a conversation: by hand, in the background, cancelled, failed, undone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.conversation.driving import Desk, cancelled_within, done, of, turn, until, view_bytes
from tests.servers.behaviours import Behaviour, Empty, HangBeforeHeaders, HangMidStream, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.agent.turn import RetryRules
from tui_app.context.compaction.compactor import State
from tui_app.context.view import is_summary
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Clear, Compact, Prompt, Restate
from tui_app.events import (
    CheckpointCreated,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    Notice,
    Payload,
    Record,
    SessionRewind,
    TurnEnd,
)

NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."
ASKS = "Write the notes for this transcript"
LONG = "The sea is below and the sky is above, as everybody knows. " * 40


@asynccontextmanager
async def filled(
    desk: Desk, server: FakeOpenAI, *, turns: int = 4, window: int = 32_000
) -> AsyncIterator[OpenSession]:
    """A session in which some turns were had."""
    desk.server("local", server.base_url, window=window)
    server.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(turns)))
    async with desk.session() as opened:
        for number in range(turns):
            await turn(opened.conversation, f"Question {number}? {LONG}")
        yield opened


def stored(opened: OpenSession, *kinds: type[Payload]) -> list[Payload]:
    return of([record for record, _ in opened.store.records(opened.conversation.session)], *kinds)


def last_of(opened: OpenSession) -> CompactionComplete:
    complete = stored(opened, CompactionComplete)[-1]
    assert isinstance(complete, CompactionComplete)
    return complete


async def test_by_hand_undone_and_redone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before, usage = view_bytes(conversation), conversation.usage
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact("the tides"))
        complete = last_of(opened)
        assert (complete.outcome, complete.trigger, complete.focus) == ("success", "manual", "the tides")
        assert "Above all keep what concerns: the tides" in str(fake_openai.journal[-1])
        assert (complete.tokens_before, complete.tokens_after) == (usage.total, conversation.usage.total)
        assert complete.messages_after == len(conversation.history.items()) < complete.messages_before
        assert is_summary(conversation.history.items()[0].message)
        compacted = view_bytes(conversation)
        await done(conversation, Restate(undo=True))
        assert view_bytes(conversation) == before
        assert conversation.usage.parts == usage.parts
        await done(conversation, Restate(undo=False))
        assert view_bytes(conversation) == compacted
        assert conversation.usage.total == complete.tokens_after


async def test_files_and_index_follow_undo_and_redo(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        complete, folder = last_of(opened), opened.folder
        assert complete.checkpoint_path == str(folder.checkpoints / "001-sea-and-sky.md")
        assert "Tell the sea from the sky." in (folder.checkpoints / "001-sea-and-sky.md").read_text()
        assert "Question 0?" in (folder.conversation_history / "001-before-compaction.md").read_text()
        assert len(stored(opened, CheckpointCreated)) == 1
        assert folder.listed() == 1
        await done(opened.conversation, Restate(undo=True))
        assert folder.listed() == 0
        await done(opened.conversation, Restate(undo=False))
        assert folder.listed() == 1
        await done(opened.conversation, Restate(undo=True))
        fake_openai.add(Text(NOTES.replace("Sea", "Moon")), phrase=ASKS)
        await done(opened.conversation, Compact())
        assert last_of(opened).checkpoint_path.endswith("002-moon-and-sky.md"), "numbers are used once"
        assert "Sea" not in (folder.checkpoints / "index.md").read_text()


@pytest.mark.parametrize("hanging", [HangBeforeHeaders(), HangMidStream(NOTES, after=3)])
async def test_cancelling_a_summary_that_hangs(
    desk: Desk, fake_openai: FakeOpenAI, hanging: Behaviour
) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before, usage = view_bytes(conversation), conversation.usage
        fake_openai.add(hanging, phrase=ASKS)
        conversation.submit(Compact())
        exchange = await fake_openai.request(5)
        await exchange.paused.wait()
        await cancelled_within(conversation)
        await exchange.closed.wait()
        assert view_bytes(conversation) == before
        assert conversation.usage == usage
        assert last_of(opened).outcome == "cancelled"
        assert not opened.folder.checkpoints.exists()
        fake_openai.add(Text("It goes on."))
        ends = of(await turn(conversation, "Next"), TurnEnd)
        assert [end.outcome for end in ends if isinstance(end, TurnEnd)] == ["done"]


async def test_late_result_of_a_cancelled_compaction_is_ignored(desk: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        fake_openai.add(HangBeforeHeaders(release, text=NOTES), Text(NOTES), phrase=ASKS)
        conversation.submit(Compact())
        await (await fake_openai.request(5)).paused.wait()
        await cancelled_within(conversation)
        release.set()
        await conversation.settle()
        assert view_bytes(conversation) == before
        await done(conversation, Compact())
        assert last_of(opened).outcome == "success"
        assert len(stored(opened, CompactionComplete)) == 2


@pytest.mark.parametrize(
    "answer", [error(500, "down"), error(401, "bad key"), Empty(), Text("salt " * 9_000, chunks=9)]
)
async def test_failed_summary_changes_nothing(desk: Desk, fake_openai: FakeOpenAI, answer: Behaviour) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        fake_openai.add(answer, answer, phrase=ASKS)
        await done(conversation, Compact())
        complete = last_of(opened)
        assert complete.outcome == "failed"
        assert complete.reason
        assert view_bytes(conversation) == before
        assert conversation.history.view.compactions == []


@pytest.mark.parametrize("passing", [error(500, "down"), error(429, "Slow down"), error(503, "Overloaded")])
async def test_a_summary_is_asked_for_again_when_the_provider_is_out_of_reach_for_a_moment(
    desk: Desk, fake_openai: FakeOpenAI, passing: Behaviour
) -> None:
    async with filled(desk, fake_openai) as opened:
        opened.writers.rules = RetryRules(retries=2, first_s=0.001)
        fake_openai.add(passing, passing, Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        complete = last_of(opened)
        assert (complete.outcome, complete.performed_by, complete.reason) == ("success", "model", "")
        assert len(fake_openai.journal) == 4 + 3


async def test_a_pause_before_a_summary_is_asked_for_again_can_be_cancelled(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        opened.writers.rules = RetryRules(retries=2, first_s=29.0)
        before = view_bytes(opened.conversation)
        fake_openai.add(error(500, "down"), phrase=ASKS)
        opened.conversation.submit(Compact())
        await (await fake_openai.request(5)).finished.wait()
        await cancelled_within(opened.conversation)
        assert last_of(opened).outcome == "cancelled"
        assert view_bytes(opened.conversation) == before


async def test_a_summary_of_somebody_who_stands_in_says_why(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai, turns=4, window=6_600) as opened:
        opened.writers.rules = RetryRules(retries=0)
        fake_openai.add(error(500, "down"), phrase=ASKS)
        fake_openai.add(Text("Short."))
        watching = opened.conversation.watch()
        await turn(opened.conversation, "Fifth")
        applied = (await until(watching, lambda data: isinstance(data, CompactionComplete))).data
        assert isinstance(applied, CompactionComplete)
        assert (applied.outcome, applied.performed_by) == ("success", "heuristic")
        assert "internal error" in applied.reason
        assert applied.headline().endswith(" · by extraction")


async def test_nothing_to_compact_asks_no_model(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        watching = opened.conversation.watch()
        await done(opened.conversation, Compact(), Restate(undo=True), Restate(undo=False))
        texts = [(await until(watching, lambda data: isinstance(data, Notice))).data for _ in range(3)]
        assert [str(getattr(each, "text", ""))[:15] for each in texts] == [
            "Nothing to comp",
            "No compaction t",
            "Nothing to redo",
        ]
        assert fake_openai.journal == []


async def test_command_during_a_turn_waits_for_its_end(desk: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("One two three", hold=release))
        fake_openai.add(Text(NOTES), phrase=ASKS)
        watching = conversation.watch()
        conversation.submit(Prompt("Slow"))
        await (await fake_openai.request(5)).paused.wait()
        conversation.submit(Compact())
        assert len(fake_openai.journal) == 5
        release.set()
        await until(watching, lambda data: isinstance(data, TurnEnd))
        await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert "Slow" in str(conversation.history.items()[-2].message)


async def test_background_job_is_applied_when_the_turn_is_over(desk: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    async with filled(desk, fake_openai, turns=4, window=6_600) as opened:
        conversation = opened.conversation
        fake_openai.add(HangBeforeHeaders(release, text=NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."))
        watching = conversation.watch()
        records = await turn(conversation, "Fifth")
        assert [
            start.trigger for start in of(records, CompactionStart) if isinstance(start, CompactionStart)
        ] == ["background"]
        assert not conversation.busy
        assert conversation.compactor.state is State.RUNNING
        release.set()
        applied = await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert isinstance(applied.data, CompactionComplete)
        assert applied.data.outcome == "success"
        texts = [str(item.message) for item in conversation.history.items()]
        assert any("Fifth" in text for text in texts), "what was said meanwhile stays"
        assert "Short." in texts[-1]


async def test_background_job_survives_a_prompt_that_failed_meanwhile(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with filled(desk, fake_openai, turns=4, window=6_600) as opened:
        conversation = opened.conversation
        fake_openai.add(HangBeforeHeaders(release, text=NOTES), phrase=ASKS)
        fake_openai.add(error(500, "down"))
        watching = conversation.watch()
        records = await turn(conversation, "Fifth")
        assert of(records, CompactionStart)
        assert of(records, SessionRewind)
        assert conversation.compactor.state is State.RUNNING
        release.set()
        ended = await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert isinstance(ended.data, CompactionComplete)
        assert (ended.data.outcome, ended.data.reason) == ("success", "")
        assert is_summary(conversation.history.items()[0].message)
        assert "Fifth" not in str([item.message for item in conversation.history.items()])
        compacted = view_bytes(conversation)
        await done(conversation, Restate(undo=True))
        assert "Fifth" not in str([item.message for item in conversation.history.items()])
        await done(conversation, Restate(undo=False))
        assert view_bytes(conversation) == compacted


async def test_clear_and_undo_drop_a_job_in_the_background(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai, turns=4, window=6_600) as opened:
        fake_openai.add(HangBeforeHeaders(), phrase=ASKS)
        fake_openai.add(Text("Short."))
        await turn(opened.conversation, "Fifth")
        await fake_openai.request(6)
        assert opened.conversation.compactor.state is State.RUNNING
        await done(opened.conversation, Clear())
        assert last_of(opened).outcome == "cancelled"
        assert opened.conversation.history.items() == []
        (summary,) = [each for each in fake_openai.exchanges if ASKS in each.text()]
        await summary.closed.wait()


async def test_without_a_usable_model_it_is_extracted(desk: Desk) -> None:
    """Also the very first command of a session gets the model it should have."""
    async with desk.session(model="offline:extractive") as opened:
        for number in range(4):
            await turn(opened.conversation, f"What is in README.md about the sea? {number}")
        session = opened.conversation.session
    async with desk.session(model="offline:extractive", session=session) as opened:
        await done(opened.conversation, Compact())
        complete = last_of(opened)
        assert (complete.outcome, complete.performed_by) == ("success", "heuristic")
        await done(opened.conversation, Restate(undo=True))
        assert len(stored(opened, CompactionUndone)) == 1


async def test_automatic_summaries_have_a_model_of_their_own(desk: Desk, fake_openai: FakeOpenAI) -> None:
    with FakeOpenAI(fallback=Text(NOTES)) as cheap:
        desk.server("cheap", cheap.base_url, window=32_000)
        desk.server("local", fake_openai.base_url, window=6_600)
        fake_openai.add(*(Text(f"Answer. {LONG}", usage=(0, 0)) for _ in range(5)))
        async with desk.session(summarization_model="cheap:scripted") as opened:
            seen: list[Record] = []
            for number in range(5):
                seen += await turn(opened.conversation, f"Question {number}? {LONG}")
            await opened.conversation.settle()
            complete = last_of(opened)
        assert (complete.outcome, complete.model) == ("success", "cheap:scripted")
        assert len(cheap.journal) >= 1


async def test_only_the_compaction_that_is_meant_is_taken_back(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact())
        (first,) = conversation.history.view.compactions
        compacted = view_bytes(conversation)
        watching = conversation.watch()
        conversation.submit(Restate(undo=True, compaction=first + 1))
        said = await until(watching, lambda data: isinstance(data, Notice))
        assert said.data == Notice(text="Only the newest compaction can be taken back.", passing=True)
        await conversation.settle()
        assert view_bytes(conversation) == compacted
        await done(conversation, Restate(undo=True, compaction=first))
        assert conversation.history.view.undone == [first]
        whole = view_bytes(conversation)
        conversation.submit(Restate(undo=False, compaction=first + 1))
        said = await until(watching, lambda data: isinstance(data, Notice))
        assert said.data == Notice(text="Only the newest compaction can be applied again.", passing=True)
        await conversation.settle()
        assert view_bytes(conversation) == whole
        await done(conversation, Restate(undo=False, compaction=first))
        assert view_bytes(conversation) == compacted
