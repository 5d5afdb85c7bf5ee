"""Showing and changing settings, one after the other, until the person closes the list."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_app.settings import SettingsError
from tui_app.settings.rules import Table
from tui_app.settings.spec import RULES, shown_store
from tui_app.settings.values import Effect, Entry
from tui_app.ui.screens.choice import ChoiceDialog, ThemePicker
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.screens.edit import EditDialog
from tui_app.ui.screens.settings import SettingsScreen, Wish, entry_note
from tui_app.ui.settings_desk import SettingsDesk

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp
    from tui_app.ui.chat_session import ChatSession

_CANCELLED = "Nothing was changed."


async def show_settings(app: "PlimsollApp", words: str) -> None:
    """List all settings and change what is asked for.

    Args:
        app: Shows the screens.
        words: What to filter the list by at first.
    """
    desk = SettingsDesk(app)
    try:
        await _list(app, desk, f"Settings · {desk.place}", desk.entries, words)
    except SettingsError as error:
        await _tell_of_file(app, error)


async def choose_theme(app: "PlimsollApp", session: "ChatSession", name: str) -> None:
    """Let the person pick a theme, or take the one named; it is written to the settings.

    Args:
        app: Shows the picker.
        session: Says what came of it.
        name: A theme; empty opens the picker.
    """
    desk = SettingsDesk(app)
    try:
        entry = desk.entry("theme")
        chosen = name or await _pick_theme(app, entry)
        if chosen:
            session.say(_keep_theme(app, desk, entry, chosen))
    except SettingsError as error:
        session.report(str(error))


async def _pick_theme(app: "PlimsollApp", entry: Entry) -> str:
    return await app.push_screen_wait(ThemePicker(entry.choices, entry.value, app.theme)) or ""


def _keep_theme(app: "PlimsollApp", desk: SettingsDesk, entry: Entry, name: str) -> str:
    """Write a theme to the settings, or use it for now where something ranks above them."""
    if not entry.origin.is_forced:
        return desk.change("theme", name) or f"Theme {name}, also from the next start on."
    if name not in entry.choices:
        return f"No theme {name}. Allowed: {entry.allowed}"
    app.theme = name
    return f"Theme {name} for now: {entry.origin.name} gives another one at the next start."


async def _list(
    app: "PlimsollApp", desk: SettingsDesk, title: str, entries: Callable[[], list[Entry]], words: str = ""
) -> None:
    screen = SettingsScreen(title, entries(), words)
    app.push_screen(screen)
    while wish := await screen.wanted():
        try:
            said, listed = await _grant(app, desk, wish), entries()
        except SettingsError as error:
            await _tell_of_file(app, error)
            continue
        screen.show(listed, said)
        if not screen.is_current:  # closed meanwhile
            app.chat.session.say(said)


async def _tell_of_file(app: "PlimsollApp", error: SettingsError) -> None:
    """Somebody changed the file by hand meanwhile."""
    await app.push_screen_wait(DetailsScreen("The settings file is wrong", str(error)))


async def _grant(app: "PlimsollApp", desk: SettingsDesk, wish: Wish) -> str:
    """Do what is wanted of a setting; what to say about it."""
    entry = wish.entry
    if entry.origin.is_forced and not entry.is_table:
        return f"{entry.key}: {entry.origin.name} gives it and ranks above the file. Change it there."
    if wish.reset:
        return desk.change(entry.key, None) or _built_in(desk, entry)
    if entry.is_table:
        await _show_table(app, desk, entry)
        return ""
    if entry.is_flag:
        return _change(desk, entry, "false" if entry.value == "true" else "true")
    if entry.choices:
        chosen = await app.push_screen_wait(_choices(app, entry))
        return _change(desk, entry, chosen) if chosen else _CANCELLED
    return await _ask(app, desk, entry)


def _choices(app: "PlimsollApp", entry: Entry) -> ChoiceDialog:
    if entry.key == "theme":
        return ThemePicker(entry.choices, entry.value, app.theme)
    return ChoiceDialog(entry.key, entry.choices, entry.value)


def _change(desk: SettingsDesk, entry: Entry, text: str) -> str:
    return desk.change(entry.key, text) or _done(desk, entry, f"is {text}")


async def _ask(app: "PlimsollApp", desk: SettingsDesk, entry: Entry) -> str:
    """Ask for a value until it is allowed or the person gives up; an empty one is the built-in value."""
    text, refused = "" if entry.value == "not set" else entry.value, ""
    while True:
        typed = await app.push_screen_wait(EditDialog(entry.key, entry_note(entry), text, refused))
        if typed is None:
            return _CANCELLED
        if entry.key == "store" and typed == entry.value:
            return _CANCELLED  # what is shown lacks the password
        refused = desk.change(entry.key, typed or None)
        if not refused:
            shown = shown_store(typed) if entry.key == "store" else typed
            return _done(desk, entry, f"is {shown}") if typed else _built_in(desk, entry)
        text = typed


async def _show_table(app: "PlimsollApp", desk: SettingsDesk, entry: Entry) -> None:
    if entry.key == "keymap":
        await _list(app, desk, f"Keys · {desk.place}", desk.key_entries)
        return
    lines = desk.table(entry.key) or ["None yet."]
    named = isinstance(RULES[entry.key], Table)
    how = f"Written in {desk.place}, below [{entry.key}{'.NAME' if named else ''}]."
    if entry.key == "hooks":
        how = f"Written in {desk.place} and nowhere else, below [[hooks.EVENT]]."
    text = "\n".join([entry.about.text, how, "docs/settings.md has all keys.", "", *lines])
    await app.push_screen_wait(DetailsScreen(entry.key, text))


def _done(desk: SettingsDesk, entry: Entry, what: str) -> str:
    return f"{entry.key} {what}{_when(entry)}. Written to {desk.place}"


def _built_in(desk: SettingsDesk, entry: Entry) -> str:
    return f"{entry.key} has its built-in value{_when(entry)}. Nothing in {desk.place} says otherwise."


def _when(entry: Entry) -> str:
    return "" if entry.about.effect is Effect.NOW else f", {entry.about.effect.value}"
