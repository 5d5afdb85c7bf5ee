"""The effect of a compaction on the view, message by message."""

from collections.abc import Iterator

from tui_app.events import (
    AssistantMessage,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionUndone,
    Payload,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.event_heads import Head, head_of
from tui_app.session.figures.compaction_diff import compaction_diff

ASKED = UserMessage(text="question", tokens={"user": 5})
ANSWERED = AssistantMessage(text="answer", tokens={"assistant": 5})


def heads(*events: Payload) -> Iterator[Head]:
    for seq, event in enumerate(events, 1):
        yield head_of(seq, 0.0, event)


def done(*removed: tuple[int, int], behind: int = 0) -> CompactionComplete:
    return CompactionComplete(
        job="j", outcome="success", trigger="manual", summary="s", removed=removed, behind=behind
    )


def signs(events: tuple[Payload, ...], compaction: int) -> list[str]:
    return [f"{line.sign}{line.head.seq}" for line in compaction_diff(heads(*events), compaction)]


def test_what_left_stands_before_the_summary_and_what_stayed_around_it() -> None:
    log = (ASKED, ANSWERED, ASKED, ANSWERED, done((2, 3), behind=1), ASKED)
    assert signs(log, 5) == [" 1", "-2", "-3", "+5", " 4"]


def test_what_acknowledges_the_summary_came_with_it() -> None:
    log = (ASKED, ANSWERED, done((1, 1)), CompactionAcknowledged(job="j", text="Understood."), ASKED)
    assert signs(log, 3) == ["-1", "+3", "+4", " 2"]


def test_an_undo_afterwards_changes_nothing_about_what_it_did() -> None:
    log = (ASKED, ANSWERED, done((1, 2)), CompactionUndone(compaction=3, tokens_before=1, tokens_after=2))
    assert signs(log, 3) == ["-1", "-2", "+3"]


def test_a_second_compaction_replaces_the_summary_of_the_first() -> None:
    log = (ASKED, ANSWERED, done((1, 2)), ASKED, done((3, 4)))
    assert signs(log, 5) == ["-3", "-4", "+5"]


def test_a_tool_is_named_with_what_it_was_called_on() -> None:
    calls = AssistantMessage(text="Let me look.", tokens={"assistant": 5}, call_ids=("a", "b"))
    only_calls = AssistantMessage(text="", tokens={"tool_calls": 5}, call_ids=("a",))
    log = (
        calls,
        ToolCall(tool_call_id="a", name="read_file", args='{"path": "board.py"}'),
        ToolCall(tool_call_id="b", name="grep", args='{"pattern": "sunday"}'),
        ToolResult(tool_call_id="b", name="grep", text="", tokens={"tool_results": 1}),
        ToolResult(tool_call_id="a", name="read_file", text="x\ny", tokens={"tool_results": 9}),
        only_calls,
        done((1, 5)),
    )
    found = {line.head.seq: line.title for line in compaction_diff(heads(*log), 7)}
    assert found[1] == 'Let me look. (calls read_file board.py, grep "sunday")'
    assert found[5].startswith("read_file board.py · ")
    assert found[4].startswith('grep "sunday"')
    assert found[6] == "calls read_file board.py"


def test_what_stayed_is_what_the_model_saw_and_not_what_left_before() -> None:
    log = (ASKED, ANSWERED, done((1, 2)), ASKED, ANSWERED, done((3, 4)))
    assert signs(log, 6) == ["-3", "-4", "+6", " 5"]
