"""Facts about files and commands: what was really done, and which errors are still open."""

import pytest
from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, history, shell, texts, user
from tui_app.context.facts import extract_facts
from tui_app.context.facts.shell import producer
from tui_app.context.summaries.writer import extractive_summary


def files(*groups: list[ModelMessage]) -> set[str]:
    return set(texts(extract_facts(history(*groups)), "file"))


@pytest.mark.parametrize(
    ("tool", "args", "result", "fact"),
    [
        ("Read", {"file_path": "/w/a.py"}, "1 import os", "/w/a.py · read"),
        ("Write", {"file_path": "/w/a.py", "content": "x"}, "File created at /w/a.py", "/w/a.py · created"),
        ("write_file", {"path": "a.py", "content": "x"}, "Wrote 1 byte", "a.py · written"),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "ok", "a.py · edited"),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, "ok", "a.py · created"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}, "text", "a.py · read"),
        ("edit", {"filePath": "a.py", "oldString": "a", "newString": "b"}, "ok", "a.py · edited"),
        ("edit_file", {"target_file": "a.py", "code_edit": "b"}, "ok", "a.py · edited"),
        ("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "b"}, "ok", "n.ipynb · edited"),
        ("mcp__fs__delete_file", {"path": "a.py"}, "ok", "a.py · deleted"),
        ("apply_patch", "*** Begin Patch\n*** Add File: n.py\n+x\n*** End Patch", "Done", "n.py · created"),
    ],
)
def test_file_tools_of_many_agents(tool: str, args: dict[str, str] | str, result: str, fact: str) -> None:
    assert files(call(tool, args, result)) == {fact}


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("rm -f old.py", {"old.py · deleted"}),
        ("git rm a.py; git -C d mv e.py f.py", {"a.py · deleted", "d/e.py · deleted", "d/f.py · created"}),
        ("git rm --cached old.py; git rm -n a.py", set()),
        ("git checkout -- a.py && git clean -fd && git reset --hard", set()),
        ("mv a.py lib/b.py", {"a.py · deleted", "lib/b.py · created"}),
        ("mv a.py lib/", {"a.py · deleted", "lib/a.py · created"}),
        ("touch 'new file.txt'", {"new file.txt · created"}),
        ("cat > conf.ini << 'EOF'\nrm important.txt\nEOF", {"conf.ini · written"}),
        ("echo done >> log.txt 2> /dev/null", {"log.txt · edited"}),
        ("sed -i 's/a/b/' src/x.py", {"src/x.py · edited"}),
        ("cd sub && sed -n 1,5p x.py; cat y.md", {"sub/y.md · read"}),
        ("FOO=1 sudo tee -a /etc/hosts < in", {"/etc/hosts · edited"}),
        ("grep -rn 'rm x.py' src | head", set()),
        ("rm -rf $BUILD *.pyc build/", set()),
        ("echo \"unbalanced > 'quotes", set()),
        ("git apply <<'EOF'\n*** Begin Patch\n*** Update File: p.py\n*** End Patch\nEOF", {"p.py · edited"}),
    ],
)
def test_effects_of_shell_commands(command: str, facts: set[str]) -> None:
    assert files(shell(command)) == facts


@pytest.mark.parametrize(
    "group",
    [
        call("Write", {"file_path": "a.py"}, "disk full", "failed"),
        call("Write", {"file_path": "a.py"}, "no", "denied"),
        call("Edit", {"file_path": "a.py"}, "<tool_use_error>String to replace not found</tool_use_error>"),
        call("Edit", {"file_path": "a.py"}, {"error": "not unique"}),
        call("Write", {"file_path": "a.py"}, "The user doesn't want to proceed with this tool use."),
        *(
            call(tool, {"path": "a.py", "file_path": "a.py"}, said)
            for tool in ("edit_file", "write_file", "str_replace_editor_edit")
            for said in (
                "old_text was not found in a.py; nothing was changed",
                "Not run: the user declined this call.",
                "No replacement was performed, old_str `x` did not appear verbatim in a.py.",
                "String to replace not found in file.",
                "The text to replace was not found in a.py.",
                "Nothing was changed: the file is as it was.",
                "No changes made to a.py",
                "Could not apply the edit",
                "Declined by the user.",
                "Found 3 matches of old_string; it must be unique. File unchanged.",
            )
        ),
        shell("rm a.py", "rm: cannot remove 'a.py'", "failed"),
        shell("rm a.py", "rm: cannot remove 'a.py'\nExit code 1"),
    ],
)
def test_what_did_not_happen_is_not_claimed(group: list[ModelMessage]) -> None:
    assert files(group) == set()


_MADE = call("write_file", {"path": "a.py"}, "Created a.py")
_EDITED = call("edit_file", {"path": "/w/src/a.py", "new_text": "total = price * count"}, "ok")


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([_EDITED, shell("git checkout -- src/a.py")], "/w/src/a.py · edited, undone"),
        ([_EDITED, shell("cd /w && git checkout HEAD -- src")], "/w/src/a.py · edited, undone"),
        ([_EDITED, shell("git checkout a.py")], "/w/src/a.py · edited, undone"),
        ([_EDITED, shell("git restore .")], "/w/src/a.py · edited, undone"),
        ([_EDITED, shell("git restore --source=HEAD src/a.py")], "/w/src/a.py · edited, undone"),
        ([_EDITED, shell("git reset --hard")], "/w/src/a.py · edited, undone"),
        ([_EDITED, shell("git checkout -f")], "/w/src/a.py · edited, undone"),
        ([shell("rm a.py"), shell("git checkout -- a.py")], "a.py · deleted, undone"),
        ([_EDITED, shell("git reset --hard"), _EDITED], "/w/src/a.py · edited"),
        ([_EDITED, shell("git commit -am x"), shell("git reset --hard")], "/w/src/a.py · edited"),
        ([_EDITED, shell("git commit -am x"), _EDITED, shell("git restore .")], "/w/src/a.py · edited"),
        ([_EDITED, shell("git reset --hard", "fatal: not a repo\nexit code: 128")], "/w/src/a.py · edited"),
        ([_EDITED, shell("git checkout src; git checkout b.py; git reset")], "/w/src/a.py · edited"),
        ([_EDITED, shell("git checkout -p -- a.py; git restore --staged src")], "/w/src/a.py · edited"),
        ([_EDITED, shell("git checkout other -- src/a.py")], "/w/src/a.py · edited"),
        ([_MADE, shell("git clean -fd")], "a.py · created, deleted"),
        ([_MADE, shell("git clean -nfd; git reset --hard")], "a.py · created"),
        ([_MADE, shell("git add . && git clean -fd")], "a.py · created"),
        ([_MADE, shell("git add -A; git reset --hard")], "a.py · created, undone"),
        (
            [_MADE, shell("git checkout -- a.py"), shell("git reset --hard && git clean -fd")],
            "a.py · created, undone",
        ),
    ],
)
def test_what_git_has_undone_is_told_as_undone(steps: list[list[ModelMessage]], told: str) -> None:
    assert files(*steps) == {told}


def test_what_git_has_undone_stays_so_in_the_next_summary() -> None:
    undone = history(user("Go"), _EDITED, shell("git checkout -- src/a.py"))
    first = extractive_summary(undone, budget_tokens=800, count=len)
    again = extractive_summary(history(user("On"), start=20), budget_tokens=800, count=len, previous=first)
    assert "a.py · edited, undone" in first
    assert "a.py · edited, undone" in again
    assert "last change" not in first
    kept = extractive_summary(history(user("Go"), _EDITED), budget_tokens=800, count=len)
    assert "last change: `total = price * count`" in kept


def test_words_of_a_file_that_was_written_are_no_failure() -> None:
    said = "The file a.py has been edited:\n  3\tnames must be unique\n  4\tnothing was changed"
    assert files(call("edit_file", {"path": "a.py"}, said)) == {"a.py · edited"}


def test_deeds_on_one_file_are_counted_together() -> None:
    edit = call("Edit", {"file_path": "/w/src/a.py"}, "ok")
    facts = extract_facts(
        history(call("Write", {"file_path": "/w/src/a.py"}, "File created"), edit, edit, edit)
    )
    [fact] = [fact for fact in facts if fact.kind == "file"]
    assert fact.text == "/w/src/a.py · created, edited 3×"
    assert fact.source == "#8"


def test_a_relative_path_is_the_absolute_one_it_ends() -> None:
    assert files(call("Read", {"file_path": "/w/src/a.py"}), shell("sed -i s/a/b/ ./src/a.py")) == {
        "/w/src/a.py · edited"
    }


def test_a_deleted_file_is_told_as_deleted_until_it_is_written_again() -> None:
    edited = call("Edit", {"file_path": "a.py"})
    assert files(edited, shell("rm a.py")) == {"a.py · edited, deleted"}
    assert files(shell("rm a.py"), call("Write", {"file_path": "a.py"})) == {"a.py · created"}


def test_commands_keep_their_latest_outcome() -> None:
    facts = extract_facts(
        history(shell("cd /w && make docs 2>&1 | tail -3"), shell("ls -la"), shell("git status"))
    )
    assert texts(facts, "command") == ["`make docs` · ok"]


def test_an_error_is_open_until_the_same_command_works() -> None:
    red = shell("pytest -x", "E   ValueError: bad date in parse.py:12\n1 failed\nexit code: 1")
    green = shell("cd /w && pytest -x | tail -5", "12 passed")
    [error] = texts(extract_facts(history(red)), "error")
    assert error.startswith("`pytest -x` · failed: E ValueError: bad date in parse.py:12")
    solved = extract_facts(history(red, green))
    assert texts(solved, "error") == []
    assert [text for text in texts(solved, "detail") if text.startswith("solved: `pytest -x`")]
    assert texts(extract_facts(history(green, red)), "error") == [error]


def test_a_pipe_does_not_hide_failing_tests() -> None:
    facts = extract_facts(
        history(shell("npm test 2>&1 | tail -20", "Tests: 3 failed, 2 passed\nFAIL src/a.test.ts"))
    )
    assert len(texts(facts, "error")) == 1


def test_words_about_errors_in_a_searched_file_are_no_error() -> None:
    facts = extract_facts(
        history(shell("git log --oneline", "fix: Error: 3 failed"), shell("grep -n Error a.py", ""))
    )
    assert texts(facts, "error") == []


@pytest.mark.parametrize(
    "command", ["grep -n nothing a.py", "npm run check 2>&1 | grep 'error TS'", "diff a b"]
)
def test_finding_nothing_is_no_error(command: str) -> None:
    assert (
        texts(extract_facts(history(shell(command, "Command exited with code 1", "failed"))), "error") == []
    )


def test_a_chain_that_worked_solves_its_parts() -> None:
    red = shell('git commit -m "v1"', "error: gpg failed to sign\nexit code 128", "failed")
    assert texts(extract_facts(history(red, shell('git add . && git commit -m "v1"'))), "error") == []
    assert len(texts(extract_facts(history(red, shell('git commit -m "v1" || true; echo ok'))), "error")) == 1


@pytest.mark.parametrize(
    ("later", "still_open"),
    [
        (shell("npm test", "12 passed"), False),
        (shell("npm test -- a.test.ts 2>&1 | tail -5", "1 passed"), False),
        (shell("npm test -- a.test.ts | grep -i error", ""), True),
        (shell("npm run lint", "clean"), True),
        (shell("npm", "usage: npm"), False),
    ],
)
def test_a_whole_check_that_works_solves_its_parts(later: list[ModelMessage], still_open: bool) -> None:
    red = shell("npm test -- a.test.ts", "Error: boom\nexit code: 1")
    assert bool(texts(extract_facts(history(red, later)), "error")) is still_open


def test_a_filter_at_the_end_of_a_pipe_makes_no_other_command() -> None:
    red = shell('make check 2>&1 | grep -E "(error|warning)"', "error: x is y\n")
    [error] = texts(extract_facts(history(red)), "error")
    assert error == "`make check` · failed: error: x is y"
    facts = extract_facts(history(red, shell("make check", "all good")))
    assert texts(facts, "error") == []
    assert texts(facts, "command") == ["`make check` · ok"]


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("a | b", "a | b"),
        ("cd /w && a -x 2>&1 | grep 'p|q' | sort | uniq -c | head -3", "a -x"),
        ("a && b | wc -l", "a && b"),
        ("grep x y", "grep x y"),
        ("a | grep 'unclosed", "a"),
        ("", ""),
    ],
)
def test_the_producer_of_an_output(command: str, first: str) -> None:
    assert producer(command) == first


@pytest.mark.parametrize("looked", ["grep -n x missing.py", "cat missing.py", "git show nothing"])
def test_a_failed_look_leaves_nothing_to_mend(looked: str) -> None:
    facts = extract_facts(history(shell(looked, "fatal: no such file\nexit code: 2", "failed")))
    assert texts(facts, "error") == []
    assert texts(facts, "command") == []
    read = call("Read", {"file_path": "missing.py"}, "File does not exist.", "failed")
    assert texts(extract_facts(history(read)), "error") == []


@pytest.mark.parametrize(
    ("broken", "works", "still_open"),
    [
        ("pytest -q", "python -m pytest", False),
        ("pytest -q", "python3.11 -m pytest -q", False),
        ("python -m pytest -q", "pytest -q", False),
        ("uv run pytest tests", "poetry run python -m pytest", False),
        ("npx eslint .", "eslint .", False),
        ("ruff check . && pytest", "uv run ruff check . && .venv/bin/python -m pytest", False),
        ("pytest -q", "python -m pytest tests/a.py", True),
        ("pytest -q", "python -m ruff check .", True),
        ("python -m app", "python app", True),
    ],
)
def test_a_command_is_the_same_however_its_program_is_found(
    broken: str, works: str, still_open: bool
) -> None:
    facts = extract_facts(
        history(
            shell(broken, "E   ImportError: no foo\n1 failed\nexit code: 1"),
            shell("pip install foo", "Successfully installed foo"),
            shell(works, "14 passed"),
        )
    )
    assert bool(texts(facts, "error")) is still_open


def test_another_tool_that_changed_the_file_solves_a_failed_edit() -> None:
    red = call("Edit", {"file_path": "a.py"}, "File has not been read yet.", "failed")
    assert len(texts(extract_facts(history(red, call("Read", {"file_path": "a.py"}))), "error")) == 1
    assert texts(extract_facts(history(red, call("Write", {"file_path": "a.py"}))), "error") == []


def test_the_telling_line_of_a_traceback_comes_first() -> None:
    trace = "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'name'\nexit code 1"
    [error] = texts(extract_facts(history(user("Run."), shell("python a.py", trace))), "error")
    assert error.startswith("`python a.py` · failed: KeyError: 'name'")


@pytest.mark.parametrize(
    ("broken", "works", "still_open"),
    [
        ("cd app && npm test", "npm test --prefix app", False),
        ("cd /w/app && npm run build", "npm --prefix=app run build", False),
        ("npm test --prefix app", "cd app && npm test", False),
        ("cd lib && make check", "make -C lib check", False),
        ("cd app && yarn test", "yarn --cwd ./app test", False),
        ("cd app && npm test", "npm test --prefix web", True),
        ("npm test", "npm test --prefix app", True),
        ("cd app && npm test", "npm run lint --prefix app", True),
    ],
)
def test_a_command_in_a_folder_is_the_same_however_it_gets_there(
    broken: str, works: str, still_open: bool
) -> None:
    facts = extract_facts(history(shell(broken, "FAIL src/x.js\nexit code: 1"), shell(works, "ok")))
    assert bool(texts(facts, "error")) is still_open


_MAKE = shell("make", "cc: error: x.c: No such file\nexit code: 2")
_PYTEST = shell("pytest tests/test_cart.py", "E   KeyError: price\n1 failed\nexit code: 1")


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I fixed that build error myself, it works now.", {"pytest"}),
        ("OK, I've fixed the make error.", {"pytest"}),
        ("I have already resolved the x.c problem", {"pytest"}),
        ("I just fixed the failing test.", {"make"}),
        ("I fixed the KeyError myself. Go on.", {"make"}),
        ("Ich habe den Build-Fehler selbst behoben.", {"pytest"}),
        ("I fixed the error.", {"make", "pytest"}),
        ("I fixed it.", {"make", "pytest"}),
        ("I fixed the lint error.", {"make", "pytest"}),
        ("I fixed the build error, but it still fails.", {"make", "pytest"}),
        ("I thought I fixed the build error.", {"make", "pytest"}),
        ("Have I fixed the build error?", {"make", "pytest"}),
        ("Once I fixed the build error you can go on.", {"make", "pytest"}),
        ("I fixed the typo in the README.", {"make", "pytest"}),
        ("Please fix the build error.", {"make", "pytest"}),
    ],
)
def test_what_the_user_says_to_have_fixed_is_closed_where_it_is_named(said: str, left: set[str]) -> None:
    facts = extract_facts(history(_MAKE, _PYTEST, user(said)))
    assert {text.split("`")[1].split(" ")[0] for text in texts(facts, "error")} == left
    told = [text for text in texts(facts, "detail") if text.startswith("user says fixed: ")]
    assert len(told) == 2 - len(left)


def test_an_error_after_those_words_is_open() -> None:
    facts = extract_facts(history(user("I fixed that build error."), _MAKE))
    assert len(texts(facts, "error")) == 1
    again = extract_facts(history(_MAKE, user("I fixed that build error."), _MAKE))
    assert len(texts(again, "error")) == 1
    told = extractive_summary(history(_MAKE, user("I fixed that build error.")), budget_tokens=900, count=len)
    assert "`make` · failed, user says fixed" in told
    assert "## Errors" not in told
