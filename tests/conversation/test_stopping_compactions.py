"""Stopping a compaction that a prompt waits for: the prompt goes on, cut if it must be."""

import asyncio

import pytest

from tests.conversation.driving import Desk, of
from tests.conversation.test_compacting import ASKS, filled, last_of
from tests.servers.behaviours import HangBeforeHeaders, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Prompt
from tui_app.events import AssistantMessage, CompactionComplete, CompactionStart, Record, Truncation, TurnEnd


async def stopped(opened: OpenSession, server: FakeOpenAI, *, presses: int = 1) -> list[Record]:
    """Send a prompt, and press the key while it waits for a compaction; what happened to its end."""
    conversation = opened.conversation
    hangs = HangBeforeHeaders()
    server.add(hangs, phrase=ASKS)
    watching = conversation.watch()
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
            "the request goes on, cut to fit if need be",
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
