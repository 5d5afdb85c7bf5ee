"""Contrast while the context fills: the gauge near its limit, full and over it, at both usual sizes."""

import pytest

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import SCENES
from tests.ui.app.test_accessibility import faint
from tests.ui.app.test_app_gauge import story
from tests.ui.kit import USUAL, WIDE, Desk, shown
from tui_app.ui.themes import THEMES

FILLED = {82: (104_960, "near"), 97: (124_160, "full"), 102: (131_072, "over by")}
"""What the provider has reported for a window of 128,000, by percent, and the word the gauge has for it."""


@pytest.mark.parametrize("size", [USUAL, WIDE], ids=["80x24", "120x40"])
@pytest.mark.parametrize("percent", FILLED)
async def test_a_gauge_that_warns_can_be_read(
    desk: Desk, fake_openai: FakeOpenAI, percent: int, size: tuple[int, int]
) -> None:
    reported, word = FILLED[percent]
    desk.serve(fake_openai)
    async with shown(desk.app(desk.store(story(reported))), size) as deck:
        await deck.ready()
        for scene in ("chat", "draft", "commands", "timeline", "context", "status"):
            await SCENES[scene](deck)
            await deck.settle()
            assert word in deck.gauge
            for theme in THEMES:
                deck.app.theme = theme.name
                await deck.settle()
                assert faint(deck) == set(), (scene, theme.name)
            while deck.app.screen is not deck.app.chat:
                await deck.press("escape")
            deck.editor.focus()
            deck.editor.text = ""
            await deck.settle()
