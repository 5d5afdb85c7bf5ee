"""A defect in the middle of a turn: it is told, the turn ends, and the next one goes on."""

import asyncio

import pytest

from tests.conversation.driving import Desk, done, of, turn, until
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.turn import TurnRunner
from tui_app.conversation.work import Rewind
from tui_app.events import Error, TurnEnd


async def broken(*_: object) -> None:
    raise RuntimeError("a defect")


async def test_trying_again_ends_its_turn_too(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.server("local", fake_openai.base_url, 32_000)
    fake_openai.add(Text("One."), Text("Two."))
    async with desk.session() as opened:
        await turn(opened.conversation, "first")
        happened = opened.conversation.watch()
        with monkeypatch.context() as patched:
            patched.setattr(TurnRunner, "run", broken)
            await done(opened.conversation, Rewind(0, again=True))
        async with asyncio.timeout(5):
            assert isinstance((await until(happened, lambda data: isinstance(data, Error))).data, Error)
            end = await until(happened, lambda data: isinstance(data, TurnEnd))
        assert end.data == TurnEnd(outcome="failed", prompt="first")
        assert not opened.conversation.busy
        assert of(await turn(opened.conversation, "second"), TurnEnd)
