"""Prompts to go back to, and what would leave with each."""

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Payload,
    Rewritten,
    SessionClear,
    SessionRewind,
    ToolOffloaded,
    ToolResult,
    UserMessage,
)
from tui_app.session.agent_view import AgentView, fold_agent_view
from tui_app.session.event_heads import head_of
from tui_app.session.rewind_fork import rewind_points, tokens_after_rewind
from tui_app.ui.dialogs.rewind import leaving_words
from tui_app.usage import Breakdown, ContextUsage, ContextWindow


def view(*events: Payload) -> AgentView:
    return fold_agent_view(head_of(seq, float(seq), event) for seq, event in enumerate(events, 1))


def asked(text: str, tokens: int = 10) -> UserMessage:
    return UserMessage(text=text, tokens={"user": tokens})


def answered(tokens: int = 90) -> AssistantMessage:
    return AssistantMessage(text="yes", tokens={"assistant": tokens})


DONE = CompactionComplete(
    job="j", outcome="success", trigger="manual", summary="s", tokens={"summary": 20}, removed=((1, 2),)
)
TALK = (asked("one"), answered(), asked("two\nlines"), answered(), ToolResult(
    tool_call_id="c", name="ls", text="x", tokens={"tool_results": 5}
))  # fmt: skip


def usage(view: AgentView, *, factor: float = 1.0, fixed: int = 0) -> ContextUsage:
    counted = sum(weighed.tokens.total for weighed in view.weighed())
    parts = Breakdown(user=round(counted * factor), tools=fixed)
    return ContextUsage(parts=parts, window=ContextWindow(limit=1_000, source="default"), messages=2)


def test_the_newest_prompt_comes_first_with_what_follows_it() -> None:
    points = rewind_points(view(*TALK))
    assert [(point.seq, point.title, point.messages) for point in points] == [(3, "two", 3), (1, "one", 5)]
    assert [point.time for point in points] == [3.0, 1.0]


def test_prompts_in_a_summary_are_offered_and_say_that_it_would_be_taken_back() -> None:
    points = rewind_points(view(*TALK, DONE, asked("three")))
    assert [(p.title, p.messages, p.compactions) for p in points] == [
        ("three", 1, 0), ("two", 4, 1), ("one", 6, 1)
    ]  # fmt: skip


def test_what_was_left_behind_or_cleared_is_not_offered() -> None:
    assert [point.title for point in rewind_points(view(*TALK, SessionRewind(to=3)))] == ["one"]
    assert rewind_points(view(*TALK, SessionClear())) == []


def test_every_point_can_be_rewound_to() -> None:
    folded = view(*TALK, DONE, asked("three"))
    assert all(folded.can_rewind(point.seq) for point in rewind_points(folded))


def test_tokens_after_are_those_of_what_stays_by_the_measure_of_the_model() -> None:
    folded = view(*TALK)
    assert tokens_after_rewind(folded, 3, usage(folded)) == 100
    assert tokens_after_rewind(folded, 3, usage(folded, factor=2.0, fixed=50)) == 250
    assert tokens_after_rewind(folded, 1, usage(folded, fixed=50)) == 50
    assert rewind_points(folded)[0].seq == 3, "asking changes nothing"


def test_going_back_behind_a_summary_counts_the_full_history_in_front_of_it() -> None:
    folded = view(*TALK, DONE, asked("three"))
    assert tokens_after_rewind(folded, 3, usage(folded)) == 100


def test_what_was_rewritten_behind_a_prompt_comes_back_in_full_with_it() -> None:
    result = ToolResult(tool_call_id="c", name="ls", text="x", tokens={"tool_results": 500})
    call = AssistantMessage(text="", call_ids=("c",), tokens={"tool_calls": 5})
    change = Rewritten(seq=3, tokens={"tool_results": 20})
    stage = ToolOffloaded(changes=(change,), tokens_before=500, tokens_after=20)
    folded = view(asked("one"), call, result, answered(), asked("two"), stage, answered(), asked("three"))
    points = {point.title: point for point in rewind_points(folded)}
    assert {title: point.restored for title, point in points.items()} == {"one": 0, "two": 1, "three": 0}
    assert "1 result rewritten since comes back in full." in leaving_words(points["two"], None)
    assert "rewritten" not in leaving_words(points["three"], None)
    grown = tokens_after_rewind(folded, points["two"].seq, usage(folded))
    assert grown > usage(folded).total
