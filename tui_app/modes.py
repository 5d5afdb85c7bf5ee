"""The modes of a session: how far its tools may go without a question."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Mode = Literal["ask", "edit", "plan"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""In the order in which a key goes through them."""
ABOUT: Mapping[Mode, str] = MappingProxyType(
    {
        "ask": "Edits and commands ask first",
        "edit": "Edits in the folder are allowed, commands ask",
        "plan": "Read-only: the model proposes a plan and changes nothing",
    }
)
"""What each mode means, for the user."""


def mode_named(name: str) -> Mode | None:
    """The mode of a name; None where there is none."""
    return next((mode for mode in MODES if mode == name.strip().lower()), None)


def next_mode(mode: Mode) -> Mode:
    """The mode behind another one; the first behind the last."""
    return MODES[(MODES.index(mode) + 1) % len(MODES)]
