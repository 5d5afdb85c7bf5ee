"""Small programs for hooks."""

from tui_app.settings.tables import Hook

ECHO = "cat; echo heard >&2"
"""Says what it was given."""
FAMILY = "sleep 600 & echo $!; wait"
"""Starts a child, names it, and waits for it."""


def sh(line: str, **more: object) -> Hook:
    """A hook that a shell runs."""
    return Hook(command=line, **more)  # type: ignore[arg-type]
