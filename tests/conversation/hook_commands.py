"""Small hook programs for tests."""

from pathlib import Path

from tui_app.settings.tables import Hook
from tui_app.system.trust import ProgramPlace

ECHO = "cat; echo heard >&2"
"""Prints its input, and one line on stderr."""
FAMILY = "sleep 600 & echo $!; wait"
"""Starts a child process, prints its pid and waits for it."""


def sh(line: str, **more: object) -> Hook:
    """Return a hook that runs a shell command line."""
    return Hook(command=line, **more)  # type: ignore[arg-type]


def place(folder: Path, **env: str) -> ProgramPlace:
    """Return a place whose settings folder and session folder are the same."""
    return ProgramPlace(own=folder, folder=folder, env=env, trusted=True)
