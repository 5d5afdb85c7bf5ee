"""The program's output at the first start and over a remote shell; nothing else writes to the terminal."""

import re
import sqlite3

import pytest

from tests.pty.conftest import Machine
from tests.pty.test_pty_leaving import CTRL_Q as REMOTE_CTRL_Q
from tests.pty.test_pty_leaving import READY, assert_nothing_left, assert_restored

pytestmark = pytest.mark.pty


@pytest.fixture
def forks() -> bool:
    """Start real processes, because libraries print while they are imported."""
    return False


# The first start without keys: ready at once, honest about what answers, and without traces.


CTRL_Q = "\x11"
COLOUR = re.compile(rb"\x1b\[([0-9;]*)m")
SET = {*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108)}
"""SGR codes that set a colour, indexed or not."""


def test_first_run_is_ready_and_leaves_no_settings(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("no key needed", "ctrl+l picks a model")
    terminal.write("a draft")
    terminal.wait_for("▐ a draft")
    assert terminal.text.count("no key needed") == 1, "said in one row, and nowhere else"
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    assert not [name for name in machine.files() if name.startswith("config")]
    assert b"Resume:" not in terminal.output, "there is nothing to resume"
    assert coloured(terminal.output), "what looks for colours would see them"


@pytest.mark.parametrize("moment", ["at once", "alternate screen"])
def test_keys_typed_before_the_first_frame_are_not_lost(machine: Machine, moment: str) -> None:
    terminal = machine.start()
    if moment == "alternate screen":
        terminal.wait_until(lambda: 1049 in terminal.on, moment)
    terminal.write("typed early")
    terminal.wait_for("▐ typed early")
    terminal.write(" and late")
    terminal.wait_for("▐ typed early and late")


def test_no_color_paints_no_colour(machine: Machine) -> None:
    terminal = machine.start(env={"NO_COLOR": "1"})
    terminal.wait_for("no key needed")
    terminal.write("how high is the spring tide?\r")
    terminal.wait_for("7.3 metres", "ok")
    assert coloured(terminal.output) == set()


def test_what_changes_while_the_terminal_takes_nothing_is_painted_when_it_does(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for(" · ok")
    terminal.fill("\x10", "\x1b[27u")
    # A key directly after these would go to the palette, which closes.
    terminal.watch(1.0)
    terminal.write("?")
    terminal.wait_for("Keys and commands", "esc close")


def test_sessions_file_that_cannot_be_opened_is_a_sentence(machine: Machine) -> None:
    (machine.home / "data" / "sessions.db").mkdir(parents=True)
    terminal = machine.start()
    terminal.wait_for("The sessions file")
    terminal.write("hello\r")
    terminal.wait_for("▐ hello")
    terminal.write("\x03" + CTRL_Q)
    assert terminal.wait_exit() == 0
    assert "Traceback" not in terminal.output.decode()


def test_a_session_without_a_word_is_not_kept(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for(" · ok")
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    database = machine.home / "data" / "sessions.db"
    if database.exists():
        with sqlite3.connect(database) as connection:
            assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
        connection.close()


def coloured(output: bytes) -> set[bytes]:
    """SGR sequences that set a colour, greys included; 39 and 49 select the terminal's defaults."""
    return {codes for codes in COLOUR.findall(output) if set(map(int, filter(None, codes.split(b";")))) & SET}


# Only the program writes to the terminal: libraries do not print.


FOREIGN = ("pydantic-ai v", "observability", "logfire")
OWN_AGENT = """\
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

helper = Agent(TestModel(custom_output_text="The tide is out."))
"""
COMMANDS = {
    "help": ("--help",),
    "run": ("run", "--model", "offline:extractive", "How high is the spring tide?"),
    "own agent": ("run", "--agent", "helper.py:helper", "How high is the spring tide?"),
    "models": ("models",),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_prints_its_own_words_alone(machine: Machine, arguments: tuple[str, ...]) -> None:
    (machine.workspace / "helper.py").write_text(OWN_AGENT)
    terminal = machine.start(*arguments)
    assert terminal.wait_exit() == 0
    printed = bytes(terminal.output).decode(errors="replace").lower()
    assert printed
    assert [word for word in FOREIGN if word in printed] == []


def test_the_screen_shows_and_leaves_nothing_of_others(machine: Machine) -> None:
    terminal = machine.start("--model", "offline:extractive")
    terminal.wait_for(" · ok")
    terminal.write("How high is the spring tide?\r")
    terminal.wait_for("7.3 metres")
    terminal.write("\x11")
    assert terminal.wait_exit() == 0
    printed = bytes(terminal.output).decode(errors="replace").lower()
    assert [word for word in FOREIGN if word in printed] == []


# Over a remote shell in a terminal of few colours: an answer, a compaction, its undo, and quitting.


REMOTE = {
    "TERM": "xterm",
    "SSH_TTY": "/dev/pts/7",
    "SSH_CONNECTION": "192.0.2.7 50022 192.0.2.1 22",
}


def test_a_session_over_a_remote_shell(machine: Machine) -> None:
    terminal = machine.start(env=REMOTE)
    terminal.wait_for("no key needed", READY)
    terminal.write("how high is the spring tide?\r")
    terminal.wait_for("7.3 metres")
    terminal.wait_gone("esc stops")
    for number in range(3):
        terminal.paste("\n".join(f"{number}.{line}: the gate opened and closed." for line in range(200)))
        terminal.wait_for("▐ [pasted 200 lines")
        terminal.write("\r")
        terminal.wait_gone("▐ [pasted")
        terminal.wait_for(f"● {number}.0: the gate")
        terminal.wait_gone("esc stops")
    terminal.write("/compact\r")
    terminal.wait_for("Conversation compacted")
    terminal.wait_gone("Compacting conversation history")
    terminal.write("/undo\r")
    terminal.wait_for("Undone: the full history is back")
    terminal.write(REMOTE_CTRL_Q)
    assert terminal.wait_exit() == 0
    assert_restored(terminal)
    assert_nothing_left(machine)
    assert b"38;2;" not in terminal.output, "colours that such a terminal does not know"
    coloured = re.findall(rb"\x1b\[(?:[0-9;]*;)?(4[0-7]|10[0-7])m([^\x1b]*)", bytes(terminal.output))
    assert [text for _, text in coloured if len(text.strip()) > 1] == [], "grounds that are not its own"
