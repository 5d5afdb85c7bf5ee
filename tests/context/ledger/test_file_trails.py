"""The actions on each file, with their verbs, and which of them git has undone."""

import pytest
from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, history, shell
from tui_app.context.ledger.ledger import Ledger


def files(*groups: list[ModelMessage]) -> dict[str, str]:
    return {path: trail.describe() for path, trail in Ledger.from_items(history(*groups)).files().items()}


@pytest.mark.parametrize(
    ("tool", "args", "result", "told"),
    [
        ("Read", {"file_path": "/w/a.py"}, "1 import os", "only read"),
        ("Write", {"file_path": "/w/a.py", "content": "x"}, "File created at /w/a.py", "created"),
        ("Write", {"file_path": "/w/a.py", "content": "x"}, "The file /w/a.py has been updated.", "written"),
        ("MultiEdit", {"file_path": "/w/a.py", "edits": []}, "ok", "edited"),
        ("mcp__fs__delete_file", {"path": "/w/a.py"}, "ok", "deleted"),
        ("apply_patch", "*** Begin Patch\n*** Add File: /w/a.py\n+x\n*** End Patch", "Done", "created"),
        ("run_command", {"command": "echo x > /w/a.py"}, "", "written"),
        ("run_command", {"command": "cd /w && cat a.py"}, "x", "only read"),
    ],
)
def test_each_deed_has_its_verb(tool: str, args: dict[str, str] | str, result: str, told: str) -> None:
    assert files(call(tool, args, result)) == {"/w/a.py": told}


@pytest.mark.parametrize(
    "group",
    [
        call("Write", {"file_path": "a.py"}, "disk full", "failed"),
        call("Write", {"file_path": "a.py"}, "no", "denied"),
        call("Write", {"file_path": "a.py"}, "", "interrupted"),
        call("Edit", {"file_path": "a.py"}, "<tool_use_error>String to replace not found</tool_use_error>"),
        call("Edit", {"file_path": "a.py"}, {"error": "not unique"}),
        call("Write", {"file_path": "a.py"}, "The user doesn't want to proceed with this tool use."),
        call("edit_file", {"path": "a.py"}, "Not run: the user declined this call."),
        call("str_replace_editor", {"command": "str_replace", "path": "a.py"}, "No replacement was made"),
        shell("rm a.py", "rm: cannot remove 'a.py'", "failed"),
        shell("rm a.py", "rm: cannot remove 'a.py'\nExit code 1"),
        shell("rm a.py", "", "denied"),
        shell("rm a.py || true", "rm: cannot remove 'a.py': No such file"),
        shell("pytest -q || rm a.py", "3 passed in 0.1s"),
        call("frobnicate", {"path": "a.py"}),
    ],
)  # fmt: skip
def test_what_did_not_happen_is_not_told(group: list[ModelMessage]) -> None:
    assert files(group) == {}


MADE = call("write_file", {"path": "a.py"}, "Created a.py")
EDITED = call("edit_file", {"path": "/w/src/a.py", "new_text": "total = price * count"}, "ok")


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([EDITED, EDITED, EDITED], "/w/src/a.py edited 3×"),
        ([MADE, call("edit_file", {"path": "./a.py"}), call("edit_file", {"path": "a.py"})],
         "a.py created, edited 2×"),
        ([call("Read", {"path": "/w/src/a.py"}), shell("sed -i s/a/b/ ./src/a.py")], "/w/src/a.py edited"),
        ([EDITED, shell("rm /w/src/a.py")], "/w/src/a.py edited, deleted"),
        ([shell("rm a.py"), call("Write", {"file_path": "a.py"})], "a.py created"),
        # Git reverts what was not committed.
        ([EDITED, shell("git checkout -- src/a.py")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("cd /w && git checkout HEAD -- src")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git checkout a.py")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git restore .")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git restore --source=HEAD src/a.py")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git reset --hard")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git checkout -f")], "/w/src/a.py edited, undone"),
        ([shell("rm a.py"), shell("git checkout -- a.py")], "a.py deleted, undone"),
        ([EDITED, shell("git reset --hard"), EDITED], "/w/src/a.py edited"),
        ([EDITED, shell("git commit -am x"), shell("git reset --hard")], "/w/src/a.py edited"),
        ([EDITED, shell("git commit -am x"), EDITED, shell("git restore .")], "/w/src/a.py edited"),
        ([EDITED, shell("git reset --hard", "fatal: not a repo\nexit code: 128")], "/w/src/a.py edited"),
        ([EDITED, shell("git checkout src; git checkout b.py; git reset")], "/w/src/a.py edited"),
        ([EDITED, shell("git checkout -p -- a.py; git restore --staged src")], "/w/src/a.py edited"),
        ([EDITED, shell("git checkout other -- src/a.py")], "/w/src/a.py edited"),
        ([MADE, shell("git clean -fd")], "a.py created, deleted"),
        ([MADE, shell("git clean -nfd; git reset --hard")], "a.py created"),
        ([MADE, shell("git add . && git clean -fd")], "a.py created"),
        ([MADE, shell("git add -A; git reset --hard")], "a.py created, undone"),
        ([shell("touch a.py"), shell("touch a.py")], "a.py created"),
        ([call("Read", {"path": "a.py"}), shell("touch a.py")], "a.py only read"),
        ([shell("rm a.py"), shell("touch a.py")], "a.py created"),
        ([MADE, shell("mv a.py $DEST/")], "a.py created, moved to elsewhere"),
        # Actions on a folder apply to the files in it.
        ([EDITED, shell("rm -rf /w/src")], "/w/src/a.py edited, deleted"),
        ([call("edit_file", {"path": "src/b/a.py"}), shell("rm -rf ./src")], "src/b/a.py edited, deleted"),
        # Stashed changes, and commits of some files only.
        ([EDITED, shell("git stash")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git stash"), shell("git stash pop")], "/w/src/a.py edited"),
        ([EDITED, shell("git stash"), EDITED, shell("git stash pop")], "/w/src/a.py edited 2×"),
        ([EDITED, shell("git commit -am x"), EDITED, shell("git stash && git stash pop")],
         "/w/src/a.py edited 2×"),
        ([EDITED, shell("git stash list; git stash drop; git stash -p")], "/w/src/a.py edited"),
        ([MADE, shell("git stash")], "a.py created"),
        ([MADE, shell("git stash -u")], "a.py created, undone"),
        ([EDITED, shell("git add b.py && git commit -m x"), shell("git checkout -- src/a.py")],
         "/w/src/a.py edited, undone"),
        ([EDITED, shell("git add src/a.py && git commit -m x"), shell("git restore src/a.py")],
         "/w/src/a.py edited"),
        ([EDITED, shell("git commit -m x src/a.py"), shell("git restore src/a.py")], "/w/src/a.py edited"),
        ([MADE, shell("git commit -am x"), shell("git clean -fd")], "a.py created, deleted"),
        ([EDITED, shell("git commit -am x"), shell("git reset --hard HEAD~1")], "/w/src/a.py edited, undone"),
        ([EDITED, shell("git commit -am x"), EDITED, shell("git commit -am y; git reset --hard HEAD^")],
         "/w/src/a.py edited"),
        ([EDITED, shell("git commit -am x; git commit -am y --amend"), shell("git reset --hard @~")],
         "/w/src/a.py edited, undone"),
        ([EDITED, shell("git commit -am x"), shell("git reset HEAD~1"), shell("git checkout -- src/a.py")],
         "/w/src/a.py edited, undone"),
        ([MADE, shell("git checkout -- a.py"), shell("git reset --hard && git clean -fd")],
         "a.py created, undone"),
    ],
)  # fmt: skip
def test_deeds_on_one_file_add_up(steps: list[list[ModelMessage]], told: str) -> None:
    assert [f"{path} {state}" for path, state in files(*steps).items()] == [told]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rm src/*.tmp", {"src/a.tmp": "edited, deleted"}),
        ("rm *.tmp", {}),
        ("cd src && rm ?.tmp", {"src/a.tmp": "edited, deleted"}),
        ("sed -i s/a*/b/ src/*.py", {"src/b.py": "edited 2×"}),
        ("git checkout -- src/*", {"src/a.tmp": "edited, undone", "src/b.py": "edited, undone"}),
        (
            "mv src/*.tmp lib",
            {"src/a.tmp": "edited, moved to lib/a.tmp", "lib/a.tmp": "moved from src/a.tmp"},
        ),
        ("cp lib/* src/", {}),
        ("rm src/*.log", {}),
    ],
)
def test_a_pattern_concerns_the_known_files_that_it_fits(line: str, told: dict[str, str]) -> None:
    known = [call("Edit", {"file_path": path}, "ok") for path in ("src/a.tmp", "src/b.py")]

    assert files(*known, shell(line)) == {"src/a.tmp": "edited", "src/b.py": "edited"} | told


@pytest.mark.parametrize(
    "move",
    [
        shell("mv src/a.py src/b.py"),
        shell("git mv src/a.py src/b.py"),
        shell("cd src && mv a.py b.py"),
        call("mcp__fs__move_file", {"source": "src/a.py", "destination": "src/b.py"}),
    ],
)
def test_a_file_that_moved_is_told_at_both_places(move: list[ModelMessage]) -> None:
    edit = call("edit_file", {"path": "src/a.py"})
    assert files(edit, move) == {
        "src/a.py": "edited, moved to src/b.py",
        "src/b.py": "moved from src/a.py",
    }


def test_a_folder_that_moved_takes_its_files_along() -> None:
    told = files(call("edit_file", {"path": "src/b/a.py"}), shell("mv src lib"))
    assert told == {"src/b/a.py": "edited, moved to lib/b/a.py", "lib/b/a.py": "moved from src/b/a.py"}
    told = files(call("Read", {"path": "lib/x.py"}), shell("touch a.py"), shell("mv a.py lib"))
    assert told["lib/a.py"] == "moved from a.py"


@pytest.mark.parametrize(
    ("known", "line", "path"),
    [
        (["/other/proj/config.py"], "rm config.py", "config.py"),
        (["/w/src/a.py", "/w/config.py"], "rm src/a.py config.py", "/w/config.py"),
        (["/w/src/a.py", "/other/config.py"], "rm src/a.py config.py", "config.py"),
        (["/w/config.py"], "cd /w && rm config.py", "/w/config.py"),
    ],
)
def test_a_bare_name_may_be_any_files(known: list[str], line: str, path: str) -> None:
    told = files(*(call("Read", {"path": each}) for each in known), shell(line))
    assert [each for each, state in told.items() if "deleted" in state and "config" in each] == [path]


def test_a_path_that_two_absolute_ones_end_in_stays_on_its_own() -> None:
    told = files(
        call("Read", {"file_path": "/w/one/a.py"}),
        call("Read", {"file_path": "/w/two/a.py"}),
        call("edit_file", {"path": "a.py"}),
    )
    assert told == {"/w/one/a.py": "only read", "/w/two/a.py": "only read", "a.py": "edited"}


def test_every_deed_has_its_message() -> None:
    read = call("Read", {"file_path": "/w/a.py"})
    trail = Ledger.from_items(history(read, EDITED, shell("sed -i s/x/y/ src/a.py"), read)).files()
    assert trail["/w/src/a.py"].keys == [4, 6]
    assert trail["/w/a.py"].reads == [2, 8]
    assert trail["/w/src/a.py"].size == len("total = price * count")
