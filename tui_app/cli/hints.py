"""Advice of errors in the words of a shell: the log words it for the screen, whose keys do nothing here."""

import re
from types import MappingProxyType

_PRESSED = "Press ctrl+g to compact it"
_COMPACTED = "Compact it with plimsoll compact"
_WORDS = MappingProxyType(
    {
        "/compact": "plimsoll compact",
        "/context": "plimsoll context",
        "/model": "--model",
        "ctrl+g": "plimsoll compact",
        "ctrl+l": "--model",
        "ctrl+o": "--json",
    }
)
"""Keys and slash commands of the screen, and what does the same without it."""
_SPOKEN = re.compile(rf"(?<![\w/])(?:{'|'.join(map(re.escape, _WORDS))})(?![\w/-])")


def for_shell(hint: str) -> str:
    """Name commands and flags where a hint names keys and slash commands."""
    return _SPOKEN.sub(lambda found: _WORDS[found[0]], hint.replace(_PRESSED, _COMPACTED))
