"""Colours of the transcript, kept legible on the theme's backgrounds."""

import io
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

from rich.console import Console
from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.color import Color
from textual.widget import Widget

from tui_app.records import frozen


class Tone(Enum):
    """The role of a piece of text."""

    TEXT = "text", ""
    STRONG = "strong", "bold"
    PROMPT = "prompt", "on $panel"
    GROUND = "ground", "on $panel"
    USER = "user", "$accent"
    RAIL = "rail", "$rail-seen"
    DIM = "dim", "$text-muted"
    FAINT = "faint", "$text-faint"
    TOOL = "tool", "$text-muted"
    ACCENT = "accent", "bold $text-accent"
    ERROR = "error", "$text-error"
    WARNING = "warning", "$text-warning"
    HEADING = "heading", "bold $foreground"
    CODE = "code", "$code-inline"
    LINK = "link", "underline $text-accent"
    KEYWORD = "keyword", "$syn-keyword"
    STRING = "string", "$syn-string"
    COMMENT = "comment", "italic $text-muted"
    NUMBER = "number", "$syn-number"
    NAME = "name", "$foreground"
    OK = "ok", "$text-success"
    ADDED = "added", "$added"
    REMOVED = "removed", "$removed"
    ADDED_ROW = "added-row", "$added-line on $added-row"
    REMOVED_ROW = "removed-row", "$removed-line on $removed-row"
    MARK = "mark", "bold $text-accent"
    UNREAD = "unread", "bold $text-accent on $accent-muted"
    FOUND = "found", "underline $text-warning on $warning-muted"
    HERE = "here", "bold underline $background on $accent"

    def __init__(self, word: str, style: str) -> None:
        self.style = style
        """In Textual's syntax, added to the style of the surrounding text."""


_GROUND_ONLY, _REVERSED = frozenset({Tone.HERE, Tone.UNREAD}), "bold reverse"
"""Tones recognised only by their background, and their style without colours or with the terminal's own."""

STROKES = frozenset({Tone.FAINT, Tone.RAIL, Tone.USER})
"""Tones of bars, signs and small figures."""

STROKE_CONTRAST = 3.0
"""Contrast ratio required for bars and signs (WCAG 2.1, 1.4.11)."""

MIN_CONTRAST = 4.5
"""Contrast ratio required for text (WCAG 2.2, 1.4.3, level AA)."""


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, from 1 (the same) to 21 (black and white)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@lru_cache(maxsize=256)
def legible(style: Style, least: float = MIN_CONTRAST) -> Style:
    """Move a colour towards black or white until its contrast to the background is sufficient.

    Themes choose their accents for surfaces of their own; on the plain background some are too faint. The
    terminal's own colours are unknown and left alone.
    """
    if style.color is None or style.bgcolor is None:
        return style
    if style.color.triplet is None or style.bgcolor.triplet is None:
        return style
    ground = Color.from_rich_color(style.bgcolor)
    colour = Color.from_rich_color(style.color)
    goal = max(Color(0, 0, 0), Color(255, 255, 255), key=lambda pole: contrast(pole, ground))
    for step in range(1, 11):
        if contrast(colour, ground) >= least:
            break
        colour = Color.from_rich_color(style.color).blend(goal, step / 10)
    return style + Style.from_color(colour.rich_color)


@frozen
class Palette:
    """The styles of a theme. Palettes are equal if all their styles are."""

    styles: Mapping[Tone, Style]

    @classmethod
    def of(cls, widget: Widget) -> "Palette":
        """Compute the styles for a widget, with a legible contrast.

        They are not component classes: with those, Textual would style 29 more nodes whenever it styles the
        widget.
        """
        app, text = widget.app, widget.visual_style
        styles: dict[Tone, Style] = {}
        reversed_ = _GROUND_ONLY if app.no_color or app.current_theme.ansi else frozenset()
        for tone in Tone:
            over = app.stylesheet.parse_style(_REVERSED if tone in reversed_ else tone.style)
            styles[tone] = legible(
                (text + over).rich_style, STROKE_CONTRAST if tone in STROKES else MIN_CONTRAST
            )
        return cls(styles)

    def style(self, tone: Tone) -> Style:
        """Return the style of a tone, with both colours."""
        return self.styles[tone]

    def accent_of(self, tone: Tone) -> Style:
        """Return the style of a tone without its background, to be added to another style."""
        style = self.styles[tone]
        return Style(color=style.color, bold=style.bold, italic=style.italic, underline=style.underline)

    def console(self) -> Console:
        """Create the console for Markdown layout; nothing is ever printed to it."""
        heading, link, dim = self.accent_of(Tone.HEADING), self.accent_of(Tone.LINK), self.accent_of(Tone.DIM)
        quiet = ("block_quote", "hr", "link_url", "item.bullet", "item.number")
        names: dict[str, str | Style] = {
            "markdown.code": self.accent_of(Tone.CODE),
            "markdown.link": link,
            **{f"markdown.{name}": dim for name in (*quiet, "table.border", "table.header")},
            **{f"markdown.h{level}": heading for level in range(1, 7)},
        }
        return Console(
            file=io.StringIO(),
            theme=RichTheme(names),
            color_system="truecolor",
            force_terminal=True,
            force_jupyter=False,
            legacy_windows=False,
            no_color=False,
            markup=False,
            emoji=False,
            highlight=False,
            width=80,
            height=25,
        )


PLAIN_PALETTE = Palette(styles={tone: Style() for tone in Tone})
"""A palette without colours, for measuring and for tests."""
