"""Modes on the screen: a key cycles through them, the prompt shows them, and a plan is carried out."""

import pytest

from tests.servers.behaviours import HangMidStream, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_app_approvals import asked, box, write
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.conversation.consent.modes import ACCEPTED
from tui_app.events import ModeChange, UserMessage
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.chat.pane import ChatHints
from tui_app.ui.dialogs.list import ChoiceDialog
from tui_app.ui.prompt.row import PromptRow


@pytest.fixture
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


def beside(deck: Deck) -> str:
    """Text at the right end of the prompt."""
    row = deck.app.chat.query_one(PromptRow)
    return str(row.query_one("#prompt-count").render()).strip()


async def in_mode(deck: Deck, mode: str) -> None:
    session = deck.app.chat.session
    conversation = session.conversation
    assert conversation is not None
    await deck.until(
        lambda: session.state.mode == mode and conversation.modes.current == mode, f"{mode} mode"
    )


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_a_key_goes_through_the_modes(
    served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]
) -> None:
    async with shown(served.app(), size) as deck:
        await deck.ready()
        assert beside(deck) == "ask"
        await deck.press("shift+tab")
        await in_mode(deck, "edit")
        await deck.says("edit mode: edits in the folder are allowed, commands ask")
        assert beside(deck) == "edit"
        assert deck.editor.has_focus
        await deck.type("hello")
        assert beside(deck) == "~2 tokens · edit"
        await deck.press("shift+tab")
        await in_mode(deck, "plan")
        assert beside(deck) == "~2 tokens · plan"
        await deck.press("shift+tab")
        await in_mode(deck, "ask")
        # Two presses in a row are two steps, even if the engine has not processed the first.
        await deck.hurry("shift+tab", "shift+tab")
        await in_mode(deck, "plan")


async def test_little_room_names_only_a_mode_that_is_not_the_usual_one(served: Desk) -> None:
    async with shown(served.app(), SMALL) as deck:
        await deck.ready()
        assert beside(deck) == ""
        await deck.press("shift+tab")
        await in_mode(deck, "edit")
        assert beside(deck) == "edit"


async def test_a_mode_is_chosen_by_name_and_from_a_list(served: Desk) -> None:
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/mode yolo")
        await deck.says("No mode yolo. Choose one of ask, edit, plan.")
        await deck.send("/mode plan")
        await in_mode(deck, "plan")
        await deck.send("/mode")
        await deck.until(lambda: isinstance(deck.app.screen, ChoiceDialog), "the list")
        await deck.says("Read-only: the model proposes a plan and changes nothing.")
        await deck.press("up", "enter")
        await in_mode(deck, "edit")


async def test_a_mode_stands_in_the_first_frame_and_after_a_resume(served: Desk) -> None:
    session = served.store(Story().turns(2))
    with served.log() as log:
        log.append(session, ModeChange(old="ask", new="plan"), None, time=2.0)
    async with shown(served.app(session), USUAL) as deck:
        await deck.until(lambda: beside(deck) == "plan", "the mode of the log")
        await deck.ready()
        await in_mode(deck, "plan")
    async with shown(served.app(mode="edit"), USUAL) as deck:
        assert beside(deck) == "edit"
        await deck.ready()
        await in_mode(deck, "edit")


@pytest.mark.usefixtures("_at_once")
async def test_what_was_chosen_before_the_session_was_open_counts_for_the_first_prompt(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app(), USUAL) as deck:
        await deck.until(lambda: deck.app.chat.is_ready, "the chat")
        deck.app.chat.action_mode()
        await deck.send("Do it.")
        await deck.answered()
        assert (served.cwd / "plan.txt").read_text() == "sea\nsky\n"
        assert beside(deck) == "edit"


@pytest.mark.usefixtures("_at_once")
async def test_edit_mode_answers_the_question_that_waits(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("shift+tab")
        await deck.answered()
        assert box(deck).question is None
        assert (served.cwd / "plan.txt").exists()


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize(("way", "mode"), [("f9", "edit"), ("/accept ask", "ask")])
async def test_a_plan_becomes_work_by_one_key(
    served: Desk, fake_openai: FakeOpenAI, way: str, mode: str
) -> None:
    fake_openai.add(tool("plan", text="1. Write plan.txt"), Text("That is my plan."), Text("Done."))
    async with shown(served.app(mode="edit"), USUAL) as deck:
        await deck.ready()
        await deck.press("f9")
        await deck.says("No plan to accept: this is edit mode.")
        await deck.press("shift+tab")
        await in_mode(deck, "plan")
        await deck.send("Plan it.")
        await deck.says("The plan is ready")
        assert "f9 accept plan" in deck.widget(ChatHints)
        if way == "f9":
            await deck.press(way)
        else:
            await deck.send(way)
        await in_mode(deck, mode)
        await deck.answered(2)
        assert "f9 accept plan" not in deck.widget(ChatHints)
    with served.log() as log:
        [info] = log.sessions()
        said = [
            record.data.text for record, _ in log.records(info.id) if isinstance(record.data, UserMessage)
        ]
    assert said == ["Plan it.", ACCEPTED]


async def test_a_session_of_another_window_keeps_its_mode(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream("Slow words"))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("Hello.")
        await deck.says("Slow")
        session = deck.app.chat.session.id
        async with shown(served.app(session), USUAL) as other:
            await other.until(lambda: other.app.chat.is_ready and other.app.chat.session.read_only, "locked")
            await other.press("shift+tab")
            assert beside(other) == "ask"
        await deck.press("escape")
        await deck.idle()
