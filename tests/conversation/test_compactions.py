"""Compactions in a conversation: by hand, in the background, reviewed, cancelled, failed, undone."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conversation.driving import Desk, Following, cancelled_within, done, of, turn, until, view_bytes
from tests.servers.behaviours import Behaviour, Empty, HangBeforeHeaders, HangMidStream, Text, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.agent.retry_rules import RetryRules
from tui_app.context.binding.forms import numbers_only
from tui_app.context.compaction.compactor import State
from tui_app.context.compaction.reviews import Refocus
from tui_app.context.summaries.prompt import message_text
from tui_app.context.views.view import is_summary
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.compactions.compactions import Reviews
from tui_app.conversation.work import Clear, Compact, Prompt, Restate, Rewind, asked_compaction
from tui_app.events import (
    UNCHECKED,
    AssistantMessage,
    CheckpointCreated,
    CompactionComplete,
    CompactionProgress,
    CompactionProposed,
    CompactionStart,
    CompactionUndone,
    Notice,
    Payload,
    Record,
    SessionRewind,
    Trigger,
    Truncation,
    TurnEnd,
)
from tui_app.references import Span
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings import ReviewMode

NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."
ASKS, ASKS_AGAIN = "Write the notes for this transcript", "Update the notes so far"
"""Phrases in summary requests: new notes, and updates (further parts, later compactions)."""
LONG = "The sea is below and the sky is above, as everybody knows. " * 40


@asynccontextmanager
async def filled(
    desk: Desk, server: FakeOpenAI, *, turns: int = 4, window: int = 32_000
) -> AsyncIterator[OpenSession]:
    """Open a session and run some turns in it."""
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


async def test_a_compaction_reads_the_log_on_the_engines_thread(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite calls back into Python: two threads on one connection would wait for each other forever."""
    threads: set[int] = set()

    def watched(name: str) -> None:
        real = getattr(SqliteStore, name)

        def noted(*args: Any) -> Any:
            threads.add(threading.get_ident())
            return real(*args)

        monkeypatch.setattr(SqliteStore, name, noted)

    async with filled(desk, fake_openai) as opened:
        watched("_ask")
        watched("_change")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact("the tides"))
        assert last_of(opened).outcome == "success"
        assert threads == {threading.get_ident()}


async def test_a_key_that_the_user_wrote_is_in_no_summary(desk: Desk, fake_openai: FakeOpenAI) -> None:
    key = "correct-horse-9-battery"
    desk.env["DB_PASSWORD"] = key
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        for said in (f"Log in with {key} and look. {LONG}", LONG, LONG, LONG):
            fake_openai.add(Text(f"Answer. {LONG}", usage=(0, 0)))
            await turn(opened.conversation, said)
        begin = len(fake_openai.journal)
        fake_openai.add(Text(f"{NOTES}\n## Done so far\nLogged in with {key}."), phrase=ASKS)
        await done(opened.conversation, Compact())
        complete = last_of(opened)
        assert (complete.outcome, complete.performed_by) == ("success", "model")
        text = str(complete)
        assert "Logged in with [secret removed]" in text
        assert key not in str(fake_openai.journal[begin:]).partition("Write the notes")[2]


async def test_the_gauge_is_what_it_was_once_all_is_undone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        conversation, seen = opened.conversation, []
        for number, reported in enumerate([(900, 40), (1_900, 50), (3_100, 60)]):
            fake_openai.add(Text(f"Answer {number}. {LONG}", usage=reported))
            await turn(conversation, f"Question {number}? {LONG}")
            seen.append((conversation.usage.total, conversation.usage.exact))
        assert seen[-1] == (3_160, True)
        prompts = [head.seq for head in conversation.history.view.visible() if head.type == "user.message"]
        fake_openai.add(Text(NOTES), phrase=ASKS)
        for change in (Compact(), Clear(), Rewind(prompts[1])):
            await done(conversation, change)
            assert conversation.usage.total < 3_000
            if isinstance(change, Rewind):
                assert (conversation.usage.total, conversation.usage.exact) == seen[0]
            await done(conversation, Restate(undo=True))
            assert (conversation.usage.total, conversation.usage.exact) == seen[-1]
        session = conversation.session
    async with desk.session(session=session) as again:
        assert again.conversation.usage.total == 3_160


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
        opened.writers.rules = RetryRules(retries=2, first_s=20.0)
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
        watching = Following(opened.conversation.bus)
        await turn(opened.conversation, "Fifth")
        applied = (await until(watching, lambda data: isinstance(data, CompactionComplete))).data
        assert isinstance(applied, CompactionComplete)
        assert (applied.outcome, applied.performed_by) == ("success", "heuristic")
        assert "internal error" in applied.reason
        assert applied.headline().endswith(" · by extraction")


async def test_nothing_to_compact_asks_no_model(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        watching = Following(opened.conversation.bus)
        await done(opened.conversation, Compact(), Restate(undo=True), Restate(undo=False))
        texts = [(await until(watching, lambda data: isinstance(data, Notice))).data for _ in range(3)]
        assert [str(getattr(each, "text", ""))[:15] for each in texts] == [
            "Nothing to comp",
            "Nothing to undo",
            "Nothing to redo",
        ]
        assert fake_openai.journal == []


async def test_command_during_a_turn_waits_for_its_end(desk: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("One two three", hold=release))
        fake_openai.add(Text(NOTES), phrase=ASKS)
        watching = Following(conversation.bus)
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
        watching = Following(conversation.bus)
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
        fake_openai.add(Text(NOTES), phrase=ASKS_AGAIN)
        fake_openai.add(error(500, "down"))
        watching = Following(conversation.bus)
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
    """The first command of a session must also get the right model."""
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
        watching = Following(conversation.bus)
        conversation.submit(Restate(undo=True, compaction=first + 1))
        said = await until(watching, lambda data: isinstance(data, Notice))
        assert said.data == Notice(
            text="Only the newest compaction can be undone.", passing=True, refused=True
        )
        await conversation.settle()
        assert view_bytes(conversation) == compacted
        await done(conversation, Restate(undo=True, compaction=first))
        assert conversation.history.view.undone == [first]
        whole = view_bytes(conversation)
        conversation.submit(Restate(undo=False, compaction=first + 1))
        said = await until(watching, lambda data: isinstance(data, Notice))
        assert said.data == Notice(
            text="Only the newest compaction can be applied again.", passing=True, refused=True
        )
        await conversation.settle()
        assert view_bytes(conversation) == whole
        await done(conversation, Restate(undo=False, compaction=first))
        assert view_bytes(conversation) == compacted


# Arguments of /compact: options in any position, and the focus.


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("", Compact()),
        ("the tides", Compact("the tides")),
        ("--review the tides", Compact("the tides", review=True)),
        ("the tides --review", Compact("the tides", review=True)),
        ("--extract the tides", Compact("the tides", extract=True)),
        ("the tides --up-to #12", Compact("the tides", span=Span(last=12))),
        ("--from 3 the tides --up-to #12 of Hull", Compact("the tides of Hull", span=Span(3, 12))),
        ("the --verbose flag", Compact("the --verbose flag")),
        ("-- --review is a word", Compact("--review is a word")),
        ("the tides -- and --from #3", Compact("the tides and --from #3")),
    ],
)
def test_options_may_stand_anywhere(typed: str, asked: Compact) -> None:
    assert asked_compaction(typed) == asked


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("the tides --up-to", "--up-to takes the number of a message"),
        ("the tides --from here", "--from takes the number of a message"),
        ("--everything", "/compact has no --everything"),
        ("the tides --from #9 --up-to #3", "There is nothing between #9 and #3"),
    ],
)
def test_what_cannot_be_read_is_said(typed: str, said: str) -> None:
    told = asked_compaction(typed)
    assert isinstance(told, str)
    assert told.startswith(said)


# Stopping a compaction that a prompt waits for: the prompt is sent, truncated if necessary.


async def stopped(opened: OpenSession, server: FakeOpenAI, *, presses: int = 1) -> list[Record]:
    """Send a prompt, press the key during its compaction, and return the records of its turn."""
    conversation = opened.conversation
    hangs = HangBeforeHeaders()
    server.add(hangs, phrase=ASKS)
    watching = Following(conversation.bus)
    conversation.submit(Prompt("And now?"))
    happened: list[Record] = []
    async for record in watching:
        happened.append(record)
        if isinstance(record.data, CompactionStart):
            await (await server.request(5)).paused.wait()
            for _ in range(presses):
                conversation.cancel_step()
        if isinstance(record.data, TurnEnd):
            break
    watching.close()
    await asyncio.wait_for(conversation.settle(), 20)
    return happened


@pytest.mark.parametrize("window", [9_600, 5_000], ids=["above 95 %", "above the limit"])
async def test_the_turn_goes_on(desk: Desk, fake_openai: FakeOpenAI, window: int) -> None:
    async with filled(desk, fake_openai) as opened:
        session = opened.conversation.session
    desk.server("local", fake_openai.base_url, window=window)
    settings = {"background_threshold": 0.2, "blocking_threshold": 0.3}
    async with desk.session(session=session, **settings) as opened:
        above = opened.conversation.usage.total > opened.conversation.usage.window.effective
        assert above == (window == 5_000)
        fake_openai.add(tool("ls", path="."), Text("It goes on."))
        happened = await stopped(opened, fake_openai)
        (ended,) = of(happened, CompactionComplete)
        assert isinstance(ended, CompactionComplete)
        assert (ended.outcome, ended.reason) == (
            "cancelled",
            "the request is sent anyway, cut to fit if necessary",
        )
        answer, end = of(happened, AssistantMessage)[-1], happened[-1].data
        assert isinstance(answer, AssistantMessage)
        assert isinstance(end, TurnEnd)
        assert (answer.text, end.outcome) == ("It goes on.", "done")
        assert len(of(happened, CompactionStart)) == 1, "not asked again with the next step"
        assert bool(of(happened, Truncation)) == above


async def test_a_second_press_stops_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        session = opened.conversation.session
    desk.server("local", fake_openai.base_url, window=5_000)
    async with desk.session(session=session) as opened:
        happened = await stopped(opened, fake_openai, presses=2)
        assert isinstance(happened[-1].data, TurnEnd)
        assert happened[-1].data.outcome == "cancelled"
        assert len(fake_openai.journal) == 5


async def test_stopping_both_at_once_promises_nothing(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        session = opened.conversation.session
    desk.server("local", fake_openai.base_url, window=5_000)
    async with desk.session(session=session) as opened:
        fake_openai.add(HangBeforeHeaders(), phrase=ASKS)
        opened.conversation.submit(Prompt("And now?"))
        await (await fake_openai.request(5)).paused.wait()
        opened.conversation.cancel()
        await opened.conversation.settle()
        assert (last_of(opened).outcome, last_of(opened).reason) == ("cancelled", "")


# Policies that compact when a turn has ended.


async def test_reserve_compacts_behind_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=20_000)
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(6)))
    fake_openai.add(
        *(Text("Title: Sea\n## Intent\nTell the sea from the sky.") for _ in range(6)), phrase=ASKS
    )
    async with desk.session(policy="reserve") as opened:
        for number in range(6):
            await turn(opened.conversation, f"Question {number}? {LONG}")
            await opened.conversation.settle()
        records = [record for record, _ in opened.store.records(opened.conversation.session)]
        done = [one for one in of(records, CompactionComplete) if isinstance(one, CompactionComplete)]
        assert {one.trigger for one in done if one.outcome == "success"} == {"turn_end"}
        (summary,) = [
            item.message for item in opened.conversation.history.items() if is_summary(item.message)
        ]
        assert message_text(summary).count("[Notes on what was said before]") == 1


# Reviewing a summary: prompts are still sent, decisions may come late, nothing is left over.


EDITED = f"{NOTES}\nThe horizon is where they meet."


async def proposed(opened: OpenSession, server: FakeOpenAI) -> CompactionProposed:
    """Start a compaction and return its proposal, which waits for a decision."""
    server.add(Text(NOTES), phrase=ASKS)
    watch = Following(opened.conversation.bus)
    opened.conversation.submit(Compact("tides", review=True))
    record = await until(watch, lambda payload: isinstance(payload, CompactionProposed))
    watch.close()
    assert isinstance(record.data, CompactionProposed)
    return record.data


async def decided(opened: OpenSession, job: str, summary: str | None) -> CompactionComplete:
    assert opened.conversation.reviews.decide(job, summary)
    await opened.conversation.settle()
    return last_of(opened)


async def test_edited_applied_undone_and_redone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        asked = await proposed(opened, fake_openai)
        assert (asked.problem, asked.messages_before) == ("", 8)
        assert "Tell the sea from the sky." in asked.summary
        assert asked.tokens_after < asked.tokens_before
        assert view_bytes(conversation) == before
        assert stored(opened, CompactionProposed) == [], "the log keeps what was applied"
        complete = await decided(opened, asked.job, EDITED)
        assert (complete.outcome, complete.edited, complete.focus) == ("success", True, "tides")
        assert numbers_only(complete.summary) == EDITED
        assert complete.summary.endswith(f"where they meet. {UNCHECKED}"), "whoever wrote it"
        assert "horizon" in str(conversation.history.items()[0].message)
        compacted = view_bytes(conversation)
        await done(conversation, Restate(undo=True))
        assert view_bytes(conversation) == before
        await done(conversation, Restate(undo=False))
        assert view_bytes(conversation) == compacted
        assert not conversation.reviews.decide(asked.job, NOTES), "it is decided once"


async def test_discarded(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        before = view_bytes(opened.conversation)
        asked = await proposed(opened, fake_openai)
        complete = await decided(opened, asked.job, None)
        assert (complete.outcome, complete.job) == ("discarded", asked.job)
        assert view_bytes(opened.conversation) == before
        assert not opened.folder.checkpoints.exists()


async def test_a_prompt_goes_on_and_a_late_decision_is_applied(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        asked = await proposed(opened, fake_openai)
        fake_openai.add(Text("Yes."))
        ends = of(await turn(conversation, "Go on?"), TurnEnd)
        assert [end.outcome for end in ends if isinstance(end, TurnEnd)] == ["done"]
        assert conversation.compactor.state is State.READY
        assert "Question 0?" in str(fake_openai.journal[-1]), "the view was whole"
        complete = await decided(opened, asked.job, asked.summary)
        assert (complete.outcome, complete.edited) == ("success", False)
        assert "Go on?" in str(conversation.history.items()[-2].message)


async def test_a_decision_during_a_turn_is_applied_once_it_may_be(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        asked = await proposed(opened, fake_openai)
        fake_openai.add(Text("Yes."))
        answer = asyncio.create_task(turn(conversation, "Go on?"))
        await fake_openai.request(6)
        conversation.reviews.decide(asked.job, asked.summary)
        await answer
        await conversation.settle()
        assert last_of(opened).outcome == "success"
        assert "Yes." in str(conversation.history.items()[-1].message)


async def test_cancelling_clearing_and_closing_end_the_question(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        asked = await proposed(opened, fake_openai)
        await cancelled_within(conversation)
        assert last_of(opened).outcome == "cancelled"
        assert view_bytes(conversation) == before
        assert not conversation.reviews.decide(asked.job, NOTES)
        await proposed(opened, fake_openai)
        session = conversation.session
    async with desk.session(session=session) as opened:
        assert last_of(opened).outcome == "cancelled", "leaving discards it"
        assert view_bytes(opened.conversation) == before
        asked = await proposed(opened, fake_openai)
        opened.conversation.submit(Clear())
        await opened.conversation.settle()
        assert not opened.conversation.reviews.decide(asked.job, NOTES)
        assert list(opened.conversation.history.items()) == []


async def test_a_second_one_is_refused_while_a_person_decides(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        asked = await proposed(opened, fake_openai)
        requests = len(fake_openai.journal)
        opened.conversation.submit(Compact())
        complete = await decided(opened, asked.job, NOTES)
        assert complete.outcome == "success"
        assert len(fake_openai.journal) == requests


async def test_another_focus_has_it_written_anew(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        watch = Following(conversation.bus)
        asked = await proposed(opened, fake_openai)
        fake_openai.add(Text(f"{NOTES}\nMind the dusk."), phrase=ASKS)
        assert conversation.reviews.decide(asked.job, Refocus("the dusk"))
        again = await until(
            watch, lambda data: isinstance(data, CompactionProposed) and "dusk" in data.summary
        )
        assert "Above all keep what concerns: the dusk" in str(fake_openai.journal[-1])
        assert isinstance(again.data, CompactionProposed)
        assert (again.data.job, again.data.messages_leave + again.data.messages_stay) == (asked.job, 8)
        complete = await decided(opened, asked.job, again.data.summary)
        assert (complete.outcome, complete.focus, complete.edited) == ("success", "the dusk", False)


async def test_where_no_other_is_written_the_first_one_stays(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        watch = Following(conversation.bus)
        asked = await proposed(opened, fake_openai)
        fake_openai.add(*(error(500, "down") for _ in range(4)), phrase=ASKS)
        conversation.reviews.decide(asked.job, Refocus("the dusk"))
        again = await until(watch, lambda data: isinstance(data, CompactionProposed) and bool(data.problem))
        assert isinstance(again.data, CompactionProposed)
        assert again.data.problem.startswith("none was written with that focus: ")
        complete = await decided(opened, asked.job, asked.summary)
        assert (complete.outcome, complete.focus) == ("success", "tides")


async def test_the_text_is_told_while_it_is_written(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        told: list[str] = []
        opened.bus.listen(
            lambda record: (
                told.append(record.data.text) if isinstance(record.data, CompactionProgress) else None
            )
        )
        await proposed(opened, fake_openai)
        assert "".join(told) == NOTES


# Which compactions need a review: all, user-started ones, or none; never without a screen.


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("always", {"manual", "model_switch", "background", "blocking", "turn_end", "overflow"}),
        ("manual", {"manual", "model_switch"}),
        ("never", set()),
    ],
)
def test_what_waits(mode: ReviewMode, asked: set[Trigger]) -> None:
    reviews = Reviews(print, mode)
    every: tuple[Trigger, ...] = (
        "manual", "model_switch", "background", "blocking", "turn_end", "overflow", "headless",
        "memory_pressure",
    )  # fmt: skip
    assert {trigger for trigger in every if reviews.of(trigger) is not None} == asked


async def review_modes_proposed(opened: OpenSession, prompt: str = "Fifth") -> CompactionProposed:
    watch = Following(opened.conversation.bus)
    opened.conversation.submit(Prompt(prompt))
    record = await until(watch, lambda payload: isinstance(payload, CompactionProposed))
    watch.close()
    assert isinstance(record.data, CompactionProposed)
    return record.data


async def test_one_in_the_background_waits_while_the_turn_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."), Text("Once more."))
        watch = Following(conversation.bus)
        asked = await review_modes_proposed(opened)
        await until(watch, lambda payload: isinstance(payload, TurnEnd))
        assert conversation.compactor.state is State.READY
        assert not stored(opened, CompactionComplete), "nothing is applied unseen"
        complete = await decided(opened, asked.job, asked.summary)
        assert (complete.outcome, complete.trigger) == ("success", "background")


async def test_who_says_no_is_not_asked_again_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."), Text("Once more."))
        asked = await review_modes_proposed(opened)
        assert (await decided(opened, asked.job, None)).outcome == "discarded"
        records = await turn(conversation, "Sixth")
        assert not of(records, CompactionStart)


async def test_a_request_that_cannot_go_on_waits_for_the_decision(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."))
        watch = Following(conversation.bus)
        asked = await review_modes_proposed(opened, f"Fifth {LONG} {LONG}")
        assert conversation.busy, "the turn waits"
        conversation.reviews.decide(asked.job, asked.summary)
        await until(watch, lambda payload: isinstance(payload, TurnEnd))
        complete = last_of(opened)
        assert (complete.outcome, complete.trigger) == ("success", "blocking")


async def test_manual_leaves_those_of_the_background_alone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("manual")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        fake_openai.add(Text("Short."))
        await turn(conversation, "Fifth")
        await conversation.settle()
        assert (last_of(opened).outcome, last_of(opened).trigger) == ("success", "background")


async def test_a_changed_mode_counts_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        conversation.reviews.ask_about("never")
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact())
        assert last_of(opened).outcome == "success"


async def test_nobody_waits_without_a_screen(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """Whatever the settings: commands and other programs have no user to ask."""
    desk.server("local", fake_openai.base_url, window=6_600)
    fake_openai.add(*(Text(f"Answer. {LONG}", usage=(0, 0)) for _ in range(5)))
    fake_openai.add(*(Text(NOTES) for _ in range(4)), phrase=ASKS)
    async with desk.session(review="always") as opened:
        for number in range(5):
            await turn(opened.conversation, f"Question {number}? {LONG}")
        await opened.conversation.settle()
        assert last_of(opened).outcome == "success"


async def test_the_turn_end_of_a_policy_holds_nothing_up(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=20_000)
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(7)))
    fake_openai.add(*(Text(NOTES) for _ in range(6)), phrase=ASKS)
    async with desk.session(policy="reserve") as opened:
        conversation = opened.conversation
        conversation.reviews.ask_about("always")
        watch = Following(conversation.bus)
        for number in range(6):
            await turn(conversation, f"Question {number}? {LONG}")
            if of([record for record, _ in opened.store.records(conversation.session)], CompactionStart):
                break
        asked = await until(watch, lambda payload: isinstance(payload, CompactionProposed))
        await turn(conversation, "Go on")
        assert isinstance(asked.data, CompactionProposed)
        complete = await decided(opened, asked.data.job, asked.data.summary)
        assert (complete.outcome, complete.trigger) == ("success", "turn_end")
