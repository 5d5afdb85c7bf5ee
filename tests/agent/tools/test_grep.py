"""grep over a real folder, hostile expressions included."""

import threading
import time
from pathlib import Path

import pytest

from tui_app.agent.tools import files as search
from tui_app.agent.tools.commands import Cancelled, Stop
from tui_app.agent.tools.files import grep
from tui_app.agent.tools.workspace import OutsideWorkspace, ToolProblem, Workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "dates.py").write_text("import os\n    SUNDAY = 6\nMONDAY = 0\n")
    (tmp_path / "notes.txt").write_text("On sunday: rest.\n")
    (tmp_path / "image.png").write_bytes(b"sunday\0\0")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "sunday").write_text("sunday\n")
    return Workspace(tmp_path)


def test_hits_come_as_path_line_and_the_line_itself(ws: Workspace) -> None:
    assert grep(ws, "sunday") == "notes.txt:1: On sunday: rest."
    assert grep(ws, "sunday", ignore_case=True).splitlines() == [
        "notes.txt:1: On sunday: rest.",
        "pkg/dates.py:2:     SUNDAY = 6",
    ]


def test_a_folder_or_a_file_narrows_the_search(ws: Workspace) -> None:
    assert grep(ws, "=", "pkg").splitlines() == [
        "pkg/dates.py:2:     SUNDAY = 6",
        "pkg/dates.py:3: MONDAY = 0",
    ]
    assert grep(ws, "rest", "notes.txt") == "notes.txt:1: On sunday: rest."
    with pytest.raises(OutsideWorkspace):
        grep(ws, "root", "/etc/passwd")
    with pytest.raises(ToolProblem, match="There is no file"):
        grep(ws, "x", "missing")


def test_no_hit_says_how_much_was_searched(ws: Workspace) -> None:
    assert grep(ws, "zzz") == "[no line matches 'zzz' in 2 files]"


def test_the_limit_holds_and_is_said(ws: Workspace) -> None:
    (ws.root / "many.txt").write_text("hit\n" * 500)
    rows = grep(ws, "hit", limit=5).splitlines()
    assert rows[:2] == ["many.txt:1: hit", "many.txt:2: hit"]
    assert rows[5:] == ["[more hits exist: narrow the pattern or the path]"]
    assert len(grep(ws, "hit", limit=10**9).splitlines()) == 500


def test_exactly_as_many_hits_as_the_limit_are_all(ws: Workspace) -> None:
    (ws.root / "many.txt").write_text("hit\n" * 5)
    assert len(grep(ws, "hit", limit=5).splitlines()) == 5


def test_the_result_is_bounded_in_characters(ws: Workspace) -> None:
    (ws.root / "wide.txt").write_text(("hit" + "w" * 5_000 + "\n") * 300)
    result = grep(ws, "hit", limit=1_000)
    assert len(result) < search.MAX_BYTES + 200
    assert "[more hits exist" in result


def test_large_files_are_passed_over_unless_named(ws: Workspace) -> None:
    (ws.root / "big.txt").write_text("needle\n" + "x" * search.MAX_FILE_BYTES)
    assert "[1 files over 5 MB were passed over]" in grep(ws, "needle")
    assert grep(ws, "needle", "big.txt").startswith("big.txt:1: needle")


@pytest.mark.parametrize("pattern", ["(", "[a", "*x", "", "a" * 2_000])
def test_a_wrong_expression_is_a_stated_problem(ws: Workspace, pattern: str) -> None:
    with pytest.raises(ToolProblem):
        grep(ws, pattern)


def test_a_catastrophic_expression_is_given_up(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MATCH_S", 0.05)
    (ws.root / "trap.txt").write_text("a" * 60 + "b\n")
    with pytest.raises(ToolProblem, match="takes too long"):
        grep(ws, "(a|a)*$", "trap.txt")


def test_a_search_gives_up_soon_after_it_is_cancelled(ws: Workspace) -> None:
    (ws.root / "long.txt").write_text("line\n" * 200_000)
    cancelled = threading.Event()
    seen = threading.Event()
    raised: list[bool] = []

    class Telling(threading.Event):
        def is_set(self) -> bool:
            seen.set()
            cancelled.wait()
            return cancelled.is_set()

    def work() -> None:
        with pytest.raises(Cancelled):
            grep(ws, "nothing here", stop=Stop(Telling()))
        raised.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert seen.wait(10)
    cancelled.set()
    thread.join(10)
    assert raised == [True]


def test_a_search_past_its_deadline_returns_what_it_has(ws: Workspace) -> None:
    result = grep(ws, "sunday", stop=Stop(deadline=time.monotonic() - 1))
    assert "[the search ran out of time]" in result
