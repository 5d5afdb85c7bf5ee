"""One message on a screen of its own: its text, its events, who sees it, what can be done with it."""

from typing import get_args

import pytest
from textual.pilot import Pilot

from tests.ui.app.scenes import DONE
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.events import SessionRewind
from tui_app.session.entries import EntryKind
from tui_app.ui.dialogs.message import KINDS, MessageScreen
from tui_app.ui.long_text import LongText, wrapped
from tui_app.ui.screen import ChatScreen

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


async def opened(deck: Deck, seq: int, key: str = "ctrl+o") -> None:
    deck.transcript.jump_to(seq)
    deck.transcript.focus()
    await deck.press(key)
    await deck.until(lambda: isinstance(deck.app.screen, MessageScreen), "the message")
    text = deck.app.screen.query_one(LongText)
    await deck.until(lambda: text.line_count, "its text")


@pytest.mark.parametrize(("seq", "key"), [(2, "enter"), (2, "ctrl+o"), (4, "ctrl+o"), (6, "ctrl+o")])
async def test_every_row_opens(served: Desk, seq: int, key: str) -> None:
    session = served.store(story())
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await opened(deck, seq, key)
        assert f"#{5 if seq == 4 else seq}" in deck.rows[1]
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
        assert deck.status == "Nothing is marked to open: shift+tab, then up."
        assert isinstance(deck.app.screen, ChatScreen)
        await deck.press(*(["shift+tab"] if focused == "editor" else []), "up", "ctrl+o")
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


def test_every_kind_of_row_has_a_name() -> None:
    assert set(KINDS) == set(get_args(EntryKind))


async def test_the_events_stand_as_json(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await opened(deck, 4)
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
        await opened(deck, 4)
        await deck.says("by the model as the beginning of a file that holds it (#")
        await deck.press("u")
        await deck.until(lambda: not view.rewrites, "the old form")


async def test_what_a_compaction_took_is_told(served: Desk) -> None:
    session = served.store(story().compacted(DONE))
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await opened(deck, 2)
        await deck.says(
            "Seen by you only: a compaction (#9, 2026-01-01 12:07:00) took it out of the model's view."
        )


async def test_a_prompt_is_pinned_rewound_to_and_forked_from_here(served: Desk) -> None:
    session = served.store(story())
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await opened(deck, 7)
        assert "r rewind here   f fork here" in deck.text
        await deck.press("p")
        await deck.says("⚑ pinned")
        await opened(deck, 7)
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
        await opened(deck, 4)
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
