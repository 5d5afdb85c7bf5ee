"""``/handoff``: review the brief, then start a new session, or change nothing."""

import pytest

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.app.test_app_rewind import elsewhere, stored
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.ui.dialogs.compactions.handoff import BRIEF, NO_GOAL
from tui_app.ui.dialogs.drafts import BUSY
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.dialogs.review import ReviewScreen

RULE = "Never touch the legacy importer."
NOTES = "Title: Sundays\n## State\n- The column is kept."


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story("Tides").user(f"Print Sundays. {RULE}").answer("The column is kept."))


def reviewing(deck: Deck) -> bool:
    return isinstance(deck.app.screen, ReviewScreen) and not deck.app.screen.writing


async def reviewed(deck: Deck, command: str) -> None:
    await deck.ready()
    await deck.send(command)
    await deck.until(lambda: reviewing(deck), "the brief")


@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_a_brief_is_edited_and_a_new_session_begins_with_it(
    served: Desk, fake_openai: FakeOpenAI, session: str, size: tuple[int, int]
) -> None:
    fake_openai.add(Text(NOTES), Text("Gladly."))
    view = served.agent_view(session)
    async with shown(served.app(session), size) as deck:
        await reviewed(deck, "/handoff Write the release notes")
        assert "Review the brief of the new session" in deck.text
        assert "written by harbour:scripted" in deck.text
        assert RULE in deck.words
        assert served.agent_view(session) == view, "nothing has changed yet"
        await deck.press("e", *"Mine. ")
        await deck.press("tab", "enter")
        new = await elsewhere(deck, session)
        assert deck.editor.text == "Write the release notes"
        await deck.says(f'handed over from {session} "Tides": Write the release')
        await deck.press("enter")
        await deck.says("Gladly.")
        await deck.idle()
    assert served.agent_view(session) == view
    brief = served.agent_view(new)[0]
    assert "[Handoff]" in brief
    assert "Mine. " in brief
    assert RULE in brief
    assert {info.title for info in stored(served)} == {"Tides", "Write the release notes"}


@pytest.mark.parametrize(
    ("notes", "does"),
    [(NOTES, "begin it"), (f"{NOTES}\n- `ghost/lantern.py` is gone.", "edit")],
)
async def test_enter_begins_unless_a_line_of_the_brief_is_not_in_the_log(
    served: Desk, fake_openai: FakeOpenAI, session: str, notes: str, does: str
) -> None:
    fake_openai.add(Text(notes))
    async with shown(served.app(session), WIDE) as deck:
        await reviewed(deck, "/handoff Go on")
        await deck.says(f"enter {does} ")
        assert ("1 not in the log" in deck.text) is (does == "edit")


async def test_cancelling_changes_nothing_at_any_moment(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    view, hold = served.agent_view(session), Signal()
    async with shown(served.app(session)) as deck:
        await deck.ready()
        # While it asks for a goal, while the brief is written, and before that.
        await deck.send("/handoff")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the question")
        await deck.press("enter")
        await deck.says(NO_GOAL[:40])
        fake_openai.add(HangMidStream("Title: Sun", release=hold), Text(NOTES), Text(NOTES))
        await deck.send("/handoff Go on")
        await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen), "the brief")
        await deck.press("escape")
        await deck.says(BRIEF.unchanged)
        hold.set()
        await reviewed(deck, "/handoff Go on")
        await deck.press("escape")
        await deck.says(BRIEF.unchanged)
        assert deck.app.chat.session.id == session
    assert served.agent_view(session) == view
    assert len(stored(served)) == 1


async def test_it_is_refused_while_an_answer_is_written_and_where_nothing_was_said(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    hold = Signal()
    fake_openai.add(Text("One two three.", hold=hold))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("Sundays?")
        await deck.until(lambda: deck.app.chat.session.state.busy, "the turn")
        await deck.send("/handoff Go on")
        await deck.says(BUSY[:40])
        hold.set()
        await deck.idle()
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/handoff Go on")
        await deck.says("Nothing to hand over")
        assert not isinstance(deck.app.screen, ReviewScreen)
