"""Real terminals: foreign bytes, replies, split reads, suspension, sizes, tmux, and no terminal."""

import base64
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI

pytestmark = pytest.mark.pty
READY, CTRL_C, CTRL_Q, CTRL_Z = " · ok", "\x03", "\x11", "\x1a"
ALTERNATE_SCREEN = b"\x1b[?1049h"
ODD = (
    b"\x1b[200~caf\xe9 \xf0\x9f\x98\x1b[201~",
    b"caf\xe9 ",
    b"\x1b[M \x90\x85",
    b"\x1b[97;1:3u",
    b"\x1b[55555;1:9u",
    b"\x1b[<0;0;0;0M",
    b"\x1b[<0;1150;700M",
    b"\x1b[<0;1150;700m",
    b"\x1b[<64;1150;700M",
    b"\x1b[<0;5;5M\x1b[<32;9;5M\x1b[<0;1150;700m",
    b"\x9b\xff\xfe",
)
ANSWERS = (
    b"\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\\x1b[?62;4;22c\x1bP>|kitty(0.36.4)\x1b\\\x1b[?997;1n\x1b[8;40;120t"
)


def start(machine: Machine, server: FakeOpenAI, size: tuple[int, int] = (120, 40)) -> Terminal:
    """Start the program with a scripted model, and wait until it is idle."""
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env, size=size)
    terminal.wait_for("openai-chat:scripted", READY)
    return terminal


def test_no_input_ends_the_program_or_is_mistaken_for_text(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for(READY)
    for odd in ODD:
        terminal.write(odd)
    terminal.write("|")
    terminal.wait_for("|")
    terminal.write(CTRL_C)
    terminal.wait_for("Draft cleared.")
    terminal.write(b"ab" + ANSWERS + b"cd")
    terminal.wait_for("▐ abcd")
    terminal.write("\x1b\refgh")
    terminal.wait_until(
        lambda: re.search(r"^  ▐ abcd\s+~.*\n  ▐ efgh", terminal.text, re.MULTILINE), "a new line"
    )
    terminal.write("\x1b[200~lost")
    terminal.wait_for("efghlost")
    terminal.write("\x1b[200~lost")
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0


def test_keys_with_alt_and_in_packets_stop_nothing(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    terminal = start(machine, fake_openai)
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive", "esc stops")
    terminal.write("two words")
    terminal.wait_until(lambda: terminal.cursor[0] == len("  ▐ two words"), "the cursor is behind the draft")
    terminal.write("\x1b\x1b[D")
    terminal.wait_until(lambda: terminal.cursor[0] == len("  ▐ two "), "a word back")
    since = len(terminal.output)
    terminal.write("\x1b")
    # The program asks the terminal whether more bytes follow; what arrives before the reply belongs to the
    # key.
    terminal.read_until(b"\x1b[5n", since)
    terminal.write("[D\x1b[0n")
    terminal.wait_until(lambda: terminal.cursor[0] == len("  ▐ two"), "one sign back")
    assert "esc stops" in terminal.text
    terminal.write("\x1b\x1b[0n")
    terminal.wait_for("Stopped.")


def test_lines_that_arrive_at_once_are_one_paste(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = start(machine, fake_openai)
    terminal.write("please fix this:\rTraceback:\r    x()\rValueError: 1\r")
    terminal.wait_for("▐ please fix this:", "▐ Traceback:", "▐ x()", "▐ ValueError: 1")
    assert fake_openai.journal == []


def test_the_cursor_is_in_the_field_with_the_focus(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for(READY)

    def in_field(words: str, column: int) -> bool:
        x, y = terminal.cursor
        return terminal.text.split("\n")[y].find(words) == column == x

    terminal.wait_until(lambda: in_field("", 0) or terminal.cursor[0] == len("  ▐ "), "the prompt")
    assert terminal.text.split("\n")[terminal.cursor[1]].startswith("  ▐")
    for command, hint in (("/theme\r", "filter"), ("/model\r", "search, or type")):
        terminal.write(command)
        terminal.wait_until(
            lambda hint=hint: hint in terminal.text.split("\n")[terminal.cursor[1]][terminal.cursor[0] :],
            f"the cursor in front of {hint}",
        )
        terminal.write("\x1b\x1b[0n")
        terminal.wait_until(
            lambda: terminal.text.split("\n")[terminal.cursor[1]].startswith("  ▐"), "back in the prompt"
        )


def test_a_drag_over_the_edge_takes_what_can_be_seen(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("\n\n".join(f"line {number} of it" for number in range(80))))
    terminal = start(machine, fake_openai)
    terminal.write("count\r")
    terminal.wait_for("line 79 of it")
    terminal.wait_gone("esc stops")
    rows = terminal.text.split("\n")
    first, *_, last = [number for number, row in enumerate(rows) if " of it" in row]

    def drag(row: int, end: int) -> list[str]:
        since = len(terminal.output)
        terminal.write(
            f"\x1b[<0;60;{row + 1}M\x1b[<32;30;{row + 1}M\x1b[<32;30;{end + 1}M\x1b[<0;30;{end + 1}m"
        )
        terminal.write(CTRL_C)
        terminal.wait_until(lambda: re.search(OSC_52, terminal.output[since:]), "a copy")
        (copied,) = re.findall(OSC_52, terminal.output[since:])
        return base64.b64decode(copied).decode().split("\n")

    visible = [found.group() for row in rows if (found := re.search(r"line \d+ of it", row))]
    assert [line for line in drag(last, 0) if line] == visible
    assert [line for line in drag(first, len(rows) - 4) if line] == visible[1:], "from behind the first line"


OSC_52 = rb"\x1b\]52;c;([A-Za-z0-9+/=]+)(?:\x07|\x1b\\)"


def bring_back(terminal: Terminal) -> None:
    """Run ``fg`` and wait for a full repaint: until the old output is written, keys are discarded."""
    since = len(terminal.output)
    terminal.write("fg\r")
    terminal.read_until(ALTERNATE_SCREEN, since)
    since = terminal.output.index(ALTERNATE_SCREEN, since)
    terminal.read_until(READY.encode(), since)
    terminal.read_until("▐".encode(), since)


def test_everything_is_painted_again_after_a_stop(machine: Machine) -> None:
    """ctrl+z and fg in a shell, then SIGSTOP, which the program cannot prepare for."""
    shell = ("bash", "--norc", "--noprofile", "-i")
    terminal = machine.start(command=shell, env={"PS1": "shell: "})
    terminal.wait_for("shell:")
    terminal.write(f"{shlex.join(PROGRAM)}\r")
    terminal.wait_for(READY)
    terminal.write("a draft")
    terminal.wait_for("▐ a draft")
    since = len(terminal.output)
    terminal.write(CTRL_Z)
    terminal.read_until(b"Stopped", since)
    assert 1049 not in terminal.on
    bring_back(terminal)
    (program,) = psutil.Process(terminal.process.pid).children()
    since = len(terminal.output)
    program.send_signal(signal.SIGSTOP)
    terminal.read_until(b"Stopped", since)
    bring_back(terminal)
    terminal.write("!")
    terminal.wait_for("▐ a draft!")
    terminal.write(CTRL_C + CTRL_Q)
    terminal.wait_until(lambda: not program.is_running(), "the end")


def test_ctrl_z_without_a_shell_stops_nothing(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for(READY)
    terminal.write("a draft" + CTRL_Z)
    terminal.wait_for("Not suspended", "▐ a draft")


@pytest.mark.parametrize(
    "env",
    [{"COLUMNS": "300", "LINES": "90"}, {"TEXTUAL_COLOR_SYSTEM": "nonsense"}],
    ids=lambda env: next(iter(env)),
)
def test_what_the_environment_says_wrongly_of_the_terminal_is_ignored(
    machine: Machine, env: dict[str, str]
) -> None:
    terminal = machine.start(env=env, size=(80, 24))
    terminal.wait_for("no key needed", READY)
    terminal.write("\x11")
    assert terminal.wait_exit() == 0


def test_the_screen_needs_one_way_to_the_terminal(machine: Machine) -> None:
    quiet = ("/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh", *PROGRAM)
    terminal = machine.start(command=quiet, size=(80, 24))
    terminal.wait_for("no key needed", READY)
    terminal.write("\x11")
    assert terminal.wait_exit() == 0
    assert terminal.cooked


def test_a_terminal_without_a_screen_gets_a_sentence(machine: Machine) -> None:
    terminal = machine.start(env={"TERM": "dumb"})
    assert terminal.wait_exit() == 1
    assert "plimsoll run" in terminal.words
    assert b"\x1b[" not in terminal.output


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_our_signs_is_painted_in_ascii(machine: Machine, encoding: str) -> None:
    terminal = machine.start(command=PROGRAM, env={"PYTHONIOENCODING": encoding})
    terminal.wait_for(" - ok")
    assert terminal.output.isascii()
    assert "?" not in terminal.text.replace("? help", "").replace("project do?", "")
    terminal.write("caf\xe9")
    terminal.wait_for("> caf")


@pytest.mark.tmux
def test_tmux_passes_shift_enter_on_and_keeps_what_is_copied(
    machine: Machine, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("A mark on a hull."))
    folder = Path(tempfile.mkdtemp(prefix="tmux-"))
    (folder / "conf").write_text("set -s extended-keys on\nset -as terminal-features '*:extkeys'\n")
    tmux = ["tmux", "-S", str(folder / "socket"), "-f", str(folder / "conf")]
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    program = shlex.join([*PROGRAM, "--model", "openai-chat:scripted"])
    terminal = machine.start(command=(*tmux, "new-session", program), env=env)
    try:
        terminal.wait_for("openai-chat:scripted", READY)
        terminal.write("what is\x1b[27;2;13~a plimsoll line")
        terminal.wait_for("▐ what is", "a plimsoll line")
        terminal.write("\r")
        terminal.wait_for("A mark on a hull.")
        terminal.wait_gone("esc stops")
        terminal.write("/copy\r")
        terminal.wait_for("Copied 1 line.")
        kept = subprocess.run([*tmux, "show-buffer"], capture_output=True, check=True, text=True)
        assert kept.stdout == "A mark on a hull."
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(folder)
    assert fake_openai.journal[0]["messages"][-1]["content"] == "what is\na plimsoll line"
