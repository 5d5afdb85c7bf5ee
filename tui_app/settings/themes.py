"""What settings may say of colour themes: names, and the colours of a theme of one's own."""

import re
from collections.abc import Mapping

from tui_app.settings.names import THEMES
from tui_app.settings.rules import Choice, Group, Rule, Table, Text

BASES = ("plimsoll-dark", "plimsoll-light")
"""Themes that one of one's own can be made from."""
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

_KEYS: dict[str, Rule] = {"base": Choice(BASES), **dict.fromkeys(COLOURS, _COLOUR)}
OWN_THEMES = Table(
    Group(_KEYS, required=("base",), called="colour"),
    Text(
        rf"(?!(?:{'|'.join(map(re.escape, THEMES))})$){_NAME}",
        "a letter, then letters, digits, dot, dash or underscore, but no name of a theme that is built in",
    ),
)
