"""Small programs for hooks."""

from pathlib import Path

from tui_app.settings.tables import Hook
from tui_app.system.trust import ProgramPlace

ECHO = "cat; echo heard >&2"
"""Says what it was given."""
FAMILY = "sleep 600 & echo $!; wait"
"""Starts a child, names it, and waits for it."""


def sh(line: str, **more: object) -> Hook:
    """A hook that a shell runs."""
    return Hook(command=line, **more)  # type: ignore[arg-type]


def place(folder: Path, **env: str) -> ProgramPlace:
    """One folder that is the user's own and the session's."""
    return ProgramPlace(own=folder, folder=folder, env=env, trusted=True)
