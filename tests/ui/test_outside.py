"""Output outside the screen: title, progress, bell."""

from dataclasses import replace
from typing import Any

import pytest

from tui_app.events import ApprovalRequested
from tui_app.ui.chat.state import ChatState
from tui_app.ui.terminal_title import (
    KEEP_TITLE,
    NO_PROGRESS,
    TITLE_BACK,
    TerminalTitle,
    shows_progress,
    window_title,
)
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

GHOSTTY = {"TERM_PROGRAM": "ghostty"}
IDLE = ChatState(
    title="Tide notes",
    usage=ContextUsage(
        parts=Breakdown(user=91_500), window=ContextWindow(limit=128_000, source="server"), messages=9
    ),
)
TOO_MUCH = ContextUsage(
    parts=Breakdown(user=130_500), window=ContextWindow(limit=128_000, source="server"), messages=9
)
ASKS = ApprovalRequested(id="q1", tool_call_id="c1", tool="run_command", kind="command", subject="ls")
BUSY = replace(IDLE, turn=True, turn_started=100.0)


class Terminal:
    def __init__(self, env: dict[str, str], **more: object) -> None:
        self.written: list[str] = []
        self.bells = 0
        settings = {"title": True, "bell_after_s": 0.0, **more}
        self.terminal_title = TerminalTitle(env, ring=self.ring, **settings)  # type: ignore[arg-type]

    def ring(self) -> None:
        self.bells += 1

    def attach(self) -> None:
        self.terminal_title.attach(self.written.append)

    def after(self, state: ChatState, now: float = 100.0) -> list[str]:
        """The output for one more state."""
        self.written.clear()
        self.terminal_title.show(state, now)
        return list(self.written)


@pytest.mark.parametrize(
    ("state", "title"),
    [
        (IDLE, "⊖ 71% Tide notes"),
        (BUSY, "⊖ 71% … Tide notes"),
        (ChatState(), "⊖"),
        (replace(IDLE, usage=TOO_MUCH), "⊖ over by 2.5k Tide notes"),
        (replace(IDLE, title="a\x1b]0;evil\x07b\nc"), "⊖ 71% ab c"),
    ],
)
def test_title(state: ChatState, title: str) -> None:
    assert window_title(state) == title


def test_a_long_title_is_cut() -> None:
    assert len(window_title(replace(IDLE, title="tide " * 100))) < 80


def test_only_what_changes_is_written() -> None:
    terminal = Terminal(GHOSTTY)
    terminal.attach()
    assert terminal.written == [KEEP_TITLE]
    assert terminal.after(IDLE) == ["\x1b]2;⊖ 71% Tide notes\x07", NO_PROGRESS]
    assert terminal.after(replace(IDLE, streamed=5)) == []
    assert terminal.after(BUSY) == ["\x1b]2;⊖ 71% … Tide notes\x07", "\x1b]9;4;3;0\x07"]
    assert terminal.after(replace(BUSY, background=0.5)) == ["\x1b]9;4;1;50\x07"]
    assert terminal.terminal_title.farewell() == TITLE_BACK + NO_PROGRESS


def test_what_was_known_before_the_terminal_is_said_then() -> None:
    terminal = Terminal({})
    assert terminal.after(IDLE) == []
    terminal.attach()
    assert terminal.written == [KEEP_TITLE, "\x1b]2;⊖ 71% Tide notes\x07"]


def test_nothing_is_written_that_was_not_asked_for() -> None:
    terminal = Terminal({}, title=False)
    terminal.attach()
    assert terminal.written == []
    assert terminal.after(BUSY) == []
    assert terminal.terminal_title.farewell() == ""


@pytest.mark.parametrize(("took", "bells"), [(29.9, 0), (30.0, 1), (300.0, 1)])
def test_the_bell_rings_once_after_a_long_turn(took: float, bells: int) -> None:
    terminal = Terminal({}, bell_after_s=30.0)
    terminal.after(BUSY)
    terminal.after(replace(IDLE, turn_started=100.0), 100.0 + took)
    terminal.after(replace(IDLE, turn_started=100.0), 100.0 + took + 60)
    assert terminal.bells == bells


@pytest.mark.parametrize(
    ("env", "called"),
    [
        ({}, "\x1b]9;Tide notes needs your answer\x07"),
        ({"TERM": "foot"}, "\x1b]777;notify;Plimsoll;Tide notes needs your answer\x07"),
        ({"TERM": "screen", "TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;Tide notes needs your answer\x07\x1b\\"),
        ({"TERM": "linux"}, ""),
    ],
)
@pytest.mark.parametrize("waits", [{"question": ASKS}, {"reviewing": True}])
def test_a_question_that_waits_calls_the_user_once(
    env: dict[str, str], called: str, waits: dict[str, Any]
) -> None:
    terminal = Terminal(env, bell_after_s=30.0)
    terminal.attach()
    terminal.after(BUSY)
    asking = replace(BUSY, **waits)
    assert terminal.after(asking, 101.0) == ["\x1b]2;? ⊖ 71% Tide notes\x07", *filter(None, [called])]
    terminal.after(replace(asking, streamed=5), 102.0)
    assert terminal.bells == 1
    if "question" in waits:
        terminal.after(replace(asking, question=replace(ASKS, id="q2")), 103.0)
        assert terminal.bells == 2, "the next one calls again"


def test_no_bell_unless_asked_for() -> None:
    terminal = Terminal({})
    terminal.after(replace(BUSY, question=ASKS))
    terminal.after(BUSY)
    terminal.after(IDLE, 10_000.0)
    assert terminal.bells == 0


@pytest.mark.parametrize(
    ("env", "known"),
    [
        (GHOSTTY, True),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"WT_SESSION": "1"}, True),
        ({"ConEmuANSI": "ON"}, True),
        ({"ConEmuANSI": "OFF"}, False),
        ({"TERM_PROGRAM": "iTerm.app"}, False),
        ({**GHOSTTY, "TMUX": "/tmp/tmux-0/default"}, False),
        ({}, False),
    ],
)
def test_progress_only_where_it_is_known(env: dict[str, str], known: bool) -> None:
    assert shows_progress(env) is known


@pytest.mark.parametrize(
    ("notify", "has_focus", "bells"),
    [("unfocused", True, 0), ("unfocused", False, 2), ("always", True, 2), ("off", False, 0)],
)
def test_whoever_looks_elsewhere_is_called(notify: str, has_focus: bool, bells: int) -> None:
    terminal = Terminal({}, notify=notify)
    terminal.terminal_title.has_focus = has_focus
    terminal.after(BUSY)
    terminal.after(replace(BUSY, question=ASKS), 100.5)
    terminal.after(BUSY, 101.0)
    terminal.after(replace(IDLE, turn_started=100.0), 102.0)
    assert terminal.bells == bells
    terminal.terminal_title.ask(IDLE)
    assert terminal.bells == bells + bool(bells), "a dialog of its own calls as well"
