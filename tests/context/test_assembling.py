"""A request that is built on the one before is the request that would be built from nothing."""

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import plain_counter
from tests.context.histories import as_items, long_conversation, messages, retry_prompt
from tui_app.context.history import ListHistory
from tui_app.context.requests import builder as assembling
from tui_app.context.requests.builder import Assembly, repair, sendable
from tui_app.context.view import Item, to_messages

STEPS = st.sampled_from((1, 3, 16))
"""Sizes of the pieces that are taken in."""


def said(text: str = "hello") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def called(call_id: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, call_id)])


def result(call_id: str) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", "found", call_id)])


def words(text: str = "well") -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def whole(items: Sequence[Item]) -> list[ModelMessage]:
    return sendable(to_messages(items))


def sectioned(history: Sequence[ModelMessage]) -> Sequence[Item]:
    """The items of another agent's list: a request of several kinds of parts is several of them."""
    view = ListHistory(plain_counter())
    view.sync(history)
    return view.items()


def grown(items: Sequence[Item]) -> None:
    """Ask for a request after every item."""
    assembly = Assembly()
    for end in range(1, len(items) + 1):
        built, added = assembly.request(items[:end], [])
        assert built == whole(items[:end])
        view = {id(part) for item in items[:end] for part in item.message.parts}
        parts = [part for message in built if isinstance(message, ModelRequest) for part in message.parts]
        assert [id(part) for part in parts if id(part) not in view] == [id(part) for part in added]


@given(messages(max_size=20), STEPS)
@settings(deadline=None)
def test_growing_message_by_message_changes_nothing(history: list[ModelMessage], step: int) -> None:
    with patch.object(assembling, "_STEP", step):
        grown(as_items(history))
        grown(sectioned(history))


@given(messages(max_size=12), messages(max_size=12), st.integers(0, 12), STEPS)
@settings(deadline=None)
def test_a_rewritten_view_is_built_as_if_from_nothing(
    first: list[ModelMessage], second: list[ModelMessage], shared: int, step: int
) -> None:
    with patch.object(assembling, "_STEP", step):
        rewritten(first, second, shared)


def rewritten(first: list[ModelMessage], second: list[ModelMessage], shared: int) -> None:
    assembly, begun = Assembly(), as_items(first)
    for end in range(1, len(begun) + 1):
        assembly.request(begun[:end], [])
    view = [*begun[:shared], *as_items(second)]
    for end in range(shared, len(view) + 1):
        assert assembly.request(view[:end], [])[0] == whole(view[:end])


def test_histories_with_traps_grow_the_same() -> None:
    grown(as_items([called("a"), said(), words(), result("a"), words(), said()]))
    grown(
        as_items([said(), called("a"), result("a"), called("a"), result("a"), result("a"), words(), said()])
    )
    grown(as_items([said(), words(), result("ghost"), words(), said(), words()]))
    grown(as_items([said(" "), words(), said(""), words(), said("x"), words(), said()]))
    grown(as_items([words(), said(), called("a"), words(), said(), words(), result("a"), said()]))


def test_what_is_settled_is_the_same_object_from_request_to_request() -> None:
    history = long_conversation(20)
    assembly, items = Assembly(), as_items([*history, said()])
    before, _ = assembly.request(items, [])
    longer = [*items, Item(10_000, words()), Item(10_001, said("and on"))]
    now, _ = assembly.request(longer, [])
    assert len(now) == len(before) + 2
    assert all(a is b for a, b in zip(before, now, strict=False))


def test_what_stands_in_front_of_a_rewrite_stays_the_same_object() -> None:
    assembly, items = Assembly(), as_items([*long_conversation(20), said()])
    for end in range(1, len(items) + 1):
        before, _ = assembly.request(items[:end], [])
    changed = [*items[:50], Item(items[50].key, result("call-12")), *items[51:]]
    now, _ = assembly.request(changed, [])
    assert now == whole(changed)
    assert all(a is b for a, b in zip(before[:48], now[:48], strict=True))


def test_a_call_that_stays_open_costs_no_more_than_building_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []

    def counted(messages: Sequence[ModelMessage], *, begins: bool = True) -> list[ModelMessage]:
        looked_at.append(len(messages))
        return repair(messages, begins=begins)

    monkeypatch.setattr("tui_app.context.requests.builder.repair", counted)
    items = as_items([said(), called("open"), *long_conversation(200), said()])
    assembly = Assembly()
    built = assembly.request(items, [])[0]
    *taken_in, _rest = looked_at
    assert sum(taken_in) < 3 * len(items)
    assert built == whole(items)


def test_parts_that_only_the_run_knows_stay_at_the_end() -> None:
    assembly = Assembly()
    first = as_items([said(), words(), said("go on")])
    assembly.request(first, [])
    longer = [*first, Item(8, words()), Item(9, said("further"))]
    feedback = retry_prompt("be brief")
    built, added = assembly.request(longer, [ModelRequest(parts=[feedback])])
    assert built[-1].parts[-1] is feedback
    assert added == [feedback]
