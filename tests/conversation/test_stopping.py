"""Stopping a turn before its request is out, and between two models: nothing is sent any more."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.servers.behaviours import Text, error
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.model_switch import ModelSwitch
from tui_app.events import Error, ModelChange, Record, TurnEnd, UserMessage

BUSY = error(503, "Overloaded", type="overloaded_error")


@dataclass
class Gate:
    """Something that takes long: says when it was entered, and goes on when it is let."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, *_: object) -> None:
        self.entered.set()
        await self.opened.wait()


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


@pytest.fixture
def other() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


async def stopped(opened: OpenSession, gate: Gate) -> list[Record]:
    """Send a prompt, and stop it where it waits at the gate."""
    talking = asyncio.create_task(turn(opened.conversation, "Hello?"))
    await gate.entered.wait()
    opened.conversation.cancel()
    happened = await asyncio.wait_for(talking, 20)
    gate.opened.set()
    return happened


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of a compaction that goes on behind the turn."""
    asked: list[str] = []
    monkeypatch.setattr(Compactions, "cancel_job", lambda self: asked.append("cancel"))
    return asked


async def test_while_a_turn_is_prepared(desk: Desk, server: FakeOpenAI, background: list[str]) -> None:
    server.add(Text("Here."))
    gate = Gate()
    async with desk.session() as opened:
        opened.turns.deliver = gate
        happened = await stopped(opened, gate)
        assert of(happened, TurnEnd) == [TurnEnd(outcome="cancelled", prompt="Hello?")]
        assert of(happened, UserMessage, Error) == []
        assert server.journal == []
        assert background == []
        # The next one is not stopped by a wish for the last.
        assert of(await turn(opened.conversation, "And now?"), TurnEnd)[-1].outcome == "done"
        assert_valid(opened.conversation)


@pytest.mark.parametrize("step", ["forecast", "switch"])
async def test_while_another_model_is_made_ready_to_take_over(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    desk.server("spare", other.base_url, window=32_000)
    desk.server("third", other.base_url, window=32_000)
    server.add(BUSY)
    other.fallback = Text("From another model.")
    gate = Gate()

    def slow(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wait_first(self: ModelSwitch, what: object) -> Any:
            await gate()
            return await original(self, what)

        return wait_first

    async with desk.session(retries=0, fallback_models="spare:scripted,third:scripted") as opened:
        monkeypatch.setattr(ModelSwitch, step, slow(getattr(ModelSwitch, step)))
        happened = await stopped(opened, gate)
        assert of(happened, TurnEnd)[-1].outcome == "cancelled"
        assert of(happened, ModelChange) == []
        assert opened.conversation.model == "local:scripted"
        assert other.journal == []
        assert_valid(opened.conversation)


async def test_a_model_that_is_being_loaded_does_not_hand_over_to_the_next(
    desk: Desk, server: FakeOpenAI, other: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.server("spare", other.base_url, window=32_000)
    desk.server("third", other.base_url, window=32_000)
    server.add(BUSY)
    other.fallback = Text("From another model.")
    gate, load = Gate(), ModelSwitch._load

    async def slow(self: ModelSwitch, name: str) -> Any:
        if name == "spare:scripted":
            await gate()
        return await load(self, name)

    monkeypatch.setattr(ModelSwitch, "_load", slow)
    async with desk.session(retries=0, fallback_models="spare:scripted,third:scripted") as opened:
        happened = await stopped(opened, gate)
        assert of(happened, TurnEnd)[-1].outcome == "cancelled"
        assert opened.conversation.model == "local:scripted"
        assert other.journal == []


async def test_whoever_listens_and_fails_changes_nothing(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Here."))

    def fail(record: Record) -> None:
        if isinstance(record.data, TurnEnd):
            raise OSError("no room to take note of it")

    async with desk.session() as opened:
        opened.bus.listen(fail)
        happened = await turn(opened.conversation, "Hello?")
        assert [end.outcome for end in of(happened, TurnEnd)] == ["done"]
        assert of(happened, Error) == []
