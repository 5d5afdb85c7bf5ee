"""Small programs for hooks, and whether what they started still lives."""

import time

import psutil

from tui_app.settings.hooks import Hook

LIMIT_S = 20.0
"""Seconds after which a state that never comes fails the test."""
ECHO = "cat; echo heard >&2"
"""Says what it was given."""
FAMILY = "sleep 600 & echo $!; wait"
"""Starts a child, names it, and waits for it."""


def sh(line: str, **more: object) -> Hook:
    """A hook that a shell runs."""
    return Hook(command=line, **more)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be buried does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int) -> bool:
    """Wait until a process is gone: a signal is on its way for a moment."""
    end = time.monotonic() + LIMIT_S
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.001)
    return not alive(pid)
