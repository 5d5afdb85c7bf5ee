"""One of a few words; for themes each is shown on the whole screen while it is marked."""

from collections.abc import Sequence
from typing import ClassVar

from textual.color import Color
from textual.content import Content
from textual.theme import Theme
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.contrast import MIN_CONTRAST, contrast
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.filter_dialog import FilterDialog


class ChoiceDialog(FilterDialog[str]):
    """Dismisses with a word, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/settings.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "use", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "cancel", 0, "screen.close"),
    )
    NAME = "choice"
    PLACEHOLDER = "filter"

    def __init__(self, title: str, words: Sequence[str], current: str) -> None:
        """Offer words.

        Args:
            title: First row.
            words: All there are, in order.
            current: The one in force; it is marked at first.
        """
        super().__init__()
        self._title, self._words, self._current = title, tuple(words), current
        self._shown: list[str] = []

    @property
    def title_text(self) -> str:
        """First row of the dialog."""
        return f"{one_line(self._title, 80)}{self.narrowed}"

    @property
    def total(self) -> int:
        """All words."""
        return len(self._words)

    def fill(self, wanted: str) -> None:
        """List the words with these in them."""
        parts = wanted.lower().split()
        self._shown = [word for word in self._words if all(part in word.lower() for part in parts)]
        self.options.clear_options()
        self.options.add_options([Option(self._line(word)) for word in self._shown])
        if self._shown:
            self.options.highlighted = self._shown.index(self._current) if self._current in self._shown else 0
        else:
            self.note("Nothing is called that.")

    def _line(self, word: str) -> Content:
        current = " current" if word == self._current else ""
        return Content.assemble(one_line(word, 40), (current, "$text-muted"))

    def explain(self, index: int) -> None:
        """Nothing more is known of a word."""
        self.note("")

    def use(self, index: int) -> None:
        """Dismiss with the word."""
        self.dismiss(self._shown[index])


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

    def explain(self, index: int) -> None:
        """Paint in the theme, and say how well it can be read."""
        # The message that a row is marked may come after the decision.
        if not self._decided:
            self.app.theme = self._shown[index]
            self.note(theme_note(self.app.current_theme))

    def use(self, index: int) -> None:
        """Keep the theme."""
        self._decided = True
        self.app.theme = self._shown[index]
        super().use(index)

    def action_close(self) -> None:
        """Bring the theme from before back."""
        self._decided = True
        self.app.theme = self._painted
        super().action_close()


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
