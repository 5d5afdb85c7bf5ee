"""After the terminal closes: no process is left, and every draft is saved."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.pty.conftest import PROGRAM, Machine

pytestmark = [pytest.mark.pty, pytest.mark.tmux]
SOON_S = 4.0
"""Less than the eight seconds after which a program ends if it waits for a closed terminal."""


def until(condition: Callable[[], object], limit_s: float, what: str) -> None:
    end = monotonic() + limit_s
    while not condition():
        assert monotonic() < end, what
        sleep(0.05)


def test_a_killed_tmux_session_leaves_the_draft_and_no_program(machine: Machine) -> None:
    folder = Path(tempfile.mkdtemp(prefix="gone-"))

    def tmux(*arguments: str) -> str:
        command = ["tmux", "-S", str(folder / "socket"), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    # Without a shell, the program is the session leader of the terminal that closes.
    given = [f"{name}={value}" for name, value in machine.env.items()]
    line = shlex.join(["exec", "env", "-i", *given, "TERM=screen-256color", *PROGRAM])
    tmux("-f", os.devnull, "new-session", "-d", "-x", "120", "-y", "40", "-c", str(machine.workspace), line)
    until(lambda: " · ok" in tmux("capture-pane", "-p"), 30, "the prompt")
    tmux("send-keys", "-l", "--", "half a thought")
    until(lambda: "half a thought" in tmux("capture-pane", "-p"), 30, "the draft")
    tmux("kill-session")
    until(lambda: not machine.left(), SOON_S, "the end of the program")
    kept = (machine.home / "data" / "unsent.jsonl").read_text(encoding="utf-8")
    assert "half a thought" in kept
