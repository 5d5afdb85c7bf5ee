"""The first start on a machine without keys: ready at once, honest about what answers, and traceless."""

import re
import sqlite3

import pytest

from tests.pty.conftest import Machine

pytestmark = pytest.mark.pty

CTRL_Q = "\x11"
COLOUR = re.compile(rb"\x1b\[([0-9;]*)m")
SET = {*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108)}
"""Codes that choose a colour, of the palette or any other."""


def test_first_run_is_ready_and_leaves_no_settings(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("No key found", "offline:extractive", "/model chooses a model")
    terminal.write("a draft")
    terminal.wait_for("› a draft")
    assert terminal.text.count("No key found") == 1, "said in one row, and nowhere else"
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    assert not [name for name in machine.files() if name.startswith("config")]
    assert b"Resume:" not in terminal.output, "there is nothing to resume"


@pytest.mark.parametrize("moment", ["at once", "alternate screen"])
def test_keys_typed_before_the_first_frame_are_not_lost(machine: Machine, moment: str) -> None:
    terminal = machine.start()
    if moment == "alternate screen":
        terminal.wait_until(lambda: 1049 in terminal.on, moment)
    terminal.write("typed early")
    terminal.wait_for("› typed early")
    terminal.write(" and late")
    terminal.wait_for("› typed early and late")


def test_first_prompt_is_answered_without_a_key(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("No key found")
    terminal.write("how high is the spring tide?\r")
    terminal.wait_for("tides.md:3", "7.3 metres")
    assert "No key found" not in terminal.text, "who has begun needs no introduction"


def test_no_color_paints_no_colour(machine: Machine) -> None:
    terminal = machine.start(env={"NO_COLOR": "1"})
    terminal.wait_for("No key found")
    terminal.write("how high is the spring tide?\r")
    terminal.wait_for("7.3 metres", "ok")
    assert coloured(terminal.output) == set()


def test_colour_check_would_notice(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("No key found")
    assert coloured(terminal.output)


def test_sessions_file_that_cannot_be_opened_is_a_sentence(machine: Machine) -> None:
    (machine.home / "data" / "sessions.db").mkdir(parents=True)
    terminal = machine.start()
    terminal.wait_for("The sessions file")
    terminal.write("hello\r")
    terminal.wait_for("› hello")
    terminal.write("\x03" + CTRL_Q)
    assert terminal.wait_exit() == 0
    assert "Traceback" not in terminal.output.decode()


def test_a_session_without_a_word_is_not_kept(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("compacts at 80%")
    terminal.write(CTRL_Q)
    assert terminal.wait_exit() == 0
    database = machine.home / "data" / "sessions.db"
    if database.exists():
        with sqlite3.connect(database) as connection:
            assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
        connection.close()


def coloured(output: bytes) -> set[bytes]:
    """Style sequences that set a colour, be it a grey; 39 and 49 are the terminal's own."""
    return {codes for codes in COLOUR.findall(output) if set(map(int, filter(None, codes.split(b";")))) & SET}
