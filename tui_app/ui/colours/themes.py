"""The colour themes: sea blue for what can be acted on, amber for *near*, red for *full*.

Text colours are fixed values rather than faded ones, because a faded colour on a panel falls below a contrast
of 4.5:1 (WCAG 2.1, level AA).
"""

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rich.console import Console
from textual.color import Color
from textual.theme import Theme

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
    (("#153a4f", 237), ("#c9e1ee", 153), "block-cursor-background input-selection-background "
        "screen-selection-background"),
)  # fmt: skip
"""Colours in the dark and the light theme, each with its number among the 256, and the variables that use it.

The number is chosen to keep the contrast to the backgrounds. The nearest colour, which would be used
otherwise, is black for two backgrounds and dark blue for the third.
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
"""The program's own colour variables with the terminal's own colours."""


TERMINAL_COLOURS: Mapping[str, str] = {
    **dict.fromkeys(("accent", "primary", "text-accent", "text-primary", "scrollbar-active"), "ansi_cyan"),
    **dict.fromkeys(("warning", "text-warning"), "ansi_yellow"),
    **dict.fromkeys(("error", "text-error"), "ansi_bright_red"),
    **dict.fromkeys(("success", "text-success"), "ansi_green"),
    "footer-key-foreground": "ansi_default",
    **dict.fromkeys(("border", "border-blurred", "scrollbar", "scrollbar-hover"), "ansi_bright_black"),
}
"""The few terminal colours in use with the terminal's own colours: cool for work, warm for attention."""


def colour_system(env: Mapping[str, str]) -> str:
    """Return a terminal's colours: ``standard`` (16 of its own), ``256``, ``truecolor``; empty if unknown."""
    named = env.get("TEXTUAL_COLOR_SYSTEM", "auto")
    if named != "auto" or not env.get("TERM"):
        return named if named != "auto" else ""
    console = Console(file=io.StringIO(), force_terminal=True, legacy_windows=False, _environ=env)
    return console.color_system or ""


def among_256(colour: str) -> str:
    """Return a theme colour as the chosen colour of a 256-colour terminal, so that it is not mapped again."""
    number = _XTERM.get(colour)
    if number is None:
        return colour
    if number > _LAST_OF_CUBE:
        grey = round(255 * (number - _LAST_OF_CUBE) / 25)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    parts = ((number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6)
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


_LAST_OF_CUBE = 231
"""The last of the 256 colours that is not a shade of grey: white."""


def theme_of_256(theme: Theme) -> Theme:
    """Convert a theme to 256 colours; colours of other themes are left for the nearest match."""
    variables = {name: among_256(value) for name, value in theme.variables.items()}
    if theme.dark and "added" in variables:
        # No tint among the 256 is dark enough: diff lines keep the panel's background and get the colours
        # themselves.
        variables |= {"added-line": variables["added"], "removed-line": variables["removed"]}
    shown = replace(theme, variables=variables)
    for name in ("primary", "secondary", *_FIELDS):
        if colour := getattr(theme, name):
            setattr(shown, name, among_256(colour))
    return shown


def own_variables(theme: Theme) -> dict[str, str]:
    """Return the program's own colour variables for a theme that does not define them."""
    if theme.ansi:
        return dict(_TERMINAL)
    given = DARK.variables if theme.dark else LIGHT.variables
    return {name: given[name] for name in _TERMINAL}


def muted_colours(variables: Mapping[str, str]) -> dict[str, str]:
    """Compute muted colours of a theme that defines only their opacity, such as ``auto 60%``.

    A style of a widget's content would use the colour without the opacity.
    """
    ground = Color.parse(variables["background"])
    shares = {name: variables[name] for name in ("text-muted", "text-disabled")}
    return {
        name: (ground + ground.get_contrast_text(float(share.removesuffix("%")) / 100)).hex6
        for name, (colour, _, share) in ((name, value.partition(" ")) for name, value in shares.items())
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
"""Variables that follow a colour of a custom theme."""


def own_theme(name: str, colours: Mapping[str, str]) -> Theme:
    """Create a custom theme: a built-in one with some colours changed.

    Args:
        name: Its name.
        colours: ``base`` and colours, as validated by the settings.
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
    """Create the custom themes of the setting ``themes``."""
    return [own_theme(name, colours) for name, colours in themes.items()]
