"""Two machines in two terminals on one session of a server."""

import re
import signal

import pytest

from tests.pty.conftest import Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import PASSWORD, Cluster

pytestmark = [pytest.mark.pty, pytest.mark.postgres]

CTRL_Q = "\x11"
RESUME = re.compile(r"plimsoll --resume ([0-9a-f]{8})")


def start(machine: Machine, server: FakeOpenAI, store: str, home: str, *arguments: str) -> Terminal:
    """The program with a scripted model, as on a machine of that name."""
    env = {
        "OPENAI_API_KEY": "test-key",
        "OPENAI_BASE_URL": server.base_url,
        "PLIMSOLL_STORE": store,
        "PLIMSOLL_HOME": str(machine.home / home),
    }
    return machine.start("--model", "openai-chat:scripted", *arguments, env=env)


def test_one_writes_another_follows_and_goes_on_when_the_first_is_killed(
    machine: Machine, fake_openai: FakeOpenAI, postgres: Cluster
) -> None:
    store = postgres.database()
    fake_openai.add(Text("A mark on a hull."), Text("Samuel Plimsoll."), Text("In 1876."))
    first = start(machine, fake_openai, store, "one")
    first.wait_for("ctrl+g compact")
    first.write("what is a plimsoll line\r")
    first.wait_for("A mark on a hull.")
    first.wait_gone("esc stops")
    second = start(machine, fake_openai, store, "two", "--continue")
    second.wait_for("what is a plimsoll line", "A mark on a hull.", "shown read-only")
    first.write("named after whom\r")
    first.wait_for("Samuel Plimsoll.")
    second.wait_for("named after whom", "Samuel Plimsoll.")
    first.wait_gone("esc stops")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(30)
    second.wait_for("This session is free again")
    second.write("since when\r")
    second.wait_for("In 1876.")
    second.wait_gone("esc stops")
    second.write(CTRL_Q)
    assert second.wait_exit() == 0
    assert RESUME.search(second.output.decode())
    contents = [message["content"] for message in fake_openai.journal[-1]["messages"]]
    assert contents[-5:] == [
        "what is a plimsoll line",
        "A mark on a hull.",
        "named after whom",
        "Samuel Plimsoll.",
        "since when",
    ]
    assert PASSWORD.encode() not in first.output + second.output
