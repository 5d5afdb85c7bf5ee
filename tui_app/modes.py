"""The modes of a session, which determine what tools may do without asking."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Mode = Literal["ask", "edit", "plan"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""In the order in which a key cycles through them."""
ABOUT: Mapping[Mode, str] = MappingProxyType(
    {
        "ask": "Edits and commands ask first",
        "edit": "Edits in the folder are allowed, commands ask",
        "plan": "Read-only: the model proposes a plan and changes nothing",
    }
)
"""Description of each mode for the user."""


def mode_named(name: str) -> Mode | None:
    """Return the mode with a name; None if there is none."""
    return next((mode for mode in MODES if mode == name.strip().lower()), None)


def next_mode(mode: Mode) -> Mode:
    """Return the next mode; after the last the first."""
    return MODES[(MODES.index(mode) + 1) % len(MODES)]
