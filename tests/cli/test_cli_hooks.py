"""Hooks without a screen: their events as JSON lines, what is said of failing ones, how they are listed."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.context.schema_check import problems
from tui_app.events.schema import event_schema

QUESTION = ("run", "when is low water?", "--model", "offline:extractive")


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


def test_text_says_only_what_did_not_go_well(plimsoll: Plimsoll, home: Path) -> None:
    define(
        home, ("sessionStart", "exit 3"), ("preTool", "echo no tools >&2; exit 2"), ("sessionEnd", "echo bye")
    )
    result = plimsoll(*QUESTION)
    assert "sessionStart hook exit ended with exit code 3" in result.err
    assert "preTool hook echo declined" in result.err
    assert "sessionEnd" not in result.err


def test_compact_waits_for_its_hooks(plimsoll: Plimsoll, home: Path, project: Path, imported: str) -> None:
    define(home, ("preCompact", "exit 2"), ("postCompact", "cat > told"))
    result = plimsoll("compact", imported, "--json")
    assert result.code == 0
    assert result.json["outcome"] == "success"
    assert "preCompact hook exit vetoed the compaction" in result.err
    assert "one that is headless cannot be vetoed" in result.err
    assert '"trigger": "headless"' in (project / "told").read_text()


def test_config_lists_them_and_wrong_ones_are_refused(plimsoll: Plimsoll, home: Path) -> None:
    define(home, ("preTool", "make check"))
    assert plimsoll("config", "--json").json["hooks"] == {
        "preTool": [{"command": "make check", "shell": True, "timeout_s": 60.0, "match": []}]
    }
    assert "make check" in plimsoll("config").out
    define(home, ("preLunch", "make check"))
    result = plimsoll("config")
    assert result.code == 1
    assert "hooks.preLunch is an unknown event" in result.err
