"""Looks of screens without a look elsewhere, and of unusual terminals."""

import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.docs.test_screens_pages import screens
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app import scenes
from tests.ui.app.scenes import (
    SCENES,
    Scene,
    agents,
    compacted_talk,
    files_of_branch,
    merge_brief,
    opens,
    queue,
    talk,
)
from tests.ui.app.story import MODEL
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tests.ui.looks import Looks, sizes
from tui_app.events import Error
from tui_app.paths import Paths
from tui_app.ui.dialogs.compactions.checkpoints import CheckpointsScreen
from tui_app.ui.dialogs.list import ChoiceDialog
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.dialogs.sessions.prompts import PromptsScreen
from tui_app.ui.dialogs.sessions.rewind import PromptPicker
from tui_app.ui.dialogs.setup.settings import SettingsScreen
from tui_app.ui.dialogs.stats import StatsScreen

VERY_WIDE, TOO_SMALL = (240, 60), (39, 11)


class Here(Desk):
    """A desk with relative folder names, so that no look contains the folder of the test run."""

    @property
    def paths(self) -> Paths:
        return Paths(*(self.home / name for name in ("config", "data", "state", "cache")))


async def rewind(deck: Deck) -> None:
    await opens(PromptPicker, command="/rewind")(deck)
    await deck.says("would leave")


async def fork(deck: Deck) -> None:
    await opens(PromptPicker, command="/fork")(deck)
    await deck.says("This session stays")


async def keymap(deck: Deck) -> None:
    """The key bindings from the settings."""
    await opens(SettingsScreen, command="/settings keymap")(deck)
    await deck.press("enter")
    await deck.says("chat.compact")


async def clash(deck: Deck) -> None:
    """A key bound to two actions."""
    await keymap(deck)
    await deck.press(*"chat.compact", "enter")
    await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the field")
    deck.app.screen.query_one(Input).value = "ctrl+l"
    await deck.press("enter")
    await deck.says("ctrl+l is a key of chat.models")


async def palette(deck: Deck) -> None:
    await deck.press("ctrl+p")
    await deck.says("/compact")


ASIDE: dict[str, Scene] = {
    **{
        name: SCENES[name]
        for name in ("settings", "edit", "themes", "clear", "status", "notices", "reading", "asking")
    },
    "checkpoints": opens(CheckpointsScreen, command="/session checkpoints"),
    "palette": palette,
    "fork": fork,
    "keymap": keymap,
    "clash": clash,
    "agents": agents,
    "merge": merge_brief,
    "merge-files": files_of_branch,
}
"""Screens without a look elsewhere."""
SHOWN: dict[str, Scene] = {
    **{name: SCENES[name] for name in ("chat", "commands", "models", "sessions", "context", "help")},
    "rewind": rewind,
    "queue": queue,
    "stats": opens(StatsScreen, command="/stats"),
    "prompts": opens(PromptsScreen, "ctrl+r"),
    "timeline": SCENES["timeline"],
}
"""Screens that other looks contain too."""


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
    """A session with tool calls, a compaction and an error, and a second session."""
    desk.store(talk())
    error = Error(kind="auth", message="The key was refused.", hint="Set OPENAI_API_KEY.", detail="401")
    return desk.store(compacted_talk().user("and holidays").add(error))


Look = Callable[..., Awaitable[None]]


@pytest.fixture
def look(here: Here, looks: Looks, fixed: None) -> Look:
    """Open a stored session, press keys and compare the look."""

    async def compare(scene: Scene, *terminal: Sequence[Any], **settings: Any) -> None:
        here.change(**settings)
        if "theme" in settings:
            # The settings screens show which files settings come from.
            here.paths.config_file.parent.mkdir(parents=True)
            here.paths.config_file.write_text(f'theme = "{settings["theme"]}"\n', encoding="utf-8")

        async def play(deck: Deck) -> None:
            await deck.ready()
            await scene(deck)
            await deck.settle()

        await looks(here.app(stored(here)), play, *terminal)

    return compare


def test_every_screen_has_a_look() -> None:
    """Add a look for each new screen, here or in its own file."""
    files = [*Path(__file__).parent.glob("test_looks_*.py"), Path(scenes.__file__)]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    # The chat is below every screen; one is opened by keys in the looks of the chat; one is a question.
    known = {"ChatScreen", "MessageScreen", "ChoiceDialog"}
    assert [name for name in screens() - known if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("scene", ASIDE)
async def test_screen(look: Look, scene: str) -> None:
    await look(ASIDE[scene])


@sizes
async def test_policies(look: Look, size: tuple[int, int]) -> None:
    await look(opens(ChoiceDialog, command="/policy"), [size])


@pytest.mark.parametrize("scene", ["chat", "settings", "themes", "palette"])
async def test_started_light(look: Look, scene: str) -> None:
    """The settings select the theme, which some screens show."""
    await look({**ASIDE, **SHOWN}[scene], [WIDE, USUAL], ["light"], theme="plimsoll-light")


@pytest.mark.parametrize("scene", ["chat", "context", "settings", "models"])
async def test_very_wide(look: Look, scene: str) -> None:
    await look({**ASIDE, **SHOWN}[scene], [VERY_WIDE], ["dark"])


@pytest.mark.parametrize("scene", ["context", "settings", "models", "sessions", "clear", "stats", "rewind"])
async def test_tiny(look: Look, scene: str) -> None:
    await look({**ASIDE, **SHOWN}[scene], [SMALL], ["dark"])


async def test_no_column_of_a_tiny_list_is_only_an_ellipsis(here: Here) -> None:
    async with shown(here.app(stored(here)), SMALL) as deck:
        await deck.ready()
        for scene in ("models", "sessions", "rewind"):
            await SHOWN[scene](deck)
            assert [row for row in deck.rows if re.search(r" …\s*(│|$)", row)] == []
            await deck.back()


async def test_too_small(look: Look) -> None:
    await look(SHOWN["chat"], [TOO_SMALL], ["dark"])


@pytest.mark.parametrize("scene", ["context", "stats", "settings"])
async def test_plain(look: Look, scene: str) -> None:
    await look({**ASIDE, **SHOWN}[scene], [USUAL], ["dark"], plain=True)


@pytest.mark.parametrize("scene", ["chat", "models", "clear"])
async def test_without_colour(look: Look, monkeypatch: pytest.MonkeyPatch, scene: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    await look({**ASIDE, **SHOWN}[scene], [WIDE, USUAL], ["dark"], color=False)
