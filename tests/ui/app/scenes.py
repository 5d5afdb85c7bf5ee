"""Every screen and state worth looking at, reached by keys; for checks that must hold on all of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from textual.widgets import TabbedContent

from tests.ui.kit import Deck
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen, EditDialog
from tui_app.ui.dialogs.compaction import NAMES, CompactionDetail
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.filter import ThemePicker
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.imports import ImportScreen, TranscriptRow
from tui_app.ui.dialogs.memory import MemoryScreen
from tui_app.ui.dialogs.models import ModelPicker
from tui_app.ui.dialogs.search import SearchScreen
from tui_app.ui.dialogs.sessions import SessionsScreen
from tui_app.ui.dialogs.settings import SettingsScreen

Scene = Callable[[Deck], Awaitable[None]]


def opens(screen: type, *keys: str, command: str = "") -> Scene:
    """Keys, or a slash command, that lead to a screen."""

    async def scene(deck: Deck) -> None:
        if command:
            await deck.send(command)
        await deck.press(*keys)
        await deck.until(lambda: isinstance(deck.app.screen, screen), screen.__name__)

    return scene


async def detail(deck: Deck) -> None:
    """The compaction under the cursor, once all its tabs are filled."""
    await opens(CompactionDetail, "enter")(deck)
    await compared(deck)


async def compared(deck: Deck) -> None:
    """The views in front of a compaction and behind it have been read."""
    stayed = deck.app.screen.query_one(TabbedContent).get_tab("tab-stayed")

    def counted() -> bool:
        return str(stayed.label).endswith(" msg")

    await deck.until(counted, "both views")


async def nothing(deck: Deck) -> None:
    """As it opens."""


async def typed(deck: Deck) -> None:
    await deck.type("and what about public holidays?")


async def commands(deck: Deck) -> None:
    await deck.press("slash")
    await deck.settle()


async def conversation(deck: Deck) -> None:
    deck.transcript.focus()
    await deck.press("up")


async def unfolded(deck: Deck) -> None:
    deck.transcript.focus()
    for _ in range(12):
        await deck.press("up", "enter")
        if deck.app.screen is not deck.app.chat:
            await deck.press("escape")


async def timeline(deck: Deck) -> None:
    if not deck.app.chat.pane.timeline.display:
        await deck.press("ctrl+t")
    deck.app.chat.pane.timeline.focus()
    await deck.press("up")


async def compaction(deck: Deck) -> None:
    deck.transcript.jump_to(10)
    deck.transcript.focus()
    await detail(deck)


def tab(id: str) -> Scene:
    """A part of what a compaction did."""

    async def scene(deck: Deck) -> None:
        await compaction(deck)
        await deck.press(*["right_square_bracket"] * list(NAMES).index(id))
        await deck.until(lambda: deck.app.screen.query_one(TabbedContent).active == id, id)

    return scene


async def editing(deck: Deck) -> None:
    await opens(SettingsScreen, command="/settings window")(deck)
    await deck.until(lambda: deck.app.screen.query("OptionList"))
    await deck.press("enter")
    await deck.until(lambda: isinstance(deck.app.screen, EditDialog))
    await deck.press(*"3", "enter")
    await deck.says("at least 256.")


async def search(deck: Deck) -> None:
    await opens(SessionsScreen, command="/resume")(deck)
    await opens(SearchScreen, "f7")(deck)
    await deck.press(*"sunday")
    await deck.until(lambda: deck.app.screen.query_one("#search-list").option_count > 0, "the hits")


async def notice(deck: Deck) -> None:
    deck.app.chat.session.report("The server said something that must not be missed.")


async def imports(deck: Deck) -> None:
    """What is on the machine of whoever runs the tests is none of their business: a list of their own."""
    screen = ImportScreen()
    await deck.app.push_screen(screen)
    row = TranscriptRow(path="~/a.jsonl", program="codex", title="Tide notes", cwd="~", time=0.0, size=812)
    screen.show([row, replace(row, session="885c8680")])
    await deck.settle()


SCENES: Mapping[str, Scene] = {
    "chat": nothing,
    "draft": typed,
    "commands": commands,
    "conversation": conversation,
    "unfolded": unfolded,
    "timeline": timeline,
    "compaction": compaction,
    **{id.removeprefix("tab-"): tab(id) for id in NAMES if id != "tab-summary"},
    "notice": notice,
    "models": opens(ModelPicker, "ctrl+l"),
    "sessions": opens(SessionsScreen, command="/resume"),
    "imports": imports,
    "search": search,
    "context": opens(ContextScreen, "f3"),
    "help": opens(HelpScreen, "f1"),
    "status": opens(DetailsScreen, command="/status"),
    "notices": opens(DetailsScreen, "f2"),
    "settings": opens(SettingsScreen, command="/settings"),
    "edit": editing,
    "memory": opens(MemoryScreen, command="/memory"),
    "themes": opens(ThemePicker, command="/theme"),
    "clear": opens(ConfirmDialog, command="/clear"),
}
