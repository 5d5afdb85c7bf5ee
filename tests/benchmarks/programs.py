"""The programs that are measured, in terminals of their own."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psutil

from tests.pty.child import Child

ROOT = Path(__file__).parents[2]
HELLO = (sys.executable, "-m", "tests.benchmarks.hello")
PLIMSOLL = (sys.executable, "-m", "tui_app")
HELLO_PAINTED = b"Hello, world"
PROMPT_PAINTED = "›".encode()
CTRL_Q = "\x11"
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Lab:
    """A home and a folder to work in."""

    home: Path
    workspace: Path

    def start(self, *command: str, env: Mapping[str, str] | None = None) -> Child:
        """Run something in a new terminal of 120 columns and 40 rows."""
        clean = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "PLIMSOLL_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }
        return Child(command, env={**clean, **(env or {})}, cwd=self.workspace)

    def seconds_to_paint(self, marker: bytes, *command: str, env: Mapping[str, str] | None = None) -> float:
        """Seconds from starting a program until it has painted these bytes; it is ended afterwards."""
        with self.start(*command, env=env) as child:
            return child.read_until(marker) - child.started


def settle(child: Child, seconds: float) -> None:
    """Let a program come to rest: read what it paints for some time."""
    until = monotonic() + seconds
    while monotonic() < until:
        child.read(until - monotonic())


def memory(child: Child) -> tuple[float, float]:
    """Mebibytes of a program: resident set, and its own share where shared pages count once (0: unknown)."""
    full = psutil.Process(child.process.pid).memory_full_info()
    return full.rss / MEBIBYTE, getattr(full, "pss", 0) / MEBIBYTE
