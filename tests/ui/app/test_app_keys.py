"""Keys: custom bindings, early keys, bursts, ambiguous keys of terminals, and their feedback."""

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from tests.ui.app.story import Story
from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.chat_keys import KEYS
from tui_app.session.lock import WriterLock
from tui_app.session.workspace import SessionFolder
from tui_app.settings import load_settings
from tui_app.ui.chat.follower import FREE
from tui_app.ui.dialogs import models
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.palette import PaletteScreen
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.setup.settings import SettingsScreen
from tui_app.ui.prompt.editor import DRAFT_CLEARED
from tui_app.ui.screen import ChatScreen
from tui_app.ui.terminal_input import keys_text, suggest_newline_key

# Custom bindings work while the prompt has a draft, and leave the draft unchanged.


DOCS = Path(__file__).parents[3] / "docs"


def documented() -> dict[str, str]:
    """The example key map in the documentation."""
    text = (DOCS / "keys.md").read_text(encoding="utf-8")
    keymap: dict[str, str] = tomllib.loads(text.partition("```toml")[2].partition("```")[0])["keymap"]
    return keymap


async def with_draft(deck: Deck, key: str) -> None:
    """Type a draft and press a key in the middle of it."""
    await deck.ready()
    await deck.type("hello harbour")
    deck.editor.move_cursor((0, 5))
    await deck.press(key)


async def test_the_documented_keys_compact_and_show_the_context(served: Desk) -> None:
    keymap = documented()
    assert sorted(keymap) == ["chat.compact", "chat.context"]
    served.change(keymap=keymap)
    async with shown(served.app(served.store(Story().turns(8)))) as deck:
        for key in keymap["chat.context"].split(","):
            await with_draft(deck, key)
            await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), key)
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is deck.app.chat)
            deck.editor.clear_draft()
        await with_draft(deck, keymap["chat.compact"])
        await deck.until(lambda: "compaction" in deck.kinds, "a compaction")
        assert deck.editor.draft == "hello harbour"
        assert f"{keymap['chat.compact']} compact" in deck.hints


@pytest.mark.parametrize("key", ["ctrl+a", "ctrl+e", "ctrl+w", "ctrl+u", "ctrl+k", "f5", "f6", "f7", "home"])
async def test_a_key_of_the_editor_acts_for_what_it_was_given_to(served: Desk, key: str) -> None:
    served.change(keymap={"chat.notices": key})
    async with shown(served.app()) as deck:
        await with_draft(deck, key)
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), key)
        assert deck.editor.draft == "hello harbour"


async def test_ctrl_z_is_the_shells_whatever_is_written(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("ctrl+z")
        await deck.says("Not suspended: there is no shell to return to.")
        await deck.type("hello harbour")
        await deck.press("ctrl+z")
        await deck.says("Not suspended: there is no shell to return to.")
        assert deck.editor.draft == "hello harbour"
        await deck.press("ctrl+underscore")
        await deck.until(lambda: deck.editor.draft != "hello harbour", "typing undone")


async def test_the_built_in_key_is_free_once_an_action_has_another(served: Desk) -> None:
    served.change(keymap={"chat.notices": "f6", "chat.help": "f2"})
    async with shown(served.app()) as deck:
        await with_draft(deck, "f2")
        await deck.until(lambda: isinstance(deck.app.screen, HelpScreen), "the help")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
        await deck.press("f1")
        await deck.settle()
        assert deck.app.screen is deck.app.chat


async def test_a_key_that_is_shared_as_built_in_still_closes_the_list_first(served: Desk) -> None:
    served.change(keymap={"chat.cancel": "escape,f9"})
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("/")
        await deck.until(lambda: "/compact" in deck.text)
        await deck.press("escape")
        await deck.until(lambda: "/compact" not in deck.text)
        assert deck.editor.draft == "/"


async def test_a_dialog_keeps_its_own_keys(served: Desk) -> None:
    served.change(keymap={"chat.notices": "f8"})
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/settings theme")
        await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen))
        await deck.press("f8")
        await deck.settle()
        assert isinstance(deck.app.screen, SettingsScreen)


def test_the_keys_that_settings_suggest_are_not_refused(desk: Desk) -> None:
    desk.paths.ensure()
    for key in KEYS:
        for suggested in ("ctrl+k", "f5", "ctrl+k,f5"):
            keymap = {key.id: suggested}
            assert load_settings(desk.paths, {}, {"keymap": keymap}).keymap == keymap


# Text typed after a key or command that opens a dialog goes to that dialog.


def heard(deck: Deck) -> str:
    """Text in the focused search box."""
    return deck.app.focused.value if isinstance(deck.app.focused, Input) else ""


def elsewhere(deck: Deck) -> bool:
    """Whether the requested screen is open and has focus."""
    focused = deck.app.focused
    return focused is not None and focused is not deck.editor


OPENING = [
    *([key] for key in ("ctrl+l", "f1", "question_mark", "ctrl+p", "ctrl+r", "ctrl+f")),
    *(["/", *command, "enter"] for command in ("model", "settings", "help", "prompts", "find")),
]


@pytest.mark.parametrize("start", [0, 6], ids=["keys", "commands"])
async def test_letters_behind_what_opens_a_search_are_searched_for(desk: Desk, start: int) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.editor.prompts.append("compact the tea")
        for keys in OPENING[start : start + 6]:
            await deck.hurry(*keys, *"com")
            await deck.until(lambda: heard(deck) == "com", f"the words in the search box of {keys}")
            assert deck.editor.is_empty, keys
            await deck.back()


SHOWING = (
    "approvals", "clear", "context", "history", "import", "mcp", "memory", "pin", "policy", "queue",
    "resume", "session checkpoints", "skills", "stats", "status", "theme",
)  # fmt: skip


async def test_nothing_behind_a_command_that_shows_something_is_sent(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        for command in SHOWING:
            await deck.type(f"/{command}")
            await deck.hurry("enter", *"xyz", "enter")
            await deck.until(lambda: deck.app.type_ahead.opening is None, "the keys let go")
            await deck.settle()
            assert "user" not in deck.kinds, command
            await deck.back()


@pytest.mark.parametrize("is_there", [False, True], ids=["opens", "is there"])
async def test_a_key_behind_the_one_that_closes_a_dialog_means_what_is_below(
    desk: Desk, is_there: bool
) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        if is_there:
            await deck.press("ctrl+p")
            await deck.until(lambda: elsewhere(deck), "the palette")
        else:
            deck.app.post_message(events.Key("ctrl+p", None))
        await deck.hurry("escape", "question_mark")
        await deck.until(lambda: isinstance(deck.app.screen, HelpScreen), "the keys")


async def test_letters_behind_f3_are_not_written_into_the_prompt(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("f3", "x", "enter")
        await deck.until(lambda: elsewhere(deck) and deck.app.type_ahead.opening is None, "the context")
        assert deck.editor.is_empty


async def test_enter_behind_a_key_that_opens_a_list_chooses_there(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("f1", *"/status", "enter")
        await deck.says("Policy")
        await deck.until(lambda: elsewhere(deck), "the status in words")
        assert deck.kinds == []


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """The search for models runs until this is set, and finds none."""
    found = asyncio.Event()

    async def look_up(*_: Any) -> None:
        await found.wait()

    monkeypatch.setattr(models, "look_up", look_up)
    return found


async def test_what_was_meant_for_something_that_never_opened_is_kept_and_not_sent(
    desk: Desk, looking: asyncio.Event
) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("ctrl+l", *"gpt", "enter", "a")
        assert deck.editor.is_empty
        looking.set()
        await deck.until(lambda: deck.editor.text == "gpt\na", "the words in the prompt")
        assert deck.kinds == []


async def test_escape_gives_up_what_is_opening(desk: Desk, looking: asyncio.Event) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("ctrl+l", *"gpt", "enter", "escape")
        await deck.until(lambda: deck.editor.text == "gpt\n", "the words in the prompt")
        assert isinstance(deck.app.screen, ChatScreen)
        await deck.press("a")
        assert deck.editor.text == "gpt\na"


async def test_a_paste_behind_the_key_goes_along(desk: Desk, looking: asyncio.Event) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.app.post_message(events.Key("ctrl+l", None))
        deck.app.post_message(events.Paste("two words"))
        await deck.hurry("a")
        assert deck.editor.is_empty
        looking.set()
        await deck.until(lambda: deck.editor.text == "two wordsa", "the paste in the prompt")


async def test_keys_behind_one_that_opens_from_the_conversation_wait_as_well(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.settle()
        await deck.hurry("f1", *"com")
        await deck.until(lambda: heard(deck) == "com", "the words in the search box")
        assert deck.editor.is_empty


async def test_what_is_held_when_the_program_ends_is_kept(desk: Desk, looking: asyncio.Event) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.hurry("ctrl+l", *"gpt")
        await deck.press("ctrl+q")
        await deck.until(lambda: deck.app._exit, "the end")
    assert "gpt" in desk.paths.unsent_file.read_text(encoding="utf-8")


async def test_what_is_written_behind_a_command_that_asks_goes_on_in_the_prompt(desk: Desk) -> None:
    async with shown(desk.app(desk.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.hurry(*"/clear", "enter", *"ok yes now")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.until(lambda: deck.app.type_ahead.opening is None, "the keys let go")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "ok yes now", "the words in the prompt")
        assert deck.kinds.count("user") == 1


async def test_keys_go_on_when_what_was_to_open_is_given_up_before_it_began(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.app.chat.action_slash("/status")
        deck.app.chat.action_slash("/undo")
        await deck.press(*"abc")
        await deck.until(lambda: deck.editor.text == "abc", "the letters")


# Keys for rows, typed in one go with the key that opens the list.


async def test_letters_behind_the_key_to_the_rows_act_on_rows(desk: Desk) -> None:
    async with shown(desk.app(desk.store(Story().turns(3))), (120, 40)) as deck:
        await deck.ready()
        await deck.hurry("tab", "up", "up", "v", "up", "v")
        assert deck.app.focused is deck.transcript
        assert deck.editor.text == ""
        assert "2 marked" in deck.hints


# Feedback stays in the status row until the next key has an effect.


REFUSED = "This row cannot be undone"


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story("ferries").user("how late?").answer("At eleven."))


@pytest.mark.parametrize("key", ["up", "tab", "z", "f3"])
async def test_a_refusal_goes_with_the_next_key_that_does_something(
    served: Desk, session: str, key: str
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        deck.transcript.jump_to(3)
        deck.transcript.focus()
        await deck.press("u")
        await deck.says(REFUSED)
        await deck.press("f10")
        await deck.settle()
        assert deck.status.startswith(REFUSED), "a key that does nothing leaves it"
        await deck.press(key)
        await deck.until(lambda: deck.status == "", "an empty row")


async def test_a_refusal_gives_way_to_the_next_one(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/unpin #2")
        await deck.says("#2 is not pinned.")
        await deck.send("/undo")
        await deck.says("Nothing to undo.")
        assert "#2 is not pinned." not in deck.status
        await deck.press("a")
        await deck.until(lambda: deck.status == "", "an empty row")


@pytest.mark.parametrize("key", ["up", "a"])
async def test_that_a_draft_was_cleared_is_not_said_for_ever(served: Desk, session: str, key: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.type("half a thought")
        await deck.press("ctrl+c")
        await deck.says(DRAFT_CLEARED)
        await deck.press(key)
        await deck.until(lambda: deck.status == "", "an empty row")
        assert deck.editor.text == ("half a thought" if key == "up" else "a")


async def test_what_stood_there_before_stands_there_again(served: Desk, session: str) -> None:
    lock = WriterLock(SessionFolder(served.paths.sessions_dir / session).lock_file)
    async with shown(served.app(session)) as deck:
        await deck.says("read-only here")
        await deck.type("half a thought")
        await deck.press("ctrl+c")
        await deck.says(DRAFT_CLEARED)
        await deck.press("a")
        await deck.until(lambda: "read-only here" in deck.status, "who writes")
        await deck.press("ctrl+c", "ctrl+g")
        lock.release()
        await deck.says(FREE)
        await deck.press("a")
        await deck.settle()
        assert deck.status == FREE


# A tmux that cannot tell shift+enter from enter: one notice, with the key that works.


NOTICE = "tmux sends shift+enter as enter: use ctrl+j."


def notices(deck: Deck) -> list[str]:
    return [each for each in deck.app.chat.session.state.notices if "tmux" in each]


async def test_it_is_said_once_and_never_again(desk: Desk) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        desk.env["TMUX"] = "/tmp/tmux-0/default"  # set here, so that a tmux around the test run is not used
        session = deck.app.chat.session
        await suggest_newline_key(session, ask=lambda name: {"extended-keys": "on"}[name])
        assert notices(deck) == []
        await suggest_newline_key(session, ask=lambda _: "off")
        await deck.until(lambda: notices(deck), "the notice")
        assert notices(deck)[0].startswith(NOTICE)
        assert NOTICE not in deck.status, "a matter of the terminal: no row of the chat"
        await suggest_newline_key(session, ask=lambda _: "off")
        assert len(notices(deck)) == 1
        await deck.says("1 notice")
        await deck.press("f2")
        await deck.says("extended-keys on")
        await deck.press("escape")
        await deck.until(lambda: "1 notice" not in deck.text, "nothing unread")


@pytest.mark.parametrize("env", [{}, {"TMUX": ""}])
async def test_outside_of_tmux_nobody_is_asked(desk: Desk, env: dict[str, str]) -> None:
    asked: list[str] = []
    desk.env.update(env)
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await suggest_newline_key(deck.app.chat.session, ask=lambda name: f"{asked.append(name)}")
    assert asked == []


def test_the_key_is_the_one_in_force() -> None:
    assert keys_text({}).startswith(NOTICE)
    assert "use f6." in keys_text({"prompt.newline": "f6"})
    assert "use another key (prompt.newline" in keys_text({"prompt.newline": "shift+enter"})


async def test_a_dialog_that_is_closed_before_it_is_built_closes_once_it_is(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        deck.app.action_command_palette()
        palette = deck.app.screen
        assert isinstance(palette, PaletteScreen)
        # A key meant for the screen below reaches the one on top.
        palette.action_back()
        await deck.until(lambda: deck.app.screen is deck.app.chat)
        await deck.press("ctrl+p")
        await deck.until(lambda: isinstance(deck.app.screen, PaletteScreen))
