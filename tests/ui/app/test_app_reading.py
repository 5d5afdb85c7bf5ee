"""Reading: scrolling from the prompt, what is new below, small screens, plain words, and hostile text."""

import re

import pytest
from textual import events

from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.gauge import ContextGauge
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript

DRAWING = re.compile("[\u2500-\u257f\u2800-\u28ff]")
HOSTILE = (
    "[red]not red[/] [/x] \x1b[31mescape\x1b[0m \x1b]0;title\x07 bell\x07 nul\x00 "
    "\u202eright to left\u202c מלמד 👩‍👩‍👧‍👦 日本語 \u200b tab\tend"
)


async def streaming(deck: Deck, server: FakeOpenAI) -> Signal:
    """An answer of which the first lines are there."""
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


@pytest.mark.parametrize("size", [WIDE, USUAL, SMALL])
async def test_every_part_has_its_place_at_every_size(served: Desk, size: tuple[int, int]) -> None:
    async with shown(served.app(served.store(Story().turns(2))), size) as deck:
        await deck.ready()
        parts = {
            name: deck.app.chat.query_one(f"#{name}").region
            for name in ("transcript", "status", "prompt-row", "gauge", "hints")
        }
        assert parts["transcript"].height >= {WIDE: 30, USUAL: 12, SMALL: 4}[size]
        assert parts["hints"].bottom == size[1]
        for region in parts.values():
            assert region.right <= size[0]
            assert region.height >= 1
        assert "of 128k" in deck.widget(ContextGauge)
        assert "…" not in deck.widget(ContextGauge)
        assert "…" not in deck.hints
        timeline = deck.app.chat.query_one(Timeline)
        assert bool(timeline.region) == (size == WIDE)
        assert ("timeline 4" in deck.hints) == (size != WIDE)
        await deck.type("still usable")
        assert "still usable" in deck.text


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
    """Number of the first ``word…`` in the window."""
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
        # Lines wrap elsewhere at each width: the same place is the same line, give or take one.
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
        await deck.says("Copied 1 line.")
        await deck.send(f"/export {'x' * 300}.md")
        await deck.says("Not exported")


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
        # All of it stands in the queue before the first letter is looked at, as from a fast hand.
        for letter in "say p and v soon":
            key = "space" if letter == " " else letter
            deck.app.post_message(events.Key(key, letter))
        await deck.until(lambda: deck.editor.text == "say p and v soon", "every letter in its place")
        assert not deck.transcript.marked
        assert not deck.app.chat.session.state.queue
