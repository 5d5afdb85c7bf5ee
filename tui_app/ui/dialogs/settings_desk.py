"""Changing settings of the running program: written to the file, and in effect at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui_app.refusals import Refusal
from tui_app.settings import SettingsError
from tui_app.settings.edit import SettingsFile
from tui_app.settings.entries import Entry, entries, key_entries, table_lines
from tui_app.settings.rules import Effect, Table
from tui_app.settings.sources import Source
from tui_app.settings.spec import SETTINGS, Settings, shown_store
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.colours.themes import own_themes
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.list import ChoiceDialog
from tui_app.ui.dialogs.questions import typed
from tui_app.ui.keyboard.keys import textual_keymap
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host
from tui_app.ui.dialogs.setup.settings import SettingsScreen, ThemePicker, entry_note


class SettingsDesk:
    """Changes settings of the running application.

    Args:
        app: The application; the changes apply to sessions started from now on.
    """

    def __init__(self, app: "Host") -> None:
        self.app, launch = app, app.launch
        self._file = SettingsFile(launch.paths, launch.env, launch.flags)
        self.place = str(launch.paths.config_file)

    def entries(self, of: Callable[[Settings, Sequence[Source]], list[Entry]] = entries) -> list[Entry]:
        """Return every setting, or a list derived from all of them, as it is now.

        Raises ``SettingsError``.
        """
        return of(self._file.settings(), self._file.sources())

    def entry(self, key: str) -> Entry:
        """Return a setting as it is now. Raises ``SettingsError``."""
        return next(entry for entry in self.entries() if entry.key == key)

    def table(self, key: str) -> list[str]:
        """Return a complete table, as lines. Raises ``SettingsError``."""
        assert key in SETTINGS
        return table_lines(getattr(self._file.settings(), key))

    def change(self, key: str, text: str | None) -> str:
        """Write a value to the file and apply it.

        Args:
            key: A setting, or with a dot an entry of its table.
            text: The value as the user writes it; None restores the default.

        Returns:
            Why it was not possible, in words; empty if it was.
        """
        try:
            settings = self._file.unset(key) if text is None else self._file.set(key, text)
        except SettingsError as error:
            # The user who has just entered the value knows its source.
            reason = str(error).removeprefix(f"{self.place}, environment or command line: ")
            return reason.removeprefix(f"{self.place}: ")
        except OSError as error:
            return f"{self.place} cannot be written: {error.strerror or error}. Nothing was changed."
        app, before = self.app, self.app.launch.settings
        # Sessions of two stores must not be mixed in one list, so another store applies at the next start.
        app.launch = replace(app.launch, settings=replace(settings, store=before.store))
        for theme in own_themes(settings.themes):
            app.register_theme(theme)
        if settings.theme != before.theme:
            app.theme = settings.theme
        still = settings.plain or not settings.animations
        app.animation_level = "none" if still else "full"
        app.terminal_title.bell_after_s = settings.bell_after_s
        app.terminal_title.notify = settings.notify
        if settings.review != before.review and app.chat.is_ready:
            app.chat.session.ask_about(settings.review)
        pane = app.chat.pane
        if settings.timeline != before.timeline:
            pane.set_class(settings.timeline, "-timeline")
        pane.prompt.editor.vim_keys = settings.vim_keys
        if settings.keymap != before.keymap:
            app.set_keymap(textual_keymap(settings.keymap))
            pane.use_keymap(settings.keymap)
        return ""


_CANCELLED = "Nothing was changed."


async def show_settings(app: "Host", words: str) -> None:
    """List all settings and apply the requested changes.

    Args:
        app: Shows the screens.
        words: Initial filter.
    """
    desk = SettingsDesk(app)
    try:
        await _list(app, desk, f"Settings · {desk.place}", desk.entries, words)
    except SettingsError as error:
        await report_file_error(app, error)


async def choose_theme(app: "Host", session: "ChatSession", name: str) -> None:
    """Let the user pick a theme, or use the named one; it is written to the settings.

    Args:
        app: Shows the picker.
        session: Reports the result.
        name: A theme; empty opens the picker.
    """
    desk = SettingsDesk(app)
    try:
        entry = desk.entry("theme")
        picker = ThemePicker(entry.choices, entry.value, app.theme)
        if not (chosen := name or await app.push_screen_wait(picker)):
            return
        if chosen not in entry.choices:
            raise Refusal(f"No theme {one_line(chosen, 20)}. /theme lists them.")
        if entry.origin.is_forced:
            app.theme = chosen
            session.reply(f"Theme {chosen} for now: {entry.origin.name} gives another one at the next start.")
        elif refused := desk.change("theme", chosen):
            raise Refusal(refused)
        else:
            session.reply(f"Theme {chosen}, saved for the next start.")
    except SettingsError as error:
        session.report(str(error))


async def _list(
    app: "Host", desk: SettingsDesk, title: str, entries: Callable[[], list[Entry]], words: str = ""
) -> None:
    screen = SettingsScreen(title, entries(), words)
    app.push_screen(screen)
    while (wish := await screen.next_request()) and wish.row is not None:
        try:
            reply, listed = await _grant(app, desk, wish.row, reset=wish.what == "reset"), entries()
        except SettingsError as error:
            await report_file_error(app, error)
            continue
        screen.show(listed, reply)
        if not screen.is_current:  # closed meanwhile
            app.chat.session.reply(reply)


async def report_file_error(app: "Host", error: SettingsError) -> None:
    """Report that the file, which was edited meanwhile, is wrong."""
    await app.push_screen_wait(DetailsScreen("The settings file is wrong", str(error)))


async def _grant(app: "Host", desk: SettingsDesk, entry: Entry, *, reset: bool) -> str:
    if entry.origin.is_forced and not entry.is_table:
        return f"{entry.key}: {entry.origin.name} sets it and overrides the file. Change it there."
    if reset:
        return _change(desk, entry, None)
    if entry.is_table:
        await _show_table(app, desk, entry)
        return ""
    if entry.is_flag:
        return _change(desk, entry, "false" if entry.value == "true" else "true")
    if entry.choices:
        dialog = ChoiceDialog(entry.key, entry.choices, entry.value)
        if entry.key == "theme":
            dialog = ThemePicker(entry.choices, entry.value, app.theme)
        chosen = await app.push_screen_wait(dialog)
        return _change(desk, entry, chosen) if chosen else _CANCELLED
    # The displayed address of a store lacks the password.
    same = entry.value if entry.key == "store" else None

    async def take(text: str) -> str:
        return "" if text == same else desk.change(entry.key, text or None)

    text = await typed(app, entry.key, entry_note(entry), "" if entry.is_unset else entry.value, take)
    if text is None or text == same:
        return _CANCELLED
    return _changed(desk, entry, shown_store(text) if entry.key == "store" else text)


def _change(desk: SettingsDesk, entry: Entry, text: str | None) -> str:
    return desk.change(entry.key, text) or _changed(desk, entry, text)


def _changed(desk: SettingsDesk, entry: Entry, text: str | None) -> str:
    when = "" if entry.takes_effect is Effect.NOW else f", {entry.takes_effect.value}"
    if text:
        return f"{entry.key} is {text}{when}. Written to {desk.place}"
    return f"{entry.key} is at its default{when}. {desk.place} does not set it."


async def _show_table(app: "Host", desk: SettingsDesk, entry: Entry) -> None:
    if entry.key == "keymap":
        await _list(app, desk, f"Keys · {desk.place}", partial(desk.entries, key_entries))
        return
    lines = desk.table(entry.key) or ["None yet."]
    named = isinstance(SETTINGS[entry.key].rule, Table)
    how = f"Written in {desk.place}, below [{entry.key}{'.NAME' if named else ''}]."
    if entry.key == "hooks":
        how = f"Written in {desk.place} and nowhere else, below [[hooks.EVENT]]."
    text = "\n".join([entry.help, how, "docs/settings.md has all keys.", "", *lines])
    await app.push_screen_wait(DetailsScreen(entry.key, text))
