"""The program as a shell sees it: output, exit codes, signals, closed pipes."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.behaviours import HangBeforeHeaders, HangMidStream
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import AssistantMessage, SessionEnd
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.sqlite_store import SqliteStore

Start = Callable[..., "subprocess.Popen[str]"]
QUESTION = "what does this project do?"


def finished(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode, out, err


def scripted(server: FakeOpenAI) -> dict[str, str]:
    endpoint = f'{{local = {{base_url = "{server.base_url}"}}}}'
    return {"PLIMSOLL_ENDPOINTS": endpoint, "PLIMSOLL_MODEL": "local:scripted"}


def test_offline_run_as_json_lines(start: Start, project: Path) -> None:
    code, out, err = finished(start("run", QUESTION, "--model", "offline:extractive", "--json"))
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


def test_answer_goes_to_stdout_and_tools_to_stderr(start: Start) -> None:
    code, out, err = finished(start("run", "when is low water?", "--model", "offline:extractive"))
    assert code == 0
    assert "tides.txt:1" in out
    assert "Low water on Sunday" in out
    assert "read_file" not in out
    assert re.search(r"^  grep .*, \d+ hits?$", err, re.MULTILINE)


def test_prompt_from_stdin(start: Start, project: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_bytes(b"when is low water\xff?\n")
    with prompt.open() as stdin:
        code, out, _ = finished(start("run", "-", "--model", "offline:extractive", "--json", stdin=stdin))
    assert code == 0
    said = [json.loads(line) for line in out.splitlines() if '"user.message"' in line]
    assert said[0]["data"]["text"] == "when is low water\ufffd?"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
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
    ],
)
def test_wrong_use_is_one_sentence(start: Start, args: tuple[str, ...], code: int, words: str) -> None:
    got, out, err = finished(start(*args))
    assert (got, out) == (code, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_signal_ends_the_turn_and_closes_the_session(
    start: Start, plimsoll_home: Path, number: int, code: int
) -> None:
    with FakeOpenAI(HangMidStream()) as server:
        process = start("run", QUESTION, env=scripted(server))
        assert process.stdout is not None
        assert process.stdout.read(5) == "These"  # now the client is in the middle of the answer
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


def test_interrupted_run_still_reports_its_end_as_json(start: Start) -> None:
    with FakeOpenAI(HangBeforeHeaders()) as server:
        process = start("run", QUESTION, "--json", env=scripted(server))
        server.request_in_thread(1)
        process.send_signal(signal.SIGINT)
        code, out, err = finished(process)
    assert (code, err) == (130, "")
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["type"] for record in records[-2:]] == ["turn.end", "session.end"]
    assert records[-2]["data"]["outcome"] == "cancelled"


def test_reader_that_has_seen_enough_is_no_error(start: Start) -> None:
    with FakeOpenAI(HangMidStream()) as server:
        process = start("run", QUESTION, "--json", env=scripted(server))
        assert process.stdout is not None
        assert process.stderr is not None
        assert "session.start" in process.stdout.readline()
        process.stdout.close()
        # The next event finds nobody who reads: the turn must not go on to hang at the server.
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


def close_stdout() -> None:
    os.close(1)


def test_closed_stdout_is_harmless(start: Start) -> None:
    process = start("sessions", stdout=None, preexec_fn=close_stdout)
    code, _, err = finished(process)
    assert code == 0
    assert "no sessions yet" in err
