"""Settings, or the keys of actions, as a list: what is in force, where it comes from, what is allowed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.color import Color
from textual.theme import Theme

from tui_app.settings import SettingsError
from tui_app.settings.edit import SettingsFile
from tui_app.settings.rules import Effect, Table
from tui_app.settings.spec import SETTINGS, shown_store
from tui_app.settings.values import Entry, entries, key_entries, table_lines
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.list import ChoiceDialog, ListSpec, OpenList
from tui_app.ui.dialogs.questions import typed
from tui_app.ui.keys import textual_keymap
from tui_app.ui.tables import Column
from tui_app.ui.text import one_line, padded, window_text
from tui_app.ui.themes import MIN_CONTRAST, contrast, own_themes

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_UNITS = {"_s": " s", "_mb": " MB", "retries": " time", "max_steps": " request", "window": " tokens"}
"""What is written behind a number, by the end of its name."""
_ZEROS = {"bell_after_s": "never", "retries": "never", "_mb": "no limit"}
"""What the number 0 means, where it is not none of them."""


def value_text(entry: Entry) -> str:
    """What is in force, with its unit."""
    if entry.is_unset:
        return entry.otherwise or entry.value
    if entry.is_flag:
        return "on" if entry.value == "true" else "off"
    if entry.value in ("0", "0.0") and (zero := _named_by(entry.key, _ZEROS)):
        return zero
    if unit := _named_by(entry.key, _UNITS):
        number = float(entry.value)
        if unit == " tokens":
            return f"{window_text(int(number))}{unit}"
        many = "s" if unit in (" time", " request") and number != 1 else ""
        return f"{number:,g}{unit}{many}" + (" a turn" if unit == " request" else "")
    if entry.key.endswith("_threshold"):
        return f"{round(float(entry.value) * 100)}%"
    return entry.value


def _named_by(key: str, words: Mapping[str, str]) -> str:
    return next((word for end, word in words.items() if key.endswith(end)), "")


def entry_note(entry: Entry) -> str:
    """What the marked setting is for, what it may be, and when a change counts."""
    first = one_line(entry.help, 200)
    if entry.origin.is_forced:
        second = f"{entry.origin.name} sets it and overrides the file: change it there."
    else:
        second = f"Takes effect {entry.takes_effect.value}."
    return "\n".join(part for part in (first, f"Allowed: {entry.allowed}", second) if part)


def is_changed(entry: Entry) -> bool:
    """Whether it has another value than the built-in one."""
    return entry.origin.kind != "default"


class SettingsScreen(OpenList[Entry], place="settings", style="settings", size="-full"):
    """Wants to change a setting, or to ``reset`` it to its built-in value."""

    def __init__(self, title: str, entries: Sequence[Entry], words: str = "") -> None:
        """List settings.

        Args:
            title: First row.
            entries: The settings as they stand.
            words: What to filter by at first.
        """
        beginning: set[str] = set()
        self._beginning = beginning
        """Keys of the settings that begin a section."""

        def head(row: Entry) -> str:
            return row.section if row.key in beginning else ""

        spec = ListSpec[Entry](
            name="settings",
            search="filter by name, value, source or purpose",
            columns=(
                *([Column(head, 10, "bold", leaves_at=60)] if entries[:1] and entries[0].section else []),
                Column(lambda row: row.key.removeprefix("keymap."), 24, share=2),
                Column(value_text, tone=lambda row: "bold $text-accent" if is_changed(row) else ""),
                Column(source_text, 22, snug=True, leaves_at=60),
            ),
            title=lambda _: one_line(title, 200),
            words=lambda row: f"{row.key} {row.value} {row.source} {row.help}",
            note=entry_note,
            empty="No matching setting.",
            section=lambda row: row.section,
            key=lambda row: row.key,
        )
        super().__init__(entries, spec)
        self.written = words

    def list_rows(self, rows: Sequence[Entry]) -> None:
        """List settings, each section named at its first row."""
        before = ["", *(row.section for row in rows)]
        self._beginning.clear()
        self._beginning.update(
            row.key for row, section in zip(rows, before, strict=False) if row.section != section
        )
        super().list_rows(rows)


def source_text(entry: Entry) -> str:
    """Where a value that is the user's comes from."""
    return padded(one_line(entry.source, 20), 20) if is_changed(entry) else ""


class ThemePicker(ChoiceDialog):
    """Paints everything in the marked theme; Esc brings the one from before back."""

    def __init__(self, words: Sequence[str], current: str, painted: str) -> None:
        """Offer themes.

        Args:
            words: Their names.
            current: The one in the settings.
            painted: The one on the screen, which Esc brings back.
        """
        super().__init__("Theme", words, current)
        self._painted = painted
        self._decided = False

    def explain(self, row: str) -> None:
        """Paint in the theme, and say how well it can be read."""
        super().explain(row)
        # The message that a row is marked may come after the decision.
        if not self._decided:
            self.app.theme = row
            painted = self.app.current_theme
            # Only here it is another one: the terminal has no colours of which one would be its own.
            alike = "" if painted.name == row else _ALIKE.format("dark" if painted.dark else "light")
            self.note(f"{theme_note(painted)}{alike}")

    def use(self, row: str) -> None:
        self._decided = True
        self.app.theme = row
        super().use(row)

    def action_close(self) -> None:
        """Bring the theme from before back."""
        self._decided = True
        self.app.theme = self._painted
        super().action_close()


_ALIKE = ". This terminal has 16 colours: all {} themes look the same in it."


def theme_note(theme: Theme) -> str:
    """Light or dark, and the contrast of its text in words and numbers."""
    kind = "dark" if theme.dark else "light"
    colours = theme.to_color_system().generate()
    text, ground = Color.parse(colours["foreground"]), Color.parse(colours["background"])
    if text.ansi is not None or ground.ansi is not None:
        return f"{kind}; the terminal's own colours"
    ratio = contrast(text.blend(ground, 1 - text.a), ground)
    judged = "" if ratio >= MIN_CONTRAST else f", hard to read below {MIN_CONTRAST}:1"
    return f"{kind}; text on its background {ratio:.1f}:1{judged}"


# The settings as the running program has them: shown, changed in the file, and put into effect at once.


class SettingsDesk:
    """Changes settings of an application that runs.

    Args:
        app: The application; sessions begun from now on get what is changed here.
    """

    def __init__(self, app: "Host") -> None:
        self.app, launch = app, app.launch
        self._file = SettingsFile(launch.paths, launch.env, launch.flags)

    @property
    def place(self) -> str:
        return str(self._file.paths.config_file)

    def entries(self) -> list[Entry]:
        """Every setting as it stands now. Raises ``SettingsError``."""
        return entries(self._file.settings(), self._file.sources())

    def entry(self, key: str) -> Entry:
        """One setting as it stands now. Raises ``SettingsError``."""
        return next(entry for entry in self.entries() if entry.key == key)

    def key_entries(self) -> list[Entry]:
        """Every action with its keys. Raises ``SettingsError``."""
        return key_entries(self._file.settings(), self._file.sources())

    def table(self, key: str) -> list[str]:
        """A table in full, as lines. Raises ``SettingsError``."""
        assert key in SETTINGS
        return table_lines(getattr(self._file.settings(), key))

    def change(self, key: str, text: str | None) -> str:
        """Write a value to the file and use it.

        Args:
            key: A setting, or with a dot one of its table.
            text: The value as a user writes it; None goes back to what is built in.

        Returns:
            Why it was not possible, in words; empty when it is done.
        """
        try:
            settings = self._file.unset(key) if text is None else self._file.set(key, text)
        except SettingsError as error:
            # Whoever has just written the value knows where it comes from.
            told = str(error).removeprefix(f"{self.place}, environment or command line: ")
            return told.removeprefix(f"{self.place}: ")
        except OSError as error:
            return f"{self.place} cannot be written: {error.strerror or error}. Nothing was changed."
        app, before = self.app, self.app.launch.settings
        # Sessions of two stores do not belong into one list: another one is for the next start.
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


async def choose_theme(app: "Host", session: "ChatSession", name: str) -> None:
    """Let the user pick a theme, or take the one named; it is written to the settings.

    Args:
        app: Shows the picker.
        session: Says what came of it.
        name: A theme; empty opens the picker.
    """
    desk = SettingsDesk(app)
    try:
        entry = desk.entry("theme")
        picker = ThemePicker(entry.choices, entry.value, app.theme)
        if not (chosen := name or await app.push_screen_wait(picker)):
            return
        if not entry.origin.is_forced:
            session.say(desk.change("theme", chosen) or f"Theme {chosen}, saved for the next start.")
        elif chosen in entry.choices:
            app.theme = chosen
            session.say(f"Theme {chosen} for now: {entry.origin.name} gives another one at the next start.")
        else:
            session.say(f"No theme {chosen}. Allowed: {entry.allowed}")
    except SettingsError as error:
        session.report(str(error))


async def _list(
    app: "Host", desk: SettingsDesk, title: str, entries: Callable[[], list[Entry]], words: str = ""
) -> None:
    screen = SettingsScreen(title, entries(), words)
    app.push_screen(screen)
    while (wish := await screen.wanted()) and wish.row is not None:
        try:
            said, listed = await _grant(app, desk, wish.row, reset=wish.what == "reset"), entries()
        except SettingsError as error:
            await _tell_of_file(app, error)
            continue
        screen.show(listed, said)
        if not screen.is_current:  # closed meanwhile
            app.chat.session.say(said)


async def _tell_of_file(app: "Host", error: SettingsError) -> None:
    """Show that the file, changed by hand meanwhile, is wrong."""
    await app.push_screen_wait(DetailsScreen("The settings file is wrong", str(error)))


async def _grant(app: "Host", desk: SettingsDesk, entry: Entry, *, reset: bool) -> str:
    """Change a setting as the user wants, and return what to say about it."""
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
    # What is shown of a store lacks the password.
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
    return f"{entry.key} has its built-in value{when}. Nothing in {desk.place} sets it."


async def _show_table(app: "Host", desk: SettingsDesk, entry: Entry) -> None:
    if entry.key == "keymap":
        await _list(app, desk, f"Keys · {desk.place}", desk.key_entries)
        return
    lines = desk.table(entry.key) or ["None yet."]
    named = isinstance(SETTINGS[entry.key].rule, Table)
    how = f"Written in {desk.place}, below [{entry.key}{'.NAME' if named else ''}]."
    if entry.key == "hooks":
        how = f"Written in {desk.place} and nowhere else, below [[hooks.EVENT]]."
    text = "\n".join([entry.help, how, "docs/settings.md has all keys.", "", *lines])
    await app.push_screen_wait(DetailsScreen(entry.key, text))
