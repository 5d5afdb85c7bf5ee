"""``plimsoll run``: what it says beside the answer."""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll, Result
from tests.servers.behaviours import Failure, Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.telemetry import NO_ADDRESS
from tui_app.events import Payload, Record, SessionEnd, SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.store import Event

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
    """Let the disk be full from the first event of a kind on."""
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
    assert "Make room on the disk, then try again." in result.err


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
