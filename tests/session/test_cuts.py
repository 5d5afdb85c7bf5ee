"""Undone rewinds and clears: both views and the statistics are what they were before."""

from copy import deepcopy
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.test_folds import STEPS, Session, played
from tests.session.test_stats import compaction, folded
from tui_app.events import (
    MessagePinned,
    SessionClear,
    SessionRestored,
    SessionRewind,
    ToolTrimmed,
    UserMessage,
)
from tui_app.session.views.agent_view import AgentView, fold_agent_view
from tui_app.session.views.entries import Entry

SINCE = {"last", "version", "pins", "_stretches", "_tally"}
"""Fields that an undo keeps or sets anew."""


def parts(view: AgentView) -> dict[str, object]:
    return {each.name: getattr(view, each.name) for each in fields(view) if each.name not in SINCE}


def unpinned(rows: list[Entry]) -> list[Entry]:
    return [replace(row, pinned=False) for row in rows]


@given(STEPS, st.integers(0, 1_000), st.booleans(), st.integers(1, 8))
def test_taking_a_cut_back_gives_what_was_before(
    steps: list[tuple[str, int]], choice: int, clear: bool, pin: int
) -> None:
    session = played(steps)
    before, rows = deepcopy(session.agent), list(session.user.entries)
    cut = len(session.heads) + 1
    session.play("clear" if clear else "rewind", choice)
    if len(session.heads) < cut:
        return
    assert session.agent.reversible == (cut,)
    session.add(MessagePinned(seq=pin))
    session.add(SessionRestored(cut=cut))
    assert parts(session.agent) == parts(before)
    assert session.agent.visible() == before.visible()
    assert session.agent.pins == {*before.pins, pin}
    assert unpinned(session.user.entries)[:-1] == unpinned(rows)
    assert (session.user.entries[-1].kind, session.user.entries[-1].state) == ("clear", "undone")


def test_several_cuts_are_taken_back_one_by_one() -> None:
    session = Session()
    first, second = (session.add(UserMessage(text=text)) for text in ("one", "two"))
    one = session.add(SessionRewind(to=second))
    two = session.add(SessionClear())
    assert (session.visible, session.agent.reversible) == ([], (two,))
    session.add(SessionRestored(cut=one))
    assert session.visible == [], "only the newest can be undone"
    session.add(SessionRestored(cut=two))
    assert (session.visible, session.agent.reversible) == ([first], (one,))
    session.add(SessionRestored(cut=one))
    assert (session.visible, session.agent.reversible) == ([first, second], ())


@pytest.mark.parametrize("step", ["user", "answer", "system", "tool"])
def test_nothing_can_be_taken_back_once_something_was_said(step: str) -> None:
    session = played([("user", 1), ("answer", 1), ("rewind", 0)])
    assert session.agent.reversible
    assert session.agent.left_behind()
    session.play(step, 1)
    assert session.agent.reversible == ()
    assert session.agent.left_behind()


def test_many_cuts_in_a_row_hold_one_view_each() -> None:
    session = played([("user", 1), *(("clear", 0) for _ in range(30))])
    assert [view.cuts for _, view in session.agent.cuts] == [[]] * 30
    assert fold_agent_view(session.heads) == session.agent
    for _ in range(30):
        session.play("back", 0)
    assert (len(session.visible), session.agent.cuts) == (1, [])


def test_a_prompt_that_failed_is_no_cut() -> None:
    session = played([("user", 1), ("failed", 0)])
    assert session.agent.reversible == ()


@pytest.mark.parametrize("cut", [SessionRewind(to=1), SessionClear()], ids=["rewind", "clear"])
def test_what_a_cut_took_out_of_the_figures_is_in_them_again(cut: SessionRewind | SessionClear) -> None:
    events = [UserMessage(text="one"), ToolTrimmed(tokens_removed=50), compaction()]
    before = folded(*events)
    assert folded(*events, cut).stages != before.stages
    after = folded(*events, cut, compaction("failed"), SessionRestored(cut=4))
    assert after.stages == before.stages
    assert [row for row in after.compactions if row.outcome == "success"] == list(before.compactions)
