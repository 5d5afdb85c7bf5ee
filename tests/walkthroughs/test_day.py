"""A day's work in a sandbox: a plan is carried out, a server runs in the background, a compaction happens."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.walkthroughs.walk import Tmux, Walk
from tui_app.events import ApprovalDecided, SessionEnd, TaskEnded
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore

pytestmark = [pytest.mark.pty, pytest.mark.tmux]

RULES = ("python3 -m unittest -q", "python3 -m http.server 0", "git status")
BROKEN = 'def rows(lines):\n    return [line for line in lines if float(line.split(",")[1])]\n'
CHECK = """\
import unittest
from tides import rows

class Rows(unittest.TestCase):
    def test_zero_is_a_level(self):
        self.assertEqual(len(rows(["brest,0.0", "brest,1.5"])), 2)
"""
NOTES = "Title: Zero levels\n## Intent\nKeep levels of zero.\n## Done so far\n`tides.py` was mended."


def repository(folder: Path) -> None:
    (folder / "tides.py").write_text(BROKEN)
    (folder / "test_tides.py").write_text(CHECK)
    (folder / ".gitignore").write_text("__pycache__/\n")
    who = ("-c", "user.name=Tide", "-c", "user.email=tide@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Read tides")):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)


def settings(machine: Machine, url: str) -> None:
    allowed = ", ".join(f'"run_command {rule}"' for rule in RULES)
    file = machine.home / "config/config.toml"
    file.parent.mkdir()
    file.write_text(
        'model = "local:scripted"\nsandbox = "require"\n'
        f'[endpoints.local]\nbase_url = "{url}"\nwindow = 32_000\n'
        f"[approvals]\nallow = [{allowed}]\n[explore]\nenabled = false\n"
    )


def scripted(model: FakeOpenAI) -> None:
    model.add(Text(NOTES), Text(NOTES), phrase="Write the notes for this transcript")
    model.add(
        tool("read_file", path="tides.py"),
        tool("plan", text="1. See the test fail.\n2. Let zero stay.\n3. See it pass."),
        Text("The plan is kept."),
        tool("run_command", command="python3 -m unittest -q"),
        tool("edit_file", path="tides.py", old_text='if float(line.split(",")[1])', new_text="if line"),
        tool("run_command", command="python3 -m unittest -q"),
        Text("Zero levels stay: one test passed."),
        tool("run_command", command="python3 -m http.server 0", background=True),
        Text("It serves the folder."),
        tool("run_command", command="git status --short"),
        Text("One file is changed."),
    )


def test_a_plan_becomes_work_in_the_sandbox_and_nothing_is_asked_or_left(machine: Machine) -> None:
    model = machine.stack.enter_context(FakeOpenAI())
    repository(machine.workspace)
    settings(machine, model.base_url)
    scripted(model)
    command = (*PROGRAM, "--mode", "plan")
    walk = Walk(machine.stack.enter_context(Tmux(command, env=machine.env, cwd=machine.workspace)))
    walk.see(" · ok", "plan").send("why is a level of zero dropped?").see("The plan is kept.", "f9")
    walk.not_see("esc stops").send("/accept edit").see("Zero levels stay: one test passed.").not_see(
        "esc stops"
    )
    walk.see("edit")
    walk.send("serve the folder").see("It serves the folder.", "1 task").not_see("esc stops")
    walk.send("!git diff --stat").see("1 file changed").not_see("esc stops")
    walk.press("ctrl+g").see("Conversation compacted").not_see("Compacting conversation history")
    walk.send("what is changed?").see("One file is changed.").not_see("esc stops")
    walk.send("/tasks").see("http.server").press("escape").not_see("t1 running")
    assert re.search(r"plimsoll --resume [0-9a-f]{8}", walk.leave())
    assert not machine.left(), "the server has ended with the session"
    changed = subprocess.run(
        ["git", "status", "--short"], cwd=machine.workspace, capture_output=True, text=True, check=True
    )
    assert changed.stdout == " M tides.py\n", "nothing else was written"
    store = SqliteStore(Paths.from_env({"PLIMSOLL_HOME": str(machine.home)}).database, read_only=True)
    try:
        (session,) = store.sessions()
        kinds = (ApprovalDecided.TYPE, TaskEnded.TYPE, SessionEnd.TYPE)
        records = [store.record(session.id, head.seq) for head in store.newest(session.id, kinds)]
    finally:
        store.close()
    decided = [each.data for each in records if each is not None and isinstance(each.data, ApprovalDecided)]
    assert {(each.decision, each.by) for each in decided} <= {("allowed", "rule"), ("allowed", "mode")}
    assert len(decided) == 5, "two tests, an edit, a server and a look at git"
    assert any(each is not None and isinstance(each.data, TaskEnded) for each in records)
