"""Models and API keys: the first start, the picker, and three options when a conversation does not fit."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.fake_keyring import FakeKeyring
from tests.servers.behaviours import HangBeforeHeaders, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import MODEL, WORDS, Story
from tests.ui.kit import LIMIT_S, SMALL, USUAL, WIDE, Deck, Desk, shown, timed
from tui_app.agent import catalog as catalogue
from tui_app.agent import catalog as key_check
from tui_app.agent import model_lists as discovery
from tui_app.agent import model_shelf as shelf
from tui_app.agent.catalog import KeyCheck
from tui_app.api_keys import ApiKeys, stored_names
from tui_app.ui.dialogs import models
from tui_app.ui.dialogs.models import ModelPicker, SwitchDialog
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.setup.key_entry import KeyDialog
from tui_app.ui.keyboard import stray_keys

# Changing the model, and three options when the conversation does not fit.


SMALL_MODEL = "dinghy:scripted"
COMPACT = ("enter",)
"""From the initially selected option to compaction."""
SUMMARY = Text("Eight questions about words, all answered.", usage=(0, 0))


@pytest.fixture
def dinghy() -> Iterator[FakeOpenAI]:
    """A server with a small context window."""
    with FakeOpenAI(max_model_len=6_000) as server:
        yield server


@pytest.fixture
def both(served: Desk, dinghy: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    async def nobody(**_: object) -> list[object]:
        return []

    monkeypatch.setattr(discovery, "discover", nobody)
    return served.serve(dinghy, window=None, name="dinghy")


@pytest.fixture
def session(both: Desk) -> str:
    return both.store(Story().turns(8))


async def pick(deck: Deck, words: str) -> None:
    await deck.press("ctrl+l")
    await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the picker")
    await deck.press(*words, "enter")


async def asked_for_small(deck: Deck) -> None:
    await deck.ready()
    await pick(deck, "dinghy")
    await deck.until(lambda: isinstance(deck.app.screen, SwitchDialog), "the dialog")


class Clock:
    """A clock that advances one second per reading, so that every key is accepted."""

    def __init__(self) -> None:
        self.now, self.step = 0.0, 1.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(models, "SwitchDialog", lambda *asked: timed(SwitchDialog(*asked), clock))
    return clock


def model(deck: Deck) -> str:
    return deck.app.chat.session.state.model


@pytest.mark.usefixtures("clock")
async def test_the_picker_says_what_fits_and_what_is_missing(both: Desk, session: str) -> None:
    async with shown(both.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+l")
        await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the picker")
        small = next(row for row in deck.rows if SMALL_MODEL in row)
        assert "over  compacts first" in small
        assert " 6k" in small or "6.0k" in small
        assert "current" in next(row for row in deck.rows[1:] if MODEL in row)
        assert any("OPENAI_API_KEY" in row for row in deck.rows)
        assert deck.text.index("offline:extractive") < deck.text.index("openai:")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.status == ""
        assert model(deck) == MODEL


@pytest.mark.usefixtures("clock")
async def test_a_model_that_is_not_ready_explains_itself_and_stays_in_the_list(both: Desk) -> None:
    both.serve(FakeOpenAI(), name="absent")
    async with shown(both.app()) as deck:
        await deck.ready()
        await pick(deck, "absent")
        await deck.says("cannot be used yet: ")
        assert isinstance(deck.app.screen, ModelPicker)


@pytest.mark.usefixtures("clock")
async def test_the_default_of_new_sessions_is_chosen_in_the_list(both: Desk, session: str) -> None:
    async with shown(both.app(session)) as deck:
        await deck.ready()
        await deck.press("ctrl+l")
        await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the picker")
        await deck.press(*"dinghy", "f6")
        await deck.says(f"New sessions begin with {SMALL_MODEL}. Written to ")
        await deck.press("escape", "escape")
        assert model(deck) == MODEL
        assert f'model = "{SMALL_MODEL}"' in both.paths.config_file.read_text()
        await deck.send("/new")
        await deck.until(lambda: deck.app.chat.is_ready and model(deck) == SMALL_MODEL, "the new session")


@pytest.mark.usefixtures("clock")
async def test_a_current_model_that_its_server_does_not_list_is_marked(
    both: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = catalogue.list_models

    async def without_it(**wanted: Any) -> list[catalogue.ModelChoice]:
        return [choice for choice in await listed(**wanted) if choice.name != MODEL]

    monkeypatch.setattr(catalogue, "list_models", without_it)
    async with shown(both.app(both.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.press("ctrl+l")
        await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the picker")
        assert isinstance(deck.app.screen, ModelPicker)
        assert deck.app.screen.marked is not None
        assert (deck.app.screen.marked.name, deck.app.screen.marked.current) == (MODEL, True)
        assert "current" in next(row for row in deck.rows[1:] if MODEL in row)


@pytest.mark.usefixtures("clock")
async def test_one_that_fits_answers_next(both: Desk, dinghy: FakeOpenAI) -> None:
    dinghy.add(Text("Here from the dinghy."))
    async with shown(both.app(both.store(Story().turns(1)))) as deck:
        await deck.ready()
        await pick(deck, "dinghy")
        await deck.until(lambda: deck.status == f"Now answering: {SMALL_MODEL}", "the change")
        await deck.until(lambda: "of 6k" in deck.gauge, "its window")
        assert "model" in deck.kinds
        await deck.send("hello")
        await deck.says("Here from the dinghy.")


@pytest.mark.usefixtures("clock")
async def test_by_name_and_unknown_names(both: Desk) -> None:
    async with shown(both.app(both.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/model offline:extractive")
        await deck.until(lambda: model(deck) == "offline:extractive", "the change")
        await deck.send("/model nobody:nothing")
        await deck.says("nobody:nothing cannot be used")
        await deck.send("/model offline:extractive")
        await deck.says("offline:extractive is already the current model.")


@pytest.mark.usefixtures("clock")
async def test_the_dialog_shows_the_numbers(both: Desk, session: str) -> None:
    async with shown(both.app(session), USUAL) as deck:
        await asked_for_small(deck)
        for words in (
            "dinghy:scripted holds 6k. This conversation is 7.",
            "Compact and switch",
            "summary by harbour:scripted",
            "Switch anyway",
            "keeps the last",
            f"stay on {MODEL}",
        ):
            assert words in deck.text, words


@pytest.mark.usefixtures("clock")
async def test_compact_and_switch(
    both: Desk, session: str, fake_openai: FakeOpenAI, dinghy: FakeOpenAI
) -> None:
    fake_openai.add(SUMMARY)
    dinghy.add(Text("Small but here."))
    async with shown(both.app(session)) as deck:
        await asked_for_small(deck)
        await deck.press(*COMPACT)
        await deck.until(lambda: model(deck) == SMALL_MODEL, "the change")
        assert "compaction" in deck.kinds
        assert "over by" not in deck.gauge
        assert len(both.agent_view(session)) < 16
        await deck.send("are you there?")
        await deck.says("Small but here.")
    assert len(fake_openai.journal) == 2, "notes without sources are asked for once more"


@pytest.mark.usefixtures("clock")
async def test_switch_anyway_cuts_each_request_and_keeps_the_log(
    both: Desk, session: str, fake_openai: FakeOpenAI, dinghy: FakeOpenAI
) -> None:
    view = both.agent_view(session)
    async with shown(both.app(session)) as deck:
        await asked_for_small(deck)
        await deck.press("down", "enter")
        await deck.until(lambda: model(deck) == SMALL_MODEL, "the change")
        assert deck.gauge.startswith("over by ")
        assert both.agent_view(session) == view
    assert fake_openai.journal == dinghy.journal == []


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("keys", [("escape",), ("end", "enter")], ids=["esc", "cancel"])
async def test_cancel_leaves_everything(both: Desk, session: str, keys: tuple[str, ...]) -> None:
    view = both.agent_view(session)
    async with shown(both.app(session)) as deck:
        await asked_for_small(deck)
        gauge = deck.gauge
        await deck.press(*keys)
        await deck.says(f"Stayed on {MODEL}.")
        assert (model(deck), deck.gauge, both.agent_view(session)) == (MODEL, gauge, view)


@pytest.mark.usefixtures("clock")
async def test_a_cancelled_compaction_leaves_the_old_model_and_view(
    both: Desk, session: str, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangBeforeHeaders())
    view = both.agent_view(session)
    async with shown(both.app(session)) as deck:
        await asked_for_small(deck)
        gauge = deck.gauge
        await deck.press(*COMPACT)
        exchange = await fake_openai.request(1)
        await deck.says("Compacting conversation history")
        assert "model switch" in deck.status
        await deck.press("escape")
        await exchange.closed.wait()
        await deck.says(f"Stayed on {MODEL}")
        assert (model(deck), deck.gauge, both.agent_view(session)) == (MODEL, gauge, view)


@pytest.mark.usefixtures("clock")
async def test_a_failed_compaction_falls_back_or_leaves_the_old_model(
    both: Desk, session: str, fake_openai: FakeOpenAI
) -> None:
    fake_openai.fallback = error(400, "no")
    async with shown(both.app(session)) as deck:
        await asked_for_small(deck)
        await deck.press(*COMPACT)
        await deck.until(lambda: "compaction" in deck.kinds, "the outcome")
        await deck.idle()
        entry = next(e for e in deck.app.chat.session.presenter.view.entries if e.kind == "compaction")
        if entry.state == "ok":
            await deck.until(lambda: model(deck) == SMALL_MODEL, "the change")
        else:
            await deck.says(f"Stayed on {MODEL}")
            assert model(deck) == MODEL


@pytest.mark.usefixtures("clock")
async def test_what_is_written_while_the_dialog_comes_up_chooses_nothing_and_goes_to_the_prompt(
    both: Desk, session: str, fake_openai: FakeOpenAI, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.5)
    clock.step = 0.0
    view = both.agent_view(session)
    async with shown(both.app(session)) as deck:
        await deck.ready()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.type("a ")
        await deck.until(lambda: isinstance(deck.app.screen, SwitchDialog), "the dialog")
        await deck.press(*"cat", "space", *"can", "enter", *"climb", "up", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, SwitchDialog))
        clock.step = 1.0
        await deck.press("end", "enter")
        await deck.says(f"Stayed on {MODEL}.")
        await deck.until(lambda: deck.editor.text == "a cat can\nclimb", "what was written")
        assert deck.app.focused is deck.editor
        assert (model(deck), both.agent_view(session)) == (MODEL, view)
    assert fake_openai.journal == []


@pytest.mark.usefixtures("clock")
async def test_a_compaction_that_cannot_help_is_not_offered(both: Desk, dinghy: FakeOpenAI) -> None:
    story = Story().turns(2).user(WORDS * 6, 9_000).answer("Long.", 20)
    async with shown(both.app(both.store(story))) as deck:
        await asked_for_small(deck)
        assert "not possible: " in deck.text
        assert " must be kept, " in deck.text
        await deck.press("home", "enter")
        await deck.until(lambda: model(deck) == SMALL_MODEL, "the change")
        assert "compaction" not in deck.kinds


@pytest.mark.usefixtures("clock")
async def test_the_server_behind_openai_base_url_can_be_picked(both: Desk, dinghy: FakeOpenAI) -> None:
    both.env["OPENAI_BASE_URL"] = dinghy.base_url
    both.change(endpoints={name: each for name, each in both.settings.endpoints.items() if name != "dinghy"})
    dinghy.add(Text("Here from the dinghy."))
    async with shown(both.app(both.store(Story().turns(1)))) as deck:
        await deck.ready()
        await pick(deck, "openai-chat")
        await deck.until(lambda: deck.status == "Now answering: openai-chat:scripted", "the change")
        assert "of 6k" in deck.gauge
        await deck.send("hello")
        await deck.says("Here from the dinghy.")


@pytest.fixture
def slow_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Delay the server's report of its context window until this is called."""
    gate, ask = threading.Event(), shelf.ask_window

    async def ask_late(asked: Any, *where: Any) -> int | None:
        if "dinghy" in asked.system:
            assert await asyncio.to_thread(gate.wait, LIMIT_S)
        return await ask(asked, *where)

    monkeypatch.setattr(shelf, "ask_window", ask_late)
    yield gate.set
    gate.set()


@pytest.mark.usefixtures("clock")
async def test_a_slow_lookup_is_named_until_its_end(both: Desk, slow_server: Callable[[], None]) -> None:
    async with shown(both.app(both.store(Story().turns(1))), SMALL) as deck:
        await deck.ready()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.says(f"Looking up {SMALL_MODEL}")
        await deck.press(*"hello")
        assert deck.editor.text == "hello"
        assert model(deck) == MODEL
        slow_server()
        await deck.until(lambda: deck.status == f"Now answering: {SMALL_MODEL}", "the change")


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("size", [WIDE, SMALL], ids=["120x40", "40x12"])
async def test_escape_gives_a_lookup_up_and_leaves_everything(
    both: Desk, slow_server: Callable[[], None], size: tuple[int, int]
) -> None:
    async with shown(both.app(both.store(Story().turns(1))), size) as deck:
        await deck.ready()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.says("Looking up dinghy:")
        assert " ".join(deck.status.split()).endswith(" · esc cancels")
        await deck.press("escape")
        await deck.until(lambda: deck.status == f"Stayed on {MODEL}.", "the old model")
        slow_server()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.until(lambda: model(deck) == SMALL_MODEL, "the change that was asked for again")


@pytest.mark.usefixtures("clock")
async def test_escape_lists_what_needs_no_server(both: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    listed, stopped = catalogue.list_models, threading.Event()

    async def list_late(*, discover: bool, **more: Any) -> Any:
        try:
            await (asyncio.Event().wait() if discover else asyncio.sleep(0))
        finally:
            stopped.set()
        return await listed(discover=False, **more)

    monkeypatch.setattr(catalogue, "list_models", list_late)
    async with shown(both.app(both.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/model")
        await deck.says("Asking harbour, dinghy, servers on this machine for models · esc lists the others")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, ModelPicker), "the list")
        assert stopped.is_set(), "nobody is asked any more"
        await deck.says("without models of servers")
        await deck.press(*"offline")
        await deck.says("offline:extractive")
        await deck.press("enter")
        await deck.until(lambda: model(deck) == "offline:extractive", "the change")


@pytest.mark.usefixtures("clock")
@pytest.mark.usefixtures("slow_server")
async def test_escape_gives_the_lookup_up_before_it_stops_the_answer(
    both: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangBeforeHeaders())
    async with shown(both.app()) as deck:
        await deck.ready()
        await deck.send("hello")
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.says(f"Looking up {SMALL_MODEL}")
        await deck.press("escape")
        await deck.says(f"Stayed on {MODEL}.")
        assert deck.app.chat.session.state.turn
        await deck.press("escape")
        await deck.idle()
        await exchange.closed.wait()


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("keys", [("f1",), ("ctrl+l",)], ids=["help", "the picker"])
@pytest.mark.usefixtures("slow_server")
async def test_another_command_takes_the_place_of_a_lookup(both: Desk, keys: tuple[str, ...]) -> None:
    async with shown(both.app(both.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.says(f"Looking up {SMALL_MODEL}")
        await deck.press(*keys)
        await deck.until(lambda: deck.app.screen is not deck.app.chat, "what was asked for")
        assert "Looking up" not in deck.status
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert model(deck) == MODEL


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("command", ["/quit", "/new"])
@pytest.mark.usefixtures("slow_server")
async def test_a_session_can_be_left_while_a_model_is_looked_up(
    both: Desk, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    session = both.store(Story().turns(1))
    async with shown(both.app(session)) as deck:
        await deck.ready()
        await deck.send(f"/model {SMALL_MODEL}")
        await deck.says(f"Looking up {SMALL_MODEL}")
        await deck.send(command)
        await deck.until(lambda: deck.app._exit or deck.app.chat.session.id not in ("", session), "the end")
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.usefixtures("clock")
async def test_a_change_of_model_waits_for_the_answer(both: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangBeforeHeaders())
    async with shown(both.app()) as deck:
        await deck.ready()
        await deck.send("hello")
        await fake_openai.request(1)
        await deck.send("/model offline:extractive")
        await deck.until(lambda: deck.queue != [], "the waiting change")
        assert deck.queue[0].startswith("/model offline:extractive   ")
        assert model(deck) == MODEL


# A model without an API key: asked for, tested, saved or not, and never displayed.


KEY, NAME = "the-harbour-masters-own-key", "DINGHY_KEY"


@pytest.fixture
def keys_dinghy() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(Text("Here from the dinghy."), max_model_len=90_000) as server:
        server.key = KEY
        yield server


@pytest.fixture
def ring() -> FakeKeyring:
    return FakeKeyring()


@pytest.fixture
def keyed(served: Desk, keys_dinghy: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    async def nobody(**_: object) -> list[object]:
        return []

    monkeypatch.setattr(discovery, "discover", nobody)
    served.serve(keys_dinghy, window=None, name="dinghy")
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
    keyed: Desk, ring: FakeKeyring, keys_dinghy: FakeOpenAI, caplog: pytest.LogCaptureFixture
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
    assert stored_names(keyed.paths) == {NAME}
    assert KEY.encode() not in files(keyed.home)
    assert KEY not in caplog.text
    assert keys_dinghy.exchanges[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_wrong_key_is_told_and_not_kept(keyed: Desk, ring: FakeKeyring) -> None:
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, "a-wrong-key")
        await deck.says("rejected this key (HTTP 401). It was not saved.")
        assert "a-wrong-key" not in deck.text
        await deck.press("escape")
        await deck.says(f"Stayed on {MODEL}.")
        assert deck.app.launch.keys.source(NAME) == ""
    assert ring.keys == {}


async def test_for_this_run_only(keyed: Desk, ring: FakeKeyring) -> None:
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, KEY)
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "where to keep it")
        await deck.press("n")
        await deck.until(lambda: deck.status == "Now answering: dinghy:scripted", "the change")
        assert deck.app.launch.keys.source(NAME) == "this run"
    assert (ring.keys, stored_names(keyed.paths)) == ({}, set())
    assert KEY.encode() not in files(keyed.home)


async def test_without_a_keyring_it_is_said_and_used_for_this_run(keyed: Desk) -> None:
    async with shown(start(keyed, FakeKeyring(broken=True))) as deck:
        await asked(deck)
        await paste(deck, KEY)
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "where to keep it")
        await deck.press("y")
        await deck.until(lambda: "dinghy:scripted" in deck.app.chat.session.state.model, "the change")
        notices = " ".join(deck.app.chat.session.state.notices)
        assert "no usable keyring" in notices
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


@pytest.mark.parametrize("text", ["", "two words", "sk-b\u00e9ta"])
async def test_what_is_no_key_is_not_tried(keyed: Desk, ring: FakeKeyring, text: str) -> None:
    async with shown(start(keyed, ring)) as deck:
        await asked(deck)
        await paste(deck, text)
        await deck.until(lambda: "the key first" in deck.text or "look like an API key" in deck.text)
        assert isinstance(deck.app.screen, KeyDialog)


# The first start: no key, no wizard, and still an answer.


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_prompt_is_focused_in_the_first_frame_and_one_row_says_what_answers(
    desk: Desk, size: tuple[int, int]
) -> None:
    async with shown(desk.app(), size) as deck:
        assert deck.app.focused is deck.editor
        said = " ".join(deck.text.split())
        assert said.count("built-in search, no key needed") == 1
        assert "Long conversations that stay inside their model's window." in said
        assert "ctrl+l picks a model or adds a key" in said
        assert not deck.app.screen.query("Toast")


async def test_an_answer_needs_no_key_and_takes_the_row_away(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.send("what does this project do?")
        await deck.answered()
        assert "README.md:3" in deck.text
        assert "no key needed" not in deck.text
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
        assert "no key needed" not in deck.text
        assert "harbour:scripted" in deck.text
    assert fake_openai.journal == []


async def test_ones_own_agent_may_bring_a_model(desk: Desk) -> None:
    async with shown(desk.app(agent="their.module:agent")) as deck:
        assert "No key found" not in deck.text


async def test_a_prompt_before_the_agent_side_has_loaded_waits_and_is_sent(
    desk: Desk, slow_start: threading.Event
) -> None:
    async with shown(desk.app()) as deck:
        await deck.press(*"ferry", "enter")
        await deck.until(lambda: deck.queue == ["ferry   1 of 1 queued"])
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
