"""A new session from an earlier prompt: the list, the draft, and the old session as it was."""

import pytest

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.session.store import SessionInfo
from tui_app.ui.chat.state import EARLIER
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen
from tui_app.ui.dialogs.rewind import NOTHING_TO_FORK as NOTHING
from tui_app.ui.dialogs.rewind import PromptPicker


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story(title="Tides").turns(3, words="a short one"))


def stored(desk: Desk) -> list[SessionInfo]:
    with desk.log() as store:
        return store.sessions()


async def elsewhere(deck: Deck, session: str) -> str:
    """Wait for another session to be open; its id."""
    await deck.until(
        lambda: deck.app.chat.is_ready and deck.app.chat.session.id not in ("", session), "another session"
    )
    await deck.ready()
    return deck.app.chat.session.id


async def test_it_opens_at_once_with_the_prompt_as_a_draft(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(Text("Another answer."))
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/fork")
        await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")
        assert "Fork before · 3 prompts" in deck.text
        await deck.press("down")
        await deck.says("2 rows of the conversation come along into a new session")
        await deck.press("enter")
        fork = await elsewhere(deck, session)
        assert deck.editor.text == "question 1"
        assert served.agent_view(fork) == view[:2]
        assert "answer 0" in deck.text
        assert "answer 1" not in deck.text
        await deck.press("enter")
        await deck.says("Another answer.")
        await deck.idle()
        assert len(served.agent_view(fork)) == 4
    assert served.agent_view(session) == view
    assert {info.title for info in stored(served)} == {"Tides", "Fork of Tides"}


async def test_a_number_does_without_the_list(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/fork #2")
        await elsewhere(deck, session)
        assert deck.editor.text == "question 0"


@pytest.mark.parametrize(
    ("argument", "words"),
    [("yesterday", "/fork takes the number of a prompt"), ("#3", "#3 is no prompt of session")],
)
async def test_what_is_no_prompt_is_refused_and_prompts_are_sent_on(
    served: Desk, fake_openai: FakeOpenAI, session: str, argument: str, words: str
) -> None:
    fake_openai.add(Text("Here."))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send(f"/fork {argument}")
        await deck.says(words)
        await deck.send("still there?")
        await deck.says("Here.")
    assert [info.id for info in stored(served)] == [session]


async def test_without_a_prompt_there_is_nothing_to_fork(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/fork")
        await deck.says(NOTHING)


async def test_a_running_answer_is_asked_about(served: Desk, fake_openai: FakeOpenAI, session: str) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("go on")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("/fork #4")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.says("answer is stopped")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat.session.state.turn
        assert [info.id for info in stored(served)] == [session]


async def test_notices_that_nobody_has_read_go_along_until_somebody_does(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        deck.app.chat.session.report("Read long since.")
        deck.app.chat.session.read_notices()
        deck.app.chat.session.report("The server is missing.")
        for way in ("/fork #2", "/new"):
            left = deck.app.chat.session.id
            await deck.send(way)
            await elsewhere(deck, left)
            await deck.until(lambda: "1 notice ·" in deck.hints, "what is unread")
            deck.app.chat.session.report("The server is missing.")
            deck.editor.clear_draft()
        await deck.press("f2")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices")
        await deck.says(f"{EARLIER}The server is missing. The server is missing.")
        assert deck.text.count("The server is missing.") == 2, "what was brought twice is said once"
        assert "Read long since." not in deck.text
        await deck.press("escape")
        left = deck.app.chat.session.id
        await deck.send("/new")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != left, "a new session")
        await deck.ready()
        assert "notice" not in deck.hints
