"""Messages in another form: what a rewrite changes in the agent view, and what brings the old form back."""

import pytest

from tui_app.events import (
    CompactionComplete,
    CompactionUndone,
    RewriteUndone,
    Rewritten,
    SessionClear,
    SessionRewind,
    ToolArchived,
    ToolResult,
    ToolTrimmed,
    UserMessage,
)
from tui_app.events.base import Payload
from tui_app.session.agent_view import AgentView, fold_agent_view
from tui_app.session.event_heads import Head, head_of
from tui_app.session.user_view import fold_user_view

SAID: tuple[Payload, ...] = (
    UserMessage(text="look", tokens={"user": 2}),
    ToolResult(tool_call_id="a", name="ls", text="x", tokens={"tool_results": 100}),
    ToolResult(tool_call_id="b", name="ls", text="y", tokens={"tool_results": 200}),
    UserMessage(text="go on", tokens={"user": 3}),
)
TRIMMED = ToolTrimmed(changes=(Rewritten(seq=2, tokens={"tool_results": 10}),))
ARCHIVED = ToolArchived(
    changes=(Rewritten(seq=2, tokens={"tool_results": 5}), Rewritten(seq=3, tokens={"tool_results": 6})),
    tokens={"user": 20},
)


def heads(*payloads: Payload) -> list[Head]:
    """Heads as they come back from the log."""
    made = [head_of(seq, 0.0, payload) for seq, payload in enumerate(payloads, 1)]
    return [Head.from_text(head.seq, head.type, head.time, head.to_text()) for head in made]


def shown(*payloads: Payload) -> list[tuple[int, int]]:
    """Number and tokens of each visible message."""
    return [(head.seq, sum(head.tokens.values())) for head in fold_agent_view(heads(*payloads)).visible()]


def test_a_form_has_its_own_size_and_the_place_of_the_message() -> None:
    assert shown(*SAID, TRIMMED) == [(1, 2), (2, 10), (3, 200), (4, 3)]
    (head,) = [head for head in fold_agent_view(heads(*SAID, TRIMMED)).visible() if head.seq == 2]
    assert head.form == (5, 0)


def test_the_digest_stands_behind_the_last_result_of_the_answer() -> None:
    assert shown(*SAID, ARCHIVED) == [(1, 2), (2, 5), (3, 6), (5, 20), (4, 3)]
    first = ToolArchived(changes=ARCHIVED.changes[:1], tokens={"user": 20})
    assert shown(*SAID, first) == [(1, 2), (2, 5), (3, 200), (5, 20), (4, 3)]


@pytest.mark.parametrize("rewrites", [(TRIMMED,), (TRIMMED, ARCHIVED)])
def test_taking_back_brings_the_form_before(rewrites: tuple[Payload, ...]) -> None:
    newest = len(SAID) + len(rewrites)
    undone = (*SAID, *rewrites, RewriteUndone(rewrite=newest))
    assert shown(*undone) == shown(*SAID, *rewrites[:-1])
    view = fold_agent_view(heads(*undone))
    assert {seq for _, seq in view.restored} >= {2}
    assert newest not in view.rewrites
    assert shown(*undone, RewriteUndone(rewrite=newest)) == shown(*SAID, *rewrites[:-1])


def test_an_older_form_may_be_taken_back_from_under_a_newer_one() -> None:
    undone = (*SAID, TRIMMED, ARCHIVED, RewriteUndone(rewrite=5))
    assert shown(*undone) == shown(*SAID, TRIMMED, ARCHIVED)
    assert shown(*undone, RewriteUndone(rewrite=6)) == shown(*SAID)


def test_a_compaction_hides_forms_and_digests_and_undo_shows_them_again() -> None:
    before = (*SAID, ARCHIVED)
    done = CompactionComplete(
        job="j", outcome="success", trigger="manual", removed=((1, 3), (5, 5)), tokens={"summary": 7}
    )
    assert shown(*before, done) == [(6, 7), (4, 3)]
    assert shown(*before, done, CompactionUndone(compaction=6)) == shown(*before)


def test_rewinding_past_a_rewrite_brings_the_old_form_back() -> None:
    assert shown(*SAID, ARCHIVED, SessionRewind(to=4)) == [(1, 2), (2, 100), (3, 200)]
    assert shown(*SAID, ARCHIVED, SessionClear()) == []


def test_trying_an_event_on_a_copy_leaves_the_view_alone() -> None:
    view = fold_agent_view(heads(*SAID, ARCHIVED))
    before = view.visible()
    copy: AgentView = view.copy()
    copy.apply(Head(seq=99, type=RewriteUndone.TYPE, ref=5))
    assert view.visible() == before != copy.visible()


def test_people_see_one_row_that_says_what_was_done_and_whether_it_stands() -> None:
    row = fold_user_view(heads(*SAID, ARCHIVED)).entries[-1]
    assert (row.kind, row.state, row.seq) == ("rewrite", "ok", 5)
    assert row.title.startswith("2 old results archived")
    row = fold_user_view(heads(*SAID, ARCHIVED, RewriteUndone(rewrite=5))).entries[-1]
    assert row.state == "undone"
