"""Lists of settings and of keys: current values, their sources, and allowed values."""

from collections.abc import Mapping, Sequence

from textual.color import Color
from textual.theme import Theme

from tui_app.settings.entries import Entry
from tui_app.ui.colours.palette import MIN_CONTRAST, contrast
from tui_app.ui.dialogs.list import ChoiceDialog, ListSpec, OpenList
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.text import one_line, padded

_UNITS = {"_s": " s", "_mb": " MB", "retries": " time", "max_steps": " request", "window": " tokens"}
"""Units after a number, by the end of its setting's name."""
_ZEROS = {"bell_after_s": "never", "retries": "never", "_mb": "no limit"}
"""Words for 0, by the end of the setting's name."""


def value_text(entry: Entry) -> str:
    """Return the current value with its unit."""
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
    """Describe the marked setting: its purpose, allowed values, and when a change takes effect."""
    first = one_line(entry.help, 200)
    if entry.origin.is_forced:
        second = f"{entry.origin.name} sets it and overrides the file: change it there."
    else:
        second = f"Takes effect {entry.takes_effect.value}."
    return "\n".join(part for part in (first, f"Allowed: {entry.allowed}", second) if part)


def is_changed(entry: Entry) -> bool:
    """Return whether a setting differs from its default."""
    return entry.origin.kind != "default"


class SettingsScreen(OpenList[Entry], place="settings", style="settings", size="-full"):
    """Requests to change a setting, or to ``reset`` it to its default."""

    def __init__(self, title: str, entries: Sequence[Entry], words: str = "") -> None:
        """List settings.

        Args:
            title: First row.
            entries: The current settings.
            words: Initial filter.
        """

        def head(row: Entry) -> str:
            """Return the section, for the first of its visible rows."""
            at = self.shown.index(row)
            return "" if at and self.shown[at - 1].section == row.section else row.section

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


def source_text(entry: Entry) -> str:
    """Return the source of a value that is not the default."""
    return padded(one_line(entry.source, 20), 20) if is_changed(entry) else ""


class ThemePicker(ChoiceDialog):
    """Previews the marked theme; esc restores the previous one."""

    def __init__(self, words: Sequence[str], current: str, painted: str) -> None:
        """List themes.

        Args:
            words: Their names.
            current: The one in the settings.
            painted: The one on the screen, which esc restores.
        """
        super().__init__("Theme", words, current)
        self._painted = painted
        self._decided = False

    def explain(self, row: str) -> None:
        """Preview the theme and show its contrast."""
        super().explain(row)
        # The event for the marked row may arrive after the decision.
        if not self._decided:
            self.app.theme = row
            painted = self.app.current_theme
            # With 16 colours the theme on the screen is a fallback with another name.
            alike = "" if painted.name == row else _ALIKE.format("dark" if painted.dark else "light")
            self.note(f"{theme_note(painted)}{alike}")

    def use(self, row: str) -> None:
        self._decided = True
        self.app.theme = row
        super().use(row)

    def action_close(self) -> None:
        """Restore the previous theme."""
        self._decided = True
        self.app.theme = self._painted
        super().action_close()


_ALIKE = ". This terminal has 16 colours: all {} themes look the same in it."


def theme_note(theme: Theme) -> str:
    """Return light or dark, and the contrast of its text in words and numbers."""
    kind = "dark" if theme.dark else "light"
    colours = theme.to_color_system().generate()
    text, ground = Color.parse(colours["foreground"]), Color.parse(colours["background"])
    if text.ansi is not None or ground.ansi is not None:
        return f"{kind}; the terminal's own colours"
    ratio = contrast(text.blend(ground, 1 - text.a), ground)
    judged = "" if ratio >= MIN_CONTRAST else f", hard to read below {MIN_CONTRAST}:1"
    return f"{kind}; text on its background {ratio:.1f}:1{judged}"
