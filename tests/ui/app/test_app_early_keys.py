"""What is typed behind a key or command that opens something is for what opens."""

import asyncio
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.dialogs import models
from tui_app.ui.dialogs.base import ConfirmDialog, LookupCancelled
from tui_app.ui.screen import ChatScreen


def heard(deck: Deck) -> str:
    """What stands in the search box that has the focus."""
    return deck.app.focused.value if isinstance(deck.app.focused, Input) else ""


def elsewhere(deck: Deck) -> bool:
    """Whether what was asked for is there, and has the focus."""
    focused = deck.app.focused
    return focused is not None and focused is not deck.editor


@pytest.mark.parametrize("key", ["ctrl+l", "f1", "question_mark", "ctrl+p", "ctrl+f", "ctrl+r"])
async def test_letters_behind_a_key_that_opens_a_search_are_searched_for(desk: Desk, key: str) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.editor.prompts.append("compact the tea")
        await deck.hurry(key, *"com")
        await deck.until(lambda: heard(deck) == "com", "the words in the search box")
        assert deck.editor.is_empty


@pytest.mark.parametrize("command", ["model", "settings", "find", "help", "prompts"])
async def test_letters_behind_a_command_that_opens_a_search_are_searched_for(
    desk: Desk, command: str
) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.editor.prompts.append("compact the tea")
        await deck.hurry("/", *command, "enter", *"co")
        await deck.until(lambda: heard(deck) == "co", "the words in the search box")
        assert deck.editor.is_empty


@pytest.mark.parametrize(
    "command",
    [
        "approvals", "clear", "context", "history", "import", "mcp", "memory", "pin", "policy", "queue",
        "resume", "session checkpoints", "skills", "stats", "status", "theme",
    ],
)  # fmt: skip
async def test_nothing_behind_a_command_that_shows_something_is_sent(desk: Desk, command: str) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.type(f"/{command}")
        await deck.hurry("enter", *"xyz", "enter")
        await deck.until(lambda: deck.app.type_ahead.opening is None, "the keys let go")
        await deck.settle()
        assert "user" not in deck.kinds


async def test_letters_behind_f3_are_not_written_into_the_prompt(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("f3", "x", "enter")
        await deck.until(lambda: elsewhere(deck) and deck.app.type_ahead.opening is None, "the context")
        assert deck.editor.is_empty


async def test_enter_behind_a_key_that_opens_a_list_chooses_there(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("f1", *"/status", "enter")
        await deck.says("Policy")
        await deck.until(lambda: elsewhere(deck), "the status in words")
        assert deck.kinds == []


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Looking for models takes until this is set, and finds none then."""
    found = asyncio.Event()

    async def look_up(*_: Any) -> Any:
        await found.wait()
        raise LookupCancelled

    monkeypatch.setattr(models, "look_up", look_up)
    return found


async def test_what_was_meant_for_something_that_never_opened_is_kept_and_not_sent(
    desk: Desk, looking: asyncio.Event
) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("ctrl+l", *"gpt", "enter", "a")
        assert deck.editor.is_empty
        looking.set()
        await deck.until(lambda: deck.editor.text == "gpt\na", "the words in the prompt")
        assert deck.kinds == []


async def test_escape_gives_up_what_is_opening(desk: Desk, looking: asyncio.Event) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("ctrl+l", *"gpt", "enter", "escape")
        await deck.until(lambda: deck.editor.text == "gpt\n", "the words in the prompt")
        assert isinstance(deck.app.screen, ChatScreen)
        await deck.press("a")
        assert deck.editor.text == "gpt\na"


async def test_a_paste_behind_the_key_goes_along(desk: Desk, looking: asyncio.Event) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.app.post_message(events.Key("ctrl+l", None))
        deck.app.post_message(events.Paste("two words"))
        await deck.hurry("a")
        assert deck.editor.is_empty
        looking.set()
        await deck.until(lambda: deck.editor.text == "two wordsa", "the paste in the prompt")


async def test_keys_behind_one_that_opens_from_the_conversation_wait_as_well(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.settle()
        await deck.hurry("f1", *"com")
        await deck.until(lambda: heard(deck) == "com", "the words in the search box")
        assert deck.editor.is_empty


async def test_what_is_held_when_the_program_ends_is_kept(desk: Desk, looking: asyncio.Event) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("ctrl+l", *"gpt")
        await deck.press("ctrl+q")
        await deck.until(lambda: deck.app._exit, "the end")
    assert "gpt" in desk.paths.unsent_file.read_text(encoding="utf-8")


async def test_what_is_written_behind_a_command_that_asks_goes_on_in_the_prompt(desk: Desk) -> None:
    async with shown(desk.app(desk.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.hurry(*"/clear", "enter", *"ok yes now")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.until(lambda: deck.app.type_ahead.opening is None, "the keys let go")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "ok yes now", "the words in the prompt")
        assert deck.kinds.count("user") == 1


async def test_keys_go_on_when_what_was_to_open_is_given_up_before_it_began(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.app.chat.action_slash("/status")
        deck.app.chat.action_slash("/undo")
        await deck.press(*"abc")
        await deck.until(lambda: deck.editor.text == "abc", "the letters")
