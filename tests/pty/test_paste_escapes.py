"""Pastes that hold control sequences, as other programs print them, stay text and send nothing."""

import fcntl
import struct
import termios
from time import monotonic

import pytest

from tests.pty.child import PATIENCE_S
from tests.pty.conftest import Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI

pytestmark = pytest.mark.pty

START, END = "\x1b[200~", "\x1b[201~"
COLOURED = "\x1b[31mred\x1b[0m\rline two\r"
READY = "compacts at 80%"


def start(machine: Machine, server: FakeOpenAI) -> Terminal:
    """The program with a model that answers one prompt, at rest."""
    server.add(Text("All of it arrived."))
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env)
    terminal.wait_for("openai-chat:scripted", READY)
    return terminal


def write_alone(terminal: Terminal, piece: str) -> None:
    """Write, and wait until the program has read it, so that what follows needs a read of its own."""
    terminal.write(piece)
    until = monotonic() + PATIENCE_S
    while struct.unpack("i", fcntl.ioctl(terminal._slave, termios.FIONREAD, bytes(4))) != (0,):
        assert monotonic() < until, f"not read: {piece!r}"
        terminal.read(0)


def sent(terminal: Terminal, server: FakeOpenAI) -> str:
    """Send the draft, and what the model was asked: the draft must be all there was to ask."""
    terminal.write(".\r")
    terminal.wait_for("All of it arrived.")
    assert len(server.journal) == 1, "the paste itself sent nothing"
    content = server.journal[0]["messages"][-1]["content"]
    assert isinstance(content, str)
    return content


def test_coloured_paste_is_text_and_sends_nothing(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = start(machine, fake_openai)
    terminal.paste(COLOURED)
    terminal.wait_for("› red", "line two")
    assert sent(terminal, fake_openai) == "red\nline two\n."


def test_coloured_paste_with_line_feeds(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = start(machine, fake_openai)
    terminal.paste(COLOURED.replace("\r", "\n"))
    assert sent(terminal, fake_openai) == "red\nline two\n."


def test_long_coloured_paste_is_one_chip(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = start(machine, fake_openai)
    lines = [f"\x1b[3{number % 8}mline {number} of a long log\x1b[0m" for number in range(1, 1_001)]
    terminal.paste("\r".join(lines))
    terminal.wait_for("› [pasted 1000 lines]")
    expected = "\n".join(f"line {number} of a long log" for number in range(1, 1_001))
    assert sent(terminal, fake_openai) == f"{expected}."


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((START + "\x1b", "[31mred\x1b[0", "m\rline two\r" + END), id="inside sequences"),
        pytest.param((START + COLOURED + "\x1b", "[201~"), id="behind the escape of the end"),
        pytest.param(("\x1b[20", "0~" + COLOURED + END), id="inside the beginning"),
        pytest.param(tuple(START + COLOURED + END), id="everywhere"),
    ],
)
def test_paste_in_pieces(machine: Machine, fake_openai: FakeOpenAI, pieces: tuple[str, ...]) -> None:
    terminal = start(machine, fake_openai)
    for piece in pieces:
        write_alone(terminal, piece)
    assert sent(terminal, fake_openai) == "red\nline two\n."
