"""Input before the screen stands, around a suspension, and from a terminal that goes away."""

import signal
import sys

import psutil
import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.pty.terminal import Terminal

pytestmark = pytest.mark.pty

AFTER_QUIT_S = 2.0
CTRL_J, CTRL_Q = "\n", "\x11"
READY = "compacts at 80%"
OTHER_SESSION = """
import os, sys
if os.fork():
    os.wait()
else:
    os.setsid()
    os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a program that no terminal controls: it hears nothing when the terminal is closed."""


def start_cooked(machine: Machine, keys: str) -> Terminal:
    """Type while the terminal still collects lines for the shell, and makes a line feed of Enter."""
    terminal = machine.start()
    terminal.write(keys)
    assert terminal.cooked
    return terminal


def test_enter_before_the_first_frame_sends(machine: Machine) -> None:
    terminal = start_cooked(machine, "how high is the spring tide?\r")
    terminal.wait_for("You", "how high is the spring tide?", "7.3 metres")
    assert "› how high" not in terminal.text, "the prompt is empty again"


def test_each_enter_before_the_first_frame_sends(machine: Machine) -> None:
    terminal = start_cooked(machine, "spring tide\rneap tide\rand a draft")
    terminal.wait_for("⊖ spring tide", "● neap tide", "› and a draft")


def test_enter_alone_before_the_first_frame_does_nothing(machine: Machine) -> None:
    terminal = start_cooked(machine, "\r")
    terminal.wait_for("No key found", READY)
    terminal.write("a draft")
    terminal.wait_for("› a draft")
    assert "No key found" in terminal.text, "nothing was sent"


def test_ctrl_j_behind_the_first_frame_is_a_new_line(machine: Machine) -> None:
    terminal = start_cooked(machine, "")
    terminal.wait_for("No key found", READY)
    terminal.write(f"first{CTRL_J}second")
    terminal.wait_for("› first", "second")
    assert "No key found" in terminal.text, "nothing was sent"


def test_input_after_a_suspension(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("No key found", READY)
    program = psutil.Process(terminal.process.pid)
    terminal.kill(signal.SIGTSTP)
    terminal.wait_until(lambda: program.status() == psutil.STATUS_STOPPED, "suspended")
    assert terminal.cooked
    terminal.kill(signal.SIGCONT)
    terminal.wait_until(lambda: not terminal.cooked, "resumed")
    terminal.write("typed ")
    terminal.wait_for("› typed")
    terminal.paste("\x1b[1mand pasted\x1b[0m")
    terminal.wait_for("› typed and pasted")
    terminal.write("\x03" + CTRL_Q)
    assert terminal.wait_exit() == 0
    assert terminal.on == set()
    assert terminal.cooked


def test_terminal_that_goes_without_a_signal_ends_the_program(machine: Machine) -> None:
    terminal = machine.start(command=(sys.executable, "-c", OTHER_SESSION, *PROGRAM))
    terminal.wait_for("No key found", READY)
    (program,) = psutil.Process(terminal.process.pid).children()
    try:
        terminal.hang_up()
        program.wait(AFTER_QUIT_S)
    finally:
        if program.is_running():
            program.kill()
