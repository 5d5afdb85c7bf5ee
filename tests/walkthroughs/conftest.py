"""The variants of each walk: offline model, emulated and in tmux, and llama.cpp in tmux."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pty.conftest import PROGRAM, Machine, forks, machine
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.llamacpp import LlamaServers
from tests.servers.scripted_gguf import Call, Calls, Script
from tests.walkthroughs.walk import COLUMNS, ROWS, Emulated, Tmux, Walk
from tui_app.settings import OFFLINE_MODEL

__all__ = ["forks", "machine"]

NOTES = "Title: Tides at Brest\n## Intent\nKnow the tides at Brest.\n## Done so far\n`tides.md` was read."
SCRIPT: Script = {
    "Write the notes for this transcript": [NOTES],
    "Update the notes so far": [NOTES + "\n## Current state\nMore of the log was noted."],
    "how high": [
        Calls((Call("read_file", {"path": "tides.md"}),), "I will look."),
        "The spring tide at Brest reaches 7.3 metres.",
    ],
    "": ["Noted, that is all."],
}
SMALL_SCRIPT: Script = {"": ["A small answer."]}


@dataclass
class Harbour:
    """A machine with its model, a smaller model, and a gate that delays summaries."""

    machine: Machine
    model: str
    small: str
    """Full name of a model with a small context window."""
    endpoints: dict[str, str]
    """Base URLs of model servers by name."""
    filling: int
    """Number of lines of a text that fills about a seventh of the context window."""
    terminal: str
    bare: bool = False
    """Whether no settings are written, as on a machine on which the program has never run."""
    _gate: int = -1

    def start(self, *arguments: str) -> Walk:
        """Open a window and start the program, with settings unless it is ``bare``."""
        if not self.bare:
            self._write_settings()
        command = (*PROGRAM, *arguments)
        env, cwd = self.machine.env, self.machine.workspace
        if self.terminal == "tmux":
            return Walk(self.machine.stack.enter_context(Tmux(command, env=env, cwd=cwd)))
        emulated = Emulated(command, env=env, cwd=cwd, columns=COLUMNS, rows=ROWS)
        return Walk(self.machine.stack.enter_context(emulated))

    def shut_gate(self) -> None:
        """Install a hook that delays every summary until it is let through, from the next start on."""
        os.mkfifo(self._gate_path, 0o600)
        # Opened for reading and writing, so that a line written before the hook runs waits in the pipe.
        self._gate = os.open(self._gate_path, os.O_RDWR)
        self.machine.stack.callback(os.close, self._gate)

    def let_through(self) -> None:
        """Let one summary be written."""
        os.write(self._gate, b"\n")

    def log_of_the_gate(self, number: int) -> str:
        """A text to paste that a summary will drop."""
        event = "the gate of the harbour opened and closed."
        lines = (f"{number}.{line}: {event}" for line in range(self.filling))
        return "\n".join(lines)

    @property
    def _gate_path(self) -> Path:
        return self.machine.home / "gate"

    def _write_settings(self) -> None:
        # Read-only tools, because tool definitions take space in each request, and the texts that fill it
        # assume that.
        lines = ["read_only = true"]
        lines += [f"model = '{self.model}'"] if self.model != OFFLINE_MODEL else []
        lines += ["[explore]", "enabled = false"]
        for name, url in self.endpoints.items():
            lines += [f"[endpoints.{name}]", f"base_url = '{url}'"]
        if self._gate >= 0:
            lines += ["[[hooks.preCompact]]", f"command = 'read _ <{self._gate_path}'", "shell = true"]
        file = self.machine.home / "config" / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


WALKS = [
    pytest.param(("offline", "emulated"), id="offline-emulated"),
    pytest.param(("offline", "tmux"), id="offline-tmux", marks=pytest.mark.tmux),
    pytest.param(("llamacpp", "tmux"), id="llamacpp-tmux", marks=[pytest.mark.tmux, pytest.mark.llamacpp]),
]


@pytest.fixture(params=WALKS)
def harbour(request: pytest.FixtureRequest, machine: Machine) -> Harbour:
    """The harbour of one variant: model and terminal."""
    answering, terminal = request.param
    if answering == "llamacpp":
        servers: LlamaServers = request.getfixturevalue("llamacpp_server")
        endpoints = {"local": servers(SCRIPT, 16_384), "dinghy": servers(SMALL_SCRIPT, 6_144)}
        return Harbour(machine, "local:scripted", "dinghy:scripted", endpoints, 51, terminal)
    small = machine.stack.enter_context(FakeOpenAI(max_model_len=8_000))
    small.add(Text("A small answer."))
    endpoints = {"dinghy": small.base_url}
    return Harbour(machine, OFFLINE_MODEL, "dinghy:scripted", endpoints, 285, terminal)
