"""``plimsoll import`` without files: what other programs left on this machine."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.cli.test_cli_export_formats import _Terminal
from tests.session.importing import foreign


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place, content in (
        (".codex/sessions/rollout-1.jsonl", foreign.jsonl(foreign.codex())),
        (".pi/agent/sessions/x/1.jsonl", foreign.jsonl(foreign.pi())),
    ):
        path = tmp_path / "home" / place
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return tmp_path / "home"


def test_list(plimsoll: Plimsoll, home: Path) -> None:
    assert home.exists()
    text = plimsoll("import", "--list").out
    assert len(text.splitlines()) == 2
    assert "Fix the till" in text
    assert "codex" in text


def test_json_marks_what_was_imported(plimsoll: Plimsoll, home: Path) -> None:
    file = home / ".codex/sessions/rollout-1.jsonl"
    session = plimsoll("import", file, "--json").json["session"]
    rows = {row["program"]: row for row in plimsoll("import", "--json").json["transcripts"]}
    assert rows["codex"] | {"time": 0} == {
        "path": str(file),
        "program": "codex",
        "title": "Fix the till",
        "cwd": "/home/ann/shop",
        "time": 0,
        "bytes": file.stat().st_size,
        "session": session,
        "changed": False,
    }
    assert rows["pi"]["session"] is None
    assert f"imported as {session}" in plimsoll("import", "--list").out


def test_numbers_are_asked_for_in_a_terminal(
    plimsoll: Plimsoll, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home.exists()
    monkeypatch.setattr("sys.stdin", _Terminal("1-2\n"))
    result = plimsoll("import")
    assert result.out.count("4 messages") == 1
    monkeypatch.setattr("sys.stdin", _Terminal("\n"))
    assert plimsoll("import").code == 0
    monkeypatch.setattr("sys.stdin", _Terminal("3\n"))
    wrong = plimsoll("import")
    assert wrong.code == 2
    assert "1 to 2" in wrong.err
    assert len(plimsoll("sessions", "--json").json["sessions"]) == 2


def test_nothing_is_asked_without_a_terminal(plimsoll: Plimsoll, home: Path) -> None:
    assert home.exists()
    assert plimsoll("import").out == plimsoll("import", "--list").out


def test_nothing_found(plimsoll: Plimsoll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    assert "No transcripts of other programs were found." in plimsoll("import").out
    assert json.loads(plimsoll("import", "--json").out) == {"transcripts": []}


def test_list_takes_no_files(plimsoll: Plimsoll, chat: Path) -> None:
    assert plimsoll("import", chat, "--list").code == 2


def test_going_on_with_an_imported_conversation(plimsoll: Plimsoll, home: Path) -> None:
    session = plimsoll("import", home / ".codex/sessions/rollout-1.jsonl", "--json").json["session"]
    done = plimsoll("run", "what was fixed?", "--session", session, "--model", "offline:extractive")
    assert done.code == 0
    assert done.out.strip()
    calls = [part["tool_name"] for part in _parts(plimsoll, session) if part["part_kind"] == "tool-call"]
    assert calls[:2] == ["shell", "apply_patch"]


def _parts(plimsoll: Plimsoll, session: str) -> list[dict[str, str]]:
    messages = json.loads(plimsoll("export", session).out)
    return [part for message in messages for part in message["parts"]]
