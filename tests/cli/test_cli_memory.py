"""``plimsoll memory``."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.cli.core.command import FAILED, OK, USAGE

RULE = "Never touch the importer in legacy/."


def texts(plimsoll: Plimsoll, *more: str) -> list[str]:
    return [entry["text"] for entry in plimsoll("memory", "list", "--json", *more).json["entries"]]


def test_listing_an_empty_board_makes_no_file(plimsoll: Plimsoll, plimsoll_home: Path, project: Path) -> None:
    listed = plimsoll("memory", "--json").json
    assert listed == {"board": {"repository": str(project), "branch": ""}, "entries": []}
    assert plimsoll("memory").err.startswith("Nothing is remembered about project (no repository) yet.")
    assert not (plimsoll_home / "data").exists()


def test_add_edit_and_forget(plimsoll: Plimsoll) -> None:
    made = plimsoll("memory", "add", "The tests", "need Redis", "--kind", "command", "--json").json
    assert (made["entry"]["text"], made["entry"]["made_by"], made["new"]) == (
        "The tests need Redis",
        "person",
        True,
    )
    assert plimsoll("memory", "add", "the tests need redis").out == "Entry 1 already says this.\n"
    assert plimsoll("memory", "edit", "1", "The tests need", "Redis 7").out == "Added as entry 2.\n"
    assert "The tests need Redis 7" in plimsoll("memory").out
    asked = plimsoll("memory", "forget", "2")
    assert (asked.code, "--yes" in asked.err) == (USAGE, True)
    assert plimsoll("memory", "forget", "2", "--yes", "--json").json["forgotten"] is True
    assert texts(plimsoll) == []
    assert texts(plimsoll, "--pruned") == ["The tests need Redis", "The tests need Redis 7"], (
        "marked, not lost"
    )


def test_the_board_of_another_branch_or_folder(plimsoll: Plimsoll, project: Path, tmp_path: Path) -> None:
    (project / ".git").mkdir()
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    plimsoll("memory", "add", "On main alone")
    plimsoll("memory", "add", "On every branch", "--everywhere")
    plimsoll("memory", "add", "Never push on Friday", "--kind", "rule")
    (project / ".git/HEAD").write_text("ref: refs/heads/tides\n")
    assert set(texts(plimsoll)) == {"On every branch", "Never push on Friday"}, "rules hold for all of them"
    other = tmp_path / "other"
    other.mkdir()
    assert texts(plimsoll, "--folder", str(other)) == []
    everything = ["On main alone", "On every branch", "Never push on Friday"]
    assert texts(plimsoll, "--folder", str(other), "--all") == everything


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add"], USAGE, "Usage: plimsoll memory add TEXT…"),
        (["add", "password: Tr0ub4dor&3x"], FAILED, "what looks like a secret"),
        (["edit", "1"], USAGE, "Usage: plimsoll memory edit NUMBER TEXT…"),
        (["edit", "one", "text"], USAGE, "one is not an entry number"),
        (["edit", "7", "something else"], FAILED, "no entry 7"),
        (["forget"], USAGE, "Usage: plimsoll memory forget NUMBER. To see them: plimsoll memory"),
        (["forget", "7", "--yes"], FAILED, "no entry 7"),
        (["list", "what"], USAGE, "Usage: plimsoll memory list\n"),
        (["run", "a", "b"], USAGE, "Usage: plimsoll memory run [ID]"),
        (["run", "ffff"], FAILED, "ffff"),
    ],
)
def test_what_cannot_be_done_is_said(plimsoll: Plimsoll, words: list[str], code: int, said: str) -> None:
    done = plimsoll("memory", *words)
    assert done.code == code
    assert said in done.err


def test_run_reads_a_session_once(plimsoll: Plimsoll) -> None:
    assert plimsoll("run", RULE).code == OK
    (session,) = [row["id"] for row in plimsoll("sessions", "--json").json["sessions"]]
    assert plimsoll("memory", "run").err.startswith("No session is waiting")
    (read,) = plimsoll("memory", "run", session, "--json").json["sessions"]
    assert read["session"] == session
    assert read["consolidated"]["added"] == 1
    assert read["consolidated"]["performed_by"] == "extraction"
    assert texts(plimsoll) == [RULE]
    assert plimsoll("memory", "run", session[:4]).out == f"{session}: nothing new since it was last read\n"
    shown = plimsoll("sessions", "show", session).out
    assert f"remembered: {RULE}" in shown
    assert RULE in plimsoll("run", "What is it?", "--json").out, "the next session is given the board"


def test_forgetting_is_told_to_the_session_it_came_from(plimsoll: Plimsoll) -> None:
    plimsoll("run", RULE)
    (session,) = [row["id"] for row in plimsoll("sessions", "--json").json["sessions"]]
    plimsoll("memory", "run", session)
    plimsoll("memory", "forget", "1", "--yes")
    assert f"no longer remembered (forgotten): {RULE}" in plimsoll("sessions", "show", session).out
    plimsoll("run", "More", "--resume", session)
    plimsoll("memory", "run", session)
    assert texts(plimsoll) == [], "it is not added again automatically"


def test_switched_off_nothing_is_read(plimsoll: Plimsoll) -> None:
    plimsoll("run", RULE)
    assert plimsoll("config", "set", "memory.enabled", "false").code == OK
    done = plimsoll("memory", "run")
    assert (done.code, "switched off" in done.err) == (FAILED, True)


def test_what_is_remembered_drives_no_terminal(plimsoll: Plimsoll) -> None:
    plimsoll("memory", "add", "\x1b]0;owned\x07 red \u202e kcab text")
    assert not {"\x1b", "\x07", "\u202e"} & set(plimsoll("memory").out)
