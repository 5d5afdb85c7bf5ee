"""Concurrent actions: the table of docs/context-governance.md, row by row."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conversation import holding, waiting
from tests.conversation.driving import Desk, Following, done, turn, until, view_bytes
from tests.conversation.jobs import (
    beside_the_job,
    completes,
    released,
    reopened,
    texts,
    until_a_job_runs,
    with_job,
)
from tests.conversation.test_compactions import ASKS, ASKS_AGAIN, NOTES, filled, last_of, stored
from tests.forked import Piped, completed
from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.context.compaction.compactor import State
from tui_app.conversation.assembly import open_session
from tui_app.conversation.work import Clear, Compact, Prompt, Restate, Switch
from tui_app.events import CompactionComplete, CompactionStart, CompactionUndone, ModelChange, Notice
from tui_app.session.lock import SessionLocked

ROOT = Path(__file__).parents[2]


# Two windows on one session


async def test_a_second_window_cannot_compact_while_the_first_one_does(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with with_job(desk, fake_openai, release) as first:
        session, events = first.conversation.session, len(list(first.store.heads(first.conversation.session)))
        with pytest.raises(SessionLocked, match="another window"):
            open_session(desk.opening(session=session))
        assert len(list(first.store.heads(session))) == events, "the second one has written nothing"
        assert (await released(first, release)).outcome == "success"
        compacted = view_bytes(first.conversation)
    async with desk.session(session=session) as second:
        assert view_bytes(second.conversation) == compacted
        await done(second.conversation, Restate(undo=True))
        assert len(stored(second, CompactionUndone)) == 1


async def test_two_sessions_of_one_program_compact_at_the_same_time(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    first_release, second_release = Signal(), Signal()
    async with with_job(desk, fake_openai, first_release) as first:
        before = view_bytes(first.conversation)
        with FakeOpenAI() as other:
            async with with_job(desk, other, second_release) as second:
                assert (await released(second, second_release)).outcome == "success"
                assert view_bytes(first.conversation) == before
                assert first.conversation.compactor.state is State.RUNNING
        assert (await released(first, first_release)).outcome == "success"
        await reopened(desk, first)


@asynccontextmanager
async def another_process(desk: Desk, session: str) -> AsyncIterator[Piped]:
    arguments = [str(desk.home), str(desk.cwd), session]
    process = await Piped.start(arguments, cwd=ROOT, limit=1_000, module=holding.__name__)
    assert await process.stdout.readline() == b"open\n"
    yield process
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def test_another_process_is_named_and_leaves_the_session_behind_when_it_dies(desk: Desk) -> None:
    async with desk.session(model="offline:extractive") as opened:
        await turn(opened.conversation, "What is in README.md about the sea?")
        session, before = opened.conversation.session, view_bytes(opened.conversation)
    async with another_process(desk, session):
        with pytest.raises(SessionLocked, match="another window"):
            open_session(desk.opening(session=session))
    async with desk.session(session=session, model="offline:extractive") as opened:
        assert view_bytes(opened.conversation) == before


# Changing the model


@pytest.mark.parametrize(("window", "way"), [(64_000, "plain"), (4_000, "anyway")])
async def test_a_job_goes_on_when_the_model_is_changed(
    desk: Desk, fake_openai: FakeOpenAI, window: int, way: str
) -> None:
    """The old model writes the summary; it is applied, because the messages it replaces are still there."""
    release = Signal()
    with FakeOpenAI() as other:
        desk.server("other", other.base_url, window=window)
        async with with_job(desk, fake_openai, release) as opened:
            conversation = opened.conversation
            await beside_the_job(conversation, Switch("other:scripted", way), ModelChange)  # type: ignore[arg-type]
            assert conversation.model == "other:scripted"
            assert conversation.compactor.state is State.RUNNING
            before = conversation.usage.total
            fake_openai.add(Text(NOTES), phrase=ASKS_AGAIN)
            complete = await released(opened, release)
            assert (complete.outcome, complete.model) == ("success", "local:scripted")
            assert complete.tokens_after == conversation.usage.total < before
            assert conversation.usage.window.limit == window
            assert other.journal == []
            await reopened(desk, opened)


async def test_compacting_for_a_switch_takes_the_place_of_the_job(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    with FakeOpenAI() as small:
        desk.server("small", small.base_url, window=4_000)
        async with with_job(desk, fake_openai, release) as opened:
            fake_openai.add(Text(NOTES), Text(NOTES), phrase=ASKS)
            await done(opened.conversation, Switch("small:scripted", "compact"))
            ends = [(end.trigger, end.outcome) for end in completes(opened)]
            assert ends[:2] == [("background", "cancelled"), ("model_switch", "success")]
            after = view_bytes(opened.conversation)
            release.set()
            await opened.conversation.settle()
            assert view_bytes(opened.conversation) == after, "what comes late is ignored"
            await reopened(desk, opened)


# Commands while a job runs


@pytest.mark.parametrize("undo", [True, False])
async def test_undo_and_redo_stop_a_job(desk: Desk, fake_openai: FakeOpenAI, undo: bool) -> None:
    release = Signal()
    async with filled(desk, fake_openai, window=6_600) as opened:
        conversation = opened.conversation
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(conversation, Compact())
        (compaction,) = conversation.history.view.compactions
        if not undo:
            await done(conversation, Restate(undo=True))
        fake_openai.add(HangBeforeHeaders(release, text=NOTES), phrase=ASKS)
        await until_a_job_runs(conversation, fake_openai, release)
        await done(conversation, Restate(undo=undo))
        assert conversation.history.view.compactions == ([] if undo else [compaction])
        assert completes(opened)[-1].outcome == "cancelled"
        view = view_bytes(conversation)
        release.set()
        await conversation.settle()
        assert view_bytes(conversation) == view
        await reopened(desk, opened)


async def test_clearing_stops_a_job_and_its_late_result_changes_nothing(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with with_job(desk, fake_openai, release) as opened:
        await done(opened.conversation, Clear())
        release.set()
        await opened.conversation.settle()
        assert opened.conversation.history.items() == []
        assert [end.outcome for end in completes(opened)] == ["cancelled"]
        await reopened(desk, opened)


async def test_a_job_is_cancelled_while_an_answer_is_written_and_the_answer_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release, hold = Signal(), Signal()
    async with with_job(desk, fake_openai, release) as opened:
        fake_openai.add(HangBeforeHeaders(hold, text="Written to its end."))
        asked = len(fake_openai.journal) + 1
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("Sixth"))
        await (await fake_openai.request(asked)).paused.wait()
        opened.conversation.cancel_compaction()
        ended = await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert isinstance(ended.data, CompactionComplete)
        assert ended.data.outcome == "cancelled"
        hold.set()
        await opened.conversation.settle()
        assert "Written to its end." in texts(opened.conversation)
        assert opened.conversation.history.view.compactions == []
        await reopened(desk, opened)


async def test_compacting_by_hand_waits_for_no_job_and_starts_no_second_one(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    release = Signal()
    async with with_job(desk, fake_openai, release) as opened:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Compact())
        said = await until(watching, lambda data: isinstance(data, Notice))
        assert said.data == Notice(text="A compaction is already running.", passing=True, refused=True)
        assert (await released(opened, release)).trigger == "background"
        assert len(opened.conversation.history.view.compactions) == 1


async def test_cancelled_and_started_again_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        fake_openai.add(
            HangBeforeHeaders(release, text=NOTES.replace("Sea", "Late")), Text(NOTES), phrase=ASKS
        )
        conversation.submit(Compact())
        await (await fake_openai.request(5)).paused.wait()
        conversation.cancel()
        conversation.submit(Compact())
        release.set()
        await conversation.settle()
        assert [end.outcome for end in completes(opened)] == ["cancelled", "success"]
        jobs = [start.job for start in stored(opened, CompactionStart) if isinstance(start, CompactionStart)]
        assert len(set(jobs)) == 2
        assert last_of(opened).title == "Sea and sky"
        assert len(conversation.history.view.compactions) == 1
        await reopened(desk, opened)


# Killed while others wait


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_of_two_windows_that_wait_one_goes_on_where_the_writer_was_killed(desk: Desk) -> None:
    arguments = [str(desk.home), str(desk.cwd)]
    ended = completed(arguments, env=os.environ, cwd=ROOT, limit_s=110, module=waiting.__name__)
    assert ended.returncode == 0, ended.stderr + ended.stdout[-2_000:]
    rounds = ended.stdout.split()
    assert len(rounds) == len(waiting.PLACES)
    assert set(rounds) == {"none", "all"}, "the writer died before and behind the commit"
