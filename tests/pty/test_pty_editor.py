"""The person's own editor in a real terminal: it gets keyboard and screen, and gives both back."""

import os
import signal
from pathlib import Path

import pytest

from tests.pty.conftest import Machine
from tests.pty.terminal import Terminal

pytestmark = pytest.mark.pty

CTRL_C, F4 = "\x03", "\x1bOS"


def start(machine: Machine, body: str) -> Terminal:
    editor = machine.home / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{body}\n")
    editor.chmod(0o700)
    terminal = machine.start(env={"EDITOR": str(editor), "TMPDIR": str(machine.workspace)})
    terminal.wait_for("No key found", "ctrl+g compact")
    return terminal


def left_behind(machine: Machine) -> list[Path]:
    return list(machine.workspace.glob("plimsoll-*"))


def test_the_draft_goes_to_the_editor_and_comes_back(machine: Machine) -> None:
    terminal = start(machine, 'printf " and more\\nlines\\n" >> "$1"')
    terminal.write("a draft")
    terminal.wait_for("› a draft")
    terminal.write(F4)
    terminal.wait_for("› a draft and more", "lines")
    assert left_behind(machine) == []
    terminal.write("\x03")
    terminal.wait_gone("and more")
    assert {1049, 2004} <= terminal.on


def test_the_editor_has_keyboard_and_screen_to_itself(machine: Machine) -> None:
    terminal = start(machine, 'echo "EDITOR READY"; read line; printf "%s" "$line" > "$1"')
    terminal.write("/editor\r")
    terminal.wait_for("EDITOR READY")
    assert 1049 not in terminal.on
    terminal.write("typed there\r")
    terminal.wait_for("› typed there", "ctrl+g compact")
    terminal.write(" and here")
    terminal.wait_for("› typed there and here")


def test_ctrl_c_in_the_editor_is_the_editors(machine: Machine) -> None:
    # Short sleeps: a signal that comes while the shell starts one is looked at only when that one is over.
    terminal = start(machine, 'trap "exit 7" INT; echo "EDITOR READY"; while :; do sleep 0.1; done')
    terminal.write("keep me")
    terminal.wait_for("› keep me")
    terminal.write(F4)
    terminal.wait_for("EDITOR READY")
    terminal.write(CTRL_C)
    terminal.wait_for("editor.sh ended with an error (7)", "› keep me")
    assert left_behind(machine) == []


def test_a_signal_ends_both(machine: Machine) -> None:
    terminal = start(machine, 'echo "EDITOR READY"; exec sleep 600')
    terminal.write(F4)
    terminal.wait_for("EDITOR READY")
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.wait_exit() == 143
    assert machine.left() == []
    assert left_behind(machine) == []


def test_an_editor_that_is_not_there_keeps_screen_and_draft(machine: Machine) -> None:
    terminal = machine.start(env={"VISUAL": "no-such-editor"})
    terminal.wait_for("No key found", "ctrl+g compact")
    terminal.write("keep me")
    terminal.wait_for("› keep me")
    terminal.write(F4)
    terminal.wait_for("no-such-editor could not be used: No such file or directory.", "› keep me")
    terminal.write(" too")
    terminal.wait_for("› keep me too")
