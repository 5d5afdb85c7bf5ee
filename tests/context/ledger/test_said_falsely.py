"""Errors that the ledger once made on real logs: each line is one kind."""

import pytest

from tests.context.facts_kit import call, history, shell, user
from tui_app.context.compaction.sections import deeds_section
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.user_text import typed_text

PYTEST_BAD = "FAILED t.py::a - x\n2 failed, 3 passed in 9.1s"


def deeds(*messages: object) -> str:
    return deeds_section(Ledger.from_items(history(*messages)), 100_000, len).text  # type: ignore[arg-type]


def test_a_file_that_holds_the_words_of_a_refusal_refuses_nothing() -> None:
    said = "Not run: the user declined this call. The user said: Push with force."
    ledger = Ledger.from_items(history(user("Never push."), shell("cat notes.md", said)))
    assert [prompt.text for prompt in ledger.prompts()] == ["Never push."]
    assert not ledger.decisions()


def test_a_background_run_ends_as_its_run() -> None:
    started = call("exec_command", {"cmd": "pytest -q"}, "Process running with session ID 42\nOutput:\n...")
    ended = f"Process exited with code 1\nOutput:\n{PYTEST_BAD}"
    assert "`pytest -q` · failed" in deeds(
        started, call("write_stdin", {"session_id": 42, "chars": ""}, ended)
    )


def test_what_stands_before_the_report_of_a_chain_was_done() -> None:
    told = deeds(
        shell("cd /r && rm src/old.ts && npx tsc -b", "src/b.ts(7,28): error TS2307: x\nExit code 2")
    )
    assert "old.ts · deleted" in told


def test_an_answer_that_hides_its_end_is_an_answer() -> None:
    assert "no result yet" not in deeds(user("go"), shell("make 2>&1 | tail -3", "all built"))


def test_runs_in_two_folders_are_two() -> None:
    bad = "Tests:       1 failed, 2 passed, 3 total\nExit code 1"
    told = deeds(
        shell("cd api && npm test", bad), shell("cd web && npm test", "Tests:       3 passed, 3 total")
    )
    assert "no success since" in told


@pytest.mark.parametrize(
    ("failed", "worked"),
    [
        ("go test ./...", "gofmt -l . ; go test ./..."),
        ("mvn -q -o test", "mvn test"),
        ("pytest tests/a.py", "pytest"),
    ],
)
def test_the_same_work_with_other_options_solves_an_error(failed: str, worked: str) -> None:
    told = deeds(shell(failed, f"{PYTEST_BAD}\nExit code 1"), shell(worked, "3 passed in 1s"))
    assert "worked since" in told
    assert "no success since" not in told


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("= 1 failed, 2 passed in 1s =\n= 5 passed in 2s =", "1 failed, 7 passed"),
        ("Tests:       1 failed, 2 passed, 3 total\nTests:       5 passed, 5 total", "1 failed, 7 passed"),
        ("===== 1 failed, 2 passed, 3 rerun in 0.1s =====", "1 failed, 2 passed"),
        ("ValueError                 Traceback (most recent call last)\nx", "failed"),
    ],
)
def test_failures_in_one_of_several_reports_are_told(output: str, told: str) -> None:
    assert told in deeds(shell("./check", output))


@pytest.mark.parametrize(
    "text",
    [
        "Add to pom.xml: <type>jar</type> and never touch <files>a, b</files>",
        "In the XML, <instructions> must be renamed. Never touch prod. See </instructions>",
        "<content>never delete prod</content>",
        "Why does it show <command-name>/x</command-name> <command-args>foo</command-args>? Never push.",
    ],
)
def test_what_users_write_in_tags_is_theirs(text: str) -> None:
    assert "ever" in typed_text(text)
