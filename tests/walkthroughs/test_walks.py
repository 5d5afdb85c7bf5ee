"""The common ways through the program, from the first start to the next day."""

import re

import pytest

from tests.walkthroughs.conftest import Harbour
from tests.walkthroughs.walk import LIMIT_S, Walk
from tui_app.session.background import wait_until
from tui_app.session.lock import holder_process
from tui_app.settings import OFFLINE_MODEL

pytestmark = pytest.mark.pty

LOWER = r"\b[1-6]?\d% of "
RESUME = re.compile(r"plimsoll --resume ([0-9a-f]{8})")
BACK = re.compile(r"plimsoll attach ([0-9a-f]{8})")


def first_answer(harbour: Harbour) -> Walk:
    """Start, ask about a file, and read the answer with its tool call."""
    return ask(harbour.start().see(" · ok", "▐"))


def ask(walk: Walk) -> Walk:
    """Ask about a file, and read the answer with its tool call."""
    walk.send("how high is the spring tide?").see("read_file tides.md", "7.3 metres").not_see("esc stops")
    return walk


def fill_with_pastes(walk: Walk, harbour: Harbour, *, pastes: int) -> Walk:
    """Paste long texts, one per prompt. They are the user's words, which are kept as long as they fit."""
    for number in range(1, pastes + 1):
        walk.paste(harbour.log_of_the_gate(number)).see(f"▐ [pasted {harbour.filling} lines")
        walk.type(f" log {number}").see(f"] log {number}").press("enter")
        walk.not_see("▐ [pasted").see(f"log {number}").answered(f"{number}.0: the gate")
    return walk


def fill(walk: Walk, harbour: Harbour, *, pastes: int) -> Walk:
    """Attach long texts, one per prompt. Unlike the user's words they may be removed."""
    for number in range(1, pastes + 1):
        (harbour.machine.workspace / f"gate{number}.txt").write_text(harbour.log_of_the_gate(number))
        walk.send(f"@gate{number}.txt is log {number}").answered(f"@gate{number}.txt")
    return walk


def compacted(harbour: Harbour, *, pastes: int = 3) -> Walk:
    """A conversation that was compacted manually."""
    walk = fill(first_answer(harbour), harbour, pastes=pastes)
    walk.press("ctrl+g").see("Conversation compacted").not_see("Compacting conversation history")
    return walk


def test_first_run_to_first_answer_and_the_next_day(harbour: Harbour) -> None:
    harbour.bare = harbour.model == OFFLINE_MODEL
    walk = harbour.start().see(" · ok", "▐")
    if harbour.bare:
        walk.see("no key needed")
    ask(walk).not_see("no key needed")
    (session,) = RESUME.findall(walk.leave())
    walk = harbour.start("--resume", session).see("how high is the spring tide?", "7.3 metres")
    walk.see(" · ok").send("how high is the tide again?").see("again?", "7.3").not_see("esc stops")


def test_compaction_in_the_background_while_typing(harbour: Harbour) -> None:
    harbour.shut_gate()
    walk = fill_with_pastes(first_answer(harbour), harbour, pastes=6)
    walk.see("compacting in the background").match(r"\b[89]\d% of ")
    walk.type("half a thought").see("▐ half a thought", "compacting in the background")
    harbour.let_through()
    walk.see("Conversation compacted", "▐ half a thought").not_see("compacting in the background")
    walk.match(r"\b[1-7]?\d% of ")
    walk.type(" and the rest").see("▐ half a thought and the rest").press("enter")
    walk.see("half a thought and the rest").answered("half a thought")


def test_cancelled_then_done_and_undone(harbour: Harbour) -> None:
    harbour.shut_gate()
    walk = fill(first_answer(harbour), harbour, pastes=3)
    walk.press("ctrl+g").see("Compacting conversation history", "esc cancels")
    walk.press("escape").see("Compaction cancelled. Nothing changed.").not_see("esc cancels")
    harbour.let_through()
    walk.press("ctrl+g").see("Conversation compacted").not_see("Compacting conversation history")
    walk.match(LOWER)
    walk.send("/undo").see("Undone: the full history is back")


def test_review_and_edit(harbour: Harbour) -> None:
    walk = fill(first_answer(harbour), harbour, pastes=3)
    walk.send("/compact --review").read("Proposal", "enter apply", "e edit", "esc discard")
    # Enter directly after esc would be alt+enter, so wait until the editor's key hints are gone.
    walk.type("e").type("Mind the ebb. ").see("Mind the ebb.", "esc back")
    walk.press("escape").see("enter apply").press("enter").see("Conversation compacted").not_see("discard")
    walk.see("shows the summary").press("ctrl+o").see("Sent", "Removed", "Mind the ebb.")


def test_switch_to_a_small_model(harbour: Harbour) -> None:
    walk = fill(first_answer(harbour), harbour, pastes=4)
    walk.press("ctrl+l").see("search, or type a full name", harbour.small, "compacts first")
    walk.type("dinghy").not_see("anthropic:").press("enter")
    walk.read("Compact and switch", "Switch anyway", f"stay on {harbour.model}", "enter choose")
    walk.press("enter").see(f"{harbour.small} ·", "Conversation compacted")
    walk.send("are you there?").see("A small answer.").not_see("esc stops")


def test_rewind_past_a_compaction_and_resume(harbour: Harbour) -> None:
    walk = compacted(harbour)
    walk.send("one more question").answered("one more question")
    walk.send("/rewind").see("messages would leave")
    walk.press("down", "down", "down", "down").see("enter rewind").press("enter")
    # The transcript shows the same words; only the editor shows their token count.
    walk.match(r"how high is the spring tide\?\s+~\d+ tokens").press("enter")
    walk.match(r"(?s)Rewound to.*7\.3 metres").not_see("esc stops")
    (session,) = RESUME.findall(walk.leave())
    walk = harbour.start("--resume", session).see("how high is the spring tide?", "7.3 metres", "● how high")
    walk.see(" · ok").send("and tomorrow?").see("and tomorrow?").not_see("esc stops")


def test_left_in_the_background_and_back_the_next_day(harbour: Harbour) -> None:
    """The window closes after a compaction; the queued prompt is answered without one."""
    harbour.shut_gate()
    walk = fill(first_answer(harbour), harbour, pastes=3)
    walk.press("ctrl+g").see("Compacting conversation history")
    walk.send("how high is the tide again?").see("1 of 1 queued").send("/detach").see(
        "Leaving after the present"
    )
    harbour.let_through()
    assert walk.window.wait_exit(LIMIT_S) == 0
    (session,) = BACK.findall(walk.window.after)
    lock = harbour.machine.home / "data" / "sessions" / session / "background.lock"
    assert wait_until(lambda: not holder_process(lock), LIMIT_S)
    walk = harbour.start("attach").see("how high is the tide a", "7.3", "attached").see(" · ok")
    walk.send("today: how high is it?").answered("today: how high is it?")
