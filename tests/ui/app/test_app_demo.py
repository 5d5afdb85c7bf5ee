"""The demo: the whole tour, how to start it, and how to leave."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import OptionList

from tests.ui.kit import Deck, Desk, shown
from tui_app.demo import stage as stages
from tui_app.demo.stage import SMALL_MODEL, Pace, Stage, recorded_prompts, set_up
from tui_app.ui.app import PlimsollApp
from tui_app.ui.demo import TourRow, on_stage
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.models import ModelPicker, SwitchDialog
from tui_app.ui.dialogs.sessions.rewind import PromptPicker


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = set_up(Pace(answers_s=0.0))
    yield stage
    stage.remove()


async def told(deck: Deck, *words: str) -> None:
    """Wait until the line above the prompt contains a text."""
    await deck.until(lambda: all(word in deck.widget(TourRow) for word in words), f"{words} in the line")


async def filled(deck: Deck) -> None:
    """Wait until the recording has been played, prompt by prompt."""
    # The gauge does not settle, because the recording starts at once.
    await deck.until(lambda: deck.app.chat.is_ready, "the chat")
    for count in range(1, len(recorded_prompts()) + 1):
        await deck.until(lambda count=count: deck.kinds.count("user") >= count, f"{count} prompts")  # type: ignore[misc]
    await told(deck, "Demo 1 of 8", "ctrl+g", "% full")


async def opened(deck: Deck, kind: type) -> None:
    await deck.until(lambda: isinstance(deck.app.screen, kind), kind.__name__)


async def test_the_whole_tour_with_free_typing_answered_from_the_project(desk: Desk, stage: Stage) -> None:
    async with shown(PlimsollApp(on_stage(desk.launch(), stage)), (80, 24)) as deck:
        await filled(deck)
        answers = deck.kinds.count("assistant")
        await deck.send("Where does Harbour Day stand?")
        await deck.answered(answers + 1)
        await deck.says("test_harbour_day")
        await told(deck, "1 of 8")
        await deck.press("ctrl+g")
        await told(deck, "2 of 8", "ctrl+o")
        await deck.press("ctrl+o")
        await opened(deck, CompactionDetail)
        await deck.press("escape")
        await told(deck, "3 of 8", "/undo")
        await deck.send("/undo")
        await told(deck, "4 of 8", "f3")
        await deck.press("f3")
        await opened(deck, ContextScreen)
        await deck.press("escape")
        await told(deck, "5 of 8", "ctrl+g")
        await deck.press("ctrl+g")
        await told(deck, "5 of 8", "esc stops it")
        await deck.press("escape")
        await told(deck, "6 of 8", "ctrl+g")
        await deck.press("ctrl+g")
        await told(deck, "6 of 8", "ctrl+o", "2 invented claims")
        await deck.press("ctrl+o")
        await opened(deck, CompactionDetail)
        await deck.press("pagedown")
        await deck.says("not in the log")
        await deck.press("escape")
        await told(deck, "6 of 8", "/undo")
        await deck.send("/undo")
        await told(deck, "7 of 8", "/rewind")
        await deck.send("/rewind")
        await opened(deck, PromptPicker)
        await deck.press("enter")
        await told(deck, "8 of 8", "ctrl+l")
        await deck.press("ctrl+l")
        await opened(deck, ModelPicker)
        await deck.press(*"small")
        await deck.press("enter")
        await opened(deck, SwitchDialog)
        deck.app.screen.query_one(OptionList).highlighted = 0
        await deck.press("enter")
        await told(deck, "That was the tour")
        assert deck.app.chat.session.state.model == SMALL_MODEL
        # The rewind put the prompt back into the editor; leaving asks about the draft, then discards it.
        await deck.press("escape")
        await deck.says("Press esc again to leave the demo")
        await deck.press("escape")
    assert deck.app.return_code == 0
    assert not deck.app.farewell
    assert not list(desk.home.rglob("*"))


async def test_there_and_back_from_a_session(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages.tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("Where is the weekday?")
        await deck.answered()
        session = deck.app.chat.session.id
        await deck.send("/demo")
        await deck.until(lambda: deck.app.chat.query(TourRow), "the demo")
        await deck.ready()
        (folder,) = (tmp_path / "tmp").glob("plimsoll-demo-*")
        assert deck.app.chat.session.launch.cwd == folder / "ferry-timetable"
        await deck.says("ferry-timetable, a throw-away copy · demo:scripted")
        await deck.until(lambda: deck.kinds.count("assistant"), "an answer")
        await deck.send("/demo")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id == session, "back")
        await deck.says("Where is the weekday?")
        await deck.until(lambda: not folder.exists(), "a folder that is gone")
        assert not deck.app.chat.query(TourRow)
        assert deck.app.launch.cwd == desk.cwd
