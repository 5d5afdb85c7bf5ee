"""Esc does one step per press, in a fixed order, in every phase; ctrl+c and the quit keys."""

import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest
from textual import events

from tests.servers.behaviours import HangBeforeHeaders, HangMidStream, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import LIMIT_S, SMALL, Deck, Desk, queue_keys, shown
from tui_app.agent.tools import files
from tui_app.ui.dialogs.actions import ASK_AGAIN
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.prompt.completion import OfferList

State = Callable[[Deck, FakeOpenAI], Awaitable[None]]


async def idle(deck: Deck, server: FakeOpenAI) -> None:
    """Nothing is running."""


async def draft(deck: Deck, server: FakeOpenAI) -> None:
    await deck.type("half a thought")


async def dialog(deck: Deck, server: FakeOpenAI) -> None:
    await busy(deck, server)
    await deck.press("f1")
    await deck.until(lambda: isinstance(deck.app.screen, HelpScreen), "help")


async def slash_list(deck: Deck, server: FakeOpenAI) -> None:
    await busy(deck, server)
    await deck.press("slash", "c")
    assert deck.app.chat.query_one(OfferList).is_open


async def queued(deck: Deck, server: FakeOpenAI) -> None:
    await busy(deck, server)
    await deck.send("queued one")
    await deck.send("queued two")
    await deck.until(lambda: len(deck.queue) == 2, "two waiting prompts")


async def queued_and_draft(deck: Deck, server: FakeOpenAI) -> None:
    await queued(deck, server)
    await deck.type("half a thought")


async def busy(deck: Deck, server: FakeOpenAI) -> None:
    server.add(HangMidStream())
    await deck.send("talk")
    await (await server.request(1)).paused.wait()
    await deck.says("These words arrive")


def in_the_chat(deck: Deck) -> bool:
    return deck.app.screen is deck.app.chat


def still_busy(deck: Deck) -> bool:
    return deck.app.chat.session.state.busy


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (idle, lambda deck: in_the_chat(deck) and not still_busy(deck)),
        (draft, lambda deck: in_the_chat(deck) and deck.editor.text == "half a thought"),
        (dialog, lambda deck: in_the_chat(deck) and still_busy(deck)),
        (
            slash_list,
            lambda deck: (
                not deck.app.chat.query_one(OfferList).is_open
                and deck.editor.text == "/c"
                and still_busy(deck)
            ),
        ),
        (
            queued,
            lambda deck: (
                deck.editor.text == ""
                and not still_busy(deck)
                and deck.queue[-1] == queue_keys(2, paused=True)
            ),
        ),
        (
            queued_and_draft,
            lambda deck: (
                deck.editor.text == "half a thought"
                and not still_busy(deck)
                and deck.queue[-1] == queue_keys(2, paused=True, draft="prompt")
            ),
        ),
        (busy, lambda deck: not still_busy(deck) and deck.status == "Stopped. Nothing was lost."),
    ],
    ids=["idle", "draft", "dialog", "slash list", "queue", "queue and draft", "busy"],
)
async def test_one_press(
    served: Desk, fake_openai: FakeOpenAI, before: State, after: Callable[[Deck], bool]
) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await before(deck, fake_openai)
        await deck.press("escape")
        await deck.until(lambda: after(deck), "the state after one Esc")
        assert in_the_chat(deck)
        assert not deck.app._exit


async def test_step_by_step_down_to_nothing(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await queued(deck, fake_openai)
        assert deck.status.endswith("esc stops")
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "queued two", "the last one back")
        assert still_busy(deck)
        await deck.press("escape")
        await deck.until(lambda: not still_busy(deck), "an idle screen")
        keys = queue_keys(1, paused=True, draft="prompt")
        assert deck.queue == ["queued one   1 of 1 queued", keys]
        await deck.press("escape")
        assert deck.editor.text == "queued two"
        await (await fake_openai.request(1)).closed.wait()
        assert "These words arrive" in deck.text


async def test_what_escape_does_is_readable_at_forty_columns(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app(), SMALL) as deck:
        await deck.ready()
        await queued(deck, fake_openai)
        assert deck.status.startswith("Answering · ")
        assert deck.status.endswith("  esc stops")


@pytest.mark.parametrize("phase", ["connecting", "streaming", "between requests"])
async def test_each_phase_says_what_escape_does_and_escape_ends_it(
    served: Desk, fake_openai: FakeOpenAI, phase: str
) -> None:
    number, words = 1, "Answering"
    match phase:
        case "connecting":
            fake_openai.add(HangBeforeHeaders())
            words = "Connecting to harbour:scripted"
        case "streaming":
            fake_openai.add(HangMidStream())
        case _:
            fake_openai.add(tool("read_file", path="README.md"), HangBeforeHeaders())
            number, words = 2, "Connecting to harbour:scripted"
    fake_openai.fallback = Text("Back again.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("begin")
        exchange = await fake_openai.request(number)
        await exchange.paused.wait()
        await deck.until(lambda: deck.status.startswith(words), words)
        assert deck.status.endswith("esc stops")
        await deck.press("escape")
        await deck.idle()
        assert deck.status == "Stopped. Nothing was lost."
        await exchange.closed.wait()
        await deck.send("and now?")
        await deck.says("Back again.")


async def test_escape_while_a_prompt_waits_for_a_compaction_says_what_comes_next(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    served = desk.serve(fake_openai, window=8_000).change(background_threshold=0.6, blocking_threshold=0.6)
    hold = Signal()
    fake_openai.add(HangBeforeHeaders(), HangBeforeHeaders(release=hold, text="Sent as it was."))
    fake_openai.add(Text("And this too."), Text("Six questions."), Text("Compacted."))
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.send("hello")
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        await deck.says("Compacting conversation history")
        assert "blocking" in deck.status
        assert deck.status.endswith("esc cancels")
        await deck.press("escape")
        said = "Compaction cancelled; the request is sent anyway, cut to fit if necessary"
        answered = await fake_openai.request(2)
        await answered.paused.wait()
        await exchange.closed.wait()
        await deck.says(said)
        assert deck.status.splitlines()[0].endswith("esc stops")
        assert "answer 0: " in str(fake_openai.journal[1]["messages"])
        hold.set()
        await deck.says("Sent as it was.")
        await deck.idle()
        await deck.press("f2")
        await deck.says(f"{said}. Compaction will be retried later.")
        await deck.press("escape")
        await deck.send("once more")
        await deck.says("And this too.")
        await deck.idle()
        await deck.send("and again")
        await deck.says("Conversation compacted")
        await deck.says("Compacted.")
        assert "answer 0: " not in str(fake_openai.journal[4]["messages"])


async def test_a_second_escape_stops_the_turn_that_went_on(desk: Desk, fake_openai: FakeOpenAI) -> None:
    served = desk.serve(fake_openai, window=8_000).change(background_threshold=0.6, blocking_threshold=0.6)
    fake_openai.add(HangBeforeHeaders(), HangBeforeHeaders())
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.send("hello")
        await (await fake_openai.request(1)).paused.wait()
        await deck.says("Compacting conversation history")
        await deck.press("escape")
        await (await fake_openai.request(2)).paused.wait()
        assert still_busy(deck)
        await deck.press("escape")
        await deck.idle()
        assert deck.status == "Stopped. Nothing was lost."


async def test_up_twice_in_a_burst_brings_a_waiting_prompt_back_once(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("talk")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("queued one")
        await deck.until(lambda: len(deck.queue) == 1, "the waiting prompt")
        await deck.hurry("up", "up")
        await deck.until(lambda: deck.editor.text, "the prompt")
        await deck.settle()
        assert deck.editor.text == "queued one"
        await deck.press("ctrl+c", "escape")
        await deck.idle()


@pytest.fixture
def _stuck_tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make reading a file hang, as on a network share that went away."""
    gate = threading.Event()

    def read_file(*_: object, **__: object) -> str:
        assert gate.wait(LIMIT_S)
        return "too late"

    monkeypatch.setattr(files, "read_file", read_file)
    yield
    gate.set()


@pytest.mark.usefixtures("_stuck_tool")
async def test_escape_in_the_middle_of_a_tool(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("read_file", path="README.md"))
    fake_openai.fallback = Text("Back again.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("read it")
        await deck.until(lambda: deck.status.startswith("Running read_file"), "the running tool")
        assert deck.status.endswith("esc stops")
        await deck.press("escape")
        await deck.idle()
        entry = next(entry for entry in deck.app.chat.session.presenter.view.entries if entry.kind == "tool")
        assert entry.state == "interrupted"
        await deck.send("and now?")
        await deck.says("Back again.")
        answered = [message for message in fake_openai.journal[-1]["messages"] if message["role"] == "tool"]
        assert len(answered) == 1


async def test_ctrl_c_clears_then_stops_then_asks_then_quits(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await busy(deck, fake_openai)
        await deck.type("half a thought")
        await deck.press("ctrl+c")
        assert deck.editor.is_empty
        assert still_busy(deck)
        assert "The up arrow brings it back." in deck.status
        assert deck.status.endswith("esc stops")
        await deck.press("up")
        assert deck.editor.text == "half a thought"
        await deck.press("ctrl+c", "ctrl+c")
        await deck.idle()
        await deck.press("ctrl+c")
        await deck.until(lambda: deck.status == ASK_AGAIN)
        assert not deck.app._exit
        await deck.press("ctrl+c")
        await deck.until(lambda: deck.app._exit, "the end")
    assert deck.app.farewell == f"Resume: plimsoll --resume {deck.app.chat.session.id}"


async def test_ctrl_c_clears_only_what_was_typed_before_it(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("As you say."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press(*"abc")
        # All keys are queued before the first is handled, as when typed fast.
        for key in ("ctrl+c", *"xyz", "backspace", "enter"):
            deck.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await deck.answered()
        assert deck.app.chat.session.presenter.view.entries[0].title == "xy"
        await deck.press("up", "up")
        assert deck.editor.text == "abc"


@pytest.mark.parametrize("keys", [("ctrl+q",), ("ctrl+d",), (*"/quit", "enter")])
async def test_quit_keys_at_rest(served: Desk, keys: tuple[str, ...]) -> None:
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.press(*keys)
        await deck.until(lambda: deck.app._exit, "the end")
    assert deck.app.farewell.startswith("Resume: plimsoll --resume ")
    assert not deck.app.return_code


@pytest.mark.parametrize("command", ["/help", "hello"])
async def test_what_is_done_in_between_disarms_the_quit_key(
    served: Desk, fake_openai: FakeOpenAI, command: str
) -> None:
    fake_openai.add(Text("Good day."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("ctrl+c")
        await deck.until(lambda: deck.status == ASK_AGAIN)
        await deck.send(command)
        await deck.until(lambda: isinstance(deck.app.screen, HelpScreen) or "Good day." in deck.text, "it")
        await deck.idle()
        if not in_the_chat(deck):
            await deck.press("escape")
        await deck.press("ctrl+c")
        await deck.until(lambda: deck.status == ASK_AGAIN)
        assert not deck.app._exit


async def test_ctrl_d_in_a_text_deletes_and_quits_nothing(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("ab")
        await deck.press("home", "ctrl+d")
        assert deck.editor.text == "b"
        assert not deck.app._exit


@pytest.mark.parametrize("answer", ["enter", "escape", "n"])
async def test_quitting_while_an_answer_is_written_asks_and_keeps_by_default(
    served: Desk, fake_openai: FakeOpenAI, answer: str
) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await busy(deck, fake_openai)
        await deck.press("ctrl+q")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        assert "Quit while the model answers?" in deck.text
        await deck.press(answer)
        await deck.until(lambda: in_the_chat(deck), "the chat")
        assert still_busy(deck)
        await deck.press("ctrl+q")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.until(lambda: deck.app._exit, "the end")
