"""Over a remote shell, in a terminal of few colours: an answer, a compaction, its undo, and the way out."""

import pytest

from tests.pty.conftest import Machine
from tests.pty.test_pty_leaving import CTRL_Q, READY, assert_nothing_left, assert_restored

pytestmark = pytest.mark.pty

REMOTE = {
    "TERM": "xterm",
    "SSH_TTY": "/dev/pts/7",
    "SSH_CONNECTION": "192.0.2.7 50022 192.0.2.1 22",
}


def test_a_session_over_a_remote_shell(machine: Machine) -> None:
    terminal = machine.start(env=REMOTE)
    terminal.wait_for("No key found", READY)
    terminal.write("how high is the spring tide?\r")
    terminal.wait_for("7.3 metres")
    terminal.wait_gone("esc stops")
    for number in range(3):
        terminal.paste("\n".join(f"{number}.{line}: the gate opened and closed." for line in range(200)))
        terminal.wait_for("› [pasted 200 lines")
        terminal.write("\r")
        terminal.wait_gone("› [pasted")
        terminal.wait_for(f"● {number}.0: the gate")
        terminal.wait_gone("esc stops")
    terminal.write("/compact\r")
    terminal.wait_for("Conversation compacted")
    terminal.wait_gone("Compacting conversation history")
    terminal.write("/undo\r")
    terminal.wait_for("Undone: what it replaced is back")
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    assert_restored(terminal)
    assert_nothing_left(machine)
    assert b"38;2;" not in terminal.output, "colours that such a terminal does not know"
