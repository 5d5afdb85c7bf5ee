"""Nothing but the program writes to the terminal: no library beneath it says what it is."""

import pytest

from tests.pty.conftest import Machine

pytestmark = pytest.mark.pty

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
    terminal.wait_for("compacts at 80%")
    terminal.write("How high is the spring tide?\r")
    terminal.wait_for("7.3 metres")
    terminal.write("\x11")
    assert terminal.wait_exit() == 0
    printed = bytes(terminal.output).decode(errors="replace").lower()
    assert [word for word in FOREIGN if word in printed] == []
