"""Where a view is cut."""

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import as_items, long_conversation
from tui_app.context.view import Item, choose_boundary, split_at, units


def ten(_item: Item) -> int:
    return 10


def test_a_whole_turn_is_preferred() -> None:
    items = as_items(long_conversation(5))
    assert choose_boundary(items, 70, ten) == 16
    assert choose_boundary(items, 40, ten) == 16
    assert choose_boundary(items, 90, ten) == 12


def test_inside_a_turn_when_the_turn_is_too_long() -> None:
    turn: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for number in range(6):
        turn.append(ModelResponse(parts=[ToolCallPart("read", {}, f"{number}")]))
        turn.append(ModelRequest(parts=[ToolReturnPart("read", "x", f"{number}")]))
    items = as_items([*long_conversation(2), *turn])
    boundary = choose_boundary(items, 45, ten)
    assert boundary == len(items) - 4
    split = split_at(items, choose_boundary(items, 45, ten))
    assert [item.key for item in split.head] == [9], "the prompt of the running turn stays"
    assert [item.key for item in split.recent] == [18, 19, 20, 21]


def test_one_unit_stays_even_when_it_is_over_the_budget() -> None:
    items = as_items(long_conversation(3)[:-1])
    assert choose_boundary(items, 1, ten) == len(items) - 2


def test_everything_stays_when_everything_fits() -> None:
    items = as_items(long_conversation(3))
    assert choose_boundary(items, 10_000, ten) == 0
    assert split_at(items, choose_boundary(items, 10_000, ten)).old == ()


def test_system_prompts_and_pins_stay_and_summaries_go() -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart("s")]),
        ModelRequest(parts=[CompactionPart("c")]),
        *long_conversation(5),
    ]
    items = as_items(history)
    split = split_at(items, choose_boundary(items, 40, ten), frozenset({2, 5}))
    assert [item.key for item in split.head] == [1, 4, 5]
    assert 2 in [item.key for item in split.old], "a summary is updated, never pinned"


def test_units_keep_pairs_together() -> None:
    assert units(as_items(long_conversation(1))) == [[0], [1, 2], [3]]
    orphan = [ModelRequest(parts=[ToolReturnPart("read", "x", "z")]), ModelResponse(parts=[TextPart("x")])]
    assert units(as_items(orphan)) == [[0], [1]]
    assert units([]) == []


def test_a_reminder_is_not_the_latest_prompt() -> None:
    reminder = "<system-reminder>The list of tasks is empty.</system-reminder>"
    turn: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Mend the pier.")])]
    for number in range(6):
        turn.append(ModelResponse(parts=[ToolCallPart("read", {}, f"{number}")]))
        turn.append(ModelRequest(parts=[ToolReturnPart("read", "x", f"{number}")]))
    turn.insert(3, ModelRequest(parts=[UserPromptPart(reminder)]))
    items = as_items([*long_conversation(2), *turn])
    split = split_at(items, choose_boundary(items, 45, ten))
    assert [item.key for item in split.head] == [9], "what the person asked for stays, the reminder goes"
    assert 12 in [item.key for item in split.old]
    alone = as_items([*turn[1:3], turn[3], *turn[4:]])
    split = split_at(alone, choose_boundary(alone, 45, ten))
    assert [item.key for item in split.head] == [3], "where nobody asked for anything"
