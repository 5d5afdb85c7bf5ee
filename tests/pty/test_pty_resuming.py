"""Resuming after quitting, and after a kill in the middle of an answer."""

import re
import signal

import pytest

from tests.pty.conftest import Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import HangMidStream, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import PASSWORD, Cluster

CTRL_Q = "\x11"
RESUME = re.compile(r"plimsoll --resume ([0-9a-f]{8})")


def start(machine: Machine, server: FakeOpenAI, *arguments: str) -> Terminal:
    """Start the program with a scripted model."""
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", *arguments, env=env)
    terminal.wait_for("openai-chat:scripted", "ctrl+g compact")
    return terminal


def quit_and_read_id(terminal: Terminal) -> str:
    """Quit, and return the session id in the last line."""
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    (session,) = RESUME.findall(terminal.output.decode())
    return str(session)


def converse(machine: Machine, server: FakeOpenAI, prompt: str, answer: str) -> str:
    """Run a session with one turn, and return its id."""
    server.add(Text(answer))
    terminal = start(machine, server)
    terminal.write(f"{prompt}\r")
    terminal.wait_for(answer)
    terminal.wait_gone("esc stops")
    return quit_and_read_id(terminal)


@pytest.mark.pty
def test_continue_shows_the_last_session_and_goes_on(machine: Machine, fake_openai: FakeOpenAI) -> None:
    first = converse(machine, fake_openai, "what is a plimsoll line", "A mark on a hull.")
    fake_openai.add(Text("Samuel Plimsoll."))
    terminal = start(machine, fake_openai, "--continue")
    terminal.wait_for("what is a plimsoll line", "A mark on a hull.")
    terminal.write("named after whom\r")
    terminal.wait_for("Samuel Plimsoll.")
    contents = [message["content"] for message in fake_openai.journal[-1]["messages"]]
    assert contents[-3:] == ["what is a plimsoll line", "A mark on a hull.", "named after whom"]
    terminal.wait_gone("esc stops")
    assert quit_and_read_id(terminal) == first


@pytest.mark.pty
def test_resume_by_id_and_from_the_list(machine: Machine, fake_openai: FakeOpenAI) -> None:
    older = converse(machine, fake_openai, "about anchors", "Anchors hold.")
    converse(machine, fake_openai, "about sails", "Sails pull.")
    by_id = start(machine, fake_openai, "--resume", older)
    by_id.wait_for("Anchors hold.")
    assert "Sails pull." not in by_id.text
    quit_and_read_id(by_id)
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    chosen = machine.start("--resume", env=env)
    chosen.wait_for("about anchors", "about sails")
    chosen.write("sails")
    chosen.wait_gone("about anchors")
    chosen.write("\r")
    chosen.wait_for("Sails pull.")


@pytest.mark.pty
def test_continue_without_a_session_says_so(machine: Machine) -> None:
    terminal = machine.start("--continue")
    assert terminal.wait_exit() == 1
    assert "There is no session to continue yet." in terminal.text
    assert terminal.on == set(), "the screen was never touched"


@pytest.mark.pty
def test_kill_during_an_answer_loses_nothing_that_was_done(
    machine: Machine, fake_openai: FakeOpenAI, size: tuple[int, int]
) -> None:
    fake_openai.add(tool("read_file", path="tides.md"), Text("It is 7.3 metres."), HangMidStream())
    terminal = start(machine, fake_openai)
    terminal.write("how high\r")
    terminal.wait_for("It is 7.3 metres.")
    terminal.wait_gone("esc stops")
    terminal.write("and the neap tide\r")
    terminal.wait_for("These words arrive")
    terminal.kill(signal.SIGKILL)
    assert terminal.wait_exit() == -signal.SIGKILL

    fake_openai.add(Text("Half of that."))
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    again = machine.start("--continue", env=env, size=size)
    again.wait_for("how high", "read_file tides.md", "It is 7.3 metres.", "and the neap tide")
    again.write("once more\r")
    again.wait_for("Half of that.")
    assert "read-only" not in again.text, "no lock is rewound"
    sent = [message for message in fake_openai.journal[-1]["messages"] if message["role"] != "system"]
    assert [message["role"] for message in sent[:4]] == ["user", "assistant", "tool", "assistant"]
    assert sent[-1]["role"] == "user"
    assert "once more" in sent[-1]["content"]


@pytest.mark.pty
def test_kill_during_a_tool_call_leaves_no_open_call(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("read_file", path="tides.md"), HangMidStream())
    terminal = start(machine, fake_openai)
    terminal.write("how high\r")
    terminal.wait_for("read_file tides.md", "These words arrive")
    terminal.kill(signal.SIGKILL)
    terminal.wait_exit()

    fake_openai.add(Text("All is well."))
    again = start(machine, fake_openai, "--continue")
    again.wait_for("how high", "read_file tides.md")
    again.write("go on\r")
    again.wait_for("All is well.")
    sent = fake_openai.journal[-1]["messages"]
    called = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    assert called == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


@pytest.mark.pty
def test_second_window_reads_and_says_so(machine: Machine, fake_openai: FakeOpenAI) -> None:
    session = converse(machine, fake_openai, "about anchors", "Anchors hold.")
    writing = start(machine, fake_openai, "--resume", session)
    writing.wait_for("Anchors hold.")
    writing.wait_for(" · ok")
    reading = machine.start("--resume", session)
    reading.wait_for("Anchors hold.", "read-only")
    reading.write("hello\r")
    reading.wait_for("▐ hello")


# Two machines in two terminals with one session on a server.


def shared_start(machine: Machine, server: FakeOpenAI, store: str, home: str, *arguments: str) -> Terminal:
    """Start the program with a scripted model, with this machine name."""
    env = {
        "OPENAI_API_KEY": "test-key",
        "OPENAI_BASE_URL": server.base_url,
        "PLIMSOLL_STORE": store,
        "PLIMSOLL_HOME": str(machine.home / home),
    }
    return machine.start("--model", "openai-chat:scripted", *arguments, env=env)


@pytest.mark.pty
@pytest.mark.postgres
def test_one_writes_another_follows_and_goes_on_when_the_first_is_killed(
    machine: Machine, fake_openai: FakeOpenAI, postgres: Cluster
) -> None:
    store = postgres.database()
    fake_openai.add(Text("A mark on a hull."), Text("Samuel Plimsoll."), Text("In 1876."))
    first = shared_start(machine, fake_openai, store, "one")
    first.wait_for("ctrl+g compact")
    first.write("what is a plimsoll line\r")
    first.wait_for("A mark on a hull.")
    first.wait_gone("esc stops")
    second = shared_start(machine, fake_openai, store, "two", "--continue")
    second.wait_for("what is a plimsoll line", "A mark on a hull.", "read-only here")
    first.write("named after whom\r")
    first.wait_for("Samuel Plimsoll.")
    second.wait_for("named after whom", "Samuel Plimsoll.")
    first.wait_gone("esc stops")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(30)
    second.wait_for("This session is no longer in use elsewhere")
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
