"""Colour themes that settings may name, and the colours of one of the user's own.

Settings are read before the screen and must not load it; a test holds the names to those that it has.
"""

import re
from collections.abc import Mapping

from tui_app.settings.rules import Choice, Group, Table, Text

THEMES = (
    "plimsoll-dark", "plimsoll-light", "textual-dark", "textual-light", "nord", "gruvbox", "catppuccin-mocha",
    "dracula", "tokyo-night", "monokai", "flexoki", "catppuccin-latte", "catppuccin-frappe",
    "catppuccin-macchiato", "solarized-light", "solarized-dark", "rose-pine", "rose-pine-moon",
    "rose-pine-dawn", "atom-one-dark", "atom-one-light", "ansi-dark", "ansi-light",
)  # fmt: skip
"""Names of the colour themes: our own and Textual's."""
BASES = ("plimsoll-dark", "plimsoll-light")
"""Themes that one of the user's own can be made from."""
_NAME = r"[A-Za-z][\w.-]*"
_COLOUR = Text(r"#(?:[0-9A-Fa-f]{3}){1,2}", "a colour such as #4fb3d9")
THEME = Text(_NAME, "the name of a theme: a letter, then letters, digits, dot, dash or underscore")
COLOURS: Mapping[str, str] = {
    "accent": "what can be acted on: keys, borders with focus, links",
    "warning": "near: a context that fills up",
    "error": "full, and what failed",
    "success": "what went well",
    "foreground": "text",
    "muted": "text that matters less",
    "background": "behind the chat",
    "surface": "behind dialogs and lists",
    "panel": "behind inputs",
    "selection": "behind the marked row",
    "border": "lines without focus, scroll bars",
}
"""Colours of ``[themes.NAME]`` and what each is for."""

OWN_THEMES = Table(
    Group({"base": Choice(BASES), **dict.fromkeys(COLOURS, _COLOUR)}, required=("base",), called="colour"),
    Text(
        rf"(?!(?:{'|'.join(map(re.escape, THEMES))})$){_NAME}",
        "a letter, then letters, digits, dot, dash or underscore, but not the name of a built-in theme",
    ),
)
