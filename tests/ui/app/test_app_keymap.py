"""Keys of a person's own: they act with a draft in the prompt, and the draft stays as it is."""

import tomllib
from pathlib import Path

import pytest

from tests.ui.app.story import Story
from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.settings import load_settings
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.settings import SettingsScreen
from tui_app.ui.keys import KEYS

DOCS = Path(__file__).parents[3] / "docs"


def documented() -> dict[str, str]:
    """The key map that the documentation gives as an example."""
    text = (DOCS / "keys.md").read_text(encoding="utf-8")
    keymap: dict[str, str] = tomllib.loads(text.partition("```toml")[2].partition("```")[0])["keymap"]
    return keymap


async def with_draft(deck: Deck, key: str) -> None:
    """Write something and press a key in the middle of it."""
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
