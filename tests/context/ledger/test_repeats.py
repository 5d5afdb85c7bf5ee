"""Repeats: detected only if the model no longer sees the first call and nothing has changed since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, history, shell, user
from tui_app.agent.approvals.guards import only_looks
from tui_app.agent.approvals.reach import kinds_of
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.repeats import Knowledge, Past, Repeat, repeat_of
from tui_app.context.views.view import Item

KNOWN = Knowledge(only_looks=only_looks, kinds=kinds_of)
PASSED, FAILED = "Exit code 0 after 0.1 s.\n3 passed in 0.1s", "Exit code 1 after 0.1 s.\n1 failed in 0.1s"
EDIT = {"path": "a.py", "old_text": "x", "new_text": "y"}


def found(
    tool: str, args: Mapping[str, Any], *groups: list[ModelMessage], known: Knowledge = KNOWN
) -> Repeat | None:
    return repeat_of(tool, args, [Past(Ledger.from_items(history(*groups)))], known)


def run(line: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": line}


@pytest.mark.parametrize(
    ("line", "groups", "text"),
    [
        ("pytest -x", [shell("pytest -x", PASSED)], "ran at #2: 3 passed"),
        ("pytest -x | tail -3", [shell("pytest -x", FAILED)], "ran at #2: exit 1, 1 failed"),
        ("git commit -m a", [shell("git commit -m a", "Exit code 0 after 0.1 s.")], "ran at #2: ok"),
        ("git push", [shell("git push", "Exit code 0 after 0.1 s."), shell("git status")], "ran at #2: ok"),
        ("echo a >> f", [shell("echo a >> f", "Exit code 0 after 0.1 s.")], "ran at #2: ok"),
        ("rm -rf dist", [shell("rm -rf dist", "no", "denied"), call("edit_file", EDIT)],
         "refused by the user at #2"),
    ],
)  # fmt: skip
def test_commands_that_ended(line: str, groups: list[list[ModelMessage]], text: str) -> None:
    repeat = found(*run(line), *groups)
    assert repeat is not None
    assert repeat.text == text


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("pytest", []),
        ("pytest", [shell("pytest", PASSED), call("edit_file", EDIT)]),
        ("pytest", [shell("pytest", PASSED), shell("sed -i s/a/b/ a.py", "Exit code 0 after 0.1 s.")]),
        ("pytest", [shell("pytest", PASSED), shell("pip install x", "Exit code 0 after 0.1 s.")]),
        ("pytest", [shell("pytest", PASSED), call("db__migrate", {"to": 3})]),
        ("pytest", [shell("pytest", "Timed out after 60 s", "success")]),
        ("pytest", [shell("pytest", "stopped", "interrupted")]),
        ("pytest a", [shell("pytest b", PASSED)]),
        ("MODE=a pytest", [shell("MODE=b pytest", PASSED)]),
        ("python3 - <<E\nprint(1)\nE", [shell("python3 - <<E\nprint(2)\nE", "Exit code 0 after 0.1 s.\n2")]),
        ("cd b && pytest", [shell("cd a && pytest", PASSED)]),
        (
            "pytest",
            [
                call("exec_command", {"cmd": "true", "workdir": "/w"}, "Exit code 0"),
                call("exec_command", {"cmd": "pytest", "workdir": "/w/sub"}, PASSED),
            ],
        ),
        ("echo a >> f", [shell("echo a >> g", "Exit code 0 after 0.1 s.")]),
        ("npm ci", [shell("npm ci", "Exit code 1 after 0.1 s.\nnpm ERR! network")]),
        ("curl http://localhost/health", [shell("curl http://localhost/health", "ok")]),
        ("git status", [shell("git status", "clean")]),
        ("cat a.py", [shell("cat a.py", "x")]),
        ("docker ps", [shell("docker ps", "Exit code 0 after 0.1 s.")]),
    ],
)
def test_honest_runs(line: str, groups: list[list[ModelMessage]]) -> None:
    assert found(*run(line), *groups) is None


def test_what_may_have_written_leaves_it_to_the_disk() -> None:
    between = shell("python gen.py", "Exit code 0 after 0.1 s.")
    sure = found(*run("pytest"), shell("pytest", PASSED))
    unsure = found(*run("pytest"), shell("pytest", PASSED), between)
    assert sure is not None
    assert unsure is not None
    assert (sure.sure, unsure.sure) == (True, False)


def test_a_background_command_is_told_while_it_runs() -> None:
    started = call(
        "run_command", {"command": "npm run dev", "background": True}, "Runs in the background as t1. ok"
    )
    again = {"command": "npm run dev", "background": True}
    runs = Knowledge(only_looks=only_looks, kinds=kinds_of, running={"t1"})
    live = found("run_command", again, started, call("edit_file", EDIT), known=runs)
    assert live is not None
    assert live.text == "runs since #2 as t1"
    assert found("run_command", again, started) is None


def test_edits_are_the_same_by_all_that_they_were_given() -> None:
    assert found("edit_file", EDIT, call("edit_file", EDIT)) is not None
    assert found("edit_file", {**EDIT, "new_text": "z"}, call("edit_file", EDIT)) is None
    assert found("edit_file", {**EDIT, "path": "b.py"}, call("edit_file", EDIT)) is None
    assert found("edit_file", EDIT, call("edit_file", EDIT, "old text not found", "failed")) is None


def test_tasks_that_were_done_or_taken_off_the_list() -> None:
    def todo(**states: str) -> dict[str, Any]:
        return {"items": [{"text": text, "state": state} for text, state in states.items()]}

    groups = [call("todo", todo(a="doing", b="pending")), call("todo", todo(a="done")), user("Go.")]
    repeat = found("todo", todo(a="pending", b="pending", c="pending"), *groups)
    assert repeat is not None
    assert repeat.text == '"a" was done at #4; "b" was taken off the list at #4'
    assert found("todo", todo(a="done", c="doing"), *groups) is None


WRITES = [call("edit_file", EDIT), call("write_file", {"path": "b", "content": "c"}), call("x__y", {})]
QUIET = [
    user("Go."),
    shell("git status", "clean"),
    shell("ls", "a"),
    shell("ruff check .", "Found 2 errors."),
]


RUNS = [shell("pytest", PASSED), shell("pytest", FAILED)]


@given(st.lists(st.sampled_from([*WRITES, *QUIET, *RUNS])), st.data())
def test_told_only_of_the_newest_run_out_of_sight_with_nothing_written_since(
    groups: Sequence[list[ModelMessage]], data: st.DataObject
) -> None:
    items = history(*groups)
    seen_from = data.draw(st.integers(0, len(items) + 1))
    repeat = repeat_of(*run("pytest"), [Past(Ledger.from_items(items), lambda key: key < seen_from)], KNOWN)
    runs = [at for at, group in enumerate(groups) if group in RUNS]
    written = runs and any(group in WRITES for group in groups[runs[-1] :])
    last = sum(map(len, groups[: runs[-1] + 1])) if runs else 0
    assert (repeat is not None) == bool(runs and not written and last < seen_from)
    assert repeat is None or repeat.key == last


# Writers that mistake finished work for open work: every repeat is detected, no new call is stopped.

COMMANDS = (
    "pytest -x", "make build", "git commit -m 'Add crossing'", "git push", "python gen.py", "ruff check .",
    "echo done >> notes.txt", "npm test", "./deploy.sh", "cargo test | tail -3",
)  # fmt: skip
CHANGES = {"make build", "echo done >> notes.txt"}
"""Commands that change files of the folder."""


@dataclass
class World:
    """A folder with a session whose model forgets, and repeats its work."""

    random: Random
    items: list[Item] = field(default_factory=list)
    sees_from: int = 0
    changed: int = 0
    """Log number of the last change to a file."""
    ran: dict[str, int] = field(default_factory=dict)
    edits: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    over: dict[str, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def told(self, tool: str, args: Mapping[str, Any]) -> bool:
        self.ledger.grow(self.items)
        repeat = repeat_of(tool, args, [Past(self.ledger, lambda key: key < self.sees_from)], KNOWN)
        if repeat is not None and repeat.kind == "command":
            return self.changed <= repeat.key
        return repeat is not None

    def does(self, tool: str, args: dict[str, Any], result: str) -> int:
        messages = call(tool, args, result)
        self.items += history(messages, start=len(self.items) + 1)
        return len(self.items)

    def command(self, line: str) -> tuple[bool, bool]:
        """Run a command; returns whether it was reported as a repeat, and whether it is one."""
        before = self.ran.get(line, 0)
        again = 0 < before < self.sees_from and self.changed <= before
        told = self.told(*run(line))
        reports = "test" in line or "ruff" in line
        result = "Exit code 0 after 0.1 s." + ("\n3 passed in 0.1s" if reports else "")
        self.ran[line] = self.does(*run(line), result)
        if line in CHANGES:
            self.changed = self.ran[line]
        return told, again

    def edit(self, name: str) -> tuple[bool, bool]:
        args = {"path": f"{name}.py", "old_text": "old", "new_text": name}
        before, told = self.edits.get(name, 0), self.told("edit_file", args)
        if not before:
            self.edits[name] = self.changed = self.does("edit_file", args, "edited")
        return told, 0 < before < self.sees_from

    def question(self, text: str) -> tuple[bool, bool]:
        before, told = self.answers.get(text, 0), self.told("ask_user", {"question": text})
        self.answers[text] = self.does("ask_user", {"question": text}, "The user answers: yes")
        return told, 0 < before < self.sees_from

    def task(self, text: str) -> tuple[bool, bool]:
        def items(state: str) -> dict[str, Any]:
            return {"items": [{"text": text, "state": state}]}

        before, told = self.over.get(text, 0), self.told("todo", items("doing"))
        self.does("todo", items("doing"), "kept")
        self.over[text] = self.does("todo", items("done"), "kept")
        return told, 0 < before < self.sees_from


@pytest.mark.parametrize("writer", range(8))
def test_writers_that_replay_over_twenty_compactions(writer: int) -> None:
    world = World(Random(writer))
    unseen = in_the_way = replayed = 0
    for round_ in range(20):
        for _ in range(12):
            number = world.random.randrange(round_ + 2)
            match world.random.randrange(5):
                case 0 | 1:
                    told, again = world.command(world.random.choice(COMMANDS))
                case 2:
                    told, again = world.edit(f"part{number}")
                case 3:
                    told, again = world.question(f"Keep format {number}?")
                case _:
                    told, again = world.task(f"write part {number}")
            replayed += again
            unseen += again and not told
            in_the_way += told and not again
        world.sees_from = len(world.items) + 1
    assert replayed > 30
    assert (unseen, in_the_way) == (0, 0)
