"""``plimsoll run``: its messages besides the answer, files, approvals, hooks and custom agents."""

import base64
import io
import json
import os
import re
import sqlite3
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll, Result
from tests.context.schema_check import problems
from tests.servers import mcp_stdio
from tests.servers.behaviours import EndsBehindCall, Failure, Stage, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.cli import run as cli_run
from tui_app.cli.core import output, stdin
from tui_app.cli.core.stdin import PIPED_BYTES
from tui_app.cli.run import NO_SHELL, AnswerView, JsonView, RecordView, Verdict
from tui_app.cli.sessions.background import place_of_run
from tui_app.conversation.telemetry import NO_ADDRESS
from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    GaugeChanged,
    MemoryPressure,
    Notice,
    Payload,
    Record,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from tui_app.events.schema import event_schema
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import Event
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

# Messages besides the answer.


QUESTION = ("run", "when is low water?", "--model", "offline:extractive")


def begin(home: Path, cwd: str) -> str:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(home)})
    paths.ensure()
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd=cwd, model=""), time=1.0)
    store.close()
    return session


@pytest.mark.parametrize(
    "folder",
    ["gone", "no\x00folder", "long" * 2_000, "README.md/below"],
    ids=["gone", "no path", "too long", "below a file"],
)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_folder_of_a_session_that_is_gone_is_said(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, folder: str, flags: tuple[str, ...]
) -> None:
    session = begin(plimsoll_home, f"{project}/{folder}")
    result = plimsoll(*QUESTION, "--session", session, *flags)
    assert result.code == 0
    first = result.err.splitlines()[0]
    assert first.startswith(f"The folder of this session, {project}/")
    assert first.endswith(f", does not exist. Working in {project}.")
    assert len(first) < 1_000
    assert "does not exist" not in result.out


def test_folder_that_is_there_or_was_chosen_needs_no_word(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path
) -> None:
    there, gone = begin(plimsoll_home, str(project)), begin(plimsoll_home, str(project / "gone"))
    for arguments in (("--session", there), ("--session", gone, "--cwd", "."), ()):
        result = plimsoll(*QUESTION, *arguments)
        assert result.code == 0
        assert "does not exist" not in result.err


def test_what_keeps_telemetry_from_being_sent_is_said(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_TELEMETRY", '{otlp_endpoint = "on"}')
    result = plimsoll(*QUESTION)
    assert result.code == 0
    assert result.err.splitlines()[0] == NO_ADDRESS


def test_short_memory_is_said(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_MEMORY_LIMIT_MB", "1")
    result = plimsoll(*QUESTION)
    assert result.code == 0
    assert re.search(r"^Memory is short \([\d,]+ of 1 MB\): caches were dropped\.$", result.err, re.MULTILINE)


def test_a_prompt_above_the_budget_is_refused(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    config = plimsoll_home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f'[endpoints.own]\nbase_url = "{fake_openai.base_url}"\n'
        "price_in = 2.0\nprice_out = 10.0\nwindow = 128000\n"
        "[budget]\nsession_usd = 0.3\n"
    )
    first = plimsoll("run", "hello", "--model", "own:scripted", "--json")
    assert first.code == 0, first.err
    session = first.lines[0]["session"]
    again = plimsoll("run", "more", "--session", session)
    assert again.code == 1
    assert "$0.30 of its budget of $0.30. The prompt was not sent." in again.err
    assert len(fake_openai.journal) == 1


def full_from(monkeypatch: pytest.MonkeyPatch, kind: type[Payload]) -> None:
    """Make the disk full from the first event of a kind on."""
    write, full = SqliteStore.append_many, False

    def append_many(store: SqliteStore, session: str, events: Sequence[Event]) -> list[Record]:
        nonlocal full
        full = full or any(isinstance(payload, kind) for payload, _, _ in events)
        if full:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return write(store, session, events)

    monkeypatch.setattr(SqliteStore, "append_many", append_many)


def test_a_disk_that_fills_up_is_said_once(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    full_from(monkeypatch, UserMessage)
    result = plimsoll(*QUESTION)
    assert result.code == 1
    assert result.err.count("The disk is full: ") == 1
    assert "Free some disk space, then try again." in result.err


def test_a_disk_that_fills_up_is_one_event(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    full_from(monkeypatch, UserMessage)
    result = plimsoll(*QUESTION, "--json")
    told = [line["data"]["message"] for line in result.lines if line["type"] == "error"]
    assert (result.code, result.err, len(told)) == (1, "", 1)
    assert told[0].startswith("The disk is full: ")


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_a_disk_that_is_full_only_at_the_end_is_said(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    full_from(monkeypatch, SessionEnd)
    result = plimsoll(*QUESTION, *flags)
    assert result.code == 1
    assert result.err.count("The disk is full: ") == 1


def test_another_trouble_hides_no_full_disk(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_openai.add(Failure(400, {"error": {"message": "no"}}))
    settings_file(plimsoll_home, f'[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 9000\n')
    full_from(monkeypatch, SessionEnd)
    result = plimsoll("run", "hello", "--model", "own:scripted")
    assert result.code == 1
    assert result.err.count("The disk is full: ") == 1
    assert len(result.err.splitlines()) == 2


def settings_file(home: Path, text: str) -> None:
    config = home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text)


def notices(result: Result) -> list[str]:
    return [line["data"]["text"] for line in result.lines if line["type"] == "notice"]


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_a_server_that_cannot_be_started_is_said(
    plimsoll: Plimsoll, plimsoll_home: Path, flags: tuple[str, ...]
) -> None:
    settings_file(plimsoll_home, '[mcp.broken]\ncommand = "/nonexistent/prog"\n')
    result = plimsoll(*QUESTION, *flags)
    assert result.code == 0, result.err
    (said,) = [line for line in result.err.splitlines() if line.startswith("MCP server broken: ")]
    assert "/mcp" not in said
    if flags:
        assert notices(result) == [said]


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_what_is_noticed_before_the_prompt_is_said_once(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PLIMSOLL_SUMMARIZATION_MODEL", "openai:gpt-5")
    monkeypatch.setenv("PLIMSOLL_TELEMETRY", '{otlp_endpoint = "on"}')
    result = plimsoll(*QUESTION, *flags)
    assert result.code == 0, result.err
    other = "Automatic summaries are written by offline:extractive."
    assert [result.err.count(said) for said in (NO_ADDRESS, other)] == [1, 1]
    if flags:
        assert [NO_ADDRESS in text or other in text for text in notices(result)] == [True, True]


def test_the_setting_behind_a_reached_limit_is_named(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path
) -> None:
    for number in range(2):
        fake_openai.add(Tool((("ls", {"path": "." + "/." * number}),)))
    settings_file(
        plimsoll_home, f'max_steps = 2\n[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 9000\n'
    )
    result = plimsoll("run", "look around", "--model", "own:scripted")
    assert result.code == 1
    assert "raise max_steps in the settings" in result.err


# Files named in the prompt are attached, as on the screen.


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def scripted(fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> FakeOpenAI:
    """A scripted model that records its requests."""
    endpoint = f'{{own = {{base_url = "{fake_openai.base_url}", window = 64000}}}}'
    monkeypatch.setenv("PLIMSOLL_ENDPOINTS", endpoint)
    monkeypatch.setenv("PLIMSOLL_MODEL", "own:scripted")
    return fake_openai


@pytest.fixture
def own(scripted: FakeOpenAI) -> FakeOpenAI:
    """A scripted model with one answer."""
    scripted.add(Text("Fine.", usage=(4_000, 5)))
    return scripted


def said(server: FakeOpenAI) -> str:
    """Return the user's content as sent to the model."""
    (request,) = server.journal
    return json.dumps([each["content"] for each in request["messages"] if each["role"] == "user"])


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def attached(plimsoll: Plimsoll, *args: str) -> list[str]:
    result = plimsoll("run", *args, "--json")
    assert result.code == 0, result.err
    (spoken,) = [line for line in result.lines if line["type"] == "user.message"]
    files: list[str] = spoken["data"]["attachments"]
    return files


def test_pictures_and_texts_go_along_and_what_is_not_there_is_said(
    plimsoll: Plimsoll, project: Path, own: FakeOpenAI
) -> None:
    (project / "chart.png").write_bytes(PIXEL)
    prompt = "@chart.png what is it? and @tides.txt @nope.txt @everyone"
    result = plimsoll("run", prompt)
    assert (result.code, result.out) == (0, "Fine.\n")
    assert result.err.splitlines() == ["@nope.txt is not attached: there is no such file."]
    sent = said(own)
    assert prompt in sent
    assert base64.b64encode(PIXEL).decode() in sent
    assert "Low water on Sunday is at 09:40." in sent


def test_the_folder_that_is_worked_in_is_looked_into(
    plimsoll: Plimsoll, project: Path, own: FakeOpenAI
) -> None:
    (project / "below").mkdir()
    (project / "below" / "here.txt").write_text("Here.")
    assert attached(plimsoll, "see @here.txt and @../tides.txt", "--cwd", "below") == ["here.txt"]


def test_a_prompt_that_is_piped_in_counts_as_pasted(
    plimsoll: Plimsoll, own: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "what does @tides.txt say?\n")
    assert attached(plimsoll, "-") == ["tides.txt"]
    own.add(Text("Fine."))
    piped(monkeypatch, "a line\n" * 30 + "see @tides.txt\n")
    assert attached(plimsoll, "-") == []


def test_what_is_piped_in_joins_the_prompt(
    plimsoll: Plimsoll, own: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "\x1b[31m-low\x1b[0m\r\n+high @tides.txt\n")
    assert attached(plimsoll, "review this") == ["stdin"]
    sent = said(own)
    assert "review this" in sent
    assert "Input that was piped in to be worked on" in sent
    assert "-low\\\\n+high @tides.txt" in json.dumps(sent), "without colours, and naming no file"


def test_the_built_in_search_quotes_what_is_piped_in(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "Harbour\nlow water at nine\n")
    result = plimsoll(*QUESTION)
    assert result.code == 0
    assert "`stdin:2`\n```text\nlow water at nine\n```" in result.out
    assert "There is no file" not in result.out + result.err


def test_what_is_piped_in_alone_is_the_prompt(
    plimsoll: Plimsoll, own: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "what does @tides.txt say?\n")
    assert attached(plimsoll) == ["tides.txt"]
    own.add(Text("Fine."))
    piped(monkeypatch, " \n")
    assert attached(plimsoll, "hello") == [], "nothing but blanks is nothing"


def test_what_is_piped_in_is_bounded_and_text(
    plimsoll: Plimsoll, own: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "first\n" + "a line\n" * PIPED_BYTES + "last\n")
    result = plimsoll("run", "review this", "--window", "200000")
    assert result.code == 0, result.err
    assert re.search(r"too long: [\d,]+ bytes in its middle are left out\.", result.err)
    sent = said(own)
    assert len(sent) < 2 * PIPED_BYTES
    assert re.search(r"first\\+na line.*bytes left out here.*a line\\+nlast", sent, re.DOTALL)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\x89PNG\0\0")))
    result = plimsoll("run", "what is it?")
    assert (result.code, result.out) == (2, "")
    assert result.err == "The piped input is not text. Name a file instead: @path attaches it.\n"


def test_a_pipe_that_is_left_open_is_not_waited_for(
    plimsoll: Plimsoll, own: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdin, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(stdin, "_LONGEST_S", 0.02)
    reading, writing = os.pipe()
    try:
        monkeypatch.setattr(sys, "stdin", os.fdopen(reading))
        result = plimsoll("run", "hello")
    finally:
        os.close(writing)
        sys.stdin.close()
    assert (result.code, result.out) == (0, "Fine.\n")
    assert "No input was piped in: the prompt is sent without it." in result.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this machine cannot be watched")
def test_a_run_ends_when_its_pipe_is_closed_while_the_model_is_silent(
    plimsoll: Plimsoll, scripted: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Signal()

    class Silent:
        async def play(self, _stage: Stage) -> None:
            asked.set()
            await Signal().wait()

    scripted.add(Silent())
    reading, writing = os.pipe()

    def leave() -> None:
        asked.wait_in_thread()
        os.close(reading)

    leaving = threading.Thread(target=leave)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        leaving.start()
        result = plimsoll("run", "hello", "--json")
        leaving.join()
    assert (result.code, result.err) == (0, "")
    assert len(scripted.journal) == 1


@pytest.mark.parametrize(("data", "fed"), [(b"", False), (b"tides", True)])
def test_an_empty_pipe_brings_no_prompt(monkeypatch: pytest.MonkeyPatch, data: bytes, fed: bool) -> None:
    """As when started by cron: without a prompt, what is pending in the session continues."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert stdin.is_piped() is fed
        place = place_of_run(Namespace(in_background=True, prompt=None, goal="", session="ab12cd34"))
        assert place.goes_on is not fed


# ``plimsoll run --schema``: a structured answer, validated.

BOAT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "masts": {"type": "integer", "minimum": 1}},
    "required": ["name", "masts"],
}


def schema_file(project: Path, schema: object) -> str:
    (project / "boat.json").write_text(json.dumps(schema))
    return "boat.json"


def answering(server: FakeOpenAI, *values: object) -> None:
    for value in values:
        server.add(Text(value) if isinstance(value, str) else Tool((("final_result", value),)))


def test_an_answer_has_the_form_of_the_schema_and_is_tried_again(
    plimsoll: Plimsoll, project: Path, scripted: FakeOpenAI
) -> None:
    file = schema_file(project, BOAT)
    answering(scripted, {"name": "Pamir", "masts": 0}, {"name": "Pamir", "masts": 4})
    result = plimsoll("run", "which boat?", "--schema", file)
    assert result.code == 0, result.err
    assert result.json == {"name": "Pamir", "masts": 4}
    asked, again = scripted.journal
    assert [tool["function"]["parameters"]["required"] for tool in asked["tools"][-1:]] == [["name", "masts"]]
    assert "$.masts: 0 is less than the minimum of 1" in json.dumps(again["messages"])


def test_a_value_of_an_answer_that_was_cut_off_is_none(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, scripted: FakeOpenAI
) -> None:
    file, cut = schema_file(project, BOAT), EndsBehindCall("final_result", '{"name": "Pa", "masts": 1}')
    scripted.add(cut)
    answering(scripted, {"name": "Pamir", "masts": 4})
    result = plimsoll("run", "which boat?", "--schema", file)
    assert result.json == {"name": "Pamir", "masts": 4}
    scripted.fallback = cut
    config = plimsoll_home / "config" / "config.toml"
    config.write_text(f"retries = 0\n{config.read_text() if config.is_file() else ''}")
    result = plimsoll("run", "which boat?", "--schema", file)
    assert (result.code, result.out) == (1, "")
    assert "was cut off" in result.err


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (
            {"type": "array", "items": {"$ref": "#/$defs/b"}, "$defs": {"b": BOAT}},
            [{"name": "P", "masts": 2}],
        ),
        ({"enum": ["port", "starboard"]}, "port"),
        ({"type": "string"}, "a word"),
    ],
)
def test_an_answer_need_not_be_an_object(
    plimsoll: Plimsoll, project: Path, scripted: FakeOpenAI, schema: object, given: object
) -> None:
    answering(scripted, {"answer": given})
    result = plimsoll("run", "which?", "--schema", schema_file(project, schema))
    assert (result.code, result.json) == (0, given), result.err


def test_an_answer_that_never_fits_fails(plimsoll: Plimsoll, project: Path, scripted: FakeOpenAI) -> None:
    answering(scripted, *[{"name": "Pamir", "masts": 0}] * 6)
    result = plimsoll("run", "which boat?", "--schema", schema_file(project, BOAT))
    assert (result.code, result.out) == (1, "")
    assert "Traceback" not in result.err
    assert "gave an answer that cannot be used" in result.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read: No such file or directory."),
        ("{", "cannot be used: it is not JSON"),
        ("[]", "cannot be used: a JSON Schema must be an object."),
        ('{"type": "objet"}', "cannot be used: $.type: 'objet' is not valid"),
        (
            '{"$ref": "https://example.com/boat"}',
            "refers to 'https://example.com/boat', which it does not define.",
        ),
        ('{"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}', "or recursive"),
    ],
)
def test_a_bad_schema_is_one_sentence(
    plimsoll: Plimsoll, project: Path, scripted: FakeOpenAI, text: str | None, why: str
) -> None:
    if text is not None:
        (project / "boat.json").write_text(text)
    result = plimsoll("run", "which boat?", "--schema", "boat.json")
    assert (result.code, result.out) == (2, "")
    assert why in result.err
    assert len(result.err.splitlines()) == 1
    assert not scripted.journal


def test_a_schema_needs_a_model(plimsoll: Plimsoll, project: Path) -> None:
    file = schema_file(project, BOAT)
    result = plimsoll(*QUESTION, "--schema", file)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("The built-in search cannot give structured output.")
    result = plimsoll("run", "x", "--schema", file, "--agent", "a.py:b")
    assert (result.code, result.out) == (2, "")


def test_a_further_folder_has_to_be_one(plimsoll: Plimsoll, tmp_path: Path, own: FakeOpenAI) -> None:
    (tmp_path / "more").mkdir()
    assert plimsoll("run", "hello", "--add-dir", "../more", "--json").code == 0
    assert str(tmp_path / "more") in json.dumps(own.journal[0]["messages"][0])
    for folder, why in (
        ("nowhere", "There is no folder nowhere."),
        ("/", "--add-dir / opens the whole disk."),
    ):
        result = plimsoll("run", "hello", "--add-dir", "../more", "--add-dir", folder)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(why)


# ``plimsoll run`` cannot ask: calls that need approval are denied and reported, unless a rule allows them.


WRITE = ("run", "write notes/tide.txt: high at noon", "--model", "offline:extractive")
RUN = ("run", "run: echo high water", "--model", "offline:extractive")


@pytest.mark.parametrize(
    ("flags", "written"),
    [
        ((), False),
        (("--yes",), True),
        (("--allow", "write_file notes/*"), True),
        (("--allow", "write_file docs/*"), False),
        (("--allow", "run_command"), False),
        (("--yes", "--read-only"), False),
        (("--mode", "edit"), True),
        (("--mode", "plan", "--yes"), False),
        (("--mode", "plan", "--allow", "write_file"), False),
        (("--yes", "--guard", "edits notes/"), False),
        (("--yes", "--guard", "command git push", "--guard", "edits docs/"), True),
        (("--yes", "--guard", "writes"), False),
    ],
)
def test_a_file_is_written_only_where_that_was_allowed(
    plimsoll: Plimsoll, project: Path, flags: tuple[str, ...], written: bool
) -> None:
    result = plimsoll(*WRITE, *flags)
    assert result.code == 0
    assert (project / "notes/tide.txt").exists() is written
    if written:
        assert (project / "notes/tide.txt").read_text() == "high at noon\n"


def test_a_denial_is_said_on_stderr_and_in_the_events(plimsoll: Plimsoll) -> None:
    result = plimsoll(*RUN)
    assert "denied: run_command echo high water" in result.err
    assert "allow it with --allow or --yes" in result.err
    decided = [line for line in plimsoll(*RUN, "--json").lines if line["type"] == "approval.decided"]
    assert [(line["data"]["decision"], line["data"]["by"]) for line in decided] == [("denied", "unattended")]


def test_a_mode_is_in_the_events_and_stays_with_the_session(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path
) -> None:
    lines = plimsoll(*WRITE, "--mode", "plan", "--json").lines
    assert [line["data"] for line in lines if line["type"] == "session.mode"] == [
        {"old": "ask", "new": "plan"}
    ]
    [decided] = [line["data"] for line in lines if line["type"] == "approval.decided"]
    assert (decided["decision"], decided["by"]) == ("denied", "mode")
    session = lines[0]["session"]
    result = plimsoll(*WRITE, "--yes", "--session", session)
    assert "plan mode: nothing is written or run" in result.err
    config = plimsoll_home / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('mode = "plan"\n')
    plimsoll(*WRITE, "--mode", "ask", "--yes", "--session", session)
    assert (project / "notes/tide.txt").exists(), "the flag is above session and setting"
    wrong = plimsoll(*WRITE, "--mode", "yolo")
    assert wrong.code == 2
    assert "allowed: one of ask, edit, plan" in wrong.err


def test_a_guard_is_said_and_holds_in_the_session_from_then_on(plimsoll: Plimsoll, project: Path) -> None:
    first = plimsoll(*WRITE, "--yes", "--guard", "edits notes/")
    assert "guard: notes/ stays as it is" in first.err
    assert 'stopped: write_file notes/tide.txt · "edits notes/"' in first.err
    result = plimsoll(*WRITE, "--yes", "--json", "--guard", "edits notes/")
    events = [json.loads(line) for line in result.out.splitlines()]
    [event] = [each for each in events if each["type"] == "guard.set"]
    assert event["data"]["forbids"] == "edits"
    assert event["data"]["what"] == "notes/"
    [by] = [each["data"]["by"] for each in events if each["type"] == "approval.decided"]
    assert by == "guard"
    plimsoll(*WRITE, "--yes", "--session", event["session"])
    assert not (project / "notes/tide.txt").exists()
    wrong = plimsoll(*WRITE, "--guard", "never notes/")
    assert wrong.code == 2
    assert "allowed: edits PATH, command WORDS, writes, or tests" in wrong.err


def test_a_tool_is_switched_off_in_the_session_from_then_on_and_on_again(
    plimsoll: Plimsoll, project: Path
) -> None:
    lines = plimsoll(*WRITE, "--yes", "--json", "--tool", "write_file=off").lines
    [switch] = [line["data"] for line in lines if line["type"] == "session.tool_switch"]
    assert switch == {"name": "write_file", "state": "off"}
    session = lines[0]["session"]
    plimsoll(*WRITE, "--yes", "--session", session)
    assert not (project / "notes/tide.txt").exists()
    assert "is write_file meant?" in plimsoll(*WRITE, "--session", session, "--tool", "write_fil=off").err
    plimsoll(*WRITE, "--yes", "--session", session, "--tool", "write_file=on")
    assert (project / "notes/tide.txt").exists()
    assert "NAME=off or NAME=on" in plimsoll(*WRITE, "--tool", "write_file").err


def test_a_command_is_run_and_quoted(plimsoll: Plimsoll) -> None:
    result = plimsoll(*RUN, "--allow", "run_command echo")
    assert "Exit code 0" in result.out
    assert "high water" in result.out
    assert "denied" not in result.err


def test_rules_of_the_settings_count_and_deny_wins_over_yes(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    config = plimsoll_home / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[approvals]\nallow = ["run_command echo"]\n')
    assert "Exit code 0" in plimsoll(*RUN).out
    (config / "config.toml").write_text('[approvals]\ndeny = ["run_command echo"]\n')
    result = plimsoll(*RUN, "--yes")
    assert "Exit code" not in result.out
    assert 'denied by the rule "run_command echo"' in result.err


@pytest.mark.parametrize("rule", ["", "run_command ls; rm", "a b\nc", "se;nd x"])
def test_a_rule_that_could_allow_nothing_is_wrong_usage(plimsoll: Plimsoll, rule: str) -> None:
    result = plimsoll(*RUN, "--allow", rule)
    assert result.code == 2
    assert "allowed:" in result.err


OWN_AGENT = """
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

helper = Agent(TestModel(call_tools=["book"], custom_output_text="That was all."))

@helper.tool_plain
def book(ferry: str) -> str:
    Path("booked").touch()
    return "booked"
"""


@pytest.mark.parametrize(
    ("flags", "rules", "why"),
    [
        ((), "", "asks unless a rule allows it; allow it with --allow or --yes"),
        (("--allow", "book"), "", ""),
        (("--yes",), "", ""),
        ((), 'allow = ["book"]', ""),
        (
            ("--yes", "--read-only"),
            'allow = ["book"]',
            "read-only mode: no rule marks this tool as read-only",
        ),
        (("--read-only",), 'looks = ["book"]', ""),
        (("--yes",), 'deny = ["book"]', 'by the rule "book"'),
    ],
)
def test_a_tool_of_an_agent_of_ones_own_runs_only_where_that_was_allowed(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, flags: tuple[str, ...], rules: str, why: str
) -> None:
    (project / "agents.py").write_text(OWN_AGENT)
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config/config.toml").write_text(f"[approvals]\n{rules}\n")
    result = plimsoll("run", "Book.", "--agent", "agents.py:helper", *flags)
    assert result.code == 0
    assert "That was all." in result.out
    assert (project / "booked").exists() is not bool(why)
    assert why in result.err
    assert ("denied" in result.err) is bool(why)


def test_the_environment_gives_no_rules(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_APPROVALS", '{allow = ["*"]}')
    result = plimsoll(*RUN)
    assert result.code != 0
    assert "only in the settings file" in result.err


def test_config_set_keeps_comments_inside_a_list(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    config = plimsoll_home / "config/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        '[approvals]\nallow = [\n  # tests\n  "run_command pytest",\n  "edit_file",  # all\n]\n'
    )
    assert (
        plimsoll("config", "set", "approvals.allow", '["run_command pytest", "edit_file", "plan"]').code == 0
    )
    text = config.read_text()
    assert "# tests" in text
    assert "# all" in text
    assert '"plan"' in text
    assert plimsoll("config", "set", "approvals.allow", '["edit_file"]').code == 0
    assert "pytest" not in config.read_text()
    assert '"edit_file",  # all' in config.read_text()
    assert plimsoll("config", "set", "approvals.allow", '["nonsense;"]').code != 0


SECRET = "TOKEN=hunter2"


@pytest.mark.parametrize(
    ("prompt", "rule", "answered"),
    [
        ("read .env", "read_file .env", 'Not done: the rule "read_file .env" forbids it.'),
        ("grep hunter2", "read_file .env", "Files left out by rules of the user: 1."),
        ("grep hunter2", "grep", 'Not done: the rule "grep" forbids it.'),
        ("list files", "ls", 'Not done: the rule "ls" forbids it.'),
    ],
)
def test_what_must_not_be_read_is_not_and_the_answer_says_so(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, prompt: str, rule: str, answered: str
) -> None:
    (project / ".env").write_text(f"{SECRET}\n")
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config/config.toml").write_text(f'[approvals]\ndeny = ["{rule}"]\n')
    result = plimsoll("run", prompt, "--model", "offline:extractive", "--yes")
    assert result.code == 0
    assert answered in result.out
    assert "Do not try" not in result.out
    assert SECRET not in result.out + result.err
    assert "glob" not in result.err, "no other way is tried"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("git -C . push origin HEAD", 'denied by the rule "run_command git push": run_command git -C . push'),
        ("git --no-pager push", 'denied by the rule "run_command git push"'),
        ("git -c alias.p=push p", "which may apply: the full command is not known before it runs"),
        ("git --unheard-of x push", "which may apply: the full command is not known before it runs"),
    ],
)
def test_what_a_rule_may_deny_is_refused_without_a_screen_whatever_else_allows_it(
    plimsoll: Plimsoll, plimsoll_home: Path, line: str, why: str
) -> None:
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config/config.toml").write_text(
        '[approvals]\ndeny = ["run_command git push"]\nallow = ["run_command"]\n'
    )
    for more in (("--yes",), ("--allow", "run_command git"), ()):
        result = plimsoll("run", f"run: {line}", "--model", "offline:extractive", *more)
        assert "Exit code" not in result.out
        assert why in result.err
        assert "allow it with" not in result.err, "nothing on the command line does"


def test_a_rule_about_no_tool_is_pointed_out(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    config = plimsoll_home / "config/config.toml"
    config.write_text('[approvals]\ndeny = ["run_comand git push", "read_file .env", "ferries_book"]\n')
    said = "deny run_comand git push: No tool is called run_comand: is run_command meant?"
    checks = [each for each in plimsoll("doctor", "--json").json["checks"] if each["name"] == "approvals"]
    assert [(each["state"], each["text"]) for each in checks] == [
        ("warn", said),
        ("warn", "deny ferries_book: No tool is called ferries_book."),
    ]
    assert said in plimsoll("config", "set", "approvals.allow", '["plan"]').err
    config.write_text(config.read_text() + '[mcp.ferries]\ncommand = "ferries"\n')
    checks = [each for each in plimsoll("doctor", "--json").json["checks"] if each["name"] == "approvals"]
    assert [each["text"] for each in checks] == [said]
    assert plimsoll("config", "set", "approvals.deny", '["run_command git push"]').err == ""
    assert "2 rules" in plimsoll("doctor").out


# ``plimsoll run --agent``: structured output of custom agents, and where their failures are reported.


AGENT = """
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

class Ferry(BaseModel):
    name: str
    times: list[str]

class Odd:
    pass

def said(name: str) -> str:
    return f"Booked on\\n{name}."

def odd(name: str) -> Any:
    return Odd()

def failing(name: str) -> str:
    raise KeyError("sunday")

def model(*steps):
    async def stream(messages, info):
        step = steps[sum(isinstance(each, ModelResponse) for each in messages)]
        if isinstance(step, str):
            yield step
        else:
            yield {0: DeltaToolCall(*step)}
    return FunctionModel(stream_function=stream)

FINAL = "final_result"
ferry = '{"name": "Elsa Ö", "times": ["09:00", "17:30"]}'
typed = Agent(model((FINAL, ferry)), output_type=Ferry)
number = Agent(model((FINAL, '{"response": 7}')), output_type=int)
spoken = Agent(model((FINAL, '{"name": "Elsa"}')), output_type=said)
strange = Agent(model((FINAL, '{"name": "Elsa"}')), output_type=odd)
plain = Agent(model("Just text."), output_type=[str, Ferry])
broken = Agent(model(("failing", '{"name": "Elsa"}'), "A pity."), tools=[failing])
"""


@pytest.fixture
def _agents(project: Path) -> None:
    (project / "agents.py").write_text(AGENT)


@pytest.mark.usefixtures("_agents")
@pytest.mark.parametrize(
    ("agent", "out"),
    [
        ("typed", '{"name":"Elsa Ö","times":["09:00","17:30"]}\n'),
        ("number", "7\n"),
        ("spoken", "Booked on\nElsa.\n"),
        ("plain", "Just text.\n"),
    ],
)
def test_what_it_returns_is_printed(plimsoll: Plimsoll, agent: str, out: str) -> None:
    result = plimsoll("run", "When?", "--agent", f"agents.py:{agent}", "--yes")
    assert (result.code, result.out) == (0, out)


@pytest.mark.usefixtures("_agents")
def test_what_is_no_json_is_told_in_words(plimsoll: Plimsoll) -> None:
    result = plimsoll("run", "When?", "--agent", "agents.py:strange", "--yes")
    assert result.code == 0
    assert "Odd object" in json.loads(result.out)


@pytest.mark.usefixtures("_agents")
def test_it_is_an_event_and_part_of_the_exports(plimsoll: Plimsoll) -> None:
    result = plimsoll("run", "When?", "--agent", "agents.py:typed", "--json")
    events = [json.loads(line) for line in result.out.splitlines()]
    [event] = [each for each in events if each["type"] == "agent.output"]
    assert event["data"] == {"text": '{"name":"Elsa Ö","times":["09:00","17:30"]}', "structured": True}
    assert event["seq"] > 0
    for form in ("markdown", "html"):
        exported = plimsoll("export", event["session"], "--format", form)
        assert exported.code == 0
        assert "17:30" in exported.out.partition("Answer")[2]


@pytest.mark.usefixtures("_agents")
def test_what_a_tool_raises_is_told_to_the_model_and_logged(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    result = plimsoll("run", "When?", "--agent", "agents.py:broken", "--yes")
    assert (result.code, result.out) == (0, "A pity.\n")
    assert "failing Elsa, failed" in result.err
    assert "Traceback" not in result.err
    log = (plimsoll_home / "state/plimsoll.log").read_text()
    assert "the tool failing failed" in log
    assert "KeyError: 'sunday'" in log


# Hooks without a screen: their events as JSON lines, reports of failures, and how they are listed.


@pytest.fixture
def home(plimsoll_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    (plimsoll_home / "config").mkdir()
    return plimsoll_home


def define(home: Path, *hooks: tuple[str, str]) -> None:
    tables = (f"[[hooks.{event}]]\nshell = true\ncommand = '{line}'\n" for event, line in hooks)
    (home / "config" / "config.toml").write_text("\n".join(tables))


def test_events_of_a_run(plimsoll: Plimsoll, home: Path) -> None:
    define(
        home, ("sessionStart", "exit 3"), ("preTool", "echo seen"), ("postTool", "cat > /dev/null"),
        ("sessionEnd", "echo bye"),
    )  # fmt: skip
    result = plimsoll(*QUESTION, "--json")
    assert result.code == 0
    lines = [line for line in result.lines if line["type"] == "hook.ran"]
    assert [problems(line, event_schema("hook.ran")) for line in lines] == [[]] * len(lines)
    ran = {(line["data"]["hook"], line["data"]["outcome"]) for line in lines}
    assert ran == {("sessionStart", "failed"), ("preTool", "ok"), ("postTool", "ok"), ("sessionEnd", "ok")}
    assert result.lines[-1]["type"] == "session.end"


def test_a_session_that_events_have_named_can_be_continued(plimsoll: Plimsoll, home: Path) -> None:
    define(home, ("userPrompt", "echo no >&2; exit 2"))
    assert plimsoll(*QUESTION).code == 1
    assert plimsoll("sessions", "--json").json["sessions"] == []
    refused = plimsoll(*QUESTION, "--json")
    assert refused.code == 1
    session = refused.lines[0]["session"]
    assert "user.message" not in {line["type"] for line in refused.lines}
    assert plimsoll(*QUESTION, "--session", session).code == 1
    define(home)
    again = plimsoll(*QUESTION, "--session", session, "--json")
    assert again.code == 0, again.err
    assert {line["session"] for line in again.lines} == {session}


def test_text_says_only_what_did_not_go_well(plimsoll: Plimsoll, home: Path) -> None:
    define(
        home, ("sessionStart", "exit 3"), ("preTool", "echo no tools >&2; exit 2"), ("sessionEnd", "echo bye")
    )
    result = plimsoll(*QUESTION)
    assert "sessionStart hook exit ended with exit code 3" in result.err
    assert "preTool hook echo declined" in result.err
    assert "sessionEnd" not in result.err


def test_compact_waits_for_its_hooks(plimsoll: Plimsoll, home: Path, imported: str) -> None:
    define(home, ("preCompact", "exit 2"), ("postCompact", "cat > told"))
    result = plimsoll("compact", imported, "--json")
    assert result.code == 0
    assert result.json["outcome"] == "success"
    assert "preCompact hook exit vetoed the compaction" in result.err
    assert "one that is headless cannot be vetoed" in result.err
    assert '"trigger": "headless"' in (home / "config/told").read_text()


def test_config_lists_them_and_wrong_ones_are_refused(plimsoll: Plimsoll, home: Path) -> None:
    define(home, ("preTool", "make check"))
    assert plimsoll("config", "--json").json["hooks"] == {
        "preTool": [
            {
                "command": "make check",
                "shell": True,
                "timeout_s": 60.0,
                "match": [],
                "cwd": "",
                "on_failure": "ignore",
            }
        ]
    }
    assert "make check" in plimsoll("config").out
    define(home, ("preLunch", "make check"))
    result = plimsoll("config")
    assert result.code == 1
    assert "hooks.preLunch is an unknown event" in result.err


# How events become lines on stdout and stderr, and what determines the exit code.


TROUBLE = Error(kind="auth", message="The key is wrong.", hint="Set another one.")


def shown(
    view: RecordView, payloads: Sequence[Payload], capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    for number, payload in enumerate(payloads, 1):
        view.show(Record(seq=number if payload.STORED else 0, time=1.0, session="s", data=payload))
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_streamed_answers_end_in_a_line_break(capsys: pytest.CaptureFixture[str]) -> None:
    payloads = [
        AssistantDelta(thinking="hm"),
        AssistantDelta(text="Let me "),
        AssistantDelta(text="look."),
        AssistantMessage(text="Let me look."),
        AssistantMessage(text=""),
        AssistantMessage(text="Not streamed."),
    ]
    assert shown(AnswerView(), payloads, capsys) == ("Let me look.\nNot streamed.\n", "")


def test_everything_else_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    payloads = [
        ToolCall(tool_call_id="a", name="grep", args='{"pattern": "x"}'),
        ToolCall(tool_call_id="b", name="ls", args="{}"),
        ToolResult(tool_call_id="b", name="ls", text="one\ntwo"),
        ToolResult(tool_call_id="a", name="grep", text="", outcome="error"),
        ToolResult(tool_call_id="c", name="compact_context", text="The conversation is compacted."),
        CompactionComplete(
            job="1", outcome="failed", trigger="background", reason="the model gave no answer"
        ),
        Notice(text="Stayed."),
        TROUBLE,
    ]
    out, err = shown(AnswerView(), payloads, capsys)
    assert out == ""
    assert err.splitlines() == [
        "  ls ., 2 entries",
        '  grep "x", failed',
        "  compact_context",
        "Compaction failed: the model gave no answer",
        "Stayed.",
        "The key is wrong. Set another one.",
    ]


def test_answers_drive_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown(
        AnswerView(), [AssistantDelta(text="a\x1b]0;owned\x07b\x1b"), AssistantDelta(text="[31mc")], capsys
    )
    assert "\x1b" not in out
    assert "owned" not in out
    assert out.startswith("ab")


def test_json_lines_hold_what_is_stored_notices_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    usage = ContextUsage(parts=Breakdown(), window=ContextWindow(limit=1, source="default"), messages=0)
    payloads = [
        TurnStart(text="x"),
        AssistantDelta(text="y"),
        AssistantMessage(text="y \u202e\x9b\ud800"),
        GaugeChanged(usage=usage),
        Notice(text="n"),
        TurnEnd(outcome="done"),
    ]
    out, err = shown(JsonView(), payloads, capsys)
    assert err == "n\n"
    assert out.isascii()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == ["assistant.message", "notice", "turn.end"]
    assert (lines[1]["seq"], lines[1]["data"]) == (
        0,
        {"text": "n", "actions": [], "passing": False, "refused": False},
    )


def test_short_memory_is_said_beside_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    short = MemoryPressure(rss_mb=9, limit_mb=1, action="drop")
    assert shown(JsonView(), [short], capsys) == ("", "Memory is short (9 of 1 MB): caches were dropped.\n")


@pytest.mark.parametrize(
    ("payloads", "code"),
    [
        ([TurnEnd(outcome="done")], 0),
        ([TurnEnd(outcome="cancelled")], 1),
        ([TROUBLE, TurnEnd(outcome="failed")], 1),
        ([TROUBLE, TurnEnd(outcome="done")], 1),
        ([], 1),
    ],
)
def test_exit_code_of_a_turn(payloads: list[Payload], code: int) -> None:
    verdict = Verdict()
    for payload in payloads:
        verdict.note(Record(seq=0, time=1.0, session="s", data=payload))
    assert verdict.code == code


def test_columns_line_up_for_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table([("a", "回到", "1"), ("bb", "x", "22")], right=(2,))
    assert capsys.readouterr().out.splitlines() == ["a   回到   1", "bb  x     22"]


def test_bars_never_hide_something() -> None:
    assert [output.bar(share, 10) for share in (0, 0.001, 0.5, 1, 7)] == [
        "",
        "█",
        "█" * 5,
        "█" * 10,
        "█" * 10,
    ]
    assert output.bar(0.5, 4, ascii_only=True) == "##"


def test_documents_on_a_terminal_are_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for stream, expected in (
        (Terminal(io.BytesIO(), "utf-8"), b"ab\n"),
        (io.TextIOWrapper(io.BytesIO(), "latin-1"), "a\x9bb\\udc80\n".encode()),
    ):
        monkeypatch.setattr("sys.stdout", stream)
        output.print_document("a\x85b\n" if stream.isatty() else "a\x9bb\udc80\n")
        assert stream.buffer.getvalue() == expected  # type: ignore[attr-defined]


def test_background_commands_end_with_the_run_and_a_sign_is_no_shell(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path
) -> None:
    fake_openai.add(tool("run_command", command="sleep 600", background=True), Text("It runs."), Text("No."))
    settings_file(
        plimsoll_home,
        f'sandbox = "off"\n[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 64000\n',
    )
    result = plimsoll("run", "serve it", "--model", "own:scripted", "--yes")
    assert result.code == 0, result.err
    assert "Background command t1: ended with the session" in result.err
    result = plimsoll("run", "!touch here", "--model", "own:scripted")
    assert NO_SHELL in result.err
    assert fake_openai.journal[-1]["messages"][-1]["content"] == "!touch here"


def test_a_question_with_nobody_there_is_told_and_the_turn_goes_on(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path
) -> None:
    config = plimsoll_home / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text(
        f'[endpoints.local]\nprotocol = "openai-chat"\nbase_url = "{fake_openai.base_url}"\n'
    )
    ask = {"question": "Which port?", "choices": ["8080", "3000"]}
    fake_openai.add(
        Tool((("ask_user", ask),)), Text("I took 8080."), Tool((("ask_user", ask),)), Text("8080 again.")
    )
    lines = plimsoll("run", "Go.", "--model", "local:scripted", "--json").lines
    [asked] = [line["data"] for line in lines if line["type"] == "question.asked"]
    assert (asked["question"], asked["choices"], asked["attended"]) == (
        "Which port?",
        ["8080", "3000"],
        False,
    )
    [result] = [line["data"] for line in lines if line["type"] == "tool.result"]
    assert result["text"].startswith("There is no user to answer.")
    said = plimsoll("run", "Go.", "--model", "local:scripted")
    assert said.code == 0
    assert "The model asks: Which port? There is no user to answer." in said.err
    assert "8080 again." in said.out


def test_commands_out_of_files_and_prompts_of_servers_are_what_they_stand_for(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path
) -> None:
    settings_file(
        plimsoll_home,
        f'[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 64000\n'
        f'[mcp.files]\ncommand = "{sys.executable}"\nargs = ["{mcp_stdio.__file__}", "rich"]\n',
    )
    commands = plimsoll_home / "config" / "commands"
    commands.mkdir()
    (commands / "look.md").write_text("---\ndescription: Look.\n---\nLook at $1, then say $ARGUMENTS.\n")
    (commands / "empty.md").write_text("---\ndescription: Nothing.\n---\n")

    def sent(prompt: str) -> str:
        fake_openai.add(Text("Seen."))
        result = plimsoll("run", prompt, "--model", "own:scripted")
        assert result.code == 0, result.err
        return str(fake_openai.journal[-1]["messages"][-1]["content"])

    assert sent("/look 'the quay' twice").strip() == "Look at the quay, then say 'the quay' twice."
    assert sent("/files:hail Gull softly") == "Hail Gull, softly."
    assert sent("/etc/hosts is what?") == "/etc/hosts is what?"
    assert sent("/nothing here") == "/nothing here"
    asked = len(fake_openai.journal)
    for prompt, code, why in (
        ("/empty", 2, "/empty has no text: "),
        ("/files:hail", 1, "/files:hail cannot be used: /files:hail needs boat."),
        ("/files:other", 1, "No server has a prompt /files:other. There are: /files:hail."),
    ):
        result = plimsoll("run", prompt, "--model", "own:scripted")
        assert result.code == code
        assert why in result.err
    fake_openai.add(Text("Seen."))
    assert "/compact is a command of the screen" in plimsoll("run", "/compact", "--model", "own:scripted").err
    assert len(fake_openai.journal) == asked + 1


def test_what_would_go_unheard_is_told(
    plimsoll: Plimsoll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command of an untrusted folder, a rule for no known tool, an effort the model does not support."""
    monkeypatch.delenv("PLIMSOLL_TRUST")
    commands = tmp_path / "work" / ".plimsoll" / "commands"
    commands.mkdir(parents=True)
    (commands / "look.md").write_text("Look at $1.")
    at = ("--model", "offline:extractive", "--cwd", str(tmp_path / "work"))
    assert "/look is a command of this folder, which is not trusted" in plimsoll("run", "/look x", *at).err
    assert "not trusted" not in plimsoll("run", "/look x", "--trust", *at).err
    told = plimsoll("run", "hello", "--allow", "run_comand ls", "--allow", "run_command ls", *at).err
    assert "--allow run_comand ls: No tool is called run_comand: is run_command meant?" in told
    assert "--allow run_command ls" not in told
    done = plimsoll("run", "hello", "--effort", "high", "--json", *at)
    assert "is not known to think" in done.err
    assert any(row["type"] == "notice" for row in map(json.loads, done.out.splitlines()))


@pytest.mark.parametrize(
    ("check", "code", "told"),
    [("test -e README.md", 0, "goal reached\n"), ("test -e none", 1, "of turns is")],
)
def test_a_goal_goes_on_until_its_check_holds(plimsoll: Plimsoll, check: str, code: int, told: str) -> None:
    goal = ("--goal", "Find the ferry.", "--check", check, "--turns", "2", "--allow", "run_command test")
    result = plimsoll("run", *goal, "--model", "offline:extractive")
    assert result.code == code
    assert told in result.err
    assert result.err.count("not reached yet") == 2 * code


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--goal", "x"), "A goal needs a check that code can run"),
        (("word", "--goal", "x", "--check", "true"), "The goal is the prompt: give either."),
        (("word", "--check", "true"), "--check is for --goal TEXT."),
        (
            ("--goal", "x", "--check", "true", "--turns", "0"),
            "--turns 0 is not possible. Allowed: a number above 0.",
        ),
        (("--goal", "x", "--check", "true", "--money", "nan"), "--money nan is not possible"),
        (("--goal", "x", "--count", "-1"), "--count -1 is not possible"),
        (("word", "--goal", "off"), "--goal off ends the goal of a session. Which one? --session ID"),
    ],
)
def test_a_goal_that_cannot_be_checked_is_refused(
    plimsoll: Plimsoll, args: tuple[str, ...], told: str
) -> None:
    result = plimsoll("run", *args)
    assert (result.code, result.out) == (2, "")
    assert told in result.err


@pytest.fixture
def sent(
    fake_openai: FakeOpenAI, plimsoll_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Script the model to start a subagent, which ends once it is waited for, and then to answer."""
    config = plimsoll_home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f'model = "own:scripted"\n[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 100000\n'
    )
    release, tell = Signal(), cli_run.tell

    def told(text: str) -> None:
        tell(text)
        if text.startswith("Waiting"):
            release.set()

    monkeypatch.setattr(cli_run, "tell", told)
    fake_openai.add(tool("explore", task="Look up.", background=True), Text("It looks."))
    fake_openai.add(Text("The sky is blue.", hold=release), phrase="for another assistant")
    return fake_openai.add


def test_sub_agents_in_the_background_end_before_the_run_and_the_model_goes_on(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, sent: Callable[..., None]
) -> None:
    sent(Tool(calls=(("agents", {"action": "wait", "name": "explore-1"}),)), Text("Blue, it says."))
    result = plimsoll("run", "Which colour is the sky?")
    assert (result.code, result.out) == (0, "It looks.\nBlue, it says.\n")
    assert "Waiting for 1 sub-agent in the background." in result.err
    assert "The sky is blue." in str(fake_openai.journal[-1])


@pytest.mark.usefixtures("sent")
def test_a_run_that_does_not_wait_ends_with_the_turn(plimsoll: Plimsoll) -> None:
    result = plimsoll("run", "Which colour is the sky?", "--no-wait")
    assert (result.code, result.out) == (0, "It looks.\n")
    assert "Waiting" not in result.err


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(("turns", "code"), [("1", 0), ("2", 1)])
def test_a_run_with_a_goal_ends_with_the_goal(plimsoll: Plimsoll, turns: str, code: int) -> None:
    goal = ("--goal", "Find the colour of the sky.", "--count", turns, "--turns", "1")
    result = plimsoll("run", *goal)
    assert (result.code, result.out) == (code, "It looks.\n")
    assert "Waiting" not in result.err
