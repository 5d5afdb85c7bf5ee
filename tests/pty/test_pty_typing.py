"""Keys as terminals really send them: whole lines in one write, pastes, a lone escape byte."""

import pytest

from tests.pty.conftest import Machine
from tests.pty.terminal import Terminal
from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.ui.type_ahead import QUIET_S

pytestmark = pytest.mark.pty

CTRL_C, CTRL_Q, ESCAPE, F1, UP = "\x03", "\x11", "\x1b", "\x1bOP", "\x1b[A"
PASTE = "\n".join(f"pasted line {number}" for number in range(1, 64))
READY = "compacts at 80%"


def start(machine: Machine, server: FakeOpenAI, size: tuple[int, int] = (120, 40)) -> Terminal:
    """The program with a scripted model."""
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
    terminal = machine.start("--model", "openai-chat:scripted", env=env, size=size)
    terminal.wait_for("openai-chat:scripted", "ctrl+g compact")
    return terminal


def last_prompt(server: FakeOpenAI) -> str:
    """What the model was asked last."""
    content = server.journal[-1]["messages"][-1]["content"]
    assert isinstance(content, str)
    return content


def test_line_and_enter_in_one_write_send(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Good morning to you."))
    terminal = start(machine, fake_openai)
    terminal.write("hello\r")
    terminal.wait_for("Good morning to you.")
    assert last_prompt(fake_openai) == "hello"
    assert "› hello" not in terminal.text, "the prompt is empty again"


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
    terminal.wait_for("› [pasted 63 lines]")
    terminal.write(" summarise")
    terminal.wait_for("› [pasted 63 lines] summarise")
    assert fake_openai.journal == [], "line ends of a paste send nothing"
    terminal.write("\r")
    terminal.wait_for("All lines arrived.")
    assert last_prompt(fake_openai) == f"{PASTE} summarise"


def test_small_paste_stays_text(machine: Machine, fake_openai: FakeOpenAI) -> None:
    terminal = start(machine, fake_openai)
    terminal.paste("first\rsecond")
    terminal.wait_for("› first", "second")
    assert fake_openai.journal == []


def test_escape_alone_stops_an_answer(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream(), Text("Back again."))
    terminal = start(machine, fake_openai)
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive", "esc stops")
    terminal.write(ESCAPE)
    # The terminal cannot tell escape from the start of a longer sequence; 100 ms decide.
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
    terminal.wait_for("› a draft")
    terminal.write(ESCAPE + F1)
    terminal.wait_for("Keys and commands")
    terminal.write(ESCAPE)
    terminal.wait_gone("Keys and commands", limit_s=3)
    terminal.wait_for("› a draft")  # escape never clears a draft


def test_ctrl_c_goes_down_one_step_a_press(machine: Machine, size: tuple[int, int]) -> None:
    terminal = machine.start(size=size)
    terminal.wait_for("No key found")
    terminal.write("a long draft")
    terminal.wait_for("› a long draft")
    terminal.write(CTRL_C)
    terminal.wait_for("Draft cleared.")
    terminal.wait_gone("› a long draft")
    terminal.write(UP)
    terminal.wait_for("› a long draft")
    terminal.write(CTRL_C)
    terminal.wait_gone("› a long draft")
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


@pytest.mark.parametrize("keys", ["/quit\r", "/exit\r", "\x04", CTRL_Q])
def test_ways_to_quit(machine: Machine, keys: str) -> None:
    terminal = machine.start()
    terminal.wait_for("No key found")
    terminal.write(keys)
    assert terminal.wait_exit() == 0


def test_ctrl_d_in_a_draft_does_not_quit(machine: Machine) -> None:
    terminal = machine.start()
    terminal.wait_for("No key found")
    terminal.write("abc")
    terminal.wait_for("› abc")
    terminal.wait_until(lambda: terminal.cursor[0] == len("› abc"), "the cursor is behind the draft")
    terminal.write("\x1b[D")
    terminal.wait_until(lambda: terminal.cursor[0] == len("› ab"), "the cursor moved left")
    terminal.write("\x04")
    terminal.wait_gone("abc")
    assert "› ab" in terminal.text


def test_quitting_during_an_answer_asks(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    terminal = start(machine, fake_openai)
    terminal.write("go on for ever\r")
    terminal.wait_for("These words arrive")
    terminal.write(CTRL_Q)
    terminal.wait_for("Quit while the model answers?")
    terminal.watch(2 * QUIET_S)
    terminal.write("n")
    terminal.wait_gone("Quit while the model answers?")
    terminal.write(CTRL_Q)
    terminal.wait_for("Quit while the model answers?")
    terminal.watch(2 * QUIET_S)
    terminal.write("y")
    assert terminal.wait_exit() == 0
    fake_openai.request_in_thread(1).closed.wait_in_thread()
