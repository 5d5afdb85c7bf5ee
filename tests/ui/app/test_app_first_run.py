"""The first minute: no key, no wizard, and an answer all the same."""

import threading

import pytest

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import USUAL, WIDE, Desk, shown
from tui_app.ui.screen import FIRST_RUN


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_prompt_is_focused_in_the_first_frame_and_one_row_says_what_answers(
    desk: Desk, size: tuple[int, int]
) -> None:
    async with shown(desk.app(), size) as deck:
        assert deck.app.focused is deck.editor
        assert [row for row in deck.text.splitlines() if "No key found" in row] == [FIRST_RUN]
        assert "offline:extractive" in deck.text.splitlines()[0]
        assert not deck.app.screen.query("Toast")


async def test_an_answer_needs_no_key_and_takes_the_row_away(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.send("what does this project do?")
        await deck.answered()
        assert "README.md:3" in deck.text
        assert "No key found" not in deck.text
    assert not desk.paths.config_file.exists()


async def test_nothing_said_leaves_nothing_behind(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        assert len(list(desk.paths.sessions_dir.iterdir())) == 1
    assert list(desk.paths.sessions_dir.iterdir()) == []
    with desk.log() as store:
        assert store.sessions() == []
    assert deck.app.farewell == ""


async def test_with_a_model_of_ones_own_there_is_no_such_row(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        assert "No key found" not in deck.text
        assert "harbour:scripted" in deck.text.splitlines()[0]
    assert fake_openai.journal == []


async def test_ones_own_agent_may_bring_a_model(desk: Desk) -> None:
    async with shown(desk.app(agent="their.module:agent")) as deck:
        assert "No key found" not in deck.text


async def test_a_prompt_before_the_agent_side_has_loaded_waits_and_is_sent(
    desk: Desk, slow_start: threading.Event
) -> None:
    async with shown(desk.app()) as deck:
        await deck.press(*"ferry", "enter")
        assert deck.queue == ["Queued 1 of 1: ferry"]
        assert deck.editor.is_empty
        slow_start.set()
        await deck.answered()
        assert deck.kinds[0] == "user"
        assert deck.queue == []


async def test_escape_before_the_agent_side_has_loaded_takes_the_prompt_back(
    desk: Desk, slow_start: threading.Event
) -> None:
    async with shown(desk.app()) as deck:
        await deck.send("too soon")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "too soon", "the prompt back in the editor")
        assert deck.queue == []
        assert deck.status == ""
        slow_start.set()
        await deck.ready()
        assert deck.kinds == []


async def test_quitting_before_the_agent_side_has_loaded_does_not_wait_for_it(
    desk: Desk, slow_start: threading.Event
) -> None:
    async with shown(desk.app()) as deck:
        await deck.press("ctrl+q")
        await deck.until(lambda: deck.app._exit, "the end")
        slow_start.set()
    assert deck.app.return_code == 0
