"""One-line titles of calls and results."""

import json

import pytest

from tui_app.context.tool_titles import TITLE_CHARS, call_title, result_note, work_of_name

PATCH = """\
*** Begin Patch
*** Update File: import.py
@@
-opened = 0
+opened = None
*** Add File: tests/test_import.py
+assert True
*** Delete File: old.py
*** End Patch"""


@pytest.mark.parametrize(
    ("name", "args", "title"),
    [
        ("grep", {"pattern": "sunday"}, 'grep "sunday"'),
        ("grep", {"pattern": "x", "path": "src", "limit": 5}, 'grep "x" in src'),
        ("read_file", {"path": "import.py", "start": 1, "lines": 120}, "read_file import.py 1-120"),
        ("read_file", {"path": "import.py"}, "read_file import.py"),
        ("read_file", {"path": "a.py", "start": 40}, "read_file a.py 40-"),
        ("ls", {}, "ls ."),
        ("glob", {"pattern": "*.py"}, "glob *.py"),
        ("search_history", {"query": "#142"}, 'search_history "#142"'),
        ("run_command", {"command": "pytest -x"}, "run_command pytest -x"),
        # The description of a call is not its object.
        ("Bash", {"command": "pytest -x", "description": "Run the tests"}, "Bash pytest -x"),
        ("Task", {"description": "Find it", "prompt": "Find all files that"}, "Task Find it"),
        ("Grep", {"pattern": "x", "path": "src", "output_mode": "files"}, "Grep x src"),
        ("apply_patch", {"input": PATCH}, "apply_patch import.py, tests/test_import.py, old.py"),
        (
            "apply_patch",
            {"patch": "--- a/import.py\n+++ b/import.py\n@@ -1 +1 @@\n-a\n+b\n"},
            "apply_patch import.py",
        ),
        ("apply_patch", {"input": "no patch"}, "apply_patch no patch"),
    ],
)
def test_call_titles(name: str, args: dict[str, object], title: str) -> None:
    assert call_title(name, json.dumps(args)) == title


def test_a_patch_without_a_name_is_titled_by_its_files() -> None:
    assert (
        call_title("apply_patch", json.dumps(PATCH)) == "apply_patch import.py, tests/test_import.py, old.py"
    )
    assert call_title("apply_patch", PATCH) == "apply_patch import.py, tests/test_import.py, old.py"


@pytest.mark.parametrize(
    ("name", "text", "ending"),
    [
        ("grep", "a.py:1: x\nb.py:22: y: z\nc:3: w", "3 hits"),
        ("grep", "a.py:1: x", "1 hit"),
        ("grep", "a.py:1: x\n[more hits exist: narrow the pattern or the path]", "1+ hits"),
        ("grep", "[no line matches 'x' in 3 files]", "0 hits"),
        ("read_file", "1\ta\n2\tb\n[more lines follow; read on with start=3]", "2 lines"),
        ("ls", "src/\na.py  3 bytes", "2 entries"),
        ("glob", "[no file matches 'x']", "0 files"),
        ("search_history", "#4 user: hi\n\n#9 tool: x", "2 messages"),
        ("other", "a\nb", "2 lines"),
        # Tools of other programs with the same names.
        ("read_file", "import os\n\nprint(1)\n", "3 lines"),
        ("read_file", "     1→import os\n     2→print(1)", "2 lines"),
        ("read_file", "[src/a.py is empty]", "0 lines"),
        ("read_file", "", "0 lines"),
        ("grep", "Found 2 files\na.py\nb.py", "3 lines"),
    ],
)
def test_result_titles(name: str, text: str, ending: str) -> None:
    assert result_note(name, text) == ending


@pytest.mark.parametrize(
    ("outcome", "word"), [("error", "failed"), ("denied", "denied"), ("interrupted", "interrupted")]
)
def test_a_call_that_did_not_succeed_says_so(outcome: str, word: str) -> None:
    assert result_note("ls", "whatever", outcome) == word


@pytest.mark.parametrize("args", ['{"pattern": "unfini', "[]", "null", "", "\x1b[2J", "[" * 5_000])
def test_any_arguments_give_one_printable_line(args: str) -> None:
    title = call_title("grep\n\x1b[0m", args)
    assert title.isprintable()
    assert len(title) <= TITLE_CHARS


def test_a_long_argument_is_cut() -> None:
    title = call_title("mcp_tool", json.dumps({str(n): "w" * 500 for n in range(9)}))
    assert len(title) <= TITLE_CHARS


def test_blanks_hide_nothing_of_a_command() -> None:
    few = call_title("run_command", json.dumps({"command": "ls" + " " * 1_000 + "; rm -rf ~"}))
    assert few == "run_command ls ; rm -rf ~"
    many = call_title("run_command", json.dumps({"command": "ls" + "\n" * 1_000_000 + "; rm -rf ~"}))
    assert many == "run_command ls …"


def test_a_picture_is_no_number_of_lines() -> None:
    assert result_note("read_file", "[picture chart.png, 40 × 20]") == "picture"


@pytest.mark.parametrize(
    ("code", "end", "note"),
    [
        (1, "FAILED test_a.py::test_b\n=== 1 failed, 213 passed in 4.2s ===", "1 failed"),
        (0, "....\n=== 215 passed, 2 skipped in 4.2s ===", "215 passed"),
        (101, "test result: FAILED. 12 passed; 3 failed; 0 ignored", "3 failed"),
        (0, "test result: ok. 12 passed; 0 failed; 0 ignored\n\n", "12 passed"),
        (1, "Tests:       2 failed, 20 passed, 22 total\nTime:        1.2 s", "2 failed"),
        (1, "3 passed", "exit 1"),
        (0, "1 failed, 2 passed", "1 line"),
        (0, "3 passed\n" + "a row\n" * 9, "10 lines"),
        (2, "usage: pytest", "exit 2"),
        (0, "...............\n-----\nRan 15 tests in 0.012s\n\nOK", "15 passed"),
        (0, "-----\nRan 9 tests in 0.012s\n\nOK (skipped=1)", "8 passed"),
        (1, "-----\nRan 15 tests in 0.012s\n\nFAILED (failures=1, errors=2)", "3 failed"),
        (1, "-----\nRan 1 test in 0.012s\n\nFAILED (errors=1)", "1 failed"),
        (5, "-----\nRan 0 tests in 0.000s\n\nNO TESTS RAN", "exit 5"),
    ],
)
def test_a_test_run_is_told_by_its_sum(code: int, end: str, note: str) -> None:
    assert result_note("run_command", f"Exit code {code} after 1.0 s.\n{end}") == note


@pytest.mark.parametrize(
    ("tool", "work"),
    [
        ("read_file", "read"), ("Read", "read"), ("WebFetch", "read"), ("Grep", "search"),
        ("web_search", "search"),
        ("Bash", "execute"), ("MultiEdit", "edit"), ("write_to_file", "edit"), ("TodoWrite", "think"),
        ("Skill", ""), ("tides__read_table", ""),
    ],
)  # fmt: skip
def test_the_work_of_a_tool_of_another_agent_is_known_by_its_name(tool: str, work: str) -> None:
    assert work_of_name(tool) == work
