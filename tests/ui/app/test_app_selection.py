"""Marked rows: copied, pinned, archived, moved to files; pins in words; /copy, /pin and /unpin."""

import pytest

from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.events import MessagePinned, ToolArchived, ToolOffloaded
from tui_app.session.user_view import fold_user_view
from tui_app.ui.dialogs.pins import PinsScreen

TEXT = "".join(f"{number}: the tide comes in twice a day at the northern pier\n" for number in range(400))
ANSWER = "Twice a **day**.\n\n```python\nprint('tide')\n```"


def story() -> Story:
    return (
        Story("tide")
        .user("When is the tide?")
        .tool("read_file", '{"path": "tide.txt"}', TEXT, tokens=6_000)
        .answer(ANSWER)
        .user("Thank you.")
        .answer("Welcome.")
    )


async def on_row(deck: Deck, seq: int) -> None:
    deck.transcript.jump_to(seq)
    deck.transcript.focus()
    await deck.settle()


async def test_marked_messages_are_copied_three_ways(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await on_row(deck, 2)
        await deck.press("v", "shift+down", "shift+down")
        await deck.says("3 marked")
        assert deck.text.count("✓") >= 3, "a sign in front of every line that is marked"
        await deck.press("m")
        await deck.says("Copied 3 messages · ")
        assert deck.app.clipboard.startswith("## You\n\nWhen is the tide?\n\n## Tool: read_file tide.txt")
        await deck.press("c")
        await deck.says("Copied 3 messages · 1 line")
        assert deck.app.clipboard == "print('tide')"
        await deck.press("y")
        await deck.until(lambda: "Twice a day." in deck.app.clipboard, "plain text")
        await deck.press("escape")
        await deck.until(lambda: "marked" not in deck.text, "no marks")
        assert "v mark" in deck.hints, "what a row's keys do, as long as the conversation has the focus"


async def test_letters_are_typed_while_nothing_is_marked(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.press(*"pym")
        await deck.until(lambda: deck.editor.text == "pym", "the letters in the prompt")


async def test_a_pin_is_seen_in_words_and_survives_a_replay(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await on_row(deck, 2)
        await deck.press("p")
        await deck.says("⚑ pinned")
        await on_row(deck, 6)
        await deck.press("p")
        await deck.until(lambda: deck.text.count("⚑ pinned") == 2, "the answer's pin")
        live = list(deck.app.chat.session.presenter.view.entries)
        with served.log() as log:
            assert fold_user_view(log.heads(session)).entries == live
        await deck.press("p")
        await deck.until(lambda: deck.text.count("⚑ pinned") == 1, "one pin taken away")
    with served.log() as log:
        pins = [record.data for record, _ in log.records(session) if isinstance(record.data, MessagePinned)]
    assert [(pin.seq, pin.pinned) for pin in pins] == [(2, True), (6, True), (6, False)]


async def test_pins_are_listed_and_taken_away(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/pin")
        await deck.says("Nothing is pinned.")
        await deck.send("/pin #4")
        await deck.until(lambda: deck.app.chat.session.presenter.agent_view.pins == {5}, "the result's pin")
        await deck.send("/pin last")
        await deck.until(lambda: len(deck.app.chat.session.presenter.agent_view.pins) == 2, "two pins")
        await deck.says("Pinned #8: ")
        assert "Nothing is pinned" not in deck.status
        await deck.send("/pin")
        await deck.until(lambda: isinstance(deck.app.screen, PinsScreen), "the list")
        await deck.says("Pinned · 2 · ")
        await deck.press("ctrl+u")
        await deck.until(lambda: deck.app.chat.session.presenter.agent_view.pins == {8}, "one pin left")
        await deck.send("/unpin last")
        await deck.until(lambda: not deck.app.chat.session.presenter.agent_view.pins, "no pin")
        await deck.says("Unpinned #8: ")
        await deck.send("/pin this")
        await deck.says("/pin takes the number of a message")


@pytest.mark.parametrize(("key", "kind"), [("o", ToolOffloaded), ("a", ToolArchived)])
async def test_marked_results_leave_the_view(served: Desk, key: str, kind: type) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await on_row(deck, 2)
        await deck.press("v", "shift+down", key)
        await deck.until(lambda: deck.app.chat.session.presenter.agent_view.rewrites, "the rewrite")
        await deck.send("/undo")
        await deck.says("No compaction to undo. Mark a row and press u to take one back.")
    with served.log() as log:
        assert [record for record, _ in log.records(session) if isinstance(record.data, kind)]


@pytest.mark.parametrize(
    ("command", "copied"),
    [
        ("/copy", "Welcome."),
        ("/copy 2", ANSWER),
        ("/copy code 2", "print('tide')"),
        ("/copy text 2", "Twice a day.\n\nprint('tide')"),
        ("/copy #2", "When is the tide?"),
    ],
)
async def test_copy_takes_a_message_and_a_form(served: Desk, command: str, copied: str) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send(command)
        await deck.says("Copied ")
        assert deck.app.clipboard == copied


async def test_copy_says_what_it_takes(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/copy everything")
        await deck.says("/copy takes text, code or markdown")
        await deck.send("/copy #999")
        await deck.says("There is no message #999.")
        await deck.send("/copy 9")
        await deck.says("There are only 2 answers. /copy #9 copies the message with that number.")
