"""The context screen and the message screen: each key writes one event to the log."""

import re

import pytest
from textual.pilot import Pilot

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import DONE
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.events import (
    MessageExcluded,
    MessagePinned,
    Payload,
    RewriteUndone,
    SessionRewind,
    ToolArchived,
    ToolOffloaded,
)
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.ui.context.request_ledger import LedgerList
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.screen import ChatScreen
from tui_app.ui.timeline import Timeline, TimelineFilter
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.widgets.long_text import LongText, wrapped

# The context screen on a real session: each key writes one event to the log, and the screen follows.


TEXT = "".join(f"{number}: the tide comes in twice a day at the northern pier\n" for number in range(400))


def story() -> Story:
    return (
        Story("tide")
        .user("When is the tide?")
        .tool("read_file", '{"path": "tide.txt"}', TEXT, tokens=6_000)
        .answer("Twice a day.")
        .user("Thank you.")
        .answer("Welcome.")
    )


async def opened(deck: Deck) -> None:
    await deck.ready()
    await deck.press("f3")
    await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")


def marked(deck: Deck) -> str:
    """The state column of the selected row."""
    ledger = deck.app.screen.query_one(LedgerList)
    rows = [row for row in deck.rows if f"#{ledger.marked.seq}" in row] if ledger.marked else []
    return "".join(rows)


def stored(desk: Desk, session: str, kind: type[Payload]) -> list[Payload]:
    with desk.log() as log:
        return [record.data for record, _ in log.records(session) if isinstance(record.data, kind)]


async def test_an_item_is_excluded_counted_and_brought_back(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("x frees")
        await deck.press("x")
        await deck.until(lambda: "excluded: not sent" in marked(deck), "the exclusion")
        await deck.says("2 excluded, 6.")
        await deck.press("x")
        await deck.until(lambda: "excluded" not in marked(deck), "back")
        assert "excluded" not in deck.text
    assert len(stored(served, session, MessageExcluded)) == 1
    assert len(stored(served, session, RewriteUndone)) == 1


async def test_pin_archive_offload_and_take_back_are_an_event_each(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("this row   o ")
        await deck.press("p")
        await deck.until(lambda: "pinned  #" in marked(deck), "the pin")
        await deck.says("pinned 6.")
        await deck.until(lambda: "this row" not in deck.text, "nothing to do with what is pinned")
        await deck.press("a")
        await deck.says("This message is pinned: it stays as it is until it is unpinned.")
        await deck.press("p")
        await deck.until(lambda: "pinned" not in marked(deck), "no pin")
        await deck.says("this row   o ")
        await deck.press("o")
        await deck.until(lambda: "in read_file" in marked(deck), "the file")
        await deck.says("Saved ")
        await deck.says("u adds")
        await deck.press("u")
        await deck.until(lambda: "in read_file" not in marked(deck), "the old form")
        await deck.says("this row   o ")
        await deck.press("a")
        await deck.until(lambda: "archived" in marked(deck), "the stub")
        gauge = deck.gauge
        assert gauge in deck.text
        live = deck.app.chat.session.presenter.agent_view
        with served.log() as log:
            assert fold_agent_view(log.heads(session)) == live
    pins = stored(served, session, MessagePinned)
    assert [pin.pinned for pin in pins if isinstance(pin, MessagePinned)] == [True, False]
    for kind in (ToolOffloaded, RewriteUndone, ToolArchived):
        assert len(stored(served, session, kind)) == 1


async def test_a_found_item_is_shown_in_the_chat(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await opened(deck)
        await deck.press("slash", *"result tide", "enter")
        await deck.says("1 of 8")
        await deck.press("enter")
        await deck.until(lambda: not isinstance(deck.app.screen, ContextScreen), "the chat")
        entry = deck.transcript.cursor_entry
        assert entry is not None
        assert entry.kind == "tool"


async def test_plain_signs_only(served: Desk) -> None:
    session = served.change(plain=True).store(story())
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("this row   o ")
        assert deck.text.isascii()


async def test_several_items_are_marked_with_one_preview_before_anything_is_done(served: Desk) -> None:
    session = served.store(
        story().tool("read_file", '{"path": "other.txt"}', TEXT, tokens=6_000).answer("The same.").user("So?")
    )
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        before = deck.app.chat.session.state.usage
        await deck.press("space", "space")
        await deck.says("2 marked   o ")
        [row] = [row for row in deck.rows if "2 marked" in row]
        promised = row.partition("down to ")[2].partition("%")[0]
        assert not deck.app.chat.session.presenter.agent_view.rewrites, "nothing is done yet"
        assert sum("✓" in row for row in deck.rows) == 2
        await deck.press("o")
        view = deck.app.chat.session.presenter.agent_view
        await deck.until(lambda: len(view.rewrites) == 2, "both in files")
        await deck.until(lambda: f"Context  {promised}% of" in deck.text, "what was promised")
        after = deck.app.chat.session.state.usage
        assert before is not None
        assert after is not None
        assert after.total < before.total - 5_000
        await deck.press("down", "down", "space", "space")
        await deck.says("2 marked")
        await deck.press("escape")
        await deck.until(lambda: "2 marked" not in deck.text, "no marks")
        assert isinstance(deck.app.screen, ContextScreen)


async def test_a_result_is_stale_once_its_file_holds_something_else(served: Desk) -> None:
    (served.cwd / "tide.txt").write_text("twice\n")
    told = Story("stale").user("?").tool("read_file", '{"path": "tide.txt"}', "1\ttwice").answer("Twice.")
    session = served.store(told)
    async with shown(served.app(session), WIDE) as deck:
        await opened(deck)
        await deck.says("read_file tide.txt")
        await deck.press("escape")
        (served.cwd / "tide.txt").write_text("once\n")
        await deck.press("f3")
        await deck.says("stale: file changed  #5")
        await deck.press("escape")
        (served.cwd / "tide.txt").unlink()
        await deck.press("f3")
        await deck.says("stale: file gone  #5")


async def test_items_are_on_the_scale_of_the_figures_above_them(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    """Items are scaled where the provider counts more tokens than our tokenizer, and the screen says so."""
    fake_openai.add(Text("Ebb.", usage=(6_300, 60)))
    session = served.store(Story("tide").user("why " * 1_400, 1_400).answer("so " * 1_600, 1_600))
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await deck.send("And?")
        await deck.answered()
        await opened(deck)
        await deck.says("#2")
        items = {
            row.split()[-1]: row.split("▸")[-1].split()[0]
            for row in deck.rows
            if re.search(r"#\d+ *$", row.rstrip())
        }
        figures = dict(re.findall(r"█ (user|answers) +([\d.]+k)", deck.text))
        assert float(figures["answers"].rstrip("k")) > 1.7, "a factor was learnt"
        # The remainder of both figures belongs to the newest turn.
        assert (items["#3"], items["#2"]) == (figures["answers"], figures["user"])


async def test_a_message_has_one_size_wherever_it_is_shown(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Ebb.", usage=(9_000, 60)))
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        deck.app.chat.query_one(Timeline).shown = TimelineFilter.ALL
        before = size_in(deck.rows, r"read_file tide.txt.* ([\d.]+k)( |$)")
        await deck.send("And?")
        await deck.answered()
        inside = size_in(deck.rows, r"read_file tide.txt.* ([\d.]+k)( |$)")
        beside = size_in(deck.rows, r"│.* tide.txt +([\d.]+k)$")
        await opened(deck)
        await deck.says("#5")
        listed = size_in(deck.rows, r"([\d.]+k) .*read_file tide.txt.* #5")
        assert before != inside == beside == listed
        await deck.press("escape")
        deck.app.chat.query_one(Transcript).focus()
        await deck.press("home", "down", "down", "ctrl+o")
        await deck.says(f"{listed} tokens")


def size_in(rows: list[str], pattern: str) -> str:
    return next(found[1] for row in rows if (found := re.search(pattern, row.rstrip())))


# Several selected items at once; failures are reported with their reason.


LONG = "A line of the timetable that is long enough to be worth a digest.\n" * 60


async def test_what_stays_of_marked_items_is_said_there(desk: Desk) -> None:
    read = Story().user("how late?").tool("read_file", '{"path": "a.py"}', LONG, tokens=1_200)
    story = read.answer("At eleven.").turns(2)
    async with shown(desk.app(desk.store(story)), (120, 40)) as deck:
        await deck.ready()
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the items")
        await deck.press("home", "space", "space")
        await deck.says("esc unmark")
        await deck.press("a")
        await deck.says("1 of 2 archived.")
        assert "Only results of tools" in deck.words
        assert "esc close" in deck.words


# The message screen: text, events, visibility, and available actions.


async def message_opened(deck: Deck, seq: int, key: str = "ctrl+o") -> None:
    deck.transcript.jump_to(seq)
    deck.transcript.focus()
    await deck.press(key)
    await deck.until(lambda: isinstance(deck.app.screen, MessageScreen), "the message")
    text = deck.app.screen.query_one(LongText)
    await deck.until(lambda: text.line_count, "its text")


async def test_every_row_opens(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        for seq, key in ((2, "enter"), (2, "ctrl+o"), (4, "ctrl+o"), (6, "ctrl+o")):
            await message_opened(deck, seq, key)
            assert f"#{5 if seq == 4 else seq}" in deck.rows[0]
            assert "2026-01-01 12:0" in deck.text
            assert "Seen by you and by the model, as it was said." in deck.text
            await deck.press("ctrl+o")
            await deck.until(lambda: isinstance(deck.app.screen, ChatScreen), "the chat")


@pytest.mark.parametrize("focused", ["editor", "transcript"])
async def test_a_key_with_nothing_to_open_says_what_it_needs(served: Desk, focused: str) -> None:
    async with shown(served.app(served.store(story())), USUAL) as deck:
        await deck.ready()
        getattr(deck, focused).focus()
        await deck.press("ctrl+o")
        await deck.until(lambda: deck.status, "a word in the status row")
        assert deck.status == "No row is marked: press tab, then up."
        assert isinstance(deck.app.screen, ChatScreen)
        await deck.press(*(["tab"] if focused == "editor" else []), "up", "ctrl+o")
        await deck.until(lambda: isinstance(deck.app.screen, MessageScreen), "the message")


@pytest.mark.parametrize("beside", [False, True], ids=["prompt", "timeline"])
async def test_an_empty_conversation_has_nothing_to_open(served: Desk, beside: bool) -> None:
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        if beside:
            await deck.press("ctrl+t")
            deck.app.chat.pane.timeline.focus()
        await deck.press("ctrl+o")
        await deck.until(lambda: deck.status == "Nothing to open yet.", "a word in the status row")


async def test_the_events_stand_as_json(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await message_opened(deck, 4)
        await deck.press("j")
        await deck.says('"type": "tool.call"')
        await deck.press("y")
        assert '"tool.result"' in deck.app.clipboard
        assert '"message": {' in deck.app.clipboard
        await deck.press("j", "end")
        await deck.says("399: the tide")


async def test_what_a_stage_did_is_told_and_taken_back(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        view = deck.app.chat.session.presenter.agent_view
        await deck.press("f3", "o")
        await deck.until(lambda: view.rewrites, "the file")
        await deck.press("escape")
        await message_opened(deck, 4)
        await deck.says("by the model as the beginning of a file that holds it (#")
        await deck.press("u")
        await deck.until(lambda: not view.rewrites, "the old form")


async def test_what_a_compaction_took_is_told(served: Desk) -> None:
    session = served.store(story().compacted(DONE))
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await message_opened(deck, 2)
        await deck.says(
            "Seen by you only: a compaction (#9, 2026-01-01 12:07:00) took it out of the model's view."
        )


async def test_a_prompt_is_pinned_rewound_to_and_forked_from_here(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await message_opened(deck, 7)
        assert "r rewind here   f fork here" in deck.text
        await deck.press("p")
        await deck.says("⚑ pinned")
        await message_opened(deck, 7)
        await deck.press("r")
        await deck.until(lambda: deck.editor.text == "Thank you.", "the prompt in the editor")
    with served.log() as log:
        assert [record for record, _ in log.records(session) if isinstance(record.data, SessionRewind)]


async def test_a_megabyte_in_one_line_is_read_and_scrolled(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "".join(f"word{number} " for number in range(120_000))
    session = served.store(Story("long").user("read").tool("read_file", '{"path": "x"}', line).answer("done"))
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await message_opened(deck, 4)
        text = deck.app.screen.query_one(LongText)
        assert text.line_count > len(line) // 80
        await deck.press("end")
        await deck.says("word119999")
        await resized(deck.pilot)
        await deck.until(lambda: "word119999" in deck.text, "the end, wrapped anew")


async def resized(pilot: "Pilot[int]") -> None:
    await pilot.resize_terminal(100, 30)


def test_wrapping_keeps_every_character() -> None:
    text = "one two\n\n" + "x" * 50 + " 漢字漢字漢字 " + "\nend"
    lines = wrapped(text, 10)
    assert "".join("".join(lines.line(n) for n in range(len(lines.starts))).split()) == "".join(text.split())
