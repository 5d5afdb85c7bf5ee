"""Memory pressure: the decision, what is dropped, and the one compaction that may follow."""

import asyncio
import os
from contextlib import closing
from dataclasses import replace
from threading import Event, Thread, current_thread, main_thread

import psutil
import pytest

from tests.conversation.driving import Desk, Following, assert_valid, of, turn, until, view_bytes
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.context import resident_memory as resident
from tui_app.context.resident_memory import LARGE, Past, Reading, Step, next_step
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Prompt
from tui_app.events import CompactionComplete, CompactionStart, MemoryPressure, TurnEnd
from tui_app.session.stores.database import open_store

ASKS = "Write the notes for this transcript"
NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."
LONG = "The sea is below and the sky is above, as everybody knows. " * 600
"""About 7,200 tokens."""
SHORT = Reading(rss_mb=1_100, limit_mb=1_000, tokens=LARGE)
DROPPED = Past(dropped_at=1_100, messages_dropped=True)


@pytest.mark.parametrize(
    ("now", "past", "step"),
    [
        (replace(SHORT, limit_mb=0), Past(), "nothing"),
        (replace(SHORT, rss_mb=1_000), Past(), "nothing"),
        (SHORT, Past(), "drop"),
        (SHORT, DROPPED, "compact"),
        (replace(SHORT, rss_mb=1_209), DROPPED, "compact"),
        (replace(SHORT, rss_mb=1_210), DROPPED, "drop"),
        (replace(SHORT, tokens=LARGE - 1), DROPPED, "nothing"),
        (replace(SHORT, automatic=False), DROPPED, "nothing"),
        (replace(SHORT, idle=False), Past(), "drop"),
        (replace(SHORT, idle=False), replace(DROPPED, messages_dropped=False), "compact"),
        (SHORT, replace(DROPPED, messages_dropped=False), "drop"),
        (SHORT, replace(DROPPED, compacted_at=1_100), "nothing"),
        (replace(SHORT, tokens=9 * LARGE), replace(DROPPED, compacted_at=1_100), "nothing"),
        (replace(SHORT, rss_mb=1_209), replace(DROPPED, compacted_at=1_100), "nothing"),
        (replace(SHORT, rss_mb=1_210), replace(DROPPED, dropped_at=1_210, compacted_at=1_100), "compact"),
        (replace(SHORT, rss_mb=900), replace(DROPPED, compacted_at=1_100), "nothing"),
    ],
)
def test_decision(now: Reading, past: Past, step: Step) -> None:
    assert next_step(now, past)[0] == step


def test_a_size_around_the_limit_begins_nothing_anew() -> None:
    past, steps = Past(), []
    for rss_mb in (1_100, 1_100, 990, 1_010, 920, 1_100, 900, 1_100):
        step, past = next_step(replace(SHORT, rss_mb=rss_mb), past)
        steps.append(step)
    assert steps == ["drop", "compact", "nothing", "nothing", "nothing", "nothing", "nothing", "drop"]


def test_reading_is_that_of_the_system() -> None:
    measured = psutil.Process().memory_info().rss / 1_000_000
    assert resident.resident_mb() == pytest.approx(measured, rel=0.2)


@pytest.mark.skipif(os.name != "posix", reason="there is no ps")
def test_reading_without_a_proc_file_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: "os.PathLike[str]"
) -> None:
    usual = resident.resident_mb()
    monkeypatch.setattr(resident, "_STATM", tmp_path / "none")  # type: ignore[operator]
    assert resident.resident_mb() == pytest.approx(usual, rel=0.2)
    monkeypatch.setattr(resident, "_PS", ("no-such-program",))
    assert resident.resident_mb() is None


def weigh(opened: OpenSession, rss_mb: int) -> None:
    """Make the guard read this size; without a limit in the settings it checks only when called."""
    opened.memory.read, opened.memory.limit_mb = (lambda: rss_mb), 1_000


async def pressed(opened: OpenSession) -> None:
    """Check repeatedly during a turn until a compaction is requested; the guard checks as well."""
    while not opened.conversation.compactor.pressed:
        await opened.memory.look()
        await asyncio.sleep(0)


async def said(desk: Desk, server: FakeOpenAI, opened: OpenSession, turns: int = 4) -> None:
    """Run some long turns without memory pressure."""
    weigh(opened, 10)
    server.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0), chunks=3) for number in range(turns)))
    for number in range(turns):
        await turn(opened.conversation, f"Question {number}?")


async def test_caches_go_first_then_the_history_is_compacted_once(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    async with desk.session(memory_limit_mb=0) as opened:
        conversation, guard = opened.conversation, opened.memory
        await said(desk, fake_openai, opened)
        before, usage = view_bytes(conversation), conversation.usage
        watching = Following(conversation.bus)
        weigh(opened, 1_100)
        assert await guard.look() == "drop"
        assert conversation.history._messages._held == {}
        assert (view_bytes(conversation), conversation.usage) == (before, usage)
        fake_openai.add(Text(NOTES), phrase=ASKS)
        assert await guard.look() == "compact"
        done = await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert isinstance(done.data, CompactionComplete)
        assert (done.data.trigger, done.data.outcome) == ("memory_pressure", "success")
        await conversation.settle()
        assert conversation.usage.total == done.data.tokens_after < usage.total
        assert [await guard.look() for _ in range(3)] == ["nothing"] * 3
        weigh(opened, 10)
        await said(desk, fake_openai, opened)
        weigh(opened, 1_100)
        assert conversation.usage.total > usage.total
        guard.past = replace(DROPPED, compacted_at=1_100)
        assert await guard.look() == "nothing", "it did not help before"
        weigh(opened, 900)
        assert await guard.look() == "nothing"
        weigh(opened, 1_100)
        assert await guard.look() == "drop", "below the limit everything begins anew"
        assert_valid(conversation)


async def test_both_steps_are_told(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    async with desk.session(memory_limit_mb=0) as opened:
        await said(desk, fake_openai, opened)
        weigh(opened, 1_100)
        watching = Following(opened.conversation.bus)
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await opened.memory.look()
        await opened.memory.look()
        told = [await until(watching, lambda data: isinstance(data, MemoryPressure)) for _ in range(2)]
        assert [record.data for record in told] == [
            MemoryPressure(rss_mb=1_100, limit_mb=1_000, action="drop"),
            MemoryPressure(rss_mb=1_100, limit_mb=1_000, action="compact"),
        ]


async def test_in_a_turn_the_next_request_waits_for_the_compaction(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    async with desk.session(memory_limit_mb=0) as opened:
        await said(desk, fake_openai, opened)
        conversation, release = opened.conversation, Signal()
        fake_openai.add(replace(tool("read_file", path="README.md"), hold=release), Text("It is below."))
        fake_openai.add(Text(NOTES), phrase=ASKS)
        watching = Following(conversation.bus)
        conversation.submit(Prompt("Where is the sea?"))
        await (await fake_openai.request(5)).paused.wait()
        weigh(opened, 1_100)
        await pressed(opened)
        release.set()
        kinds = []
        while not kinds or kinds[-1] is not TurnEnd:
            record = await until(
                watching, lambda data: isinstance(data, CompactionStart | CompactionComplete | TurnEnd)
            )
            kinds.append(type(record.data))
        assert kinds == [CompactionStart, CompactionComplete, TurnEnd]
        assert "Sea and sky" in str(fake_openai.journal[-1]), "the request behind it had the summary"
        assert_valid(conversation)


async def test_a_turn_without_another_request_is_followed_by_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    async with desk.session(memory_limit_mb=1_000) as opened:
        await said(desk, fake_openai, opened)
        conversation, release = opened.conversation, Signal()
        fake_openai.add(Text("Below, and nothing else.", hold=release))
        fake_openai.add(Text(NOTES), phrase=ASKS)
        watching = Following(conversation.bus)
        conversation.submit(Prompt("Where is the sea?"))
        await (await fake_openai.request(5)).paused.wait()
        weigh(opened, 1_100)
        await pressed(opened)
        release.set()
        await until(watching, lambda data: isinstance(data, TurnEnd))
        done = await until(watching, lambda data: isinstance(data, CompactionComplete))
        assert isinstance(done.data, CompactionComplete)
        assert (done.data.trigger, done.data.outcome) == ("memory_pressure", "success")


async def test_policy_that_never_compacts_is_left_alone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    async with desk.session(memory_limit_mb=0, policy="off") as opened:
        await said(desk, fake_openai, opened)
        weigh(opened, 1_100)
        assert [await opened.memory.look() for _ in range(3)] == ["drop", "nothing", "nothing"]


async def test_the_guard_looks_by_itself_after_an_answer(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    fake_openai.add(Text("It is below."))
    async with desk.session(memory_limit_mb=1) as opened:
        watching = Following(opened.conversation.bus)
        await turn(opened.conversation, "Where is the sea?")
        told = await until(watching, lambda data: isinstance(data, MemoryPressure))
        assert isinstance(told.data, MemoryPressure)
        assert told.data.rss_mb == pytest.approx(resident.resident_mb(), rel=0.2)


async def test_another_program_that_is_asked_holds_nobody_up(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    fake_openai.add(Text("It is below."))
    by, asked = list[Thread](), Event()
    async with desk.session(memory_limit_mb=1_000) as opened:

        def read() -> None:
            by.append(current_thread())
            asked.set()

        opened.memory.read = read
        await turn(opened.conversation, "Where is the sea?")
        await asyncio.to_thread(asked.wait, 60)
    assert by
    assert main_thread() not in by


async def test_nobody_looks_at_a_session_that_another_window_has_deleted(desk: Desk) -> None:
    async with desk.session(memory_limit_mb=1_000) as opened:
        with closing(open_store(opened.opening.database)) as other:
            other.delete(opened.conversation.session)
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task.get_name() == "watching memory"] == []


async def test_without_a_limit_nobody_looks(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    fake_openai.add(Text("It is below."))
    async with desk.session(memory_limit_mb=0) as opened:
        opened.memory.read = lambda: 10_000
        assert of(await turn(opened.conversation, "Where is the sea?"), MemoryPressure) == []
