"""Queued prompts and commands: sent in order, edited, or left unsent."""

import asyncio
import threading

import pytest
from textual import events
from textual.widgets import OptionList

from tests.conversation.test_questions import ask
from tests.servers.behaviours import HangBeforeHeaders, HangMidStream, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, Deck, Desk, queue_keys, shown
from tui_app.conversation.models.model_switch import ModelSwitch
from tui_app.session.prompts import lines_of, unsent
from tui_app.ui import approvals
from tui_app.ui.app import end_by_signal
from tui_app.ui.chat import pane
from tui_app.ui.chat import unsent as window
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.chat.unsent import Kept, Unsent
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.extensions.queue import QueueScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.sessions.prompts import PromptsScreen
from tui_app.ui.panels.queue_view import QueueView

# Prompts and commands during an answer: rows, order, pause, and what runs at once.


def asked(server: FakeOpenAI) -> list[str]:
    """The last prompt of each request."""
    return [body["messages"][-1]["content"] for body in server.journal]


async def talking(deck: Deck, server: FakeOpenAI, hold: Signal | None = None) -> None:
    server.add(HangMidStream(release=hold))
    await deck.ready()
    await deck.send("first")
    await (await server.request(1)).paused.wait()


async def test_prompts_wait_in_rows_and_run_in_order_one_a_turn(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    hold = Signal()
    fake_openai.fallback = Text("Done.")
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai, hold)
        await deck.send("second")
        await deck.send("third")
        await deck.until(
            lambda: deck.queue == ["second   1 of 2 queued", "third   2 of 2 queued"], "two waiting prompts"
        )
        hold.set()
        await deck.answered(3)
        assert deck.queue == []
        assert asked(fake_openai) == ["first", "second", "third"]


async def test_after_a_cancel_they_stay_until_enter(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text("Done.")
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        await deck.send("third")
        await deck.type("draft")
        await deck.press("escape")
        await deck.idle()
        keys = queue_keys(2, paused=True, draft="prompt")
        await deck.until(lambda: deck.queue[-1:] == [keys], "the paused queue")
        assert asked(fake_openai) == ["first"]
        await deck.press("ctrl+c")
        await deck.until(lambda: deck.queue[-1:] == [queue_keys(2, paused=True)], "without a draft")
        await deck.press("enter")
        await deck.until(lambda: len(fake_openai.journal) == 3, "both requests")
        await deck.answered(3)
        assert asked(fake_openai)[1:] == ["second", "third"]


async def test_what_is_sent_after_a_cancel_goes_before_what_waits(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.fallback = Text("Done.")
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        await deck.send("third")
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "third", "the newest, to edit")
        await deck.press("escape")
        await deck.idle()
        keys = queue_keys(1, paused=True, draft="prompt")
        await deck.until(lambda: deck.queue[-1:] == [keys], "how it goes on")
        await deck.press("enter")
        await deck.until(lambda: len(fake_openai.journal) == 3, "both requests")
        assert asked(fake_openai)[1:] == ["third", "second"]


async def test_the_whole_paused_queue_can_be_taken_back(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        await deck.send("third")
        await deck.type("draft")
        await deck.press("escape")
        await deck.idle()
        await deck.press("ctrl+c", "up")
        await deck.until(lambda: deck.editor.text == "third", "the last one")
        assert deck.queue == ["second   1 of 1 queued", queue_keys(1, paused=True, draft="prompt")]
        await deck.press("ctrl+c", "up")
        await deck.until(lambda: deck.editor.text == "second", "the first one")
        assert deck.queue == []


@pytest.mark.parametrize(
    ("command", "row", "said"),
    [
        ("/compact", "/compact   runs when the current work ends · 1 of 1 queued", "Nothing to compact"),
        ("/undo", "/undo   runs when the current work ends · 1 of 1 queued", "Nothing to undo."),
    ],
)
async def test_commands_that_change_the_history_wait_and_say_so(
    served: Desk, fake_openai: FakeOpenAI, command: str, row: str, said: str
) -> None:
    hold = Signal()
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai, hold)
        await deck.send(command)
        await deck.until(lambda: deck.queue == [row], row)
        assert deck.status.startswith("Answering")
        hold.set()
        await deck.says(said)
        assert deck.queue == []


AT_ONCE = {"/context": ContextScreen, "/status": DetailsScreen, "/help": HelpScreen}


async def test_commands_that_change_nothing_run_at_once(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        for command, screen in AT_ONCE.items():
            await deck.send(command)
            await deck.until(lambda: isinstance(deck.app.screen, screen), command)  # noqa: B023 -- waited for
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
            assert deck.queue == ["second   1 of 1 queued"]
            assert deck.status.startswith("Answering")


async def test_what_a_command_says_does_not_hide_what_runs(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await talking(deck, fake_openai)
        await deck.send("/copy")
        await deck.says("Sent 1 line to the terminal's clipboard.")
        assert deck.status.startswith("Answering")
        assert deck.status.endswith("esc stops")


async def test_the_queue_survives_a_compaction(served: Desk, fake_openai: FakeOpenAI) -> None:
    hold = Signal()
    fake_openai.add(HangBeforeHeaders(release=hold, text="## Notes\nAll of it in short."), Text("Done."))
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await fake_openai.request(1)
        await deck.send("and then?")
        await deck.until(lambda: deck.queue == ["and then?   1 of 1 queued"], "the waiting prompt")
        hold.set()
        await deck.answered(7)
        assert "compaction" in deck.kinds
        assert asked(fake_openai)[-1] == "and then?"


async def test_a_long_queue_is_counted(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        for number in range(5):
            await deck.send(f"waiting {number}\nwith a second line")
        await deck.until(lambda: deck.queue[-1:] == ["and 2 more"], "the count")
        assert deck.queue[0] == "waiting 0 with a second line   1 of 5 queued"
        assert len(deck.queue) == 4


async def test_pressing_up_quickly_loses_no_waiting_prompt(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        await deck.send("third")
        session, editor = deck.app.chat.session, deck.app.chat.pane.prompt.editor
        await deck.until(lambda: len(session.state.queue) == 2, "two waiting prompts")
        await deck.hurry("up", "up")
        await deck.until(
            lambda: {*editor.text.split(), *session.state.queue} == {"second", "third"}, "nothing lost"
        )
        await deck.until(lambda: "third" in editor.text, "the newest back in the editor")


async def test_enter_on_an_empty_prompt_lets_what_waits_in_after_the_present_step(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    hold = Signal()
    fake_openai.add(Tool(calls=(("ls", {"path": "."}),), hold=hold), Text("The second answer."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await deck.until(lambda: "Connecting" in deck.text or "Answering" in deck.text, "the first turn")
        await deck.send("second")
        keys = queue_keys(1, paused=False)
        await deck.until(lambda: keys in deck.text, "how to let it in")
        await deck.type("x")
        await deck.until(lambda: "enter queues your draft" in deck.text, "what enter does with a draft")
        await deck.press("backspace", "enter")
        hold.set()
        await deck.answered(1)
        assert keys not in deck.text
        assert [each["role"] for each in fake_openai.journal[-1]["messages"]][-2:] == ["tool", "user"]
        assert len(fake_openai.journal) == 2


# Editing the queue: take back, remove, move; with keys, a command or the mouse.


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
    """Delivers the engine's replies to the code that removes from the queue."""
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


async def test_up_behind_it_takes_the_next_one_back_and_loses_neither(
    served: Desk, fake_openai: FakeOpenAI, answered: asyncio.Event
) -> None:
    async with shown(served.app()) as deck:
        await waiting(deck, fake_openai)
        await opened(deck)
        await deck.press("enter")
        await deck.press("up")
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
        await deck.says("The queue is empty.")
        await deck.press("d", "enter", "left_square_bracket")
        await deck.until(lambda: isinstance(deck.app.screen, QueueScreen))
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
        await deck.says("Your draft was set aside; the up arrow brings it back.")
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
        await deck.says(
            "Paused: enter on an empty prompt sends them one after the other. A new prompt goes first."
        )
        if plain:
            assert not any("\u2500" <= sign <= "\u257f" for sign in deck.text)


# Quitting with unsent prompts: they are shown, confirmed, kept and restored.


NOT_SENT = "1 prompt was not sent. Press up to get it back (in this folder)."


async def quit_asked(deck: Deck) -> str:
    """Press the quit key, and return the question."""
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
        await deck.until(lambda: deck.queue == ["ferry   1 of 1 queued"])
        if way == "key":
            said = await quit_asked(deck)
            waits = "1 waiting prompt is not sent (the up arrow brings it back)"
            assert said == f"Quit now? {waits}. Enter or esc stays, y quits."
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
            "2 waiting prompts are not sent (the up arrow brings them back) and /compact is dropped. "
            "Enter or esc stays, y quits."
        )
        await leave(deck)
    assert deck.app.farewell == (
        "3 prompts were not sent. Press up to get them back (in this folder).\n"
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
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "second", "the prompt back")
        assert deck.app.chat.session.unsent.waiting == []
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
    """A key or paste as the terminal driver reports it."""
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
        # As after a kill: no message is shown, and the lock is released.
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


@pytest.mark.parametrize(
    ("asks", "keys", "kept"),
    [
        (ask("Which port?", "8080", "3000"), "the old one", ["the old one"]),
        (tool("run_command", command="make"), "not yet", ["ot yet"]),
        (tool("run_command", command="make"), "/goal no waits", ["/goal no waits"]),
        (tool("run_command", command="make"), "/goal", []),
    ],
    ids=["answer", "reason", "command", "its name alone"],
)
async def test_a_kill_while_something_is_asked_loses_no_words(
    served: Desk,
    fake_openai: FakeOpenAI,
    monkeypatch: pytest.MonkeyPatch,
    asks: Tool,
    keys: str,
    kept: list[str],
) -> None:
    monkeypatch.setattr(window, "GATHER_S", 0.0)
    for module in (approvals, pane):
        monkeypatch.setattr(module, "QUIET_S", 0.0)
    fake_openai.add(asks, Text("Thanks."))
    served.change(read_only=False)
    async with shown(served.app()) as deck:
        await deck.ready()
        chat = deck.app.chat.pane
        await deck.send("Do it.")
        await deck.until(lambda: chat.questions is not None and chat.questions.has_keys, "the question")
        await deck.press(*(each if each != " " else "space" for each in keys))
        folder = served.paths.unsent_dir
        await deck.until(
            lambda: [text for file in folder.glob("*.jsonl") for _, text in lines_of(file)] == kept,
            "the words, on disk",
        )


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
