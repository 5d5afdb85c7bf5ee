"""Errors and notices in the words of a shell: they are worded for the screen, whose keys do nothing here."""

import re
from dataclasses import replace
from types import MappingProxyType

from tui_app.conversation.retry_advice import BACK, KEPT
from tui_app.events import Error, Notice, Payload, TurnRetry

_PHRASES = MappingProxyType(
    {
        "Press ctrl+g to compact it": "Compact it with plimsoll compact",
        "/retry sends it again": "Send it again with plimsoll run",
        "again with /sessions": "again with plimsoll --resume",
        "a new one with /new": "a new one with plimsoll run",
        "/memory shows the board": "plimsoll memory shows the board",
        "/undo takes the compaction back": "plimsoll compact --undo takes the compaction back",
        "/undo brings these back": "plimsoll compact --undo brings these back",
        # A shell has nothing to show of servers: the sentence in front says why one failed.
        " /mcp shows more.": "",
        # Nor has it an editor in which the prompt could stand.
        f" {BACK}": "",
        f" {KEPT}": " What came so far is kept.",
    }
)
"""What reads well, or is safe to take for ours, only as a whole."""
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


def for_shell(text: str) -> str:
    """Name commands and flags where a text of ours names keys and slash commands."""
    for screen, shell in _PHRASES.items():
        text = text.replace(screen, shell)
    return _SPOKEN.sub(lambda found: _WORDS[found[0]], text)


def spoken(payload: Payload) -> Payload:
    """The same event with all that a person is told in it worded for a shell."""
    match payload:
        case Error():
            return replace(payload, message=for_shell(payload.message), hint=for_shell(payload.hint))
        case Notice():
            return replace(payload, text=for_shell(payload.text))
        case TurnRetry():
            return replace(payload, reason=for_shell(payload.reason))
        case _:
            return payload
