"""The demo in a real terminal, following only the line above the prompt."""

import pytest

from tests.pty.conftest import PROGRAM, Machine
from tests.walkthroughs.walk import Tmux, Walk

pytestmark = [pytest.mark.pty, pytest.mark.tmux]


def test_a_compaction_seen_checked_and_undone_by_the_words_on_the_screen(machine: Machine) -> None:
    window = Tmux((*PROGRAM, "demo"), env=machine.env, cwd=machine.workspace)
    walk = Walk(machine.stack.enter_context(window))
    walk.see("of 29 prompts").match(r"1[0-9] of 29 prompts|Demo 1 of 8")
    walk.see("Demo 1 of 8", "ctrl+g compacts").match(r"[78]\d% full").press("ctrl+g")
    walk.see("2 of 8", "ctrl+o shows the summary").press("ctrl+o").see("Removed", "Never touch the legacy")
    walk.press("escape").see("3 of 8", "/undo undoes it").send("/undo")
    walk.see("4 of 8", "f3 shows").match(r"[78]\d% of 16")
    walk.press("escape").see("Press esc again to leave the demo").press("escape")
    assert window.wait_exit() == 0
    assert "--resume" not in window.after
    assert not list(machine.home.rglob("*.db"))
