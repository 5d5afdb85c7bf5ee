"""Naming sessions, searching all of them, and opening checkpoints."""

from textual.widgets import Input, OptionList

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_app_sessions import listed, written_elsewhere
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.dialogs.base import DetailsScreen, EditDialog
from tui_app.ui.dialogs.session_info import CheckpointsScreen
from tui_app.ui.dialogs.sessions import SearchScreen, SessionsScreen


async def searching(deck: Deck, words: str) -> OptionList:
    await listed(deck)
    await deck.press("f7")
    await deck.until(lambda: isinstance(deck.app.screen, SearchScreen), "the search")
    deck.app.screen.query_one(Input).value = words
    return deck.app.screen.query_one(OptionList)


async def test_a_hit_opens_its_session_at_the_place(served: Desk) -> None:
    story = Story().turns(30)
    story.user("Where is the albatross?").tool("grep", '{"pattern": "bird"}', "birds.txt:2: [b]penguin[/b]")
    tide = served.store(story.answer("Over the sea.").turns(30))
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        options = await searching(deck, "albatros")
        await deck.until(lambda: options.option_count == 1, "the hit")
        assert "Where is the albatross?" in deck.text
        assert f"{tide} #" in deck.text
        await deck.press("enter")
        await deck.until(lambda: deck.app.chat.session.id == tide, "the session")
        await deck.ready()
        await deck.says("Where is the albatross?")
        # Now in the open session: a result is shown in the row of its call.
        options = await searching(deck, '"[b]penguin"')
        await deck.until(lambda: options.option_count == 1, "the hit")
        assert "[b]penguin[/b]" in deck.text
        chat = deck.app.chat
        await deck.press("enter")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat is chat
        await deck.says("grep")


async def test_any_words_are_a_search(served: Desk) -> None:
    served.store(Story().user("tide").answer("x"))
    async with shown(served.app()) as deck:
        await deck.ready()
        options = await searching(deck, "")
        await deck.says("Words in any order")
        for words in ('"', "AND (", "* * *", "nothing like it"):
            deck.app.screen.query_one(Input).value = words
            await deck.says("Nothing holds all of that.")
            deck.app.screen.query_one(Input).value = "tid"
            await deck.until(lambda: options.option_count == 1, "the hit")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_the_words_of_the_filter_are_searched_for_at_once(served: Desk) -> None:
    served.store(Story().user("When is low tide?").answer("At nine."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await listed(deck)
        deck.app.screen.query_one(Input).value = "low"
        await deck.press("f7")
        await deck.until(lambda: isinstance(deck.app.screen, SearchScreen), "the search")
        options = deck.app.screen.query_one(OptionList)
        assert deck.app.screen.query_one(Input).value == "low"
        await deck.until(lambda: options.option_count == 1, "the hit")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        assert deck.app.screen.query_one(Input).value == "low"


async def test_a_session_gets_another_title_also_while_somebody_writes_it(served: Desk) -> None:
    session = served.store(Story().user("When is low tide?").answer("At nine."))
    with written_elsewhere(served, session):
        async with shown(served.app()) as deck:
            await deck.ready()
            await listed(deck)
            for title, then in (("Tides [b]", "Tides [b]"), ("", "When is low tide?")):
                await deck.press("f6")
                await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the question")
                deck.app.screen.query_one(Input).value = title
                await deck.press("enter")
                await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
                assert then in deck.text
                with served.log() as store:
                    assert store.info(session).title == then
            await deck.press("f6", "escape")
            await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
            await deck.press("escape")


async def test_checkpoints_are_listed_and_opened(served: Desk, fake_openai: FakeOpenAI) -> None:
    session = served.store(Story().turns(12, tokens=900))
    async with shown(served.app(session, model="offline:extractive")) as deck:
        await deck.ready()
        await deck.send("/compact")
        await deck.until(lambda: bool(deck.app.chat.session.presenter.agent_view.compactions), "a compaction")
        await deck.idle()
        await deck.send("/session checkpoints")
        await deck.until(lambda: isinstance(deck.app.screen, CheckpointsScreen), "the list")
        await deck.says("Checkpoints · 1")
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the file")
        assert "# 001" in deck.text
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, CheckpointsScreen), "the list")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        await deck.send("/undo")
        await deck.until(lambda: not deck.app.chat.session.presenter.agent_view.compactions, "the undo")
        await deck.idle()
        await deck.send("/session checkpoints")
        await deck.says("taken back")
