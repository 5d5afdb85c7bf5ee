"""Long commands: what a person sees meanwhile, how it is stopped, and that nothing half-done is left."""

import io
import json
import signal
import socket
import sqlite3
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.pty.conftest import Machine, machine
from tui_app.cli import output as progress
from tui_app.cli.output import ProgressLine
from tui_app.conversation import imports as importing

__all__ = ["machine"]

CTRL_C = "\x03"


class Screen(io.StringIO):
    """A stream that is a terminal and tells when something was painted."""

    def __init__(self) -> None:
        super().__init__()
        self.painted = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        self.painted.set()
        return done


def shown_first(screen: Screen) -> str:
    assert screen.painted.wait(20)
    return screen.getvalue()


def test_the_line_says_what_how_long_and_how_to_stop_it_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    screen = Screen()
    with ProgressLine("Reading [b]big\x1b[31m.json " + "long " * 40, screen):
        line = shown_first(screen).removeprefix("\r\x1b[K")
    assert line.startswith("Reading [b]big")
    assert line.endswith("s · ctrl+c stops")
    assert "\x1b" not in line.split("\r")[0]
    assert len(line) <= 78
    assert screen.getvalue().endswith("\r\x1b[K"), "nothing is left on the line"


def test_quick_work_says_nothing() -> None:
    screen = Screen()
    with ProgressLine("Reading a.json", screen):
        pass
    assert screen.getvalue() == ""


def test_into_a_file_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    stream = io.StringIO()
    with ProgressLine("Reading a.json", stream) as line:
        assert line._thread is None
    assert stream.getvalue() == ""


def test_simulate_tells_how_far_it_is(
    plimsoll: Plimsoll, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(ProgressLine, "update", lambda _self, text: told.append(text))
    result = plimsoll("simulate", chat, "--window", 3_000, "--window", 64_000, "--policy", "off", "reserve")
    assert result.code == 0, result.err
    name = chat.name
    assert told[0] == f"Replaying 1 %, off at 3k, {name}"
    assert told[-1] == f"Replaying 100 %, reserve at 64k, {name}"
    shares = [int(text.split()[1]) for text in told]
    assert shares == sorted(shares)


def test_a_compaction_tells_how_far_it_is(
    plimsoll: Plimsoll, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = json.loads(plimsoll("import", chat, "--json").out)["session"]
    told: list[str] = []
    monkeypatch.setattr(ProgressLine, "update", lambda _self, text: told.append(text))
    result = plimsoll("compact", session, "--model", "offline:extractive", "--window", 2_000)
    assert result.code == 0, result.err
    assert told
    assert all(text.startswith("Compacting the conversation · ") for text in told)
    assert "written · offline:extractive" in told[-1]


def test_a_search_can_be_stopped(plimsoll: Plimsoll, chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plimsoll("import", chat).code == 0
    shown: list[str] = []

    def enter(line: ProgressLine) -> ProgressLine:
        shown.append(line._text)
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "__enter__", enter)
    assert plimsoll("sessions", "search", "tide").code == 130
    assert shown == ["Searching the sessions"]


def test_a_stopped_export_writes_nothing_and_says_so(
    plimsoll: Plimsoll, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = json.loads(plimsoll("import", chat, "--json").out)["session"]
    shown: list[str] = []

    def enter(line: ProgressLine) -> ProgressLine:
        shown.append(line._text)
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "__enter__", enter)
    target = tmp_path / "out.json"
    result = plimsoll("export", session, "-o", target)
    assert result.code == 130
    assert shown == [f"Exporting session {session}"]
    assert result.err == "Stopped. Nothing was written.\n"
    assert not target.exists()


def test_an_import_tells_how_far_it_is(
    plimsoll: Plimsoll, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(importing, "_TOLD_EVERY", 1)
    monkeypatch.setattr(ProgressLine, "update", lambda _self, text: told.append(text))
    assert plimsoll("import", chat).code == 0
    assert told[:2] == [f"Importing {chat}", f"Importing 0 %, {chat}"]
    assert told[-1] == f"Writing {chat}"
    shares = [int(text.split()[1]) for text in told if "%" in text]
    assert len(shares) > 2
    assert shares == sorted(shares)


@pytest.mark.pty
@pytest.mark.parametrize(
    ("command", "says"),
    [(("import",), "Importing slow.json · "), (("simulate", "--window", "9000"), "Reading slow.json · ")],
    ids=["import", "simulate"],
)
def test_a_file_that_takes_long_is_named_and_ctrl_c_stops(
    machine: Machine, command: tuple[str, ...], says: str
) -> None:
    # Much longer than the line waits before it is shown.
    words = "quay " * 60
    messages = (f'{{"role": "user", "content": "Berth {number}. {words}"}}' for number in range(150_000))
    (machine.workspace / "slow.json").write_text(f"[{','.join(messages)}]")
    terminal = machine.start(*command, "slow.json")
    terminal.wait_for(says, "ctrl+c stops")
    terminal.write(CTRL_C)
    terminal.wait_for("Stopped. ")
    assert terminal.wait_exit() == 130
    assert "Traceback" not in terminal.text
    assert "ctrl+c stops" not in terminal.text
    assert sessions_of(machine) == 0


@pytest.mark.pty
def test_a_simulation_shows_its_share_and_leaves_no_drawing(machine: Machine) -> None:
    messages = [
        {"role": role, "content": f"Berth {number}. " + "quay " * 60}
        for number in range(3_000)
        for role in ("user", "assistant")
    ]
    (machine.workspace / "long.json").write_text(json.dumps(messages))
    terminal = machine.start("simulate", "long.json", "--window", "20000", "--plot", "drawn.svg")
    terminal.wait_for("Replaying ", "%, ", " at 20k, long.json")
    terminal.write(CTRL_C)
    terminal.wait_for("Stopped. Replayed: 0 of 1. Nothing was drawn.")
    assert terminal.wait_exit() == 128 + signal.SIGINT
    assert "ctrl+c stops" not in terminal.text
    assert not (machine.workspace / "drawn.svg").exists()


@pytest.mark.pty
def test_models_says_that_servers_are_asked(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        terminal = machine.start("models", env={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "test-key"})
        terminal.wait_for("Asking model servers what they serve", "ctrl+c stops")
        assert terminal.wait_exit() == 0
    assert "ctrl+c stops" not in terminal.text
    assert "offline:extractive" in terminal.output.decode()


def sessions_of(machine: Machine) -> int:
    database = machine.home / "data" / "sessions.db"
    if not database.exists():
        return 0
    connection = sqlite3.connect(database)
    try:
        found: int = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    finally:
        connection.close()
    return found
