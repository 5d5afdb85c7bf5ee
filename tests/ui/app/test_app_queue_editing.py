"""Changing what waits: take one back to edit it, remove it, move it; with keys, a command, the mouse."""

import asyncio
import threading

import pytest
from textual.widgets import OptionList

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.test_app_queue import asked, talking
from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.queue import QueueScreen
from tui_app.ui.status import QueueView


async def waiting(deck: Deck, server: FakeOpenAI, hold: Signal | None = None) -> None:
    server.fallback = Text("Done.")
    await talking(deck, server, hold)
    for text in ("second", "third", "fourth"):
        await deck.send(text)
    await deck.until(lambda: len(queue(deck)) == 3, "three waiting prompts")


def queue(deck: Deck) -> tuple[str, ...]:
    return deck.app.chat.session.state.queue


def rows(deck: Deck) -> list[str]:
    return [str(option.prompt)[4:] for option in deck.app.screen.query_one(OptionList).options]


async def opened(deck: Deck) -> None:
    await deck.send("/queue")
    await deck.until(lambda: isinstance(deck.app.screen, QueueScreen), "the queue")


async def test_one_is_edited_and_the_others_stay(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await opened(deck)
        assert rows(deck) == ["second", "third", "fourth"]
        await deck.press("down", "enter")
        await deck.until(lambda: deck.editor.text == "third", "the prompt")
        assert queue(deck) == ("second", "fourth")
        assert deck.editor.has_focus
        await deck.press("s", "enter")
        await deck.until(lambda: queue(deck) == ("second", "fourth", "thirds"), "it waits again")


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Lets the engine's answers through to who takes something out of the queue."""
    answered, take = asyncio.Event(), ChatSession.take

    async def slow(session: ChatSession, place: int, label: str) -> str:
        text = await take(session, place, label)
        await answered.wait()
        return text

    monkeypatch.setattr(ChatSession, "take", slow)
    return answered


@pytest.mark.parametrize("keys", [("enter", "escape"), ("escape", "enter"), ("enter", "enter")])
async def test_keys_in_a_burst_lose_nothing_while_it_is_taken_out(
    served: Desk, fake_openai: FakeOpenAI, answered: asyncio.Event, keys: tuple[str, ...]
) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await opened(deck)
        await deck.hurry(*keys)
        await deck.until(lambda: not isinstance(deck.app.screen, QueueScreen), "the chat")
        answered.set()
        all_of_them = ["fourth", "second", "third"]
        await deck.until(lambda: sorted(filter(None, (deck.editor.text, *queue(deck)))) == all_of_them, "all")


async def test_esc_behind_it_takes_the_next_one_back_and_loses_neither(
    served: Desk, fake_openai: FakeOpenAI, answered: asyncio.Event
) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await opened(deck)
        await deck.press("enter")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "fourth", "the newest one")
        answered.set()
        await deck.until(lambda: deck.editor.text == "second", "the prompt")
        await deck.press("up")
        assert deck.editor.text == "fourth"
        assert queue(deck) == ("third",)


async def test_another_command_behind_enter_loses_nothing_either(
    served: Desk, fake_openai: FakeOpenAI, answered: asyncio.Event
) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await opened(deck)
        await deck.press("enter")
        await deck.until(lambda: not isinstance(deck.app.screen, QueueScreen), "the chat")
        deck.app.chat.action_slash("/status")
        answered.set()
        await deck.until(lambda: deck.editor.text == "second", "the prompt")


async def test_one_is_removed_and_one_moved(served: Desk, fake_openai: FakeOpenAI) -> None:
    hold = Signal()
    async with shown(served.app(), USUAL) as deck:
        await waiting(deck, fake_openai, hold)
        await opened(deck)
        await deck.press("d")
        await deck.until(lambda: rows(deck) == ["third", "fourth"], "one less")
        await deck.press("right_square_bracket")
        await deck.until(lambda: rows(deck) == ["fourth", "third"], "the other order")
        assert deck.app.screen.query_one(OptionList).highlighted == 1, "the mark goes along"
        await deck.press("right_square_bracket", "left_square_bracket", "left_square_bracket")
        await deck.until(lambda: rows(deck) == ["third", "fourth"], "the first order")
        await deck.press("escape")
        hold.set()
        await deck.answered(3)
    assert asked(fake_openai) == ["first", "third", "fourth"]


async def test_the_list_follows_the_queue(served: Desk, fake_openai: FakeOpenAI) -> None:
    hold = Signal()
    async with shown(served.app(), USUAL) as deck:
        await waiting(deck, fake_openai, hold)
        await opened(deck)
        hold.set()
        await deck.says("Nothing waits any more.")
        await deck.press("d", "enter", "left_square_bracket")
        assert isinstance(deck.app.screen, QueueScreen)
        await deck.press("escape")
        await deck.answered(4)


async def test_a_draft_makes_room_and_comes_back(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await deck.type("my draft")
        deck.app.chat.query_one(QueueView).focus()
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, QueueScreen), "the queue")
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "second", "the prompt")
        await deck.says("The draft made room; the up arrow brings it back.")
        await deck.press("up")
        assert deck.editor.text == "my draft"


async def test_a_click_on_a_row_opens_it(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await deck.pilot.click(QueueView)
        await deck.until(lambda: isinstance(deck.app.screen, QueueScreen), "the queue")


async def test_without_a_queue_it_says_so(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/queue")
        await deck.says("Nothing is queued.")


async def test_what_waits_for_the_agent_side_can_be_changed_too(
    served: Desk, fake_openai: FakeOpenAI, slow_start: threading.Event
) -> None:
    fake_openai.fallback = Text("Done.")
    async with shown(served.app()) as deck:
        await deck.until(lambda: deck.app.chat.is_ready, "the chat")
        for text in ("one", "two", "three"):
            await deck.send(text)
        await deck.until(lambda: queue(deck) == ("one", "two", "three"), "three waiting prompts")
        await opened(deck)
        await deck.press("d", "right_square_bracket")
        await deck.until(lambda: queue(deck) == ("three", "two"), "changed")
        await deck.press("escape")
        slow_start.set()
        await deck.answered(2)
    assert asked(fake_openai) == ["three", "two"]


@pytest.mark.parametrize("plain", [False, True])
async def test_a_paused_queue_says_how_it_goes_on(served: Desk, fake_openai: FakeOpenAI, plain: bool) -> None:
    served.change(plain=plain)
    async with shown(served.app(), USUAL) as deck:
        await waiting(deck, fake_openai)
        await deck.type("x")
        await deck.press("escape")
        await deck.idle()
        await deck.press("backspace")
        await opened(deck)
        await deck.says("Paused: enter on an empty prompt sends the next one. A new prompt goes first.")
        if plain:
            assert not any("\u2500" <= sign <= "\u257f" for sign in deck.text)
