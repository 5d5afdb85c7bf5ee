"""Seeing and changing the policy."""

from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown
from tui_app.ui.chat.pane import ChatHeader
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.settings import policy_text
from tui_app.ui.gauge import ContextGauge

MINE = {"mine": {"base": "reserve"}}


async def test_the_policies_with_one_line_each_and_the_present_one(served: Desk) -> None:
    served.change(policies=MINE)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/policy")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the policies")
        assert "> plimsoll        starts at 80 %" in deck.text
        for name in ("sliding-window", "reserve", "background", "progressive", "off"):
            assert f"  {name} " in deck.text
        assert "your own, made from reserve" in deck.text
        text = policy_text(served.settings, "mine")
        assert [line for line in text.splitlines() if line.startswith(">")] == [
            "> mine            your own, made from reserve"
        ]


def test_long_sentences_go_on_under_their_beginning_and_not_under_the_names(served: Desk) -> None:
    lines = policy_text(served.settings, "reserve", 60).splitlines()
    assert max(map(len, lines)) <= 60
    listed = lines[: lines.index("")]
    at = listed[0].index("starts at")
    assert len(listed) > 6
    names = [line for line in listed if line[2] != " "]
    assert len(names) == 6
    assert all(line[:at].isspace() for line in listed if line not in names)


async def test_a_change_is_said_shown_and_kept(served: Desk) -> None:
    story = served.store(Story().turns(2))
    async with shown(served.app(story)) as deck:
        await deck.ready()
        await deck.send("/policy sliding-window")
        await deck.says("Policy: sliding-window")
        assert "policy sliding-window" in deck.widget(ChatHeader)
        assert "┃" in deck.widget(ContextGauge), "a request that does not fit waits in any case"
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        assert "compacts by the number of messages" in deck.text
    async with shown(served.app(story)) as deck:
        await deck.ready()
        assert "policy sliding-window" in deck.widget(ChatHeader)
        await deck.send("/policy off")
        await deck.says("Policy: off")
        assert "┃" not in deck.widget(ContextGauge)


async def test_a_name_nobody_knows_changes_nothing(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/policy plimsol")
        await deck.says("No policy plimsol. There are plimsoll,")
        assert deck.app.chat.session.state.policy == "plimsoll"
