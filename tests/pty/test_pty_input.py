"""Input of real terminals: before the UI starts, whole lines, pastes, escapes, external editors."""

import fcntl
import os
import signal
import struct
import sys
import termios
from pathlib import Path
from time import monotonic

import psutil
import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.pty.terminal import PATIENCE_S, Terminal
from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.ui.keyboard.stray_keys import QUIET_S

pytestmark = pytest.mark.pty


# Input before the UI starts, around a suspension, and from a terminal that closes.


AFTER_QUIT_S = 2.0
CTRL_J, CTRL_Q = "\n", "\x11"
READY = " · ok"
OTHER_SESSION = """
import os, sys
if os.fork():
    os.wait()
else:
    os.setsid()
    os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a program without a controlling terminal, which gets no signal when the terminal is closed."""


def start_cooked(machine: Machine, keys: str) -> Terminal:
    """Type while the terminal is still in line mode and turns Enter into a line feed."""
    terminal = machine.start(command=PROGRAM)
    terminal.write(keys)
    assert terminal.cooked
    return terminal


def test_enter_before_the_first_frame_sends(machine: Machine) -> None:
    terminal = start_cooked(machine, "how high is the spring tide?\r")
    terminal.wait_for("how high is the spring tide?", "7.3 metres")
    terminal.wait_for("Ask something")  # the prompt is empty again


def test_each_enter_before_the_first_frame_sends(machine: Machine) -> None:
    terminal = start_cooked(machine, "spring tide\rneap tide\rand a draft")
    terminal.wait_for("⊖ spring tide", "● neap tide", "▐ and a draft")


def test_enter_alone_before_the_first_frame_does_nothing(machine: Machine) -> None:
    terminal = start_cooked(machine, "\r")
    terminal.wait_for("no key needed", READY)
    terminal.write("a draft")
    terminal.wait_for("▐ a draft")
    assert "no key needed" in terminal.text, "nothing was sent"


def test_ctrl_j_behind_the_first_frame_is_a_new_line(machine: Machine) -> None:
    terminal = start_cooked(machine, "")
    terminal.wait_for("no key needed", READY)
    terminal.write(f"first{CTRL_J}second")
    terminal.wait_for("▐ first", "second")
    assert "no key needed" in terminal.text, "nothing was sent"


def test_input_after_a_suspension(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("no key needed", READY)
    program = psutil.Process(terminal.process.pid)
    terminal.kill(signal.SIGTSTP)
    terminal.wait_until(lambda: program.status() == psutil.STATUS_STOPPED, "suspended")
    assert terminal.cooked
    terminal.kill(signal.SIGCONT)
    terminal.wait_until(lambda: not terminal.cooked, "resumed")
    terminal.write("typed ")
    terminal.wait_for("▐ typed")
    terminal.paste("\x1b[1mand pasted\x1b[0m")
    terminal.wait_for("▐ typed and pasted")
    terminal.write("\x03" + CTRL_Q)
    assert terminal.wait_exit() == 0
    assert terminal.on == set()
    assert terminal.cooked


def test_terminal_that_goes_without_a_signal_ends_the_program(machine: Machine) -> None:
    terminal = machine.start(command=(sys.executable, "-c", OTHER_SESSION, *PROGRAM))
    terminal.wait_for("no key needed", READY)
    (program,) = psutil.Process(terminal.process.pid).children()
    try:
        terminal.hang_up()
        program.wait(AFTER_QUIT_S)
    finally:
        if program.is_running():
            program.kill()


# Keys as terminals send them: whole lines in one write, pastes, a lone escape byte.


CTRL_C, TYPING_CTRL_Q, ESCAPE, F1, UP = "\x03", "\x11", "\x1b", "\x1bOP", "\x1b[A"
PASTE = "\n".join(f"pasted line {number}" for number in range(1, 64))


def start(machine: Machine, server: FakeOpenAI, size: tuple[int, int] = (120, 40)) -> Terminal:
    """Start the program with a scripted model."""
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env, size=size)
    terminal.wait_for("openai-chat:scripted", "ctrl+g compact")
    return terminal


def last_prompt(server: FakeOpenAI) -> str:
    """The last prompt sent to the model."""
    content = server.journal[-1]["messages"][-1]["content"]
    assert isinstance(content, str)
    return content


def test_line_and_enter_in_one_write_send(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Good morning to you."))
    terminal = start(machine, fake_openai)
    terminal.write("hello\r")
    terminal.wait_for("Good morning to you.")
    assert last_prompt(fake_openai) == "hello"
    terminal.wait_for("Ask something")  # the prompt is empty again


def test_two_lines_in_one_write_are_two_prompts(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("The first answer."), Text("The second answer."))
    terminal = start(machine, fake_openai)
    terminal.write("one\rtwo\r")
    terminal.wait_for("The first answer.", "The second answer.")
    assert last_prompt(fake_openai) == "two"


def test_large_paste_is_a_chip_and_sent_in_full(
    machine: Machine, fake_openai: FakeOpenAI, size: tuple[int, int]
) -> None:
    fake_openai.add(Text("All lines arrived."))
    terminal = start(machine, fake_openai, size)
    terminal.paste(PASTE.replace("\n", "\r"))
    terminal.wait_for("▐ [pasted 63 lines]")
    terminal.write(" summarise")
    terminal.wait_for("▐ [pasted 63 lines] summarise")
    assert fake_openai.journal == [], "line ends of a paste send nothing"
    terminal.write("\r")
    terminal.wait_for("All lines arrived.")
    assert last_prompt(fake_openai) == f"{PASTE} summarise"


def test_small_paste_stays_text(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = start(machine, fake_openai)
    terminal.paste("first\rsecond")
    terminal.wait_for("▐ first", "second")
    assert fake_openai.journal == []


def test_escape_alone_stops_an_answer(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream(), Text("Back again."))
    terminal = start(machine, fake_openai)
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive", "esc stops")
    terminal.write(ESCAPE)
    # An escape byte may start a longer sequence; after 100 ms without more bytes it is the key.
    terminal.wait_for("Stopped.", limit_s=3)
    fake_openai.request_in_thread(1).closed.wait_in_thread()
    terminal.write("and now?\r")
    terminal.wait_for("Back again.")


def test_escape_closes_only_what_stands_on_top(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for(READY)
    terminal.write("?")
    terminal.wait_for("Keys and commands")
    terminal.write(ESCAPE)
    terminal.wait_gone("Keys and commands", limit_s=3)
    terminal.write("a draft")
    terminal.wait_for("▐ a draft")
    terminal.write(ESCAPE + F1)
    terminal.wait_for("Keys and commands")
    terminal.write(ESCAPE)
    terminal.wait_gone("Keys and commands", limit_s=3)
    terminal.wait_for("▐ a draft")  # escape never clears a draft


def test_ctrl_c_goes_down_one_step_a_press(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("no key needed")
    terminal.write("a long draft")
    terminal.wait_for("▐ a long draft")
    terminal.write(CTRL_C)
    terminal.wait_for("Draft cleared.")
    terminal.wait_gone("▐ a long draft")
    terminal.write(UP)
    terminal.wait_for("▐ a long draft")
    terminal.write(CTRL_C)
    terminal.wait_gone("▐ a long draft")
    terminal.write(CTRL_C)
    terminal.wait_for("Press ctrl+c again to quit")
    terminal.write(CTRL_C)
    assert terminal.wait_exit() == 0


def test_ctrl_c_stops_an_answer_before_it_quits(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    terminal = start(machine, fake_openai)
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive")
    terminal.write(CTRL_C)
    terminal.wait_for("Stopped.")
    terminal.write(CTRL_C)
    terminal.wait_for("Press ctrl+c again to quit")
    terminal.write(CTRL_C)
    assert terminal.wait_exit() == 0


@pytest.mark.parametrize("keys", ["/quit\r", "/exit\r", "\x04", TYPING_CTRL_Q])
def test_ways_to_quit(machine: Machine, keys: str) -> None:
    terminal = machine.start()
    terminal.wait_for("no key needed")
    terminal.write(keys)
    assert terminal.wait_exit() == 0


def test_ctrl_d_in_a_draft_does_not_quit(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("no key needed")
    terminal.write("abc")
    terminal.wait_for("▐ abc")
    terminal.wait_until(lambda: terminal.cursor[0] == len("  ▐ abc"), "the cursor is behind the draft")
    terminal.write("\x1b[D")
    terminal.wait_until(lambda: terminal.cursor[0] == len("  ▐ ab"), "the cursor moved left")
    terminal.write("\x04")
    terminal.wait_gone("abc")
    assert "▐ ab" in terminal.text


def test_quitting_during_an_answer_asks(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    terminal = start(machine, fake_openai)
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive")
    terminal.write(TYPING_CTRL_Q)
    terminal.wait_for("Quit while the model answers?")
    terminal.watch(2 * QUIET_S)
    terminal.write("n")
    terminal.wait_gone("Quit while the model answers?")
    terminal.write(TYPING_CTRL_Q)
    terminal.wait_for("Quit while the model answers?")
    terminal.watch(2 * QUIET_S)
    terminal.write("y")
    assert terminal.wait_exit() == 0
    fake_openai.request_in_thread(1).closed.wait_in_thread()


# Pastes with control sequences, as other programs print them, stay text and send nothing.


START, END = "\x1b[200~", "\x1b[201~"
COLOURED = "\x1b[31mred\x1b[0m\rline two\r"


def paste_escapes_start(machine: Machine, server: FakeOpenAI) -> Terminal:
    """The idle program, with a model that answers one prompt."""
    server.add(Text("All of it arrived."))
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env)
    terminal.wait_for("openai-chat:scripted", READY)
    return terminal


def write_alone(terminal: Terminal, piece: str) -> None:
    """Write, and wait until the program has read it, so that later bytes come with another read."""
    terminal.write(piece)
    until = monotonic() + PATIENCE_S
    while struct.unpack("i", fcntl.ioctl(terminal._slave, termios.FIONREAD, bytes(4))) != (0,):
        assert monotonic() < until, f"not read: {piece!r}"
        terminal.read(0)


def sent(terminal: Terminal, server: FakeOpenAI) -> str:
    """Send the draft and return the prompt received; nothing else may have been sent."""
    terminal.write(".\r")
    terminal.wait_for("All of it arrived.")
    assert len(server.journal) == 1, "the paste itself sent nothing"
    content = server.journal[0]["messages"][-1]["content"]
    assert isinstance(content, str)
    return content


def test_coloured_paste_is_text_and_sends_nothing(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = paste_escapes_start(machine, fake_openai)
    terminal.paste(COLOURED)
    terminal.wait_for("▐ red", "line two")
    assert sent(terminal, fake_openai) == "red\nline two\n."


def test_coloured_paste_with_line_feeds(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = paste_escapes_start(machine, fake_openai)
    terminal.paste(COLOURED.replace("\r", "\n"))
    assert sent(terminal, fake_openai) == "red\nline two\n."


def test_long_coloured_paste_is_one_chip(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = paste_escapes_start(machine, fake_openai)
    lines = [f"\x1b[3{number % 8}mline {number} of a long log\x1b[0m" for number in range(1, 1_001)]
    terminal.paste("\r".join(lines))
    terminal.wait_for("▐ [pasted 1000 lines]")
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
    terminal = paste_escapes_start(machine, fake_openai)
    for piece in pieces:
        write_alone(terminal, piece)
    assert sent(terminal, fake_openai) == "red\nline two\n."


# An external editor in a real terminal: it gets keyboard and screen, and returns both.


EDITOR_CTRL_C, F4 = "\x03", "\x1bOS"


def editor_start(machine: Machine, body: str) -> Terminal:
    editor = machine.home / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{body}\n")
    editor.chmod(0o700)
    terminal = machine.start(env={"EDITOR": str(editor), "TMPDIR": str(machine.workspace)})
    terminal.wait_for("no key needed", "ctrl+g compact")
    return terminal


def left_behind(machine: Machine) -> list[Path]:
    return list(machine.workspace.glob("plimsoll-*"))


def test_the_draft_goes_to_the_editor_and_comes_back(machine: Machine) -> None:
    terminal = editor_start(machine, 'printf " and more\\nlines\\n" >> "$1"')
    terminal.write("a draft")
    terminal.wait_for("▐ a draft")
    terminal.write(F4)
    terminal.wait_for("▐ a draft and more", "lines")
    assert left_behind(machine) == []
    terminal.write("\x03")
    terminal.wait_gone("and more")
    assert {1049, 2004} <= terminal.on


def test_the_editor_has_keyboard_and_screen_to_itself(machine: Machine) -> None:
    terminal = editor_start(machine, 'echo "EDITOR READY"; read line; printf "%s" "$line" > "$1"')
    terminal.write("/editor\r")
    terminal.wait_for("EDITOR READY")
    assert 1049 not in terminal.on
    terminal.write("typed there\r")
    terminal.wait_for("▐ typed there", "ctrl+g compact")
    terminal.write(" and here")
    terminal.wait_for("▐ typed there and here")


def test_ctrl_c_in_the_editor_is_the_editors(machine: Machine) -> None:
    # Short sleeps: a shell handles a signal only when the current sleep has ended.
    terminal = editor_start(machine, 'trap "exit 7" INT; echo "EDITOR READY"; while :; do sleep 0.1; done')
    terminal.write("keep me")
    terminal.wait_for("▐ keep me")
    terminal.write(F4)
    terminal.wait_for("EDITOR READY")
    terminal.write(EDITOR_CTRL_C)
    terminal.wait_for("editor.sh ended with an error (7)", "▐ keep me")
    assert left_behind(machine) == []


def test_a_signal_ends_both(machine: Machine) -> None:
    terminal = editor_start(machine, 'echo "EDITOR READY"; exec sleep 600')
    terminal.write(F4)
    terminal.wait_for("EDITOR READY")
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.wait_exit() == 143
    assert machine.left() == []
    assert left_behind(machine) == []


def test_an_editor_that_is_not_there_keeps_screen_and_draft(machine: Machine) -> None:
    terminal = machine.start(env={"VISUAL": "no-such-editor"})
    terminal.wait_for("no key needed", "ctrl+g compact")
    terminal.write("keep me")
    terminal.wait_for("▐ keep me")
    terminal.write(F4)
    terminal.wait_for("no-such-editor could not be used: No such file or directory.", "▐ keep me")
    terminal.write(" too")
    terminal.wait_for("▐ keep me too")
