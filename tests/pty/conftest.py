"""Fixtures that run the program in a terminal, with an environment that only the test defines."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.pty.terminal import Terminal

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "tui_app")
SIZES = {"120x40": (120, 40), "80x24": (80, 24)}


@dataclass(frozen=True)
class Machine:
    """A home, a workspace and the processes started there."""

    home: Path
    workspace: Path
    stack: ExitStack
    forks: bool
    """Whether the program is forked (see ``tests.forked``), unless a test gives a command."""
    forked: set[int] = field(default_factory=set)
    """Ids of forked processes, whose environment cannot be read from outside."""

    @property
    def env(self) -> dict[str, str]:
        """A machine on which the program has never run: no keys, no addresses, no settings."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "PLIMSOLL_HOME": str(self.home),
            "PLIMSOLL_TRUST": "/",
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        command: tuple[str, ...] = (),
        size: tuple[int, int] = SIZES["120x40"],
    ) -> Terminal:
        """Run the program in a new terminal."""
        columns, rows = size
        forked = self.forks and not command
        terminal = Terminal(
            arguments if forked else (*(command or PROGRAM), *arguments),
            forked=forked,
            env={**self.env, **(env or {})},
            cwd=self.workspace,
            columns=columns,
            rows=rows,
        )
        if forked:
            self.forked.add(terminal.process.pid)
        return self.stack.enter_context(terminal)

    def left(self) -> list[str]:
        """Command lines of running processes that were started with this home, whoever their parent is."""
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            try:
                home = process.environ().get("PLIMSOLL_HOME")
                ours = home == str(self.home) or process.pid in self.forked
            except psutil.Error:
                continue
            if ours and process.pid != os.getpid() and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.info["cmdline"] or ()))
        return found

    def files(self) -> set[str]:
        """Every file of the home, by relative path."""
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture
def forks() -> bool:
    """Fork the program. Tests of start and exit override this to start it."""
    return True


@pytest.fixture
def machine(tmp_path: Path, forks: bool) -> Iterator[Machine]:
    """A fresh machine; its processes end with the test."""
    home, workspace = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    workspace.mkdir()
    (workspace / "tides.md").write_text("# Tides\n\nThe spring tide at Brest reaches 7.3 metres.\n")
    with ExitStack() as stack:
        yield Machine(home, workspace, stack, forks)


@pytest.fixture(params=list(SIZES.values()), ids=list(SIZES))
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Columns and rows of the terminal."""
    found: tuple[int, int] = request.param
    return found
