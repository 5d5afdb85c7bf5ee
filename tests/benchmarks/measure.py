"""Alternating measurements, their report, and the programs that are measured."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic

import psutil

from tests.pty.terminal import Child

# Alternating measurements, and their report.


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Samples of two things, taken alternately so that load affects both."""

    name: str
    ours: Sequence[float]
    baseline: Sequence[float]
    unit: str
    most: float
    """Largest acceptable ratio."""

    @property
    def ratio(self) -> float:
        """Median of ours divided by the median of the baseline."""
        return median(self.ours) / median(self.baseline)

    @property
    def good(self) -> bool:
        """Whether the target is met."""
        return self.ratio <= self.most

    def __str__(self) -> str:
        ours, baseline = _spread(self.ours, self.unit), _spread(self.baseline, self.unit)
        ratio = f"{self.ratio:.2f}x" if self.ratio >= 0.01 else f"1/{1 / self.ratio:,.0f}"
        most = f"{self.most:g}x" if self.most >= 0.01 else f"1/{1 / self.most:,.0f}"
        verdict = "met" if self.good else "MISSED"
        return f"{self.name}: {ours} against {baseline} = {ratio} (at most {most}: {verdict})"


def in_turn(
    ours: Callable[[], float], baseline: Callable[[], float], rounds: int
) -> tuple[list[float], list[float]]:
    """Measure two things alternately, after one round to warm the caches."""
    ours(), baseline()
    pairs = [(ours(), baseline()) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of the samples does not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _spread(samples: Sequence[float], unit: str) -> str:
    middle = f"{median(samples):.4g}"
    return f"{middle} {unit} ({min(samples):.4g} to {max(samples):.4g}, n={len(samples)})"


# The measured programs, each in its own terminal.


ROOT = Path(__file__).parents[2]
HELLO = (sys.executable, "-m", "tests.benchmarks.hello")
PLIMSOLL = (sys.executable, "-m", "tui_app")
HELLO_PAINTED = b"Hello, world"
PROMPT_PAINTED = "▐".encode()
CTRL_Q = "\x11"
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Lab:
    """A home and a workspace."""

    home: Path
    workspace: Path

    def start(self, *command: str, env: Mapping[str, str] | None = None) -> Child:
        """Run a command in a new terminal of 120 columns and 40 rows."""
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
        """Seconds from the start of a program until it has painted these bytes; the program is then ended."""
        with self.start(*command, env=env) as child:
            return child.read_until(marker) - child.started


def settle(child: Child, seconds: float) -> None:
    """Read a program's output for some time, so that it becomes idle."""
    until = monotonic() + seconds
    while monotonic() < until:
        child.read(until - monotonic())


def memory(child: Child) -> tuple[float, float]:
    """A program's memory in MiB: resident set size, and proportional set size (0 if unknown)."""
    full = psutil.Process(child.process.pid).memory_full_info()
    return full.rss / MEBIBYTE, getattr(full, "pss", 0) / MEBIBYTE
