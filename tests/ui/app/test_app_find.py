"""Looking for words in the whole conversation: counted, shown where they stand, stopped, left in place."""

import re
import threading
from collections.abc import Sequence

import pytest
from textual import events

from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.session.entries import Entry
from tui_app.ui.transcript import search as finding
from tui_app.ui.transcript.find import FindRow
from tui_app.ui.transcript.search import Hit, look_in_log

LINES = "".join(f"{number}: the tide comes in twice a day at the northern pier\n" for number in range(2_000))
ANSWER = "Twice a **day**.\n\n```python\nprint('Tide')\n```\n\nHigh tide is at noon."


def story() -> Story:
    return (
        Story("tide")
        .user("When is the Tide?")
        .tool("read_file", '{"path": "tide.txt"}', LINES, tokens=6_000)
        .answer(ANSWER)
        .user("Thank you.")
        .answer("Welcome.")
    )


def shown_here(deck: Deck) -> str:
    """The words that are painted as the place one has gone to."""
    transcript = deck.transcript
    found, here = transcript._found, transcript._found and transcript._found.here
    assert found is not None
    assert here is not None
    layout, said = transcript._pages, ""
    for number, line in enumerate(layout.lines(here.slot, here.piece)):
        for start, stop, is_here in found.spans(layout, type(layout.end)(here.slot, here.piece, number)):
            said += line.text[start:stop] if is_here else ""
    return said


async def test_a_place_deep_in_a_long_output_is_shown(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await deck.send("/find 1000: the tide")
        await deck.says("1 of 1")
        await deck.until(lambda: "1000: the tide comes in" in deck.text, "the place itself")
        assert "found at character" in deck.text or "999: the tide" in deck.text
        assert shown_here(deck) == "1000: the tide"
        before = [row for row in deck.rows if "999: the tide" in row]
        await deck.press("escape")
        await deck.until(lambda: not deck.app.chat.pane.finding.row.is_open, "the row closed")  # type: ignore[union-attr]
        assert [row.strip("┃ ") for row in deck.rows if "999: the tide" in row] == [
            row.strip("┃ ") for row in before
        ], "the reader stays where he is"
        assert deck.transcript.has_focus
        entry = deck.transcript.cursor_entry
        assert entry is not None
        assert entry.kind == "tool"


async def test_the_arrows_go_from_place_to_place_and_around(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.press("ctrl+f", *"TIDE")
        await deck.until(lambda: "not found" in deck.text, "capitals count where there are some")
        await deck.press("home", *["delete"] * 4, *"tide")
        await deck.says("2,005 of 2,005")
        assert shown_here(deck) == "tide"
        await deck.press("up")
        await deck.says("2,004 of 2,005")
        assert shown_here(deck) == "Tide", "in a code block"
        await deck.press("enter", "down")
        await deck.says("1 of 2,005")
        assert shown_here(deck) == "Tide"
        await deck.press("up")
        await deck.says("2,005 of 2,005")


async def test_a_word_that_is_broken_over_lines_is_found_whole(served: Desk) -> None:
    words = "harbour " * 40 + "needle in the hay " + "harbour " * 40
    session = served.store(Story("x").user(words).answer("yes"))
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/find needle in the hay")
        await deck.says("1 of 1")
        assert shown_here(deck).replace(" ", "") == "needleinthehay"


async def test_a_search_says_how_far_it_is_and_escape_stops_it(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, calls = threading.Event(), 0
    monkeypatch.setattr(finding, "_BATCH_ENTRIES", 2)

    def slow(database: object, session: str, entries: Sequence[Entry], pattern: re.Pattern[str]) -> list[Hit]:
        nonlocal calls
        calls += 1
        if calls > 1:
            gate.wait(20)
        return look_in_log(database, session, entries, pattern)  # type: ignore[arg-type]

    monkeypatch.setattr(finding, "look_in_log", slow)
    session = served.store(Story("many").turns(10, words="tide"))
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/find tide")
        await deck.says("searching 10 % · 1 so far · esc stops")
        await deck.press("escape")
        await deck.says("1 of 1+")
        gate.set()
        row = deck.app.chat.query_one(FindRow)
        assert row.is_open
        await deck.press("escape")
        await deck.until(lambda: not row.is_open, "closed")


async def test_what_came_since_is_found_with_the_next_step(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/find welcome")
        await deck.says("1 of 1")
        more = Entry(seq=10_000, kind="notice", time=0.0, title="Welcome back")
        deck.transcript.append(more)
        await deck.press("down")
        await deck.says(" of 2")


async def test_nothing_found_moves_nothing(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/find submarine")
        await deck.says("not found")
        assert "Welcome." in deck.text
        assert deck.transcript.cursor_entry is None
        await deck.press("escape")
        await deck.until(lambda: deck.editor.has_focus, "back in the prompt")


async def test_words_from_outside_are_clean_in_the_row(desk: Desk) -> None:
    async with shown(desk.app(desk.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.app.chat.pane.finding.open("a\x1b[31m\u202eb\nc")
        row = deck.app.chat.pane.finding.row
        assert row is not None
        assert row.query_one(row.Words).value == "a\ufffdb c"
        row.query_one(row.Words).value = ""
        row.query_one(row.Words).post_message(events.Paste("x\x1b[31my"))
        await deck.until(lambda: row.query_one(row.Words).value == "xy", "the paste")
