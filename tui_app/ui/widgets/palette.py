"""Colours of the transcript: what the theme gives, turned into styles for rich."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from rich.console import Console
from rich.style import Style
from rich.theme import Theme
from textual.color import Color

from tui_app.ui.contrast import MIN_CONTRAST, contrast


class Tone(Enum):
    """What a piece of text is; the value is its component class on the transcript."""

    TEXT = "transcript--text"
    ROLE = "transcript--role"
    DIM = "transcript--dim"
    TOOL = "transcript--tool"
    ACCENT = "transcript--accent"
    ERROR = "transcript--error"
    WARNING = "transcript--warning"
    HEADING = "transcript--heading"
    CODE = "transcript--code"
    LINK = "transcript--link"
    KEYWORD = "transcript--keyword"
    STRING = "transcript--string"
    COMMENT = "transcript--comment"
    NUMBER = "transcript--number"
    NAME = "transcript--name"
    ADDED = "transcript--added"
    REMOVED = "transcript--removed"
    MARK = "transcript--mark"
    UNREAD = "transcript--unread"
    FOUND = "transcript--found"
    HERE = "transcript--here"


@lru_cache(maxsize=256)
def legible(style: Style) -> Style:
    """Move a text colour towards black or white until it stands out from its background.

    Themes choose their accents for surfaces of their own; on the plain background some are too faint.
    Colours of the terminal itself are left alone, nobody knows them.
    """
    if style.color is None or style.bgcolor is None:
        return style
    if style.color.triplet is None or style.bgcolor.triplet is None:
        return style
    ground = Color.from_rich_color(style.bgcolor)
    colour = Color.from_rich_color(style.color)
    goal = max(Color(0, 0, 0), Color(255, 255, 255), key=lambda pole: contrast(pole, ground))
    for step in range(1, 11):
        if contrast(colour, ground) >= MIN_CONTRAST:
            break
        colour = Color.from_rich_color(style.color).blend(goal, step / 10)
    return style + Style.from_color(colour.rich_color)


@dataclass(frozen=True)
class Palette:
    """The styles of one theme. Two palettes are equal when every style is."""

    styles: Mapping[Tone, Style]

    def style(self, tone: Tone) -> Style:
        """Return the style of a tone; colours are complete, background included."""
        return self.styles[tone]

    def accent_of(self, tone: Tone) -> Style:
        """Return a tone without its background, to lie over another style."""
        style = self.styles[tone]
        return Style(color=style.color, bold=style.bold, italic=style.italic, underline=style.underline)

    def console(self) -> Console:
        """Make the console that Markdown is laid out on; nothing is ever printed to it."""
        heading, link, dim = self.accent_of(Tone.HEADING), self.accent_of(Tone.LINK), self.accent_of(Tone.DIM)
        names: dict[str, str | Style] = {
            "markdown.code": self.accent_of(Tone.CODE),
            "markdown.block_quote": dim,
            "markdown.hr": dim,
            "markdown.link": link,
            "markdown.link_url": dim,
            "markdown.item.bullet": dim,
            "markdown.item.number": dim,
            "markdown.table.border": dim,
            "markdown.table.header": Style(bold=True),
            **{f"markdown.h{level}": heading for level in range(1, 7)},
        }
        return Console(
            file=io.StringIO(),
            theme=Theme(names),
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
"""No colour at all; for measuring and for tests."""
