"""What a turn and a session cost, on the screen: known, unknown, resumed, above the budget."""

from dataclasses import replace

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.widgets.header import ChatHeader


def priced(desk: Desk) -> Desk:
    """A server of one's own: two dollars for a million tokens in, ten out."""
    own = {
        name: replace(each, price_in=2.0, price_out=10.0) for name, each in desk.settings.endpoints.items()
    }
    return desk.change(endpoints=own)


async def test_a_priced_server_counts_for_turn_header_and_resumed_session(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    session = served.store(Story().turns(1))
    async with shown(priced(served).app(session)) as deck:
        await deck.ready()
        await deck.send("hello")
        await deck.says("100k in · 10.0k out · $0.30")
        assert "$0.30" in deck.widget(ChatHeader)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.until(lambda: "$0.30" in deck.widget(ChatHeader), "the sum of the log")


async def test_an_unknown_price_is_said_as_unknown(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Fine.", usage=(1_000, 200)))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("hello")
        await deck.says("1.0k in · 0.2k out · price unknown")
        assert "$" not in deck.widget(ChatHeader)
        assert "$0.00" not in deck.text
        tooltip = deck.app.chat.query_one(ChatHeader).tooltip
        assert str(tooltip).startswith("The price of harbour:scripted is not known: 1 request ")
        await deck.send("/stats")
        await deck.says("no price is known of harbour:scripted: 1 request not counted")


async def over(deck: Deck) -> None:
    await deck.ready()
    await deck.send("one")
    await deck.says("$0.30")
    await deck.send("two")
    await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")


async def test_of_two_prompts_in_a_burst_neither_is_lost_at_the_budget(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await deck.ready()
        await deck.send("one")
        await deck.says("$0.30")
        await deck.idle()
        await deck.hurry(*"two", "enter", *"xyz", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        while isinstance(deck.app.screen, ConfirmDialog):
            await deck.press("n")
            await deck.settle()
        await deck.until(lambda: sorted(deck.editor.text.split()) == ["two", "xyz"], "both of them")
        assert len(fake_openai.journal) == 1


async def test_above_the_budget_each_prompt_is_asked_about(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)), Text("Still here.", usage=(1_000, 10)))
    async with shown(priced(served).change(budget={"session_usd": 0.3}).app()) as deck:
        await over(deck)
        assert "This session has cost $0.30; its budget is $0.30." in deck.text
        await deck.press("n")
        await deck.until(lambda: deck.editor.text == "two", "the prompt in the editor")
        assert len(fake_openai.journal) == 1
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.says("Still here.")
