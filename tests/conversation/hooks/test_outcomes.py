"""Which hooks are meant, and what their end means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.compaction.guards import Veto
from tui_app.conversation.hooks import (
    INSTRUCTIONS_CHARS,
    OUTPUT_CHARS,
    HookExit,
    before_compaction,
    before_tool,
    judge,
    name_of,
)
from tui_app.events import HookName
from tui_app.settings.tables import TRIGGERS, Hook

GUARD = Hook(command=("/opt/bin/guard.sh", "--token", "abc"))


@pytest.mark.parametrize(
    ("match", "trigger", "fits"),
    [
        ((), "manual", True),
        (("manual",), "manual", True),
        (("manual",), "background", False),
        (("*_file",), "write_file", True),
        (("*_file",), "ls", False),
        (("ls", "g*"), "grep", True),
        (("LS",), "ls", False),
    ],
)
def test_which_hooks_are_meant(match: tuple[str, ...], trigger: str, fits: bool) -> None:
    assert Hook(command=("x",), match=match).fits(trigger) is fits


@pytest.mark.parametrize(
    ("hook", "trigger", "ended", "outcome", "reason"),
    [
        ("preCompact", "manual", HookExit(exit=0), "ok", ""),
        (
            "preCompact",
            "background",
            HookExit(exit=2, stderr="busy\n"),
            "vetoed",
            "vetoed the compaction: busy",
        ),
        (
            "preCompact",
            "background",
            HookExit(exit=2),
            "vetoed",
            "vetoed the compaction: it gave no reason",
        ),
        (
            "preCompact",
            "model_switch",
            HookExit(exit=2, stderr="busy"),
            "overruled",
            "vetoed the compaction (busy), but one that is model switch cannot be vetoed",
        ),
        ("preTool", "grep", HookExit(exit=2, stderr="not\there"), "vetoed", "declined grep: not here"),
        ("postTool", "grep", HookExit(exit=2, stderr="no"), "failed", "ended with exit code 2: no"),
        ("sessionEnd", "", HookExit(exit=1), "failed", "ended with exit code 1"),
        ("preTool", "grep", HookExit(exit=-11), "failed", "was ended by signal 11"),
        (
            "preTool",
            "ls",
            HookExit(timed_out=True, limit_s=0.5),
            "timeout",
            "took longer than 0.5 s and was ended",
        ),
        ("preTool", "ls", HookExit(missing="No such file"), "missing", "could not be started: No such file"),
        ("preTool", "ls", HookExit(cancelled=True), "cancelled", "was stopped"),
    ],
)
def test_what_an_end_means(hook: HookName, trigger: str, ended: HookExit, outcome: str, reason: str) -> None:
    ran = judge(hook, trigger, GUARD, ended).ran
    assert (ran.hook, ran.command, ran.trigger) == (hook, "guard.sh", trigger)
    assert (ran.outcome, ran.reason, ran.exit) == (outcome, reason, ended.exit)


@given(st.sampled_from(TRIGGERS), st.integers(-31, 255) | st.none(), st.text(), st.text())
def test_only_exit_2_in_the_background_holds_a_compaction_back(
    trigger: str, code: int | None, out: str, err: str
) -> None:
    run = judge(
        "preCompact", trigger, GUARD, HookExit(exit=code, stdout=out, stderr=err, timed_out=code is None)
    )
    said = before_compaction([run])
    assert isinstance(said, Veto) == (code == 2 and trigger == "background")
    if isinstance(said, str):
        assert not said or code == 0
        assert len(said) <= INSTRUCTIONS_CHARS
        assert all(c.isprintable() or c in "\n\t" or not c.isascii() for c in said)
    assert len(run.ran.output) <= OUTPUT_CHARS


def test_instructions_of_all_hooks_in_order_and_a_veto_names_who() -> None:
    ends = [
        HookExit(exit=0, stdout=" Keep ports.\n"),
        HookExit(exit=1, stdout="lost"),
        HookExit(exit=0, stdout="And names."),
    ]
    runs = [judge("preCompact", "background", GUARD, ended) for ended in ends]
    assert before_compaction(runs) == "Keep ports.\nAnd names."
    veto = judge(
        "preCompact", "background", GUARD, HookExit(exit=2, stdout="x", stderr="a release is under way")
    )
    assert before_compaction([*runs, veto]) == Veto("a release is under way (preCompact hook guard.sh)")


def test_a_declined_tool_gets_the_reason() -> None:
    fine = judge("preTool", "grep", GUARD, HookExit(exit=0, stdout="go"))
    veto = judge("preTool", "grep", GUARD, HookExit(exit=2, stderr="read-only today"))
    assert before_tool([fine]) == before_tool([]) == ""
    told = before_tool([fine, veto])
    assert told == "Not run: the user's preTool hook guard.sh declined this call: read-only today"


def test_output_is_shown_without_control_characters_and_cut() -> None:
    loud = HookExit(exit=0, stdout="\x1b[2Jone\x00two\x07" + "x" * 10_000, stderr="\x1b]0;title\x07end")
    ran = judge("postTool", "ls", GUARD, loud).ran
    assert ran.output.startswith("onetwoxx")
    assert ran.output.endswith("…")
    assert len(ran.output) == OUTPUT_CHARS


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("/usr/bin/notify-send", "secret"), "notify-send"),
        ("TOKEN=abc ~/bin/check --all | tee log", "check"),
        ("A=1", "sh"),
        (("\x1b[31m",), "command"),
    ],
)
def test_names_leave_arguments_out(command: tuple[str, ...] | str, name: str) -> None:
    assert name_of(Hook(command=command)) == name
