"""The two colour themes: sea blue for what can be acted on, amber for *near*, red for *full*; code.

Text colours are fixed values rather than faded ones, because a faded colour drops below the contrast of
4.5:1 (WCAG 2.1, level AA) as soon as it is on a panel.
"""

import io
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from threading import Timer
from typing import Any, Literal, NamedTuple, get_args

from rich.console import Console
from rich.style import Style
from rich.text import Text
from rich.theme import Theme as RichTheme
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

from tui_app.records import frozen

_COLOURS = (
    (("#5cb8e0", 74), ("#00608a", 24), "primary accent text-primary text-accent kind-summary "
        "scrollbar-active"),
    (("#9ad5c9", 116), ("#0b5f58", 23), "secondary code-inline"),
    (("#f0b24f", 215), ("#b87000", 130), "warning"),
    (("#ff7a70", 210), ("#d5392f", 124), "error"),
    (("#7fcf9c", 115), ("#17653a", 22), "success text-success"),
    (("#dde6ed", 254), ("#15212b", 234), "foreground added-line removed-line kind-you footer-key-foreground "
        "block-cursor-foreground block-cursor-blurred-foreground input-cursor-background"),
    (("#0b1219", 233), ("#fafcfd", 231), "background input-cursor-foreground"),
    (("#1c2935", 235), ("#e4ecf1", 254), "surface scrollbar-background scrollbar-background-hover "
        "scrollbar-background-active scrollbar-corner-color"),
    (("#15202b", 234), ("#eef3f6", 255), "panel block-cursor-blurred-background"),
    (("#97a8b6", 248), ("#485b6a", 240), "text-muted text-disabled foreground-muted"),
    (("#6c7f8f", 244), ("#6b7e8c", 244), "text-faint scrollbar-hover"),
    (("#f0b24f", 215), ("#8a5000", 94), "text-warning"),
    (("#ff857b", 210), ("#b0241d", 124), "text-error"),
    (("#38799a", 31), ("#468aaa", 31), "accent-soft rail-seen"),
    (("#2a3947", 237), ("#cfdae2", 188), "line border-blurred"),
    (("#4a5e6e", 59), ("#9fb2c0", 145), "line-strong scrollbar border"),
    (("#8fd8a8", 115), ("#14592f", 22), "added"),
    (("#ff9b92", 210), ("#9c1f19", 88), "removed"),
    (("#12332a", 234), ("#dcf2e3", 194), "added-row"),
    (("#3d1f26", 234), ("#fae3e1", 224), "removed-row"),
    (("#8fb8e8", 110), ("#1c4f96", 25), "syn-keyword"),
    (("#a9cfa4", 151), ("#2c6127", 22), "syn-string"),
    (("#c3b6e6", 146), ("#5a3f96", 53), "syn-number"),
    (("#55697a", 241), ("#8293a1", 246), "kind-system"),
    (("#6f8496", 244), ("#64798b", 243), "kind-tools"),
    (("#93a5b3", 247), ("#48596a", 240), "kind-memory"),
    (("#8fb8e8", 110), ("#5b86bd", 67), "kind-answers"),
    (("#4f9d91", 73), ("#1f6b60", 23), "kind-calls"),
    (("#2f7482", 66), ("#4d9c92", 30), "kind-results"),
    (("#153a4f", 237), ("#c9e1ee", 153), "block-cursor-background input-selection-background"),
)  # fmt: skip
"""Each colour in the dark theme and in the light one, each with its number of 256, and what has it.

The number is the one that stays as far from the grounds as ours does. The nearest one, which it would become
otherwise, is black for two grounds and dark blue for the third.
"""
_XTERM = dict(shade for dark, light, _ in _COLOURS for shade in (dark, light))
_FIELDS = ("accent", "warning", "error", "success", "foreground", "background", "surface", "panel")


def _theme(name: str, shade: int) -> Theme:
    values = {each: (dark, light)[shade][0] for dark, light, names in _COLOURS for each in names.split()}
    fields: dict[str, Any] = {each: values.pop(each) for each in ("primary", "secondary", *_FIELDS)}
    variables = {**values, "block-cursor-text-style": "bold"}
    return Theme(name=name, dark=not shade, variables=variables, **fields)


DARK, LIGHT = _theme("plimsoll-dark", 0), _theme("plimsoll-light", 1)

_TERMINAL = {
    **dict.fromkeys(("text-faint", "line", "line-strong"), "ansi_bright_black"),
    **dict.fromkeys(("kind-system", "kind-tools", "kind-memory"), "ansi_bright_black"),
    **dict.fromkeys(("accent-soft", "rail-seen", "kind-summary"), "ansi_cyan"),
    **dict.fromkeys(("added-row", "removed-row", "added-line", "removed-line"), "ansi_default"),
    **dict.fromkeys(("syn-keyword", "syn-string", "syn-number"), "ansi_default"),
    **dict.fromkeys(("kind-you", "kind-answers"), "ansi_default"),
    **dict.fromkeys(("added", "kind-calls", "kind-results"), "ansi_green"),
    "code-inline": "ansi_magenta",
    "removed": "ansi_bright_red",
}
"""Our own names of colours where the terminal has the say."""


TERMINAL_COLOURS: Mapping[str, str] = {
    **dict.fromkeys(("accent", "primary", "text-accent", "text-primary", "scrollbar-active"), "ansi_cyan"),
    **dict.fromkeys(("warning", "text-warning"), "ansi_yellow"),
    **dict.fromkeys(("error", "text-error"), "ansi_bright_red"),
    **dict.fromkeys(("success", "text-success"), "ansi_green"),
    "footer-key-foreground": "ansi_default",
    **dict.fromkeys(("border", "border-blurred", "scrollbar", "scrollbar-hover"), "ansi_bright_black"),
}
"""The few colours of a terminal's own, where it has the say: cool for work, warm for a call."""


def colour_system(env: Mapping[str, str]) -> str:
    """The colours of a terminal: ``standard`` (16 of its own), ``256``, ``truecolor``; empty if unknown."""
    named = env.get("TEXTUAL_COLOR_SYSTEM", "auto")
    if named != "auto" or not env.get("TERM"):
        return named if named != "auto" else ""
    console = Console(file=io.StringIO(), force_terminal=True, legacy_windows=False, _environ=env)
    return console.color_system or ""


def among_256(colour: str) -> str:
    """A colour of ours as a terminal of 256 has it, so that it becomes no other."""
    number = _XTERM.get(colour)
    if number is None:
        return colour
    if number > _LAST_OF_CUBE:
        grey = round(255 * (number - _LAST_OF_CUBE) / 25)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    parts = ((number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6)
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


_LAST_OF_CUBE = 231
"""The last colour of 256 that is no shade of grey: white."""


def theme_of_256(theme: Theme) -> Theme:
    """A theme as a terminal of 256 colours shows it: what is not ours becomes the nearest there."""
    variables = {name: among_256(value) for name, value in theme.variables.items()}
    if theme.dark and "added" in variables:
        # No tint there is dark enough: lines of a diff keep the panel, and have its colours themselves.
        variables |= {"added-line": variables["added"], "removed-line": variables["removed"]}
    shown = replace(theme, variables=variables)
    for name in ("primary", "secondary", *_FIELDS):
        if colour := getattr(theme, name):
            setattr(shown, name, among_256(colour))
    return shown


def own_variables(theme: Theme) -> dict[str, str]:
    """What our own names of colours mean in a theme that does not have them."""
    if theme.ansi:
        return dict(_TERMINAL)
    given = DARK.variables if theme.dark else LIGHT.variables
    return {name: given[name] for name in _TERMINAL}


def muted_colours(variables: Mapping[str, str]) -> dict[str, str]:
    """The quiet colours of a theme that gives only their strength, such as ``auto 60%``, on its background.

    A style of a widget's content would take the colour without the strength.
    """
    ground = Color.parse(variables["background"])
    shares = {name: variables[name] for name in ("text-muted", "text-disabled")}
    return {
        name: (ground + ground.get_contrast_text(float(share.removesuffix("%")) / 100)).hex6
        for name, (colour, _, share) in ((name, said.partition(" ")) for name, said in shares.items())
        if colour == "auto" and share
    }


THEMES: tuple[Theme, ...] = (DARK, LIGHT)
"""Register each with ``App.register_theme`` and set ``App.theme`` to its name."""

_FOLLOWERS: Mapping[str, str] = {
    "accent": "text-primary text-accent accent-soft rail-seen kind-summary scrollbar-active",
    "warning": "text-warning",
    "error": "text-error",
    "success": "text-success",
    "foreground": "footer-key-foreground block-cursor-foreground block-cursor-blurred-foreground "
        "input-cursor-background",
    "muted": "text-muted text-disabled foreground-muted",
    "surface": "scrollbar-background scrollbar-background-hover scrollbar-background-active "
        "scrollbar-corner-color",
    "selection": "block-cursor-background block-cursor-blurred-background input-selection-background",
    "border": "border border-blurred line line-strong scrollbar scrollbar-hover",
}  # fmt: skip
"""The variables that follow a colour of a custom theme."""


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
            variables.update(dict.fromkeys(followers.split(), colours[colour]))
    own = replace(base, name=name, variables=variables, primary=colours.get("accent", base.primary))
    for field in _FIELDS:
        setattr(own, field, colours.get(field, getattr(base, field)))
    return own


def own_themes(themes: Mapping[str, Mapping[str, str]]) -> list[Theme]:
    """Make the custom themes of the setting ``themes``."""
    return [own_theme(name, colours) for name, colours in themes.items()]


# Colours of the transcript: what the theme gives, turned into styles for rich.


class Tone(Enum):
    """What a piece of text is."""

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
        """As Textual writes it, over what the text around has."""


_GROUND_ONLY, _REVERSED = frozenset({Tone.HERE, Tone.UNREAD}), "bold reverse"
"""Tones known by their ground alone, and what they are without colours, or with a terminal's own."""
STROKES = frozenset({Tone.FAINT, Tone.RAIL, Tone.USER})
"""Tones of bars, signs and small figures."""


STROKE_CONTRAST = 3.0
"""What bars and signs need (WCAG 2.1, 1.4.11)."""


# How well one colour can be told from another (WCAG 2.2, "contrast ratio").

MIN_CONTRAST = 4.5
"""Ratio that WCAG 2.2 (1.4.3, level AA) asks for text."""


def contrast(one: Color, other: Color) -> float:
    """The ratio of two opaque colours, from 1 (the same) to 21 (black and white)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@lru_cache(maxsize=256)
def legible(style: Style, least: float = MIN_CONTRAST) -> Style:
    """Move a colour towards black or white until it stands out from its background.

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
        if contrast(colour, ground) >= least:
            break
        colour = Color.from_rich_color(style.color).blend(goal, step / 10)
    return style + Style.from_color(colour.rich_color)


@frozen
class Palette:
    """The styles of one theme. Two palettes are equal when every style is."""

    styles: Mapping[Tone, Style]

    @classmethod
    def of(cls, widget: Widget) -> "Palette":
        """Mix the styles for what a widget shows; each can be told from its ground.

        They are no component classes: Textual would style 29 nodes more each time it styles the widget.
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
        """Return the style of a tone; colours are complete, background included."""
        return self.styles[tone]

    def accent_of(self, tone: Tone) -> Style:
        """Return a tone without its background, to lie over another style."""
        style = self.styles[tone]
        return Style(color=style.color, bold=style.bold, italic=style.italic, underline=style.underline)

    def console(self) -> Console:
        """Make the console that Markdown is laid out on; nothing is ever printed to it."""
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
"""No colour at all; for measuring and for tests."""


# What the words of a piece of code are, for the lines of a diff: keywords, strings, numbers, comments.

CodeKind = Literal["keyword", "string", "number", "comment", "added", "removed"]
CODE_KINDS: tuple[CodeKind, ...] = get_args(CodeKind)
_MOST_CHARS = 8_000
"""Longer code stays uncoloured: lexers are regular expressions, and the text is not trusted."""
_MOST_LINE = 500


class CodeSpan(NamedTuple):
    """A part of a text that has a colour of its own."""

    start: int
    stop: int
    kind: CodeKind


_CODE_TONES: Mapping[CodeKind, Tone] = {
    "keyword": Tone.KEYWORD, "string": Tone.STRING, "number": Tone.NUMBER, "comment": Tone.COMMENT,
    "added": Tone.ADDED, "removed": Tone.REMOVED,
}  # fmt: skip


def coloured(code: str, language: str, palette: Palette) -> Text:
    """Clean code with a style for what stands out in it."""
    text, at, lines = Text(code, end=""), 0, code.split("\n")
    for line, spans in zip(lines, code_spans(language, lines), strict=True):
        for start, stop, kind in spans:
            text.stylize(palette.accent_of(_CODE_TONES[kind]), at + start, at + stop)
        at += len(line) + 1
    return text


def code_spans(language: str, lines: Sequence[str]) -> list[list[CodeSpan]]:
    """Find what to colour in some lines of code, line by line; nothing in those of an unknown language.

    Args:
        language: Its name; empty where it is not known.
        lines: Clean lines that follow each other.
    """
    found: list[list[CodeSpan]] = [[] for _ in lines]
    too_long = sum(map(len, lines)) > _MOST_CHARS or any(len(line) > _MOST_LINE for line in lines)
    if too_long or not language:
        return found
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    from rich.syntax import Syntax

    lexer = Syntax("", language).lexer
    for start, token, text in lexer.get_tokens_unprocessed("\n".join(lines)) if lexer is not None else ():
        kind = next((kind for family, kind in _FAMILIES if str(token).startswith(family)), None)
        if kind is None:
            continue
        stop = start + len(text)
        # A text of several lines is one token.
        row = bisect_right(starts, start) - 1
        while row < len(lines) and starts[row] < stop:
            first, last = max(start, starts[row]), min(stop, starts[row] + len(lines[row]))
            if first < last:
                found[row].append(CodeSpan(first - starts[row], last - starts[row], kind))
            row += 1
    return found


_FAMILIES: tuple[tuple[str, CodeKind], ...] = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
)


_LANGUAGES: Mapping[str, str] = {
    "bash": "bash", "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "csharp", "css": "css", "cxx": "cpp",
    "dart": "dart", "ex": "elixir", "exs": "elixir", "go": "go", "h": "c", "hpp": "cpp", "hs": "haskell",
    "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "jsx", "kt": "kotlin",
    "lua": "lua", "mjs": "javascript", "php": "php", "pl": "perl", "py": "python", "pyi": "python",
    "r": "r", "rb": "ruby", "rs": "rust", "scala": "scala", "scss": "scss", "sh": "bash", "sql": "sql",
    "swift": "swift", "tf": "terraform", "toml": "toml", "ts": "typescript", "tsx": "tsx", "vue": "vue",
    "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig", "zsh": "bash",
}  # fmt: skip
"""Lexers by the end of a file's name; asking for them by a whole name looks through all that is installed."""


def language_of(path: str) -> str:
    """The language of a file by its name; empty where it is not known."""
    name = path.rpartition("/")[2].lower()
    special = {"makefile": "make", "dockerfile": "docker"}.get(name, "")
    return special or _LANGUAGES.get(name.rpartition(".")[2] if "." in name else "", "")


_LOADED: set[str] = set()
_BEHIND_S = 1.0
"""Seconds behind what is painted now, which is not to wait for a lexer."""


def load_behind(path: str) -> None:
    """Load, in a thread, what code of a file needs that is likely to be shown later."""
    language = language_of(path)
    if language and language not in _LOADED:
        _LOADED.add(language)
        timer = Timer(_BEHIND_S, code_spans, (language, ["x"]))
        timer.daemon = True
        timer.start()
