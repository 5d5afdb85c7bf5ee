"""Sessions left in the background: the window closes, the work continues, and reopening shows it in place."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.process_ends import alive, gone
from tests.pty.conftest import PROGRAM, Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import HangBeforeHeaders, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.session.background import wait_until
from tui_app.session.lock import holder_process

pytestmark = pytest.mark.pty
BACK = re.compile(r"plimsoll attach ([0-9a-f]{8})")
LOOK = Tool((("read_file", {"path": "tides.md"}),), text="I look.")
MAKE = tool("run_command", command="echo 7.3 > made.txt")
LIMIT_S = 60.0


class Harbour:
    """A machine with the scripted model in its settings, and its background processes."""

    def __init__(self, machine: Machine, server: FakeOpenAI) -> None:
        self.machine, self.server = machine, server
        file = machine.home / "config" / "config.toml"
        file.parent.mkdir()
        file.write_text(
            f'model = "own:scripted"\n[endpoints.own]\nbase_url = "{server.base_url}"\nwindow = 64000\n'
            "[explore]\nenabled = false\n"
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            env=self.machine.env, cwd=self.machine.workspace, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout.strip() or done.stderr.strip()

    def screen(self, *arguments: str) -> Terminal:
        terminal = self.machine.start(*arguments)
        terminal.wait_for("own:scripted", "? help")
        return terminal

    def lock(self, session: str) -> Path:
        return self.machine.home / "data" / "sessions" / session / "background.lock"

    def process(self, session: str) -> int:
        return holder_process(self.lock(session))

    def ended(self, session: str) -> None:
        """Wait until nothing runs in the background."""
        assert wait_until(lambda: not self.process(session), LIMIT_S)

    def standing(self, session: str) -> Any:
        listed = json.loads(self.run("sessions", "--json"))["sessions"]
        return next(each["background"] for each in listed if each["id"] == session)


@pytest.fixture
def harbour(machine: Machine, fake_openai: FakeOpenAI) -> Iterator[Harbour]:
    harbour = Harbour(machine, fake_openai)
    yield harbour
    for lock in (machine.home / "data" / "sessions").glob("*/background.lock"):
        if process := holder_process(lock):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def test_a_detached_turn_goes_on_until_a_question_which_waits_for_the_user(harbour: Harbour) -> None:
    hold, server = Signal(), harbour.server
    server.add(Text("An answer of some length.", hold=hold), LOOK, MAKE, Text("Made it."))
    window = harbour.screen()
    window.write("first\r")
    server.request_in_thread(1).paused.wait_in_thread()
    window.write("make it\r")
    window.wait_for("make it")
    window.write("/detach\r")
    window.wait_for("Leaving after the present step")
    hold.set()
    assert window.wait_exit() == 0
    (session,) = BACK.findall(window.output.decode())
    harbour.ended(session)
    assert not (harbour.machine.workspace / "made.txt").exists()
    assert harbour.standing(session) == {
        "state": "waiting", "question": "run_command echo 7.3 > made.txt", "prompts": 0
    }  # fmt: skip
    assert "waits: run_command echo 7.3" in harbour.run("sessions")
    window = harbour.screen("attach")
    window.wait_for("make it", "echo 7.3 > made.txt", "yes")
    window.watch(1.0)
    window.write("y")
    window.wait_for("Made it.")
    assert (harbour.machine.workspace / "made.txt").read_text() == "7.3\n"
    assert harbour.standing(session) is None
    assert len(server.journal) == 4


def test_a_run_in_the_background_outlives_its_terminal_and_is_handed_over(harbour: Harbour) -> None:
    hold, server = Signal(), harbour.server
    server.add(Text("It is 7.3 metres, as they say.", hold=hold), Text("And 6.1 at neap."))
    window = harbour.machine.start("run", "--background", "how high")
    window.wait_for("plimsoll attach")
    (session,) = BACK.findall(window.text)
    window.hang_up()
    server.request_in_thread(1).paused.wait_in_thread()
    assert alive(harbour.process(session))
    assert harbour.standing(session)["state"] == "running"
    window = harbour.screen("attach")
    window.wait_for("runs in the background and comes here after its present step")
    hold.set()
    window.wait_for("It is 7.3 metres, as they say.", "continues here")
    assert not harbour.process(session)
    window.write("and at neap?\r")
    window.wait_for("And 6.1 at neap.")
    assert harbour.standing(session) is None


def test_stopping_ends_the_process_and_keeps_what_was_written(harbour: Harbour) -> None:
    harbour.server.add(HangBeforeHeaders(), Text("Fine."))
    session = json.loads(harbour.run("run", "--background", "--json", "wait for it"))["session"]
    harbour.server.request_in_thread(1)
    process = harbour.process(session)
    assert "running" in harbour.run("sessions")
    assert harbour.run("stop", session) == f"Stopped {session}."
    assert gone(process)
    assert harbour.standing(session)["state"] == "stopped"
    assert json.loads(harbour.run("stop", "--all", "--json")) == {"stopped": [], "running": [], "idle": []}
    assert "Nothing was left" in harbour.run("run", "--background", "--session", session, code=1)
    assert harbour.run("run", "--session", session, "once more") == "Fine."


def test_a_killed_process_is_not_believed_to_run(harbour: Harbour) -> None:
    harbour.server.add(HangBeforeHeaders(), Text("Here again."))
    session = harbour.run("run", "--background", "wait for it").splitlines()[0]
    harbour.server.request_in_thread(1)
    process = harbour.process(session)
    os.kill(process, signal.SIGKILL)
    assert gone(process)
    # The process that has this id now must not be sent a signal.
    harbour.lock(session).write_text(str(os.getpid()))
    assert harbour.run("stop", session) == f"{session} does not run in the background."
    assert harbour.standing(session)["state"] == "interrupted"
    window = harbour.screen("attach", session)
    window.wait_for("wait for it", "Interrupted")
    window.write("again\r")
    window.wait_for("Here again.")
    assert len(harbour.server.journal) == 2
    assert not harbour.machine.left()[1:], "the screen alone"
