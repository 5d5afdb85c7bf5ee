"""read_file, ls, glob and grep on a real folder."""

import threading
import time
from pathlib import Path

import pytest

from tui_app.agent.tools import files
from tui_app.agent.tools import files as search
from tui_app.agent.tools.commands import Cancelled, Stop
from tui_app.agent.tools.files import grep
from tui_app.agent.tools.workspace import OutsideWorkspace, ToolProblem, Workspace
from tui_app.context.policy import NormaliseLimits
from tui_app.context.tool_results.cuts import byte_count, count_lines

# read_file, ls and glob.


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (tmp_path / "src" / "deep" / "b.ts").write_text("b\n")
    (tmp_path / "README.md").write_text("# Title\n")
    (tmp_path / "node_modules" / "left-pad").mkdir(parents=True)
    (tmp_path / "node_modules" / "left-pad" / "index.ts").write_text("no\n")
    (tmp_path / "env" / "lib").mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr\n")
    (tmp_path / "env" / "lib" / "x.py").write_text("no\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "out.py").write_text("no\n")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (tmp_path / "noise.log").write_text("no\n")
    (tmp_path / "keep.log").write_text("yes\n")
    return Workspace(tmp_path)


def test_lines_are_numbered_and_ranges_are_exact(ws: Workspace) -> None:
    assert files.read_file(ws, "src/a.py") == "1\tone\n2\ttwo\n3\tthree"
    assert files.read_file(ws, "src/a.py", 2, 1) == "2\ttwo\n[more lines follow; read on with start=3]"
    assert files.read_file(ws, "src/a.py", 3, 10) == "3\tthree"


def test_reading_past_the_end_says_so(ws: Workspace) -> None:
    with pytest.raises(ToolProblem, match="ends before line 9"):
        files.read_file(ws, "src/a.py", 9)


def test_only_newlines_end_a_line(ws: Workspace) -> None:
    (ws.root / "odd.txt").write_bytes("a\x0cb\u2028c\r\nnext".encode())
    assert files.read_file(ws, "odd.txt") == "1\ta\x0cb\u2028c\n2\tnext"


def test_a_read_is_bounded_in_lines_and_characters(ws: Workspace) -> None:
    (ws.root / "long.txt").write_text("x\n" * 5000)
    rows = files.read_file(ws, "long.txt", 1, 99_999).splitlines()
    assert len(rows) == files.MAX_LINES + 1
    assert rows[-1] == f"[more lines follow; read on with start={files.MAX_LINES + 1}]"
    (ws.root / "wide.txt").write_text(("y" * 1900 + "\n") * 200)
    assert len(files.read_file(ws, "wide.txt")) < files.MAX_BYTES + 100


def test_what_is_read_is_within_the_limits_of_tool_output(ws: Workspace) -> None:
    """Otherwise the middle would be cut out before the model gets it, without the model knowing why."""
    limits = NormaliseLimits()
    for line, count in (("x", 5_000), ("潮" * 600, 500), ("é" * 30, 5_000)):
        (ws.root / "tide.txt").write_text(f"{line}\n" * count)
        text = files.read_file(ws, "tide.txt", 1, 99_999)
        assert count_lines(text) <= limits.lines
        assert byte_count(text) <= limits.bytes
        text = files.grep(ws, line[:1], "tide.txt", limit=1_000)
        assert byte_count(text) <= limits.bytes


def test_one_endless_line_is_cut_and_the_next_line_still_counts_as_second(ws: Workspace) -> None:
    (ws.root / "min.js").write_text("z" * 3_000_000 + "\nsecond\n")
    rows = files.read_file(ws, "min.js").splitlines()
    assert rows[0].endswith("…[line cut]")
    assert len(rows[0]) < 2_100
    assert rows[1] == "2\tsecond"


def test_a_binary_file_and_an_empty_one_are_said_to_be_so(ws: Workspace) -> None:
    (ws.root / "x.bin").write_bytes(b"\x89PNG\0\0")
    (ws.root / "empty.txt").write_text("")
    with pytest.raises(ToolProblem, match="binary"):
        files.read_file(ws, "x.bin")
    assert files.read_file(ws, "empty.txt") == "[empty.txt is empty]"


def test_bytes_that_are_no_utf8_do_not_fail_the_read(ws: Workspace) -> None:
    (ws.root / "latin.txt").write_bytes(b"caf\xe9\n")
    assert files.read_file(ws, "latin.txt") == "1\tcaf\N{REPLACEMENT CHARACTER}"


def test_ls_shows_folders_first_and_no_generated_ones(ws: Workspace) -> None:
    (ws.root / "link").symlink_to("/etc")
    rows = files.ls(ws).splitlines()
    assert rows[:2] == ["build/", "src/"]
    assert "link@" in rows
    assert "README.md  8 bytes" in rows
    assert not any(row.startswith(("node_modules", "env/")) for row in rows)


def test_ls_of_a_huge_folder_is_bounded(ws: Workspace) -> None:
    for number in range(files.MAX_ENTRIES + 7):
        (ws.root / "src" / "deep" / f"{number:04}").touch()
    rows = files.ls(ws, "src/deep").splitlines()
    assert len(rows) == files.MAX_ENTRIES + 1
    assert rows[-1].startswith("[8 more entries")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["src/a.py"]),
        ("**/*.py", ["src/a.py"]),
        ("src/**/*.ts", ["src/deep/b.ts"]),
        ("src/*.ts", ["[no file matches 'src/*.ts']"]),
        ("src/**", ["src/a.py", "src/deep/b.ts"]),
        ("**/*.{ts,md}", ["README.md", "src/deep/b.ts"]),
        ("*.log", ["keep.log"]),
        ("src/[ab].py", ["src/a.py"]),
    ],
)
def test_glob(ws: Workspace, pattern: str, expected: list[str]) -> None:
    assert files.glob(ws, pattern).splitlines() == expected


def test_glob_takes_absolute_patterns_inside_only(ws: Workspace) -> None:
    assert files.glob(ws, f"{ws.root}/src/*.py") == "src/a.py"
    with pytest.raises(OutsideWorkspace):
        files.glob(ws, "../*.py")
    with pytest.raises(OutsideWorkspace):
        files.glob(ws, "/etc/*")


def test_a_nested_ignore_file_counts_below_its_folder_only(ws: Workspace) -> None:
    (ws.root / "src" / ".gitignore").write_text("/a.py\n")
    (ws.root / "a.py").write_text("top\n")
    assert files.glob(ws, "*.py").splitlines() == ["a.py"]


def test_a_hostile_pattern_ends_quickly(ws: Workspace) -> None:
    (ws.root / ("a" * 250)).touch()
    assert files.glob(ws, "*a" * 60 + "b").startswith("[no file matches")
    (ws.root / ".gitignore").write_text("*a" * 100 + "b\n" + "**/" * 100 + "zz\n")
    assert "src/a.py" in files.glob(ws, "**")


def test_a_cancelled_walk_stops(ws: Workspace) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        files.glob(ws, "**", stop=Stop(cancelled))


def test_a_walk_out_of_time_says_what_it_has_is_not_all(ws: Workspace) -> None:
    assert "[the search ran out of time]" in files.glob(ws, "**", stop=Stop(deadline=0.0))


# grep, with hostile expressions.


@pytest.fixture
def grep_ws(tmp_path: Path) -> Workspace:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "dates.py").write_text("import os\n    SUNDAY = 6\nMONDAY = 0\n")
    (tmp_path / "notes.txt").write_text("On sunday: rest.\n")
    (tmp_path / "image.png").write_bytes(b"sunday\0\0")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "sunday").write_text("sunday\n")
    return Workspace(tmp_path)


def test_hits_come_as_path_line_and_the_line_itself(grep_ws: Workspace) -> None:
    assert grep(grep_ws, "sunday") == "notes.txt:1: On sunday: rest."
    assert grep(grep_ws, "sunday", ignore_case=True).splitlines() == [
        "notes.txt:1: On sunday: rest.",
        "pkg/dates.py:2:     SUNDAY = 6",
    ]


def test_a_folder_or_a_file_narrows_the_search(grep_ws: Workspace) -> None:
    assert grep(grep_ws, "=", "pkg").splitlines() == [
        "pkg/dates.py:2:     SUNDAY = 6",
        "pkg/dates.py:3: MONDAY = 0",
    ]
    assert grep(grep_ws, "rest", "notes.txt") == "notes.txt:1: On sunday: rest."
    with pytest.raises(OutsideWorkspace):
        grep(grep_ws, "root", "/etc/passwd")
    with pytest.raises(ToolProblem, match="There is no file"):
        grep(grep_ws, "x", "missing")


def test_no_hit_says_how_much_was_searched(grep_ws: Workspace) -> None:
    assert grep(grep_ws, "zzz") == "[no line matches 'zzz' in 2 files]"


def test_the_limit_holds_and_is_said(grep_ws: Workspace) -> None:
    (grep_ws.root / "many.txt").write_text("hit\n" * 500)
    rows = grep(grep_ws, "hit", limit=5).splitlines()
    assert rows[:2] == ["many.txt:1: hit", "many.txt:2: hit"]
    assert rows[5:] == ["[more hits exist: narrow the pattern or the path]"]
    assert len(grep(grep_ws, "hit", limit=10**9).splitlines()) == 500


def test_exactly_as_many_hits_as_the_limit_are_all(grep_ws: Workspace) -> None:
    (grep_ws.root / "many.txt").write_text("hit\n" * 5)
    assert len(grep(grep_ws, "hit", limit=5).splitlines()) == 5


def test_the_result_is_bounded_in_characters(grep_ws: Workspace) -> None:
    (grep_ws.root / "wide.txt").write_text(("hit" + "w" * 5_000 + "\n") * 300)
    result = grep(grep_ws, "hit", limit=1_000)
    assert len(result) < search.MAX_BYTES + 200
    assert "[more hits exist" in result


def test_large_files_are_passed_over_unless_named(grep_ws: Workspace) -> None:
    (grep_ws.root / "big.txt").write_text("needle\n" + "x" * search.MAX_FILE_BYTES)
    assert "[1 files over 5 MB were skipped]" in grep(grep_ws, "needle")
    assert grep(grep_ws, "needle", "big.txt").startswith("big.txt:1: needle")


def test_a_hit_deep_in_a_long_line_is_found_and_shown(grep_ws: Workspace) -> None:
    (grep_ws.root / "history.json").write_text('{"said": "' + "x " * 60_000 + 'needle here"}\n')
    (row,) = grep(grep_ws, "needle").splitlines()
    assert row.startswith("history.json:1: [119,910 characters] …x x ")
    assert row.endswith('needle here"}')
    assert grep(grep_ws, "x x$") == "[no line matches 'x x$' in 3 files]"


def test_what_was_not_searched_of_a_long_line_is_said(
    grep_ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MATCHED_BYTES", 20_000)
    (grep_ws.root / "long.txt").write_text("x" * 30_000 + "needle\n")
    assert grep(grep_ws, "needle").endswith("[the end of 1 long lines was not searched]")
    monkeypatch.setattr(search, "_MATCH_S", 0.05)
    (grep_ws.root / "long.txt").write_text("first " + "x" * 2_000 + "a" * 60 + "b\n")
    assert grep(grep_ws, "first|(a|a)*$").startswith("long.txt:1: first")
    assert grep(grep_ws, "none|a(a|a)*c$").endswith("[the end of 1 long lines was not searched]")


@pytest.mark.parametrize("pattern", ["(", "[a", "*x", "", "a" * 2_000])
def test_a_wrong_expression_is_a_stated_problem(grep_ws: Workspace, pattern: str) -> None:
    with pytest.raises(ToolProblem):
        grep(grep_ws, pattern)


def test_a_catastrophic_expression_is_given_up(grep_ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MATCH_S", 0.05)
    (grep_ws.root / "trap.txt").write_text("a" * 60 + "b\n")
    with pytest.raises(ToolProblem, match="takes too long"):
        grep(grep_ws, "(a|a)*$", "trap.txt")


def test_an_expression_that_is_slow_on_each_line_ends_with_the_budget(grep_ws: Workspace) -> None:
    (grep_ws.root / "slow.txt").write_text(f"{'a' * 29}b\n" * 1_000)
    began = time.monotonic()
    text = grep(grep_ws, "(a|aa)+$", "slow.txt", stop=Stop(deadline=began + 0.5))
    assert text.endswith("[the search ran out of time]")
    assert time.monotonic() - began < 5


def test_a_search_gives_up_soon_after_it_is_cancelled(grep_ws: Workspace) -> None:
    (grep_ws.root / "long.txt").write_text("line\n" * 200_000)
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
            grep(grep_ws, "nothing here", stop=Stop(Telling()))
        raised.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert seen.wait(10)
    cancelled.set()
    thread.join(10)
    assert raised == [True]


def test_a_search_past_its_deadline_returns_what_it_has(grep_ws: Workspace) -> None:
    result = grep(grep_ws, "sunday", stop=Stop(deadline=time.monotonic() - 1))
    assert "[the search ran out of time]" in result
