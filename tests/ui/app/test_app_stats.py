"""The figures of the session on the screen, also while it grows."""

import pytest
from textual.containers import VerticalScroll

from tests.servers.behaviours import HangBeforeHeaders
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Desk, shown
from tui_app.conversation.work import Prompt
from tui_app.ui.dialogs import session_info as stats
from tui_app.ui.dialogs.actions import send
from tui_app.ui.dialogs.session_info import StatsScreen


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "LOOK_S", 0.01)


@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_figures_and_keys(served: Desk, size: tuple[int, int]) -> None:
    async with shown(served.app(served.store(Story().turns(3).tool("ls", "{}", "x"))), size) as deck:
        await deck.ready()
        await deck.send("/stats")
        await deck.until(lambda: isinstance(deck.app.screen, StatsScreen), "the figures")
        assert "3 turns, 4 requests, 1 tool call" in deck.text
        assert "harbour:scripted" in deck.text
        assert deck.app.screen.query_one("#dialog-hints").region.bottom <= size[1]
        assert deck.app.focused is deck.app.screen.query_one(VerticalScroll)
        await deck.press("y")
        assert "3 turns" in deck.app.clipboard
        await deck.press("escape")
        assert not isinstance(deck.app.screen, StatsScreen)


async def test_they_grow_during_a_turn(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangBeforeHeaders())
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/stats")
        await deck.says("1 turn, 1 request")
        send(deck.app.chat, Prompt("go on"))
        await (await fake_openai.request(1)).paused.wait()
        await deck.says("2 turns, 2 requests")
        assert deck.app.chat.session.state.turn
