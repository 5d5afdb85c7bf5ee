"""Leaving in every way: the terminal is restored, and no process of ours remains."""

import re
import signal
import sys
from time import monotonic

import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import HangMidStream
from tests.servers.fake_openai import FakeOpenAI

pytestmark = pytest.mark.pty

CTRL_Q, CTRL_T = "\x11", "\x14"
AFTER_QUIT_S = 2.0
"""Maximum seconds that a process of ours may outlive the program."""
READY = " · ok"
"""Painted once the agent side has loaded."""
MOUSE = {1000, 1003, 1006}
RESUME = re.compile(r"^Resume: plimsoll --resume ([0-9a-f]{8})\r?$", re.MULTILINE)
CRASHING = (sys.executable, "-m", "tests.pty.crashing")
ENDINGS = {
    "SIGINT": (signal.SIGINT, 130),
    "SIGTERM": (signal.SIGTERM, 143),
    "SIGHUP": (signal.SIGHUP, 129),
    "SIGQUIT": (signal.SIGQUIT, 131),
    "SIGUSR1": (signal.SIGUSR1, 138),
}


every_ending = pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
some_endings = pytest.mark.parametrize(
    "ending", [ENDINGS["SIGINT"], ENDINGS["SIGHUP"]], ids=["SIGINT", "SIGHUP"]
)
"""One handler receives all signals, so two are enough here: one the user sends, one of a closed terminal."""


@pytest.fixture
def forks() -> bool:
    """Start real processes, because the exit of a fork is not that of the interpreter."""
    return False


def assert_restored(terminal: Terminal) -> None:
    """The terminal is in the state in which the shell left it."""
    assert terminal.on == set()
    assert terminal.keyboard_depth == 0
    assert terminal.title_depth == 0
    assert terminal.cooked


def assert_nothing_left(machine: Machine) -> None:
    """No process outlives the program by more than two seconds."""
    until = monotonic() + AFTER_QUIT_S
    while machine.left():
        assert monotonic() < until, machine.left()


def answering(machine: Machine, server: FakeOpenAI) -> Terminal:
    """The program in the middle of an answer that never ends."""
    server.add(HangMidStream())
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env)
    terminal.wait_for("ctrl+g compact")
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive")
    return terminal


def test_the_checks_see_a_running_program(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("no key needed")
    assert terminal.on >= {1049, 2004, 25, *MOUSE}
    assert not terminal.cooked
    assert terminal.title_depth == 1
    assert len(machine.left()) == 1


def test_quit(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("no key needed")
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    assert_restored(terminal)
    assert_nothing_left(machine)


def test_quit_after_a_first_prompt_without_a_key_says_how_to_go_on(
    machine: Machine, size: tuple[int, int]
) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("no key needed")
    terminal.write("how high is the spring tide?\r")
    terminal.wait_for("tides.md:3", "7.3 metres")
    assert "no key needed" not in terminal.text, "who has begun needs no introduction"
    terminal.wait_gone("esc stops")
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    assert_restored(terminal)
    assert_nothing_left(machine)
    after = terminal.output.rpartition(b"\x1b[?1049l")[2].decode()
    said = RESUME.findall(re.sub(r"\x1b\[[0-9;?<>]*[a-zA-Z]", "", after))
    assert len(said) == 1, "one line, on the shell's own screen"


@every_ending
def test_signal_while_idle(machine: Machine, ending: tuple[signal.Signals, int]) -> None:
    number, code = ending
    terminal = machine.start()
    terminal.wait_for("no key needed", READY)
    terminal.kill(number)
    assert terminal.wait_exit() == code
    assert_restored(terminal)
    assert_nothing_left(machine)


@some_endings
def test_signal_during_an_answer(
    machine: Machine, fake_openai: FakeOpenAI, ending: tuple[signal.Signals, int]
) -> None:
    number, code = ending
    terminal = answering(machine, fake_openai)
    terminal.kill(number)
    assert terminal.wait_exit() == code
    assert_restored(terminal)
    assert_nothing_left(machine)
    fake_openai.request_in_thread(1).closed.wait_in_thread()


@some_endings
def test_signal_while_the_agent_side_loads(machine: Machine, ending: tuple[signal.Signals, int]) -> None:
    number, code = ending
    terminal = machine.start()
    terminal.wait_for("no key needed")
    terminal.kill(number)
    assert terminal.wait_exit() == code
    assert_restored(terminal)
    assert_nothing_left(machine)


def test_fault_nobody_foresaw(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(command=CRASHING, size=size)
    terminal.wait_for("no key needed", READY if size[0] >= 120 else "ok")
    terminal.write("half a thought")
    terminal.wait_for("half a thought")
    terminal.write(CTRL_T)
    assert terminal.wait_exit() == 1
    assert_restored(terminal)
    assert_nothing_left(machine)
    said = terminal.output.decode()
    assert "Plimsoll crashed" in said
    assert "1 prompt was not sent" in said
    assert "Traceback" not in said
    assert "a fault nobody foresaw" not in said
    [log] = machine.home.rglob("plimsoll.log")
    assert "RuntimeError: a fault nobody foresaw" in log.read_text(encoding="utf-8")


def test_fault_during_an_answer(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env, command=CRASHING)
    terminal.wait_for("ctrl+g compact")
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive")
    terminal.write(CTRL_T)
    assert terminal.wait_exit() == 1
    assert_restored(terminal)
    assert_nothing_left(machine)


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "answering"])
def test_closed_terminal_window(machine: Machine, fake_openai: FakeOpenAI, *, busy: bool) -> None:
    terminal = answering(machine, fake_openai) if busy else machine.start()
    terminal.wait_for(READY)
    terminal.hang_up()
    # Nobody reads any more. The kernel signals that, and the program must not wait for the screen.
    assert terminal.process.wait(AFTER_QUIT_S) == 129
    assert_nothing_left(machine)


def test_killed_shell_around_it(machine: Machine) -> None:
    terminal = machine.start(command=("/bin/sh", "-c", '"$@"; true', "sh", *PROGRAM))
    terminal.wait_for("no key needed", READY)
    assert len(machine.left()) == 2, "the shell and the program"
    terminal.kill(signal.SIGKILL)
    assert terminal.process.wait(AFTER_QUIT_S) == -signal.SIGKILL
    assert_nothing_left(machine)
