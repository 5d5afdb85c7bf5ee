"""A model whose key is missing: asked for, tried, kept or not, and never shown."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from tests.fake_keyring import FakeKeyring
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import MODEL, Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.agent import catalog as key_check
from tui_app.agent import models as discovery
from tui_app.agent.catalog import KeyCheck
from tui_app.api_keys import ApiKeys, held_names
from tui_app.ui.dialogs.base import ConfirmDialog
from tui_app.ui.dialogs.models import KeyDialog, ModelPicker

KEY, NAME = "the-harbour-masters-own-key", "DINGHY_KEY"


@pytest.fixture
def dinghy() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(Text("Here from the dinghy."), max_model_len=90_000) as server:
        server.key = KEY
        yield server


@pytest.fixture
def ring() -> FakeKeyring:
    return FakeKeyring()


@pytest.fixture
def keyed(served: Desk, dinghy: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    async def nobody(**_: object) -> list[object]:
        return []

    monkeypatch.setattr(discovery, "discover", nobody)
    served.serve(dinghy, window=None, name="dinghy")
    endpoint = replace(served.settings.endpoints["dinghy"], key_env=NAME)
    return served.change(endpoints={**served.settings.endpoints, "dinghy": endpoint})


def start(desk: Desk, ring: FakeKeyring) -> "object":
    return desk.app(desk.store(Story().turns(1)), keys=ApiKeys(desk.env, desk.paths, ring))


async def asked(deck: Deck) -> None:
    await deck.ready()
    await deck.send("/model dinghy:scripted")
    await deck.until(lambda: isinstance(deck.app.screen, KeyDialog), "the question for the key")


async def paste(deck: Deck, text: str) -> None:
    deck.app.screen.post_message(events.Paste(text))
    await deck.settle()
    await deck.press("enter")


def files(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


async def test_a_key_is_pasted_tried_kept_and_the_model_answers(
    keyed: Desk, ring: FakeKeyring, dinghy: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        assert f"dinghy:scripted needs {NAME}" in deck.text
        deck.app.screen.post_message(events.Paste(KEY))
        await deck.settle()
        assert KEY not in deck.text
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "where to keep it")
        assert "The key works." in deck.text
        await deck.press("y")
        await deck.until(lambda: deck.status == "Now answering: dinghy:scripted", "the change")
        await deck.send("hello")
        await deck.says("Here from the dinghy.")
        await deck.idle()
        assert KEY not in deck.text
    assert ring.keys == {NAME: KEY}
    assert held_names(keyed.paths) == {NAME}
    assert KEY.encode() not in files(keyed.home)
    assert KEY not in caplog.text
    assert dinghy.exchanges[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_wrong_key_is_told_and_not_kept(keyed: Desk, ring: FakeKeyring) -> None:
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, "a-wrong-key")
        await deck.says("does not take this key (HTTP 401). It was not kept.")
        assert "a-wrong-key" not in deck.text
        await deck.press("escape")
        await deck.says(f"Stayed on {MODEL}.")
        assert deck.app.launch.api_keys.source(NAME) == ""
    assert ring.keys == {}


async def test_for_this_run_only(keyed: Desk, ring: FakeKeyring) -> None:
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, KEY)
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "where to keep it")
        await deck.press("n")
        await deck.until(lambda: deck.status == "Now answering: dinghy:scripted", "the change")
        assert deck.app.launch.api_keys.source(NAME) == "this run"
    assert (ring.keys, held_names(keyed.paths)) == ({}, set())
    assert KEY.encode() not in files(keyed.home)


async def test_without_a_keyring_it_is_said_and_used_for_this_run(keyed: Desk) -> None:
    async with shown(start(keyed, FakeKeyring(broken=True))) as deck:
        await asked(deck)
        await paste(deck, KEY)
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "where to keep it")
        await deck.press("y")
        await deck.until(lambda: "dinghy:scripted" in deck.app.chat.session.state.model, "the change")
        notices = " ".join(deck.app.chat.session.state.notices)
        assert "no keyring that can be used" in notices
        assert "used until Plimsoll is closed" in notices


async def test_esc_stops_the_trying(keyed: Desk, ring: FakeKeyring, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> KeyCheck:
        await asyncio.Event().wait()
        return KeyCheck("accepted")

    monkeypatch.setattr(key_check, "check_key", never)
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, KEY)
        await deck.says("Trying the key for dinghy:scripted")
        await deck.press("escape")
        await deck.says(f"Stayed on {MODEL}.")
    assert ring.keys == {}


async def test_a_closed_server_in_the_list_opens_the_list_again(keyed: Desk, ring: FakeKeyring) -> None:
    async with shown(start(keyed, ring)) as deck:
        await deck.ready()
        await deck.press("ctrl+l")
        await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the picker")
        assert f"needs {NAME}" in deck.text
        await deck.press(*"dinghy", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, KeyDialog), "the question for the key")
        await paste(deck, KEY)
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "where to keep it")
        await deck.press("n")
        await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the picker")
        assert "dinghy:scripted" in deck.text


@pytest.mark.parametrize("text", ["", "two words"])
async def test_what_is_no_key_is_not_tried(keyed: Desk, ring: FakeKeyring, text: str) -> None:
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, text)
        await deck.until(lambda: "the key first" in deck.text or "one word in one line" in deck.text)
        assert isinstance(deck.app.screen, KeyDialog)
