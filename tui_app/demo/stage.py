"""The demo's environment: a temporary folder with a project, a home, and settings."""

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tui_app.paths import Paths
from tui_app.providers import DEMO
from tui_app.records import frozen
from tui_app.settings import Settings
from tui_app.tool_specs import EDIT_FILE, RUN_COMMAND, WRITE_FILE

PROVIDER, LARGE, SMALL = DEMO, "scripted", "small"
MODEL, SMALL_MODEL = f"{PROVIDER}:{LARGE}", f"{PROVIDER}:{SMALL}"
SummaryWriter = Literal["honest", "slow", "inventive"]
_KEPT = (
    *("PATH", "TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE"),
    *("TMPDIR", "NO_COLOR", "TMUX", "SYSTEMROOT"),
)
"""Variables that the demo keeps; no keys and no server addresses."""
_RULES = (
    EDIT_FILE.name,
    WRITE_FILE.name,
    *(f"{RUN_COMMAND.name} python3 -m {module}" for module in ("unittest", "ferry.check", "ferry.show")),
    # Each file is named, because a word that is no file may mean anything to a module.
    *(
        f"{RUN_COMMAND.name} python3 -m ferry.show data/{port}.csv {day}"
        for port in ("north", "south")
        for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    ),
)
"""Rules that allow what the recorded session does; everything else asks."""


def data_file(name: str) -> Path:
    return Path(__file__).with_name("data") / name


def recorded_prompts() -> tuple[str, ...]:
    """Return the prompts of the recording, in order."""
    lines = data_file("session.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(message["content"] for message in map(json.loads, lines) if message["role"] == "user")


@dataclass(slots=True)
class Pace:
    """How the scripted model writes. The tour changes it between steps."""

    answers_s: float = 0.02
    """Seconds between two pieces of an answer; 0 writes everything at once."""
    writer: SummaryWriter = "honest"


@frozen
class Stage:
    """The folder of one demo, with the parameters of its session."""

    root: Path
    pace: Pace = field(default_factory=Pace)

    @property
    def project(self) -> Path:
        return self.root / "ferry-timetable"

    @property
    def paths(self) -> Paths:
        return Paths.from_env({"PLIMSOLL_HOME": str(self.root / "home")})

    def env(self, outside: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the demo; ``python3`` is the interpreter that runs this program."""
        kept = {name: outside[name] for name in _KEPT if outside.get(name)}
        folder = str(self.root / "bin")
        return {**kept, "PATH": os.pathsep.join(filter(None, (folder, kept.get("PATH", "")))),
                "HOME": str(self.root / "home"), "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip

    def settings(self, own: Settings) -> Settings:
        """Keep only the look of the user's settings, so that the tour is the same everywhere."""
        return replace(
            Settings(),
            **{name: getattr(own, name) for name in _LOOK},
            approvals={"allow": _RULES},
            memory={"enabled": False},
            explore={"enabled": False},
            # Its commands are ours, and this interpreter may be in any folder.
            sandbox="off",
            timeline=True,
        )

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


_LOOK = ("theme", "themes", "plain", "animations", "color", "mouse", "terminal_title", "keymap")


def set_up(pace: Pace | None = None) -> Stage:
    """Create the project in a new folder.

    Raises:
        OSError: if it cannot be written.
    """
    stage = Stage(Path(tempfile.mkdtemp(prefix="plimsoll-demo-")).resolve(), pace or Pace())
    files: dict[str, str] = json.loads(data_file("project.json").read_text(encoding="utf-8"))
    for name, text in files.items():
        path = stage.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    # The same interpreter everywhere, even if ``python3`` is another one or missing.
    program = stage.root / "bin" / "python3"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return stage
