"""The program as a shell sees it: output, exit codes, signals, closed pipes, progress."""

import io
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.forked import Read, completed
from tests.pty.conftest import Machine, forks, machine
from tests.servers.behaviours import HangBeforeHeaders, HangMidStream
from tests.servers.fake_openai import FakeOpenAI
from tui_app.cli.core import progress_line
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.conversation.imports import imports as importing
from tui_app.events import AssistantMessage, SessionEnd
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.stores.sqlite_store import SqliteStore

__all__ = ["forks", "machine"]


# Output, exit codes, signals and closed pipes.


Start = Callable[..., "subprocess.Popen[str]"]
Run = Callable[..., tuple[int, str, str]]
Begin = Callable[..., Read]
QUESTION = "what does this project do?"


def finished(process: "subprocess.Popen[str] | Read") -> tuple[int | None, str, str]:
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.fixture
def forked(project: Path) -> Run:
    """Run a command in a forked process, which has nothing to load; returns exit code, stdout and stderr."""

    def run(*args: str) -> tuple[int, str, str]:
        done = completed(args, env={**os.environ}, cwd=project, limit_s=60)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def begin(project: Path) -> Iterator[Begin]:
    """Start such a command; processes still running after the test are killed."""
    begun: list[Read] = []

    def run(*args: str, stdin: int | None = None, env: Mapping[str, str] | None = None) -> Read:
        with Path(os.devnull).open() as nothing:
            source = nothing.fileno() if stdin is None else stdin
            begun.append(Read(args, stdin=source, env={**os.environ, **(env or {})}, cwd=project))
        return begun[-1]

    yield run
    for process in begun:
        if process.poll() is None:
            process.kill()
            process.wait(60)


def scripted(server: FakeOpenAI) -> dict[str, str]:
    endpoint = f'{{local = {{base_url = "{server.base_url}"}}}}'
    return {"PLIMSOLL_ENDPOINTS": endpoint, "PLIMSOLL_MODEL": "local:scripted"}


def test_offline_run_as_json_lines(forked: Run, project: Path) -> None:
    code, out, err = forked("run", QUESTION, "--model", "offline:extractive", "--json")
    assert (code, err) == (0, "")
    records = [json.loads(line) for line in out.splitlines()]
    assert all(set(record) == {"type", "session", "seq", "time", "version", "data"} for record in records)
    kinds = [record["type"] for record in records]
    assert kinds[:2] == ["session.start", "user.message"]
    assert kinds[-2:] == ["turn.end", "session.end"]
    assert {"tool.call", "tool.result", "assistant.message"} <= set(kinds)
    stored = [record["seq"] for record in records if record["type"] != "turn.end"]
    assert stored == list(range(1, len(stored) + 1))
    answer = next(r["data"]["text"] for r in reversed(records) if r["type"] == "assistant.message")
    quoted = re.findall(r"([\w.]+):(\d+)", answer)
    assert ("README.md", "3") in quoted
    assert "This project prints the harbour ferry timetable." in answer


def test_answer_goes_to_stdout_and_tools_to_stderr(forked: Run) -> None:
    code, out, err = forked("run", "when is low water?", "--model", "offline:extractive")
    assert code == 0
    assert "tides.txt:1" in out
    assert "Low water on Sunday" in out
    assert "read_file" not in out
    assert re.search(r"^  grep .*, \d+ hits?$", err, re.MULTILINE)


def test_prompt_from_stdin(begin: Begin, project: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_bytes(b"when is low water\xff?\n")
    with prompt.open() as stdin:
        argv = ("run", "-", "--model", "offline:extractive", "--json")
        code, out, _ = finished(begin(*argv, stdin=stdin.fileno()))
    assert code == 0
    said = [json.loads(line) for line in out.splitlines() if '"user.message"' in line]
    assert said[0]["data"]["text"] == "when is low water\ufffd?"


WRONG = [
    (("run",), 2, "PROMPT"),
    (("run", " "), 2, "The prompt is empty."),
    (("run", "x", "--window", "ten"), 2, "a whole number of tokens"),
    (("run", "x", "--model", "nonsense"), 2, "provider:name"),
    (("run", "x", "--cwd", "nowhere"), 2, "There is no folder nowhere."),
    (("run", "x", "--model", "nonesuch:model"), 1, "There is no model 'nonesuch:model'"),
    (("run", "x", "--session", "ffff"), 1, "There are no sessions yet."),
    (("sesions",), 2, "Did you mean: plimsoll sessions?"),
    (("nowhere",), 2, "There is no folder nowhere."),
    (("--nonsense",), 2, "See: plimsoll --help"),
    (("--continue", "--resume", "x"), 2, "not allowed with"),
    (("compact", "ffff"), 1, "There are no sessions yet."),
    ((), 1, "The screen needs a terminal."),
]


@pytest.mark.parametrize(("args", "code", "words"), WRONG)
def test_wrong_use_is_one_sentence(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], code: int, words: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    said = plimsoll(*args)
    assert (said.code, said.out) == (code, "")
    assert words in said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize(("args", "code", "words"), [WRONG[5], WRONG[7], WRONG[-1]])
def test_a_shell_is_told_so_as_well(start: Start, args: tuple[str, ...], code: int, words: str) -> None:
    got, out, err = finished(start(*args))
    assert (got, out) == (code, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_signal_ends_the_turn_and_closes_the_session(
    begin: Begin, plimsoll_home: Path, number: int, code: int
) -> None:
    with FakeOpenAI(HangMidStream()) as server:
        process = begin("run", QUESTION, env=scripted(server))
        assert process.stdout.read(5) == "These"  # the client is in the middle of the answer
        process.send_signal(number)
        got, _, err = finished(process)
        server.request_in_thread(1).closed.wait_in_thread()
    assert (got, err) == (code, "")
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    store = SqliteStore(paths.database, read_only=True)
    (info,) = store.sessions()
    events = [record.data for record, _ in store.records(info.id)]
    store.close()
    assert any(isinstance(event, AssistantMessage) and event.interrupted for event in events)
    assert isinstance(events[-1], SessionEnd)
    WriterLock(paths.sessions_dir / info.id / "writer.lock").release()


def test_interrupted_run_still_reports_its_end_as_json(begin: Begin) -> None:
    with FakeOpenAI(HangBeforeHeaders()) as server:
        process = begin("run", QUESTION, "--json", env=scripted(server))
        server.request_in_thread(1)
        process.send_signal(signal.SIGINT)
        code, out, err = finished(process)
    assert (code, err) == (130, "")
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["type"] for record in records[-2:]] == ["turn.end", "session.end"]
    assert records[-2]["data"]["outcome"] == "cancelled"


def test_reader_that_has_seen_enough_is_no_error(begin: Begin) -> None:
    with FakeOpenAI(HangMidStream()) as server:
        process = begin("run", QUESTION, "--json", env=scripted(server))
        assert "session.start" in process.stdout.readline()
        process.stdout.close()
        # The next event cannot be written, and the turn must not keep waiting for the server.
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(60) == 0
    assert err == ""


def close_stdin() -> None:
    os.close(0)


def write_only_stdin() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 0)


@pytest.mark.parametrize("spoil", [close_stdin, write_only_stdin])
def test_prompt_from_a_stdin_that_cannot_be_read(start: Start, spoil: Callable[[], None]) -> None:
    code, out, err = finished(start("run", "-", stdin=None, preexec_fn=spoil))
    assert (code, out) == (2, "")
    assert err == "The prompt cannot be read: stdin is closed. Give it as an argument, or pipe it in.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_answer_that_cannot_be_written_fails(start: Start, form: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        process = start("run", QUESTION, "--model", "offline:extractive", *form, stdout=full)
        code, _, err = finished(process)
    assert code == 1
    assert err.count("The disk is full: ") == 1


def close_stdout() -> None:
    os.close(1)


def test_closed_stdout_is_harmless(start: Start) -> None:
    process = start("sessions", stdout=None, preexec_fn=close_stdout)
    code, _, err = finished(process)
    assert code == 0
    assert "no sessions yet" in err


# Long commands: progress, how they are stopped, and that nothing half-done is left.


CTRL_C = "\x03"


class Screen(io.StringIO):
    """A terminal stream that signals when something was painted."""

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
    monkeypatch.setattr(progress_line, "FIRST_S", 0.0)
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
    monkeypatch.setattr(progress_line, "FIRST_S", 0.0)
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
    assert told[0] == f"Replaying 1%, off at 3k, {name}"
    assert told[-1] == f"Replaying 100%, reserve at 64k, {name}"
    shares = [int(text.split()[1].rstrip("%,")) for text in told]
    assert shares == sorted(shares)


def test_a_compaction_tells_how_far_it_is(
    plimsoll: Plimsoll, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = json.loads(plimsoll("import", chat, "--json").out)["session"]
    told: list[str] = []
    monkeypatch.setattr(ProgressLine, "update", lambda _self, text: told.append(text))
    result = plimsoll("compact", session, "--model", "offline:extractive", "--window", 2_500)
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
    monkeypatch.setattr(importing, "_REPORT_EVERY", 1)
    monkeypatch.setattr(ProgressLine, "update", lambda _self, text: told.append(text))
    assert plimsoll("import", chat).code == 0
    assert told[:2] == [f"Importing {chat}", f"Importing 0%, {chat}"]
    assert told[-1] == f"Writing {chat}"
    shares = [int(text.split()[1].rstrip("%,")) for text in told if "%" in text]
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
    # Much longer than the delay before the progress line appears.
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
