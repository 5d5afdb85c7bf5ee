"""Prompts and commands while an answer is written: rows, order, pause, and what runs at once."""

import pytest

from tests.servers.behaviours import HangBeforeHeaders, HangMidStream, Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.status import LET_IN, PAUSED


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
            lambda: deck.queue == ["Queued 1 of 2: second", "Queued 2 of 2: third"], "two waiting prompts"
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
        await deck.until(lambda: deck.queue[-1:] == [f"2 {PAUSED}"], "the paused queue")
        assert asked(fake_openai) == ["first"]
        await deck.press("ctrl+c", "enter")
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
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "third", "the newest, taken back")
        await deck.press("escape")
        await deck.idle()
        await deck.until(lambda: deck.queue[-1:] == [f"1 {PAUSED}"], "how it goes on")
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
        await deck.press("ctrl+c", "escape")
        await deck.until(lambda: deck.editor.text == "third", "the last one")
        assert deck.queue == ["Queued 1 of 1: second", f"1 {PAUSED}"]
        await deck.press("ctrl+c", "escape")
        await deck.until(lambda: deck.editor.text == "second", "the first one")
        assert deck.queue == []


@pytest.mark.parametrize(
    ("command", "row", "said"),
    [
        ("/compact", "Queued 1 of 1: /compact · runs when what is under way is done", "Nothing to compact"),
        ("/undo", "Queued 1 of 1: /undo · runs when what is under way is done", "No compaction to undo."),
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


@pytest.mark.parametrize(
    ("command", "screen"), [("/context", ContextScreen), ("/status", DetailsScreen), ("/help", HelpScreen)]
)
async def test_commands_that_change_nothing_run_at_once(
    served: Desk, fake_openai: FakeOpenAI, command: str, screen: type
) -> None:
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        await deck.send(command)
        await deck.until(lambda: isinstance(deck.app.screen, screen), command)
        await deck.press("escape")
        assert deck.queue == ["Queued 1 of 1: second"]
        assert deck.status.startswith("Answering")


async def test_what_a_command_says_does_not_hide_what_runs(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await talking(deck, fake_openai)
        await deck.send("/copy")
        await deck.says("Copied 1 line.")
        assert deck.status.startswith("Answering")
        assert deck.status.endswith("esc stops")


async def test_the_queue_survives_a_compaction(served: Desk, fake_openai: FakeOpenAI) -> None:
    hold = Signal()
    fake_openai.add(HangBeforeHeaders(release=hold, text="All of it in short."), Text("Done."))
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await fake_openai.request(1)
        await deck.send("and then?")
        await deck.until(lambda: deck.queue == ["Queued 1 of 1: and then?"], "the waiting prompt")
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
        assert deck.queue[0] == "Queued 1 of 5: waiting 0 with a second line"
        assert len(deck.queue) == 4


async def test_pressing_escape_quickly_loses_no_waiting_prompt(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await talking(deck, fake_openai)
        await deck.send("second")
        await deck.send("third")
        session, editor = deck.app.chat.session, deck.app.chat.pane.prompt.editor
        await deck.until(lambda: len(session.state.queue) == 2, "two waiting prompts")
        deck.app.chat.action_cancel()
        deck.app.chat.action_cancel()
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
        await deck.until(lambda: LET_IN in deck.text, "how to let it in")
        await deck.press("enter")
        hold.set()
        await deck.answered(1)
        assert LET_IN not in deck.text
        assert [each["role"] for each in fake_openai.journal[-1]["messages"]][-2:] == ["tool", "user"]
        assert len(fake_openai.journal) == 2
