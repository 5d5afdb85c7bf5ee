"""A command that leads to another session and gets nowhere: the one that is open goes on as before."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_app_fork import elsewhere, stored
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.dialogs import rewind as forking
from tui_app.ui.dialogs import sessions
from tui_app.ui.dialogs.message import MessageScreen


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story(title="Tides").turns(3, words="a short one"))


class Gate:
    """Stands in front of a function that runs in a thread."""

    def __init__(self, work: Any) -> None:
        self.reached, self.let_go = threading.Event(), threading.Event()
        self._work = work

    def __call__(self, *args: Any) -> Any:
        self.reached.set()
        assert self.let_go.wait(20)
        return self._work(*args)


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(sessions._list)
    monkeypatch.setattr(sessions, "_list", gate)
    yield gate
    gate.let_go.set()


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(forking._fork)
    monkeypatch.setattr(forking, "_fork", gate)
    yield gate
    gate.let_go.set()


async def goes_on(deck: Deck, server: FakeOpenAI) -> None:
    server.add(Text("Still here."))
    await deck.send("still there?")
    await deck.says("Still here.")


async def test_esc_gives_the_list_of_sessions_up_and_prompts_are_sent_on(
    served: Desk, fake_openai: FakeOpenAI, session: str, listing: Gate
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/resume")
        await deck.until(listing.reached.is_set, "the list being read")
        await deck.press("escape")
        listing.let_go.set()
        await goes_on(deck, fake_openai)


async def test_a_list_that_fails_stops_no_prompt(
    served: Desk, fake_openai: FakeOpenAI, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(sessions, "_list", broken)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/resume")
        await deck.says("did not work")
        await goes_on(deck, fake_openai)


async def details_of_a_prompt(deck: Deck) -> None:
    await deck.ready()
    await deck.press("tab")
    await deck.until(lambda: deck.app.focused is deck.transcript, "the rows")
    await deck.press("up", "up", "ctrl+o")
    await deck.until(lambda: isinstance(deck.app.screen, MessageScreen), "the message")


async def test_keys_behind_a_fork_from_a_message_do_not_stop_it(
    served: Desk, session: str, copying: Gate
) -> None:
    async with shown(served.app(session)) as deck:
        await details_of_a_prompt(deck)
        await deck.press("f")
        await deck.until(copying.reached.is_set, "the copy")
        await deck.press("ctrl+o", "enter")
        copying.let_go.set()
        fork = await elsewhere(deck, session)
        assert {info.id for info in stored(served)} == {session, fork}


async def test_esc_while_a_fork_is_copied_leaves_none_behind(
    served: Desk, fake_openai: FakeOpenAI, session: str, copying: Gate
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/fork #4")
        await deck.until(copying.reached.is_set, "the copy")
        await deck.press("escape")
        copying.let_go.set()
        await goes_on(deck, fake_openai)
        await asyncio.to_thread(copying.let_go.wait)
        await deck.until(lambda: [info.id for info in stored(served)] == [session], "one session")
        assert deck.app.chat.session.id == session


async def test_enter_right_behind_f_in_a_message_leaves_the_fork_alone(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await details_of_a_prompt(deck)
        await deck.hurry("f", "enter")
        fork = await elsewhere(deck, session)
        assert {info.id for info in stored(served)} == {session, fork}
