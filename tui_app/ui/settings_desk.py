"""The settings as the running program has them: shown, changed in the file, and put into effect at once."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.settings import Settings, SettingsError
from tui_app.settings.edit import SettingsFile
from tui_app.settings.spec import RULES
from tui_app.settings.values import Entry, entries, key_entries, table_lines
from tui_app.ui.keys import textual_keymap
from tui_app.ui.themes import own_themes
from tui_app.ui.widgets.chat_hints import ChatHints

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


class SettingsDesk:
    """Changes settings of an application that runs.

    Args:
        app: The application; sessions begun from now on get what is changed here.
    """

    def __init__(self, app: "PlimsollApp") -> None:
        launch = app.launch
        self._app = app
        self._file = SettingsFile(launch.paths, launch.env, launch.flags)

    @property
    def place(self) -> str:
        """The settings file."""
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
        assert key in RULES
        return table_lines(getattr(self._file.settings(), key))

    def change(self, key: str, text: str | None) -> str:
        """Write a value to the file and use it.

        Args:
            key: A setting, or with a dot one of its table.
            text: The value as a person writes it; None goes back to what is built in.

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
        self._use(settings)
        return ""

    def _use(self, settings: Settings) -> None:
        """Put into effect what can be while the program runs."""
        app, before = self._app, self._app.launch.settings
        # Sessions of two stores do not belong into one list: another one is for the next start.
        app.launch = replace(app.launch, settings=replace(settings, store=before.store))
        for theme in own_themes(settings.themes):
            app.register_theme(theme)
        if settings.theme != before.theme:
            app.theme = settings.theme
        still = settings.plain or not settings.animations
        app.animation_level = "none" if still else "full"
        app.outside.bell_after_s = settings.bell_after_s
        if settings.review != before.review and app.chat.is_ready:
            app.chat.session.link.ask_about(settings.review)
        pane = app.chat.pane
        if settings.timeline != before.timeline:
            pane.set_class(settings.timeline, "-timeline")
        if settings.keymap != before.keymap:
            app.set_keymap(textual_keymap(settings.keymap))
            pane.query_one(ChatHints).keymap = settings.keymap
