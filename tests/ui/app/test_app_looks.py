"""What every screen looks like in both themes, in two usual sizes and in unusual ones.

After a wanted change run this file with ``--snapshot-update`` and look at the pictures before keeping them.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.docs.test_screens_pages import screens
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import SCENES, Scene, opens
from tests.ui.app.story import MODEL
from tests.ui.app.test_app_snapshots import _fixed, compacted_talk, talk
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.events import Error
from tui_app.paths import Paths
from tui_app.ui.dialogs.base import DetailsScreen, EditDialog
from tui_app.ui.dialogs.compaction import CheckpointsScreen
from tui_app.ui.dialogs.prompts import PromptsScreen
from tui_app.ui.dialogs.queue import QueueScreen
from tui_app.ui.dialogs.rewind import PromptPicker
from tui_app.ui.dialogs.settings import SettingsScreen
from tui_app.ui.dialogs.stats import StatsScreen

__all__ = ["_fixed"]

Compare = Callable[..., bool]
HERE = Path(__file__).parent
VERY_WIDE, TOO_SMALL = (240, 60), (39, 11)


class Here(Desk):
    """A desk whose folders are named relatively, so that no picture shows where the tests run."""

    @property
    def paths(self) -> Paths:
        return Paths(*(self.home / name for name in ("config", "data", "state", "cache")))


async def rewind(deck: Deck) -> None:
    await opens(PromptPicker, command="/rewind")(deck)
    await deck.says("would leave")


async def fork(deck: Deck) -> None:
    await opens(PromptPicker, command="/fork")(deck)
    await deck.says("This session stays as it is.")


async def keymap(deck: Deck) -> None:
    """The keys of every action, from the settings."""
    await opens(SettingsScreen, command="/settings keymap")(deck)
    await deck.press("enter")
    await deck.says("chat.compact")


async def clash(deck: Deck) -> None:
    """A key that another action has."""
    await keymap(deck)
    await deck.press(*"chat.compact", "enter")
    await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the field")
    deck.app.screen.query_one(Input).value = "ctrl+l"
    await deck.press("enter")
    await deck.says("ctrl+l is a key of chat.models")


async def queue(deck: Deck) -> None:
    session = deck.app.chat.session
    waiting = ("second, which is longer " * 8, "third\nwith [b]two[/b] lines", "/compact")
    session.presenter.update(replace(session.state, queue=waiting, paused=True))
    await opens(QueueScreen, command="/queue")(deck)


async def palette(deck: Deck) -> None:
    await deck.press("ctrl+p")
    await deck.says("/compact")


ASIDE: dict[str, Scene] = {
    **{name: SCENES[name] for name in ("settings", "edit", "themes", "clear", "status", "notices")},
    "policies": opens(DetailsScreen, command="/policy"),
    "checkpoints": opens(CheckpointsScreen, command="/session checkpoints"),
    "palette": palette,
    "fork": fork,
    "keymap": keymap,
    "clash": clash,
}
"""Screens that no other picture shows."""
SHOWN: dict[str, Scene] = {
    **{name: SCENES[name] for name in ("chat", "commands", "models", "sessions", "context", "help")},
    "rewind": rewind,
    "queue": queue,
    "stats": opens(StatsScreen, command="/stats"),
    "prompts": opens(PromptsScreen, "ctrl+r"),
    "timeline": SCENES["timeline"],
}
"""Screens that ``test_app_snapshots`` shows in the dark theme."""


@pytest.fixture
def here(
    plimsoll_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_openai: FakeOpenAI
) -> Here:
    monkeypatch.chdir(tmp_path)
    desk = Here(home=Path("home"), cwd=Path("ferry-timetable"))
    desk.cwd.mkdir()
    desk.serve(fake_openai).change(model=MODEL)
    return desk


def stored(desk: Desk) -> str:
    """A session with tools, a compaction and an error, beside another one."""
    desk.store(talk())
    error = Error(kind="auth", message="The key was refused.", hint="Set OPENAI_API_KEY.", detail="401")
    return desk.store(compacted_talk().user("and holidays").add(error))


@pytest.fixture
def look(here: Here, snap_compare: Compare) -> Callable[..., bool]:
    """Compare the screen of a stored session, after some keys, with its picture."""

    def compare(size: tuple[int, int], scene: Scene, **settings: Any) -> bool:
        here.change(**settings)
        if "theme" in settings:
            # The screens about settings read where settings come from.
            here.paths.config_file.parent.mkdir(parents=True)
            here.paths.config_file.write_text(f'theme = "{settings["theme"]}"\n', encoding="utf-8")
        app = here.app(stored(here))

        async def play(pilot: "Pilot[Any]") -> None:
            deck = Deck(app, pilot)
            await deck.ready()
            await scene(deck)
            await deck.settle()

        return snap_compare(app, terminal_size=size, run_before=play)

    return compare


sizes = pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])


def test_every_screen_has_a_picture() -> None:
    """New screens get one here or in a file of their own."""
    texts = [file.read_text(encoding="utf-8") for file in HERE.glob("*.py")]
    text = "\n".join(text for text in texts if "snap_compare" in text or "SCENES" in text)
    # The chat stands behind every one of them; one is opened by keys in ``test_app_steering_snapshots``.
    known = {"ChatScreen", "MessageScreen"}
    assert [name for name in screens() - known if not re.search(rf"\b{name}\b", text)] == []


@sizes
@pytest.mark.parametrize("scene", ASIDE)
def test_dark(look: Compare, scene: str, size: tuple[int, int]) -> None:
    assert look(size, ASIDE[scene])


@sizes
@pytest.mark.parametrize("scene", [*ASIDE, *SHOWN])
def test_light(look: Compare, scene: str, size: tuple[int, int]) -> None:
    assert look(size, {**ASIDE, **SHOWN}[scene], theme="plimsoll-light")


@pytest.mark.parametrize("scene", ["chat", "context", "settings", "models"])
def test_very_wide(look: Compare, scene: str) -> None:
    assert look(VERY_WIDE, {**ASIDE, **SHOWN}[scene])


@pytest.mark.parametrize("scene", ["context", "settings", "models", "sessions", "clear", "stats", "rewind"])
def test_tiny(look: Compare, scene: str) -> None:
    assert look(SMALL, {**ASIDE, **SHOWN}[scene])


@pytest.mark.parametrize("scene", ["models", "sessions", "rewind"])
async def test_no_column_of_a_tiny_list_is_only_an_ellipsis(here: Here, scene: str) -> None:
    async with shown(here.app(stored(here)), SMALL) as deck:
        await deck.ready()
        await {**ASIDE, **SHOWN}[scene](deck)
        assert [row for row in deck.rows if re.search(r" …\s*(│|$)", row)] == []


def test_too_small(look: Compare) -> None:
    assert look(TOO_SMALL, SHOWN["chat"])


@pytest.mark.parametrize("scene", ["context", "stats", "settings"])
def test_plain(look: Compare, scene: str) -> None:
    assert look(USUAL, {**ASIDE, **SHOWN}[scene], plain=True)


@sizes
@pytest.mark.parametrize("scene", ["chat", "models", "clear"])
def test_without_colour(
    look: Compare, monkeypatch: pytest.MonkeyPatch, scene: str, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert look(size, {**ASIDE, **SHOWN}[scene], color=False)
