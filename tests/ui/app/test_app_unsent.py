"""Leaving before everything was sent: it is shown, asked about, kept, and comes back."""

import asyncio
import threading

import pytest
from textual import events
from textual.widgets import OptionList

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.conversation.model_switch import ModelSwitch
from tui_app.session.prompts import lines_of, unsent
from tui_app.ui.app import end_by_signal
from tui_app.ui.chat import unsent as window
from tui_app.ui.chat.unsent import Kept, Unsent
from tui_app.ui.dialogs.base import ConfirmDialog
from tui_app.ui.dialogs.prompts import PromptsScreen

NOT_SENT = "1 prompt was not sent; the up arrow brings it back in this folder."


async def quit_asked(deck: Deck) -> str:
    """Press the quit key; what is asked."""
    await deck.press("ctrl+q")
    await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
    assert isinstance(deck.app.screen, ConfirmDialog)
    return deck.app.screen._text


async def leave(deck: Deck) -> None:
    await deck.press("y")
    await deck.until(lambda: deck.app._exit, "the end")


def kept(desk: Desk) -> list[str]:
    return unsent(desk.paths.unsent_file, desk.cwd)


@pytest.mark.parametrize("way", ["key", "signal"])
async def test_a_prompt_sent_while_the_engine_loads_is_kept(
    desk: Desk, slow_start: threading.Event, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(threading.Timer, "start", lambda _: None)
    async with shown(desk.app()) as deck:
        await deck.press(*"ferry", "enter")
        assert deck.queue == ["Queued 1 of 1: ferry"]
        if way == "key":
            said = await quit_asked(deck)
            assert said == "Quit now? 1 waiting prompt is not sent (the up arrow brings it back)."
            await leave(deck)
        else:
            end_by_signal(deck.app, 15)
        slow_start.set()
    assert deck.app.farewell == NOT_SENT
    assert kept(desk) == ["ferry"]
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.press("up")
        assert deck.editor.text == "ferry"


async def test_waiting_prompts_are_kept_and_the_question_says_so(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangMidStream(), Text("Noted."))
    session = served.store(Story(cwd=str(served.cwd)).turns(1))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("talk")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("second")
        await deck.send("third")
        await deck.send("/compact")
        await deck.until(lambda: len(deck.queue) == 3, "what waits")
        await deck.type("half a thought")
        said = await quit_asked(deck)
        assert said == (
            "Quit while the model answers? The answer is stopped; what is written so far stays. "
            "2 waiting prompts are not sent (the up arrow brings them back) and /compact is dropped."
        )
        await leave(deck)
    assert deck.app.farewell == (
        "3 prompts were not sent; the up arrow brings them back in this folder.\n"
        f"Resume: plimsoll --resume {session}"
    )
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("up", "up", "up")
        assert deck.editor.text == "second"
        await deck.press("ctrl+r")
        await deck.until(lambda: isinstance(deck.app.screen, PromptsScreen), "the search")
        rows = [str(option.prompt)[18:] for option in deck.app.screen.query_one(OptionList).options]
        assert rows[:3] == ["half a thought", "third", "second"]
        await deck.press("escape", "enter")
        await deck.says("Noted.")
        await deck.idle()
        await deck.until(lambda: kept(served) == ["third", "half a thought"], "what was sent is forgotten")


async def test_a_prompt_whose_model_still_loads_is_seen_and_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        gate = threading.Event()

        async def loading(_: ModelSwitch) -> None:
            await asyncio.to_thread(gate.wait, 20)
            raise OSError("gone")

        monkeypatch.setattr(ModelSwitch, "current", loading)
        await deck.send("ferry")
        await deck.until(lambda: deck.app.chat.session.state.turn, "the turn")
        assert deck.queue == ["Sending: ferry"]
        assert "1 waiting prompt is not sent" in await quit_asked(deck)
        await leave(deck)
        gate.set()
    assert kept(desk) == ["ferry"]


async def test_leaving_for_another_session_takes_them_along(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("talk")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("second")
        await deck.until(lambda: deck.queue, "the waiting prompt")
        before = deck.app.chat
        await deck.send("/new")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        assert "1 waiting prompt is not sent (the up arrow brings it back)" in deck.words
        await deck.press("y")
        await deck.until(lambda: deck.app.chat is not before, "the new session")
        await deck.ready()
        await deck.press("up")
        assert deck.editor.text == "second"


async def test_what_was_taken_back_or_sent_is_not_kept_twice(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("talk")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("second")
        await deck.until(lambda: deck.queue, "the waiting prompt")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "second", "the prompt back")
        assert deck.app.chat.session.unsent.waiting == ()
        await quit_asked(deck)
        await leave(deck)
    assert kept(served) == ["second"], "as a draft"


async def test_letters_are_seen_before_there_is_a_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("tui_app.ui.screen._load", lambda: gate.wait(20))
    async with shown(desk.app()) as deck:
        await deck.press(*"ferry?", "enter", *"tide")
        await deck.until(lambda: deck.editor.text == "ferry?", "the letters")
        assert not deck.app.chat.is_ready
        gate.set()
        await deck.until(lambda: deck.app.chat.is_ready, "the session")
        await deck.answered()
        assert deck.kinds[0] == "user"
        assert deck.editor.text == "tide"


@pytest.mark.parametrize(
    ("typed", "seen", "waits"),
    [
        ((*"tide?",), "tide?", 0),
        ((*"a?", "enter", *"b"), "a?", 2),
        ((*"?a",), "", 2),
        (("ctrl+l", *"a"), "", 2),
        (("pasted\ntext", *"?"), "pasted\ntext?", 0),
    ],
    ids=["text", "what acts waits, and all behind it", "help", "a key", "a paste"],
)
async def test_what_is_typed_before_the_first_frame_is_seen_as_soon_as_there_is_a_prompt(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], seen: str, waits: int
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("tui_app.ui.screen._load", lambda: gate.wait(20))
    app = desk.app()
    app._held = [early(each) for each in typed]
    async with shown(app) as deck:
        try:
            await deck.until(lambda: deck.editor.text == seen and len(app._held or ()) == waits, "the text")
            assert not app.chat.is_ready
        finally:
            gate.set()


def early(typed: str) -> events.Key | events.Paste:
    """A key or a paste as the driver reports it."""
    if len(typed) > 1 and "\n" in typed:
        return events.Paste(typed)
    return events.Key("question_mark" if typed == "?" else typed, typed if len(typed) == 1 else None)


async def test_a_signal_before_there_is_a_session_loses_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("tui_app.ui.screen._load", lambda: gate.wait(20))
    monkeypatch.setattr(threading.Timer, "start", lambda _: None)
    async with shown(desk.app()) as deck:
        await deck.press(*"ferry", "enter", *"tide")
        await deck.until(lambda: deck.editor.text == "ferry", "the letters")
        end_by_signal(deck.app, 15)
        gate.set()
    assert kept(desk) == ["ferry", "tide"]


async def test_a_kill_loses_neither_what_waits_nor_the_draft(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "GATHER_S", 0.0)
    fake_openai.add(HangMidStream(), Text("Here."))
    journal = served.paths.unsent_dir

    def written() -> list[str]:
        return [text for file in journal.glob("*.jsonl") for _, text in lines_of(file)]

    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("talk")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("second")
        await deck.press(*"draft")
        await deck.until(lambda: written() == ["second", "draft"], "what waits, on disk")
        # As a kill would: nothing is said any more, and the lock is gone.
        monkeypatch.setattr(Unsent, "keep", lambda left, *_: left.journal.end(kept=True) or Kept(0))
    monkeypatch.undo()
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("up")
        assert deck.editor.text == "draft"
        await deck.press("up")
        assert deck.editor.text == "second"
        await deck.press("enter")
        await deck.says("Here.")
        await deck.until(lambda: kept(served) == ["draft"], "one less")
        await deck.until(lambda: written() == [], "nothing on its way")


async def test_what_has_arrived_is_not_written_down(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "GATHER_S", 0.0)
    fake_openai.add(Text("Here."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("talk")
        await deck.says("Here.")
        await deck.idle()
        await deck.until(
            lambda: not any(lines_of(file) for file in served.paths.unsent_dir.glob("*.jsonl")), "no prompt"
        )
    assert not list(served.paths.unsent_dir.glob("*")), "nothing is left"
