"""The transcript in the app: reading, finding, selecting rows, long texts and long sessions."""

import asyncio
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence

import pytest
from textual import events

from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import LIMIT_S, SMALL, USUAL, WIDE, Deck, Desk, shown, write_files
from tui_app.events import MessagePinned, ToolArchived, ToolOffloaded
from tui_app.session import preview
from tui_app.session.preview import StoreBodies
from tui_app.session.views.entries import Body, Entry
from tui_app.session.views.user_view import UserView, fold_user_view
from tui_app.ui.chat import session as chat_session
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.message_actions import ExcludeScreen
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.row_bodies import LONG_CHARS, LateBodies
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript import search as finding
from tui_app.ui.transcript.find import FindRow
from tui_app.ui.transcript.search import Hit, look_in
from tui_app.ui.transcript.transcript import Transcript

# Reading: scrolling from the prompt, the counter of new lines, small screens, plain mode, hostile text.


DRAWING = re.compile("[\u2500-\u257f\u2800-\u28ff]")
HOSTILE = (
    "[red]not red[/] [/x] \x1b[31mescape\x1b[0m \x1b]0;title\x07 bell\x07 nul\x00 "
    "\u202eright to left\u202c מלמד 👩‍👩‍👧‍👦 日本語 \u200b tab\tend"
)


async def streaming(deck: Deck, server: FakeOpenAI) -> Signal:
    """An answer of which the first lines have arrived."""
    hold = Signal()
    lines = [f"line {number}\n" for number in range(60)]
    server.add(Text(" ".join(lines), hold=hold, hold_after=60))
    await deck.ready()
    await deck.send("count")
    await (await server.request(len(server.journal) or 1)).paused.wait()
    await deck.says("line 2")
    return hold


async def test_pages_scroll_while_the_prompt_keeps_the_focus(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.type("half a thought")
        end = deck.transcript.scroll_y
        assert end == deck.transcript.max_scroll_y > 0
        await deck.press("pageup")
        assert deck.transcript.scroll_y < end
        await deck.press("ctrl+home")
        assert deck.transcript.scroll_y == 0
        assert "question 0" in deck.text
        await deck.press("pagedown")
        assert deck.transcript.scroll_y > 0
        await deck.press("ctrl+end")
        assert deck.transcript.scroll_y == deck.transcript.max_scroll_y
        assert deck.app.focused is deck.editor
        assert deck.editor.text == "half a thought"


@pytest.mark.parametrize("size", [WIDE, USUAL])
async def test_the_scroll_bar_stands_where_the_text_does(served: Desk, size: tuple[int, int]) -> None:
    async with shown(served.app(served.store(Story().turns(6))), size) as deck:
        await deck.ready()
        assert deck.transcript.vertical_scrollbar.position == deck.transcript.scroll_y > 0


async def test_what_is_new_below_is_counted_for_who_reads_above(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    async with shown(served.app(served.store(Story().turns(3))), USUAL) as deck:
        hold = await streaming(deck, fake_openai)
        await deck.press("pageup", "pageup")
        top = deck.transcript.scroll_y
        hold.set()
        await deck.answered(4)
        assert deck.transcript.scroll_y == top
        assert re.search(r"↓ \d+ new lines", deck.text)
        await deck.press("ctrl+end")
        assert "new line" not in deck.text
        assert "line 59" in deck.text


async def test_every_part_has_its_place_at_every_size(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(2))), USUAL) as deck:
        await deck.ready()
        for size, least in {USUAL: 12, WIDE: 30, SMALL: 4}.items():
            await deck.pilot.resize_terminal(*size)
            await deck.settle()
            parts = {
                name: deck.app.chat.query_one(f"#{name}").region
                for name in ("transcript", "status", "prompt-row", "gauge", "hints")
            }
            assert parts["transcript"].height >= least
            assert parts["hints"].bottom == size[1]
            for region in parts.values():
                assert region.right <= size[0]
                assert region.height >= 1
            assert "of 128k" in deck.widget(ContextGauge)
            assert "…" not in deck.widget(ContextGauge)
            assert "…" not in deck.hints
            timeline = deck.app.chat.query_one(Timeline)
            assert bool(timeline.region) == (size == WIDE)
            assert ("timeline 2" in deck.hints) == (size != WIDE)
            await deck.type("still usable")
            assert "still usable" in deck.text
            await deck.back()


async def test_the_timeline_opens_over_the_chat_where_it_has_no_room(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(2))), USUAL) as deck:
        await deck.ready()
        width = deck.transcript.size.width
        await deck.press("ctrl+t")
        await deck.settle()
        timeline = deck.app.chat.query_one(Timeline)
        assert timeline.region.right == 80
        assert deck.transcript.size.width == width
        timeline.focus()
        await deck.press("home", "enter")
        await deck.settle()
        assert deck.app.focused is deck.transcript
        assert "question 0" in deck.text
        assert not timeline.region, "what was jumped to is not covered"
        await deck.press("ctrl+t")
        await deck.settle()
        assert timeline.region.right == 80
        await deck.press("ctrl+t")
        await deck.settle()
        assert not timeline.region


def first_word(deck: Deck) -> int:
    """Number of the first visible ``word…``."""
    found = re.search(r"word(\d+)", deck.widget(Transcript))
    assert found
    return int(found[1])


async def test_resizing_while_an_answer_streams_keeps_the_place(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    async with shown(served.app(served.store(Story().turns(3)))) as deck:
        hold = await streaming(deck, fake_openai)
        await deck.press("pageup")
        before = first_word(deck)
        for size in (USUAL, SMALL, WIDE):
            await deck.pilot.resize_terminal(*size)
            await deck.settle()
            assert "of 128k" in deck.widget(ContextGauge)
        # Lines wrap differently at each width, so the position may shift by one line.
        assert abs(first_word(deck) - before) < 20
        await deck.press("ctrl+end")
        hold.set()
        await deck.answered(4)
        await deck.says("line 59")


async def test_every_pane_is_in_tab_order_and_escape_leaves_nothing(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(2)))) as deck:
        await deck.ready()
        seen = []
        for _ in range(3):
            await deck.press("tab")
            seen.append(deck.app.focused.id if deck.app.focused else None)
        assert set(seen) == {"transcript", "timeline", "prompt"}


async def test_plain_screen_has_role_words_and_no_drawing(served: Desk, fake_openai: FakeOpenAI) -> None:
    served.change(plain=True)
    fake_openai.add(tool("grep", pattern="row"), Text("- one\n- two\n\n> said\n\n```\ncode\n```\n\n---\n"))
    async with shown(served.app(served.store(Story().user("hello").answer("Hello.")))) as deck:
        await deck.ready()
        await deck.send("show me all")
        await deck.answered(2)
        assert "You:" in deck.text
        assert "Model:" in deck.text
        assert not DRAWING.search(deck.text)
        for keys in (("f3",), ("f1",), ("ctrl+l",), tuple("/sessions") + ("enter",), ("slash",)):  # noqa: RUF005
            await deck.press(*keys)
            if keys != ("slash",):
                await deck.until(lambda: deck.app.screen is not deck.app.chat, "the dialog")
            await deck.settle()
            found = DRAWING.search(deck.text)
            assert not found, f"{keys}: {found}\n{deck.text}"
            await deck.press("escape", "ctrl+c")
            await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_without_colour_every_state_is_still_in_words(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    served.change(color=False)
    story = Story().user("how late?").answer("At eleven.", reported=124_160)
    async with shown(served.app(served.store(story))) as deck:
        await deck.ready()
        assert deck.app.no_color
        assert deck.gauge.endswith("full")
        words = deck.text
        assert "124.2k" in words


async def test_hostile_text_is_text_and_the_layout_holds(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("grep", pattern=HOSTILE), Text(HOSTILE))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send(HOSTILE)
        await deck.answered(1)
        await deck.until(lambda: deck.text.count("[red]not red[/]") >= 3, "prompt, answer and title as text")
        painted = deck.text
        for bad in ("\x1b", "\x07", "\x00", "\u202e", "\t"):
            assert bad not in painted, repr(bad)
        for strip in deck.app.screen._compositor.render_strips():
            assert strip.cell_length == WIDE[0]
        deck.transcript.focus()
        await deck.press("up", "up", "enter", "ctrl+o")
        await deck.settle()
        assert "\x1b" not in deck.text


async def test_hostile_text_in_questions_queue_and_errors(served: Desk, fake_openai: FakeOpenAI) -> None:
    session = served.store(Story(f"title {HOSTILE}").user(HOSTILE).answer(HOSTILE))
    hold = Signal()
    fake_openai.add(Text("word " * 20, hold=hold))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("talk")
        await fake_openai.request(1)
        await deck.send(HOSTILE)
        await deck.until(lambda: deck.queue != [], "the queue")
        assert "[red]not red[/]" in deck.queue[0]
        await deck.send("/sessions")
        await deck.says("[red]not red[/]")
        assert "\x1b" not in deck.text
        await deck.press("f8")
        await deck.says("Delete session")
        assert "[/x]" in deck.text
        await deck.press("escape", "escape")
        hold.set()
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/copy")
        await deck.says("Sent 1 line to the terminal's clipboard.")
        await deck.send(f"/export {'x' * 300}.md")
        await deck.says("/export did not work. ")


async def test_details_of_a_tool_row_open_with_ctrl_o(served: Desk) -> None:
    story = Story().user("look").tool("grep", '{"pattern": "row"}', "import.py:1: rows\nimport.py:2: row")
    async with shown(served.app(served.store(story.answer("Found.")))) as deck:
        await deck.ready()
        assert "import.py:1: rows" not in deck.text
        deck.transcript.focus()
        await deck.press("up", "up", "ctrl+o")
        await deck.settle()
        assert "import.py:1: rows" in deck.text
        assert not isinstance(deck.app.screen, DetailsScreen)


async def test_typing_in_the_transcript_goes_to_the_prompt_and_escape_leads_back(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(3)))) as deck:
        await deck.ready()
        editor = deck.app.chat.pane.prompt.editor
        deck.transcript.focus()
        await deck.pilot.press("s", "a", "y")
        await deck.until(lambda: editor.text == "say" and editor.has_focus, "the words in the prompt")
        deck.transcript.focus()
        await deck.press("escape")
        await deck.until(lambda: editor.has_focus, "the prompt focused")


async def test_what_is_sent_is_shown_although_the_chat_was_scrolled_up(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Here."))
    async with shown(served.app(served.store(Story().turns(30)))) as deck:
        await deck.ready()
        await deck.press("pageup", "pageup")
        await deck.send("where are you?")
        await deck.says("Here.")


async def test_a_burst_of_letters_from_the_conversation_arrives_whole_in_the_prompt(desk: Desk) -> None:
    session = desk.store(Story().user("where is the map?").answer("In the drawer."))
    async with shown(desk.app(session)) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.press("up")
        assert deck.transcript.cursor_entry is not None
        # All letters are queued before the first is handled, as when typed fast.
        for letter in "say p and v soon":
            key = "space" if letter == " " else letter
            deck.app.post_message(events.Key(key, letter))
        await deck.until(lambda: deck.editor.text == "say p and v soon", "every letter in its place")
        assert not deck.transcript.marked
        assert not deck.app.chat.session.state.queue


# Finding words in the whole conversation: counted, highlighted, cancelled, left at the match.


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
    """The text highlighted as the current match."""
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
        await deck.until(lambda: not deck.app.chat.pane.finding.is_open, "the row closed")
        assert [row.strip("┃│▸ ") for row in deck.rows if "999: the tide" in row] == [
            row.strip("┃│▸ ") for row in before
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

    def slow(source: StoreBodies, entries: Sequence[Entry], pattern: re.Pattern[str]) -> list[Hit]:
        nonlocal calls
        calls += 1
        if calls > 1:
            gate.wait(20)
        return look_in(source, entries, pattern)

    monkeypatch.setattr(finding, "look_in", slow)
    session = served.store(Story("many").turns(10, words="tide"))
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/find tide")
        await deck.says("searching 10% · 1 so far · esc stops")
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
        row = deck.app.chat.pane.finding
        assert row is not None
        assert row.query_one(row.Words).value == "a\ufffdb c"
        row.query_one(row.Words).value = ""
        row.query_one(row.Words).post_message(events.Paste("x\x1b[31my"))
        await deck.until(lambda: row.query_one(row.Words).value == "xy", "the paste")


# Selected rows: copied, pinned, archived, offloaded; pins as text; /copy, /pin and /unpin.


TEXT = "".join(f"{number}: the tide comes in twice a day at the northern pier\n" for number in range(400))
SELECTION_ANSWER = "Twice a **day**.\n\n```python\nprint('tide')\n```"


def selection_story() -> Story:
    return (
        Story("tide")
        .user("When is the tide?")
        .tool("read_file", '{"path": "tide.txt"}', TEXT, tokens=6_000)
        .answer(SELECTION_ANSWER)
        .user("Thank you.")
        .answer("Welcome.")
    )


async def on_row(deck: Deck, seq: int) -> None:
    deck.transcript.jump_to(seq)
    deck.transcript.focus()
    await deck.settle()


async def test_marked_messages_are_copied_three_ways(served: Desk) -> None:
    session = served.store(selection_story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await on_row(deck, 2)
        await deck.press("v", "shift+down", "shift+down")
        await deck.says("3 marked")
        assert deck.text.count("✓") >= 3, "a sign in front of every line that is marked"
        await deck.press("m")
        await deck.says("Sent 3 messages · ")
        assert deck.app.clipboard.startswith("## You\n\nWhen is the tide?\n\n## Tool: read_file tide.txt")
        await deck.press("c")
        await deck.says("Sent 3 messages · 1 line to the terminal's clipboard.")
        assert deck.app.clipboard == "print('tide')"
        await deck.press("y")
        await deck.until(lambda: "Twice a day." in deck.app.clipboard, "plain text")
        await deck.press("escape")
        await deck.until(lambda: "marked" not in deck.text, "no marks")
        assert "v mark" in deck.hints, "what a row's keys do, as long as the conversation has the focus"


async def test_letters_are_typed_while_nothing_is_marked(served: Desk) -> None:
    session = served.store(selection_story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.press(*"pym")
        await deck.until(lambda: deck.editor.text == "pym", "the letters in the prompt")


async def test_a_pin_is_seen_in_words_and_survives_a_replay(served: Desk) -> None:
    session = served.store(selection_story())
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


async def test_x_takes_a_row_out_of_the_models_sight_and_brings_it_back(served: Desk) -> None:
    session = served.store(selection_story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        view = deck.app.chat.session.presenter.agent_view
        full = deck.gauge
        await on_row(deck, 4)
        await deck.until(lambda: "x exclude" in deck.hints, "the key is named")
        await deck.press("x")
        await deck.says("× excluded")
        await deck.until(
            lambda: view.excluded.keys() == {3, 5} and deck.gauge != full, "out, and the gauge falls"
        )
        assert any(row.lstrip().startswith("×") for row in deck.rows), "on the rail"
        await deck.says("2 messages excluded: #3 #5 · ")
        live = list(deck.app.chat.session.presenter.view.entries)
        with served.log() as log:
            assert fold_user_view(log.heads(session)).entries == live
        await on_row(deck, 4)
        await deck.press("x")
        await deck.until(lambda: not view.excluded and deck.gauge == full, "back, and so is the gauge")
        await on_row(deck, 2)
        await deck.press("x")
        await deck.says("Exclude the whole turn of #2?")
        await deck.press("up", "up", "enter")
        await deck.until(lambda: view.excluded.keys() == {2, 3, 5, 6}, "the whole turn")
        await deck.send("/undo")
        await deck.until(lambda: not view.excluded, "undone")
        await deck.send("/redo")
        await deck.until(lambda: view.excluded.keys() == {2, 3, 5, 6}, "and again")
        await deck.send("/exclude")
        await deck.until(lambda: isinstance(deck.app.screen, ExcludeScreen), "the numbers")
        assert [row.excluded for row in deck.app.screen.rows].count(True) == 3
        assert "#8" in deck.text
        await deck.press("number_sign", "2")
        await deck.says("It is excluded; enter brings it back.")
        await deck.press("escape", "escape")
        await deck.send("/include #4")
        await deck.until(lambda: not view.excluded, "by the number of the call")
        await on_row(deck, 7)
        await deck.press("x")
        await deck.says("The newest prompt stays")
        await deck.send("/exclude this")
        await deck.says("/exclude takes numbers of messages")


async def test_pins_are_listed_and_taken_away(served: Desk) -> None:
    session = served.store(selection_story())
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
        await deck.says("Pinned  ")
        await deck.press("ctrl+u")
        await deck.until(lambda: deck.app.chat.session.presenter.agent_view.pins == {8}, "one pin left")
        await deck.send("/unpin last")
        await deck.until(lambda: not deck.app.chat.session.presenter.agent_view.pins, "no pin")
        await deck.says("Unpinned #8: ")
        await deck.send("/pin this")
        await deck.says("/pin takes the number of a message")


@pytest.mark.parametrize(("key", "kind"), [("o", ToolOffloaded), ("a", ToolArchived)])
async def test_marked_results_leave_the_view(served: Desk, key: str, kind: type) -> None:
    session = served.store(selection_story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await on_row(deck, 2)
        await deck.press("v", "shift+down", key)
        await deck.until(lambda: deck.app.chat.session.presenter.agent_view.rewrites, "the rewrite")
        await deck.send("/undo")
        await deck.says("Nothing to undo. Mark a row and press u to undo one.")
    with served.log() as log:
        assert [record for record, _ in log.records(session) if isinstance(record.data, kind)]


COPIES = {
    "/copy": "Welcome.",
    "/copy 2": SELECTION_ANSWER,
    "/copy code 2": "print('tide')",
    "/copy text 2": "Twice a day.\n\nprint('tide')",
    "/copy #2": "When is the tide?",
}


async def test_copy_takes_a_message_and_a_form(served: Desk) -> None:
    session = served.store(selection_story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        for command, copied in COPIES.items():
            await deck.send(command)
            await deck.until(lambda: deck.app.clipboard == copied, command)  # noqa: B023 -- waited for here
            await deck.says("Sent ")


async def test_copy_says_what_it_takes(served: Desk) -> None:
    session = served.store(selection_story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/copy everything")
        await deck.says("/copy takes text, code or markdown")
        await deck.send("/copy #999")
        await deck.says("There is no message #999.")
        await deck.send("/copy 9")
        await deck.says("There are only 2 answers. /copy #9 copies the message with that number.")


# Texts of megabytes: loaded off the UI's event loop, shown in part, copied whole.


LONG_TEXTS_LINES = [f"\x1b[32mline {number}\x1b[0m of a very long log" for number in range(80_000)]
LOG = "\n".join(LONG_TEXTS_LINES)
"""More than three million characters."""


class Reading:
    """Delays loading of long texts until released, and records the thread that loads each text."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.threads: list[tuple[int, bool]] = []
        self.failure: sqlite3.Error | None = None
        read = StoreBodies.body

        def body(source: StoreBodies, entry: Entry) -> Body:
            here = threading.current_thread() is threading.main_thread()
            self.threads.append((entry.chars, here))
            if not here:
                assert self.gate.wait(LIMIT_S)
                if self.failure is not None:
                    raise self.failure
            return read(source, entry)

        monkeypatch.setattr(StoreBodies, "body", body)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reading]:
    held = Reading(monkeypatch)
    yield held
    held.gate.set()


@pytest.fixture
def session(served: Desk) -> str:
    story = Story().user("what is in the log?").tool("grep", '{"pattern": "line"}', LOG).answer("Lines.")
    return served.store(story)


async def opened(deck: Deck) -> None:
    """Expand the row of the tool call."""
    await deck.ready()
    deck.transcript.focus()
    await deck.press("up", "up", "enter")


async def test_a_long_result_is_read_beside_the_loop_and_shown_when_it_is_there(
    served: Desk, session: str, reading: Reading
) -> None:
    assert len(LOG) > 3_000_000
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.says(f"(reading {len(LOG):,} characters …)")
        await deck.press("end")
        await deck.says("Lines.")  # the UI stays responsive
        reading.gate.set()
        await deck.until(lambda: "line 79999 of a very long log" in deck.text, "the end of the log")
        assert "Lines." in deck.text
        assert "reading" not in deck.text
        await deck.press("ctrl+home")
        await deck.says("line 0 of a very long log")
        assert [here for chars, here in reading.threads if chars > LONG_CHARS] == [False], "once"
        # After collapsing and expanding the row, it is still there.
        await deck.press("up", "up", "enter", "enter")
        await deck.settle()
        assert len([chars for chars, _ in reading.threads if chars > LONG_CHARS]) == 1


async def test_how_much_is_left_out_is_said(served: Desk, session: str, reading: Reading) -> None:
    reading.gate.set()
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.until(lambda: "line 79999 of a very long log" in deck.text, "the end of the log")
        for _ in range(20):
            if "are not shown" in deck.text:
                break
            await deck.press("pageup")
        await deck.says("more characters are not shown")


async def test_what_cannot_be_read_is_said(served: Desk, session: str, reading: Reading) -> None:
    reading.failure = sqlite3.OperationalError("disk I/O error")
    reading.gate.set()
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.says("This text cannot be read: disk I/O error.")


async def test_short_texts_are_there_at_once_and_whole_ones_for_whoever_copies(
    served: Desk, session: str, reading: Reading
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert reading.threads
        assert all(here for _, here in reading.threads)
        bodies = deck.app.chat.session.bodies
        tool = deck.app.chat.session.presenter.view.entries[1]
        assert bodies.body(tool).text == LOG
        assert "reading" in bodies.preview(tool).text
        reading.gate.set()


async def test_leaving_while_a_text_is_read_ends_quietly(
    served: Desk, session: str, reading: Reading
) -> None:
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.says("(reading")
        reading.gate.set()
    assert not [task for task in asyncio.all_tasks() if "reading" in task.get_name()]


def test_without_a_log_there_is_only_the_title() -> None:
    entry = Entry(seq=1, kind="tool", time=0.0, title="grep", chars=LONG_CHARS + 1)
    bodies = LateBodies()
    assert bodies.preview(entry) == bodies.body(entry) == Body(text="grep")
    bodies.close()


# Long sessions open with their newest rows; older rows load without moving the visible ones.


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Older rows load once this is set; the newest 30 events are shown at once."""
    released, read = threading.Event(), preview.all_rows

    def wait_and_read(*where: object) -> UserView:
        assert released.wait(30)
        return read(*where)  # type: ignore[arg-type]

    monkeypatch.setattr(preview, "_ROWS", 30)
    monkeypatch.setattr(chat_session, "all_rows", wait_and_read)
    yield released
    released.set()


def rows(desk: Desk, session: str) -> Sequence[Entry]:
    with desk.log() as store:
        return fold_user_view(store.heads(session)).entries


def read(deck: Deck) -> list[str]:
    """The transcript without its scroll bar."""
    return [line[:78] for line in deck.text.splitlines()]


async def whole(deck: Deck, late: threading.Event) -> None:
    late.set()
    await deck.until(lambda: not deck.app.chat.session.presenter.view.since, "the older rows")
    await deck.idle()


async def test_what_is_read_stays_where_it_is(served: Desk, late: threading.Event) -> None:
    session = served.store(Story().turns(60))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        transcript = deck.app.chat.pane.transcript
        assert 0 < len(transcript.entries) < 31
        await deck.press("tab", "up", "up", "up", "v", "pageup")
        before, marked = read(deck), transcript.cursor_entry
        assert marked is not None
        await whole(deck, late)
        assert read(deck) == before
        assert transcript.cursor_entry == marked
        assert list(transcript.entries) == list(rows(served, session))
        await deck.press("home")
        await deck.says("question 0")
        await deck.press("end")
        await deck.says("question 59")


async def test_what_happens_meanwhile_is_shown_once(served: Desk, late: threading.Event) -> None:
    session = served.store(Story().turns(60))
    async with shown(served.app(session, model="offline:extractive")) as deck:
        await deck.ready()
        await deck.send("and now?")
        await deck.idle()
        first = rows(served, session)[0].seq
        await deck.send(f"/rewind #{first}")
        await deck.until(lambda: deck.editor.text == "question 0", "the draft")
        await deck.idle()
        await whole(deck, late)
        presenter, pane = deck.app.chat.session.presenter, deck.app.chat.pane
        assert presenter.view.entries == list(rows(served, session))
        assert pane.timeline._entries == presenter.view.entries
        said = [entry for entry in presenter.view.entries if entry.kind != "checkpoint"]
        assert list(pane.transcript.entries) == said
        assert all(entry.left for entry in said if entry.kind in ("user", "assistant"))


async def test_a_message_of_the_older_rows_is_gone_to_when_it_is_there(
    served: Desk, late: threading.Event
) -> None:
    session = served.store(Story().turns(60))
    second = [entry for entry in rows(served, session) if entry.kind == "user"][1]
    late.set()
    async with shown(served.app(session)) as deck:
        await deck.ready()
        deck.app.open_session(session, at=second.seq)
        await deck.says("question 1")
        assert deck.app.chat.pane.transcript.cursor_entry == second


async def test_quotations_are_read_from_the_best_one_on(served: Desk) -> None:
    lines = "".join(f"The tide at mark {n} is high.\n\n" for n in range(40))
    write_files(served.cwd, {f"notes_{n}.md": f"# Tide {n}\n\n{lines}" for n in range(4)})
    async with shown(served.app(model="offline:extractive"), (80, 24)) as deck:
        await deck.ready()
        for words in ("How high is the tide?", "Which mark?"):
            await deck.send(words)
            await deck.idle()
            assert "Best first" in deck.text, "the next prompt went to the end, and its answer begins again"
        await deck.send("/compact")
        await deck.says("ctrl+o shows the summary · /undo")
        assert "shows the summary" not in deck.status, "the line in sight says it"


# Structured output of a custom agent is shown like any answer.


AGENT = """
from pydantic import BaseModel
from pydantic_ai import Agent

class Ferry(BaseModel):
    ferry: str
    times: list[str]

typed = Agent(output_type=Ferry)
"""


async def test_it_stands_in_the_chat_one_value_to_a_line(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "agents.py").write_text(AGENT)
    fake_openai.add(tool("final_result", ferry="Elsa", times=["09:00", "17:30"]))
    async with shown(desk.serve(fake_openai).app(agent="agents.py:typed")) as deck:
        await deck.ready()
        await deck.send("Which ferry?")
        await deck.answered()
        assert deck.kinds == ["user", "tool", "assistant"]
        rows = [row[2:].partition("│")[0].strip() for row in deck.rows]
        assert '"ferry": "Elsa",' in rows
        assert '"17:30"' in rows
