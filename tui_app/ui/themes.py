"""The two colour themes: sea blue for what can be acted on, amber for *near*, red for *full*.

Text colours are fixed values rather than faded ones, because a faded colour drops below the contrast of
4.5:1 (WCAG 2.1, level AA) as soon as it is on a panel.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from rich.console import Console
from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.color import Color
from textual.theme import Theme

from tui_app.ui.plain_lines import MIN_CONTRAST, contrast

DARK = Theme(
    name="plimsoll-dark",
    primary="#4fb3d9",
    secondary="#7fa8c9",
    accent="#4fb3d9",
    warning="#e5a93d",
    error="#ff7a70",
    success="#6cc58f",
    foreground="#d9e2ea",
    background="#0d1720",
    surface="#13212d",
    panel="#1b2d3c",
    dark=True,
    variables={
        "text-muted": "#93a7b8",
        "text-disabled": "#8ea2b3",
        "foreground-muted": "#93a7b8",
        "text-primary": "#6cc3e4",
        "text-accent": "#6cc3e4",
        "text-warning": "#efb957",
        "text-error": "#ff938a",
        "text-success": "#7fd3a0",
        "block-cursor-background": "#15394d",
        "block-cursor-foreground": "#ffffff",
        "scrollbar": "#35506a",
        "scrollbar-hover": "#4a6a87",
        "scrollbar-active": "#4fb3d9",
        "scrollbar-background": "#13212d",
        "scrollbar-background-hover": "#13212d",
        "scrollbar-background-active": "#13212d",
        "scrollbar-corner-color": "#13212d",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#1b3444",
        "block-cursor-blurred-foreground": "#d9e2ea",
        "input-cursor-background": "#d9e2ea",
        "input-selection-background": "#235a76",
        "border": "#4fb3d9",
        "border-blurred": "#35506a",
        "footer-key-foreground": "#6cc3e4",
    },
)

LIGHT = Theme(
    name="plimsoll-light",
    primary="#0b6489",
    secondary="#3f617d",
    accent="#0b6489",
    warning="#8a5200",
    error="#b3261e",
    success="#1f6b3d",
    foreground="#16242f",
    background="#fbfcfd",
    surface="#f1f5f8",
    panel="#e6edf2",
    dark=False,
    variables={
        "text-muted": "#4f6271",
        "text-disabled": "#526573",
        "foreground-muted": "#4f6271",
        "text-primary": "#0b5c7e",
        "text-accent": "#0b5c7e",
        "text-warning": "#7a4900",
        "text-error": "#a8221b",
        "text-success": "#1b6137",
        "block-cursor-background": "#d3e6f0",
        "block-cursor-foreground": "#0c1a24",
        "scrollbar": "#a9bfce",
        "scrollbar-hover": "#86a2b6",
        "scrollbar-active": "#0b6489",
        "scrollbar-background": "#f1f5f8",
        "scrollbar-background-hover": "#f1f5f8",
        "scrollbar-background-active": "#f1f5f8",
        "scrollbar-corner-color": "#f1f5f8",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#dfeaf1",
        "block-cursor-blurred-foreground": "#16242f",
        "input-cursor-background": "#16242f",
        "input-selection-background": "#bcdcea",
        "input-selection-foreground": "#16242f",
        "border": "#0b6489",
        "border-blurred": "#a9bfce",
        "footer-key-foreground": "#0b5c7e",
    },
)

THEMES: tuple[Theme, ...] = (DARK, LIGHT)
"""Register each with ``App.register_theme`` and set ``App.theme`` to its name."""

_FOLLOWERS: Mapping[str, tuple[str, ...]] = {
    "accent": (
        "text-primary",
        "text-accent",
        "border",
        "footer-key-foreground",
        "scrollbar-active",
    ),
    "warning": ("text-warning",),
    "error": ("text-error",),
    "success": ("text-success",),
    "foreground": (
        "block-cursor-foreground",
        "block-cursor-blurred-foreground",
        "input-cursor-background",
    ),
    "muted": ("text-muted", "text-disabled", "foreground-muted"),
    "surface": (
        "scrollbar-background",
        "scrollbar-background-hover",
        "scrollbar-background-active",
        "scrollbar-corner-color",
    ),
    "selection": (
        "block-cursor-background",
        "block-cursor-blurred-background",
        "input-selection-background",
    ),
    "border": ("border-blurred", "scrollbar", "scrollbar-hover"),
}
"""The variables that follow a colour of a custom theme."""
_FIELDS = ("accent", "warning", "error", "success", "foreground", "background", "surface", "panel")


def own_theme(name: str, colours: Mapping[str, str]) -> Theme:
    """Make a custom theme: one of ours with some colours changed.

    Args:
        name: Its name.
        colours: ``base`` and colours, as the settings have checked them.
    """
    base = next(theme for theme in THEMES if theme.name == colours["base"])
    variables = dict(base.variables)
    for colour, followers in _FOLLOWERS.items():
        if colour in colours:
            variables.update(dict.fromkeys(followers, colours[colour]))
    own = replace(base, name=name, variables=variables, primary=colours.get("accent", base.primary))
    for field in _FIELDS:
        setattr(own, field, colours.get(field, getattr(base, field)))
    return own


def own_themes(themes: Mapping[str, Mapping[str, str]]) -> list[Theme]:
    """Make the custom themes of the setting ``themes``."""
    return [own_theme(name, colours) for name, colours in themes.items()]


# Colours of the transcript: what the theme gives, turned into styles for rich.


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
    Colours of the terminal itself are unknown and left alone.
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
"""No colour at all; for measuring and for tests."""
