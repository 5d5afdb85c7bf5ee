"""Forks in a real terminal: running, killed with the program, read, and opened as sessions."""

import shlex
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import HangMidStream, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI


def scripted(server: FakeOpenAI) -> None:
    calls = [("fork", {"task": f"Look {way}.", "background": True}) for way in ("up", "down")]
    server.add(Tool(tuple(calls)), Text("Two are sent."))
    server.add(tool("read_file", path="tides.md"), HangMidStream(), phrase="Look up.")
    server.add(tool("read_file", path="tides.md"), Text("It is 7.3 metres."), phrase="Look down.")


@contextmanager
def in_tmux(machine: Machine, env: dict[str, str], *, real: bool) -> Iterator[Terminal]:
    """The program in a terminal, or in tmux inside one."""
    if not real:
        yield machine.start("--model", "openai-chat:scripted", env=env)
        return
    folder = Path(tempfile.mkdtemp(prefix="tmux-"))
    (folder / "conf").touch()
    tmux = ["tmux", "-S", str(folder / "socket"), "-f", str(folder / "conf")]
    program = shlex.join([*PROGRAM, "--model", "openai-chat:scripted"])
    try:
        yield machine.start(command=(*tmux, "new-session", program), env=env)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(folder)


@pytest.mark.pty
@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.tmux)])
def test_forks_are_watched_stopped_and_opened(machine: Machine, fake_openai: FakeOpenAI, real: bool) -> None:
    scripted(fake_openai)
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    with in_tmux(machine, env, real=real) as terminal:
        terminal.wait_for("openai-chat:scripted", "ctrl+g compact")
        terminal.write("send two\r")
        terminal.wait_for("Two are sent.", "1 fork at work", "fork Look up.", " of 128k")
        terminal.write("/agents\r")
        terminal.wait_for("fork-1", "fork-2", "at work", "done")
        terminal.write("\x1b[B")
        terminal.wait_for("▸ fork-1")
        terminal.write("\x15")
        # The selection stays on the stopped fork.
        terminal.wait_for("▸ fork-1 stopped")
        terminal.write("\r")
        terminal.wait_for("fork-1 was stopped before it had an answer.", "tides.md · read")
        terminal.write("\x1b")
        terminal.wait_for("Two are sent.")
        assert "at work" not in terminal.text
        terminal.write("/agents\r")
        terminal.wait_for("▸ fork-2")
        terminal.write("\x0b")
        terminal.wait_for("fork-2: Look down.", "It is 7.3 metres.")
        assert "Two are sent." not in terminal.text
        fake_openai.add(Text("Here I am."), phrase="still there")
        terminal.write("still there\r")
        terminal.wait_for("Here I am.")


@pytest.mark.pty
def test_a_kill_leaves_the_work_of_a_fork_and_nothing_else(machine: Machine, fake_openai: FakeOpenAI) -> None:
    scripted(fake_openai)
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env)
    terminal.wait_for("openai-chat:scripted", "ctrl+g compact")
    terminal.write("send two\r")
    terminal.wait_for("Two are sent.", "1 fork at work", " of 128k")
    terminal.kill(signal.SIGKILL)
    assert terminal.wait_exit() == -signal.SIGKILL
    again = machine.start("--continue", env=env)
    again.wait_for("Two are sent.", "ctrl+g compact")
    assert "read-only" not in again.text
    again.write("/agents\r")
    again.wait_for("fork-1", "stopped", "fork-2", "done")
    again.write("fork-1\r")
    again.wait_for("The program ended first.", "tides.md · read")
    again.write("\x1b")
    again.wait_for("Two are sent.")
    assert "at work" not in again.text
    again.write("\x11")
    assert again.wait_exit() == 0
    with closing(sqlite3.connect(machine.home / "data/sessions.db")) as database:
        (sessions,) = database.execute("SELECT COUNT(*) FROM sessions").fetchone()
    assert sessions == 3, "the session, and one for each fork"
