"""Branches in a real terminal: try something, and merge the result into the original conversation."""

import subprocess
from pathlib import Path

import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.walkthroughs.test_day import repository
from tests.walkthroughs.walk import Tmux, Walk

pytestmark = [pytest.mark.pty, pytest.mark.tmux]

NOTES = "## State\n- easter.csv was created.\n- harbour.py was deleted."


def settings(machine: Machine, url: str) -> None:
    file = machine.home / "config/config.toml"
    file.parent.mkdir()
    file.write_text(
        'model = "local:scripted"\n'
        f'[endpoints.local]\nbase_url = "{url}"\nwindow = 64_000\n[explore]\nenabled = false\n'
    )


def status(folder: Path) -> str:
    words = ("git", "status", "--short")
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_branch_comes_back_and_goes_again(machine: Machine) -> None:
    model = machine.stack.enter_context(FakeOpenAI())
    repository(machine.workspace)
    settings(machine, model.base_url)
    (machine.workspace / "draft.txt").write_text("mine\n")
    model.add(Text(NOTES), phrase="trying something aside")
    model.add(
        Text("Easter moves, so it has to be computed or listed."),
        tool("write_file", path="easter.csv", content="2026-04-05\n"),
        Text("It is listed."),
        Text("Then it stays listed."),
    )
    before = status(machine.workspace)
    command = (*PROGRAM, "--mode", "edit")
    walk = Walk(machine.stack.enter_context(Tmux(command, env=machine.env, cwd=machine.workspace)))
    walk.see(" · ok").send("what about easter?").see("computed or listed.").not_see("esc stops")
    walk.send("/branch list them").see("⊖ list them")
    walk.see("computed or listed.", " · ok").send("list them, until 2030").see("It is listed.")
    walk.not_see("esc stops")
    assert status(machine.workspace) == before, "it works apart"
    walk.send("/tree").match(r"├↳ .*above").press("up", "up", "up", "enter")
    walk.match(r"Timeline +moments").see("computed or listed.", " · ok").not_see("It is listed.")
    walk.send("/tree").see("├↳ list them", "│ ● list them, until 2030", "open").press("escape")
    walk.send("/merge list them").see("easter.csv · created", "harbour.py was deleted. (not in the log)")
    # A line is not in the log, so enter would edit first.
    walk.read("enter edit").press("e").see("esc back").press("tab").see("enter merge it").press("enter")
    walk.read("+2026-04-05", "Brief and files").press("enter")
    walk.see("Merged list them: ", "1 file · /undo undoes both", "⇇ list them")
    assert (machine.workspace / "easter.csv").read_text() == "2026-04-05\n"
    walk.send("/undo").see("Undone: the conversation is as it was before")
    assert not (machine.workspace / "easter.csv").exists()
    assert status(machine.workspace) == before
    walk.leave()
    assert not machine.left()
