"""Superseded reads and old thinking: only what newer messages contain leaves, never the newest read."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from tests.context.histories import as_items, complaints, messages
from tests.context.tool_results.kit import (
    NOON,
    applied,
    call,
    from_json,
    names,
    result,
    said,
    view,
    words,
    write,
)
from tui_app.context.requests.builder import sendable
from tui_app.context.tool_results.stale_reads import superseded
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.view import Item, to_messages


def page(first: int, last: int, mark: str = "line") -> str:
    return "\n".join(f"{number}\t{mark} {number} of the file" for number in range(first, last + 1))


def read(call_id: str, text: str, tool: str = "read_file", **args: Any) -> list[ModelMessage]:
    return [call(call_id, tool=tool, args=args), result(call_id, text, tool=tool), words()]


def left(items: Sequence[Item]) -> dict[int, str]:
    """Return the stubs of the results that left, by place in the view."""
    rewrite = superseded(items, names())
    if rewrite is None:
        return {}
    after = applied(items, rewrite)
    assert superseded(after, names()) is None, "it rewrites its own result"
    stored = [replace(item, message=from_json(item.message)) for item in after]
    assert superseded(stored, names()) is None, "its marks are lost in JSON"
    return {
        place: str(new.message.parts[0].content)  # type: ignore[union-attr]
        for place, (old, new) in enumerate(zip(items, after, strict=True))
        if old.message is not new.message and isinstance(new.message, ModelRequest)
    }


def test_a_read_that_a_newer_one_covers_becomes_a_line_that_says_so() -> None:
    first = page(1, 40)
    items = view(said(), *read("1", first, path="a.py"), *read("2", page(1, 60), path="./a.py"), said())
    assert left(items) == {
        2: f'[Superseded: a.py was read again below; {len(first):,} characters; search_history "#3" has all '
        "of it]"
    }
    alone = superseded(items, WaysBack(NOON, handles=False))
    assert alone is not None
    assert "search_history" not in str(alone.changes)


@pytest.mark.parametrize(
    ("earlier", "later", "leaves"),
    [
        ((page(100, 140), {"start": 100, "lines": 41}), (page(1, 200), {}), True),
        ((page(500, 600), {"start": 500}), (page(1, 400), {}), False),
        ((page(1, 400), {}), (page(100, 140), {"start": 100, "lines": 41}), False),
        ((page(1, 40), {"lines": 40}), (page(1, 30), {"lines": 40}), True),
        (("the whole file " * 20, {"head": 3}), ("all of the file " * 20, {}), True),
        (("the whole file " * 20, {}), ("its head only " * 20, {"head": 3}), False),
    ],
    ids=["in it", "behind it", "around it", "the same call", "whole again", "a part again"],
)
def test_only_a_read_of_the_same_lines_supersedes(
    earlier: tuple[str, dict[str, Any]], later: tuple[str, dict[str, Any]], leaves: bool
) -> None:
    one = read("1", earlier[0], path="a", **earlier[1])
    items = view(said(), *one, *read("2", later[0], path="a", **later[1]), said())
    assert bool(left(items)) is leaves


def test_a_write_of_the_whole_file_supersedes_all_reads_but_the_newest() -> None:
    whole = write({"path": "a", "content": "new " * 100}, call_id="w")
    edit = write({"path": "a", "old_text": "x", "new_text": "new " * 100}, "edit_file", call_id="w")
    parts = [*read("1", page(1, 40), path="a"), *read("2", page(41, 80), path="a", start=41)]
    assert list(left(view(said(), *parts, *whole, words(), said()))) == [2]
    assert left(view(said(), *parts, *edit, words(), said())) == {}, "most of what was read still holds"
    assert left(view(said(), *read("1", page(1, 40), path="a"), *whole, words(), said())) == {}


def test_what_is_not_read_yet_what_failed_and_what_else_was_read_stays() -> None:
    text = page(1, 40)
    both = ModelResponse(parts=[ToolCallPart("read_file", {"path": "a"}, one) for one in ("1", "2")])
    assert left(view(said(), both, result("1", text, "read_file"), result("2", text, "read_file"))) == {}
    failed = [call("2", tool="read_file", args={"path": "a"}), result("2", "gone", outcome="failed")]
    for others in (
        failed,
        read("2", text, path="b"),
        read("2", text, tool="grep", path="a"),
        read("2", text, path=["a"]),
    ):
        assert left(view(said(), *read("1", text, path="a"), *others, said())) == {}
    shown_again = read("2", text, path="#3")
    assert left(
        view(said(), *read("1", text, path="#3"), said(), *shown_again, *read("3", text, path="#3"))
    ).keys() == {2}, "what was brought back in this turn stays"


def test_a_newer_read_that_was_shortened_supersedes_nothing() -> None:
    items = view(said(), *read("1", page(1, 40), path="a"), *read("2", page(1, 40), path="a"), said())
    stage = superseded(items, names())
    assert stage is not None
    [change] = stage.changes
    turned = [*items[:1], items[4], items[5], items[1], replace(items[2], message=change.message), *items[6:]]
    assert left(turned) == {}


def test_thinking_of_earlier_turns_leaves_with_the_ids_that_hang_on_it() -> None:
    def thought(*parts: Any) -> ModelResponse:
        return ModelResponse(parts=[ThinkingPart("I wonder", signature="s", provider_name="openai"), *parts])

    spoken = thought(TextPart("So it is.", id="msg_1"), ToolCallPart("ls", {}, "c", id="fc_1"))
    items = view(said(), spoken, result("c", tool="ls"), thought(), said("next"), thought(words().parts[0]))
    rewrite = superseded(items, names())
    assert rewrite is not None
    [change] = rewrite.changes
    assert (change.key, change.note) == (items[1].key, "thinking of an earlier turn")
    empty, text, asked = change.message.parts
    assert empty == ThinkingPart("")
    assert (text, asked) == (TextPart("So it is."), ToolCallPart("ls", {}, "c"))
    after = applied(items, rewrite)
    assert superseded(after, names()) is None
    sent = [part for message in sendable(to_messages(after)) for part in message.parts]
    assert len([part for part in sent if isinstance(part, ThinkingPart)]) == 1, "that of the present turn"


@given(messages(max_size=30))
def test_any_view_stays_valid_and_is_done_at_once(history: list[ModelMessage]) -> None:
    items = as_items(history)
    rewrite = superseded(items, names())
    if rewrite is not None:
        after = applied(items, rewrite)
        assert complaints(sendable(to_messages(after))) == []
        assert superseded(after, names()) is None


def test_a_file_that_was_read_thousands_of_times_costs_no_more_than_its_reads() -> None:
    pages = (read(str(number), page(number, number + 1), path="log", start=number) for number in range(3_000))
    items = view(said(), *(message for each in pages for message in each), said())
    started = time.process_time()
    assert left(items) == {}
    assert time.process_time() - started < 5.0
