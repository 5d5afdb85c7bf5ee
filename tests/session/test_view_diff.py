"""What a compaction did to the view, message by message."""

from collections.abc import Iterator

from tui_app.context.events import (
    AssistantMessage,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionUndone,
    Payload,
    UserMessage,
)
from tui_app.session.head_fields import head_of
from tui_app.session.heads import Head
from tui_app.session.view_diff import compaction_diff

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
