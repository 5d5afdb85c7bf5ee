"""The palette: every action of the chat and of what has the focus, once, with its key."""

from collections import Counter
from inspect import isawaitable

import pytest
from textual.app import SystemCommand
from textual.command import CommandPalette

from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen, EditDialog
from tui_app.ui.dialogs.help import command_of, fixed_rows, help_rows
from tui_app.ui.dialogs.palette import own_bindings
from tui_app.ui.dialogs.sessions import SessionsScreen
from tui_app.ui.keys import KEYS, key_labels
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript

NOW_AND_THEN = {"prompt.complete", "prompt.close_list", "prompt.expand"}
"""Mean something only while a list is open or a paste is at the cursor."""


def offered(deck: Deck) -> dict[str, SystemCommand]:
    rows = list(deck.app.get_system_commands(deck.app.chat))
    assert [title for title, count in Counter(row.title for row in rows).items() if count > 1] == []
    return {row.title: row for row in rows}


def story() -> Story:
    return Story().user("When?").tool("read_file", '{"path": "tide.txt"}', "high water " * 900).answer("Now.")


async def test_every_key_of_the_chat_is_in_palette_and_help(served: Desk) -> None:
    told = {(row.text, row.label) for row in help_rows({})}
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        rows = offered(deck)
        for key in KEYS:
            if key.id == "app.palette" or key.id in NOW_AND_THEN:
                continue
            command = command_of(key)
            row = rows[f"/{command.name}" if command is not None else key.description]
            assert key_labels(key.key) in row.help, key.id
            assert command is not None or key.tooltip in row.help
            assert (key.description, key_labels(key.key)) in told


async def test_every_key_of_the_focused_list_is_in_palette_and_help(served: Desk) -> None:
    told = {(row.text, row.label) for row in fixed_rows()}
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        for kind in (Transcript, Timeline):
            deck.app.chat.query_one(kind).focus()
            await deck.settle()
            await deck.press("up", *(["v"] if kind is Transcript else []))
            rows = offered(deck)
            for binding in own_bindings(kind):
                assert binding.description in rows, binding.id
                assert key_labels(binding.key) in rows[binding.description].help
                assert (binding.description, key_labels(binding.key)) in told


async def test_textual_offers_nothing_in_words_of_its_own(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        assert {"Quit", "Theme", "Keys", "Screenshot", "Maximize"} & set(offered(deck)) == set()


async def choose(deck: Deck, words: str) -> None:
    await deck.press("ctrl+p")
    await deck.until(lambda: deck.app.screen is not deck.app.chat, "the palette")
    await deck.press(*words)
    await deck.until(lambda: "No matches" not in deck.text)
    await deck.press("enter")


async def test_actions_are_run_from_the_palette(served: Desk) -> None:
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        shown_before = deck.app.chat.pane.timeline.display
        await choose(deck, "timeline")
        await deck.until(lambda: deck.app.chat.pane.timeline.display != shown_before, "the other state")
        await choose(deck, "notices")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)


async def test_marked_rows_are_archived_from_the_palette(served: Desk) -> None:
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.settle()
        await deck.press("up", "up", "v")
        assert [entry.kind for entry in deck.transcript.marked] == ["tool"]
        view = deck.app.chat.session.presenter.agent_view
        await choose(deck, "archive")
        await deck.until(lambda: view.rewrites, "the archived result")


ON_ROWS = [
    "Mark",
    "Pin or unpin",
    "Copy as text",
    "Archive",
    "Offload",
    "Undo compaction",
    "Compact up to here",
]


@pytest.mark.parametrize("action", ON_ROWS)
async def test_what_is_done_with_rows_is_offered_before_there_is_one_and_says_so(
    served: Desk, action: str
) -> None:
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        assert {"Previous entry", "Mark upwards"}.isdisjoint(offered(deck)), "walking needs the list"
        done = offered(deck)[action].callback()
        if isawaitable(done):
            await done
        await deck.says("No row is marked: shift+tab, then up, goes to one.")


async def test_a_key_of_ones_own_is_named(served: Desk) -> None:
    served.change(keymap={"chat.notices": "f6", "chat.compact": "ctrl+k"})
    async with shown(served.app()) as deck:
        await deck.ready()
        rows = offered(deck)
        assert rows["Notices"].help.startswith("f6 ")
        assert rows["/compact"].help.startswith("ctrl+k ")


async def test_in_a_dialog_the_palette_offers_what_its_keys_do(served: Desk) -> None:
    first = served.store(Story("Tide notes").user("When?").answer("Now."))
    served.store(story())
    async with shown(served.app(first), USUAL) as deck:
        await deck.ready()
        await deck.send("/sessions")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the sessions")
        dialog = deck.app.screen
        rows = {row.title: row.help for row in deck.app.get_system_commands(dialog)}
        assert {"Rename", "Close"} <= set(rows)
        assert "Command palette" not in rows, "it is open"
        assert not any(title.startswith("/") for title in rows)
        await deck.press("ctrl+p")
        await deck.until(lambda: deck.app.screen is not dialog, "the palette")
        await deck.press(*"rename")
        await deck.until(lambda: "No matches" not in deck.text)
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the new title")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the sessions again")
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        asked = [row.title for row in deck.app.get_system_commands(deck.app.screen)]
        assert "Close" in asked
        assert len(asked) == len(set(asked)) > 2


@pytest.mark.parametrize(
    ("wanted", "offered"),
    [("cost", "/stats"), ("new session", "/new"), ("keys", "/settings"), ("word for word", "/pin")],
)
async def test_a_command_is_found_by_what_it_is_for(desk: Desk, wanted: str, offered: str) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        await deck.press("ctrl+p")
        await deck.until(lambda: isinstance(deck.app.screen, CommandPalette), "the palette")
        await deck.press(*("space" if sign == " " else sign for sign in wanted))
        await deck.says(offered)
