"""A session that another window has deleted meanwhile: whatever is wanted of it says so in a sentence."""

from textual.widgets import Input

from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.dialogs.base import DetailsScreen, EditDialog
from tui_app.ui.dialogs.sessions import SessionsScreen


async def listed(deck: Deck) -> None:
    await deck.ready()
    await deck.send("/resume")
    await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
    await deck.says("how late?")


def delete(desk: Desk, session: str) -> None:
    with desk.log() as store:
        store.delete(session)


async def test_a_listed_session_that_is_gone_is_not_renamed(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    async with shown(served.app()) as deck:
        await listed(deck)
        await deck.press("f6")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the question")
        delete(served, session)
        deck.app.screen.query_one(Input).value = "Ferries"
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "why not")
        assert f"There is no session with the id '{session}'" in deck.words
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        assert "how late?" not in deck.text


async def test_the_board_of_a_session_that_is_gone(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        delete(served, session)
        await deck.send("/memory")
        await deck.says(f"What is remembered cannot be read. There is no session with the id '{session}'")
