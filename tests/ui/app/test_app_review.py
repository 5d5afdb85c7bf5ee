"""Compacting with a look at the summary before it is applied."""

import pytest
from textual.widgets import TextArea

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.conversation.work import Prompt
from tui_app.events import CompactionComplete
from tui_app.ui import type_ahead as stray_keys
from tui_app.ui.chat.state import PROPOSED
from tui_app.ui.dialogs.actions import send
from tui_app.ui.dialogs.review import ReviewScreen

SUMMARY = "The person asked six questions about words; all were answered."


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key is meant for the dialog: nobody is still writing here."""
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


@pytest.fixture
def session(served: Desk, fake_openai: FakeOpenAI) -> str:
    fake_openai.add(Text(SUMMARY, usage=(0, 0)))
    return served.store(Story().turns(6))


async def asked(deck: Deck, command: str) -> ReviewScreen:
    await deck.ready()
    await deck.send(command)
    await deck.until(lambda: reviewing(deck), "the review")
    assert isinstance(deck.app.screen, ReviewScreen)
    return deck.app.screen


def reviewing(deck: Deck) -> bool:
    """Whether there is something to decide."""
    screen = deck.app.screen
    return isinstance(screen, ReviewScreen) and not screen.writing


def completed(desk: Desk, session: str) -> CompactionComplete:
    with desk.log() as log:
        record = log.last_of(session, CompactionComplete.TYPE)
    assert record is not None
    assert isinstance(record.data, CompactionComplete)
    return record.data


@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_edited_applied_and_undone(served: Desk, session: str, size: tuple[int, int]) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session), size) as deck:
        screen = await asked(deck, "/compact --review the words")
        assert SUMMARY[:40] in deck.text
        assert served.agent_view(session) == view, "nothing has changed yet"
        await deck.press("enter", "end", *" Good.", "escape", "enter")
        await deck.until(lambda: "compaction" in deck.kinds, "the entry")
        await deck.idle()
        done = completed(served, session)
        assert (done.outcome, done.edited, done.focus) == ("success", True, "the words")
        assert done.summary == f"{SUMMARY} Good."
        assert deck.status.startswith("Compacted")
        assert screen not in deck.app.screen_stack
        await deck.send("/undo")
        await deck.says("Undone: what it replaced is back")
        assert served.agent_view(session) == view


async def test_the_setting_asks_each_time_and_escape_discards(served: Desk, session: str) -> None:
    view = served.agent_view(session)
    async with shown(served.change(review="manual").app(session)) as deck:
        await asked(deck, "/compact")
        await deck.press("escape")
        await deck.says("Compaction discarded: the summary was not accept")
        assert served.agent_view(session) == view
        assert deck.status.endswith("f2 details")


async def test_an_empty_summary_comes_back_with_the_reason(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await asked(deck, "/compact --review")
        await deck.press("enter")
        deck.app.screen.query_one(TextArea).text = ""
        await deck.press("escape", "enter")
        await deck.says("It cannot be applied like this: the summary is empty.")
        await deck.press("escape")
        await deck.says("Compaction discarded")


async def test_a_queued_prompt_goes_on_behind_the_question(
    served: Desk, session: str, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Gladly."))
    async with shown(served.app(session)) as deck:
        await asked(deck, "/compact --review")
        assert deck.app.chat.session.state.status.text == PROPOSED
        send(deck.app.chat, Prompt("go on"))
        await deck.until(lambda: deck.kinds.count("assistant") == 7, "the answer")
        assert isinstance(deck.app.screen, ReviewScreen)
        await deck.press("up", "enter")
        await deck.until(lambda: "compaction" in deck.kinds, "the entry")
        assert len(served.agent_view(session)) < 12
        assert "Gladly." in served.agent_view(session)[-1]


async def test_a_job_that_ends_otherwise_takes_its_question_along(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        screen = await asked(deck, "/compact --review")
        deck.app.chat.session.cancel()
        await deck.until(lambda: deck.app.screen is not screen, "the chat")
        await deck.says("Compaction cancelled. Nothing changed.")


async def test_quitting_discards_it(served: Desk, session: str) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await asked(deck, "/compact --review")
        await deck.press("ctrl+q")
    assert served.agent_view(session) == view
    assert completed(served, session).outcome == "cancelled"
