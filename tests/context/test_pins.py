"""Pinned messages: what has room, what they cost with all that stays beside them, and the plan."""

from hypothesis import given
from hypothesis import strategies as st

from tests.context.governor_kit import tokens
from tests.context.histories import as_items, long_conversation
from tests.context.test_planner import usage_of
from tui_app.context.compaction.plan import Plan, irreducible_floor, plan_compaction
from tui_app.context.policy import PLIMSOLL
from tui_app.context.view import Item, cost_of, with_room

ITEMS = as_items(long_conversation(5))


def ten(_item: Item) -> int:
    return 10


def test_a_result_costs_its_call_as_well() -> None:
    assert cost_of(ITEMS, frozenset({1}), ten) == 10
    assert cost_of(ITEMS, frozenset({2}), ten) == cost_of(ITEMS, frozenset({2, 3}), ten) == 20
    assert cost_of(ITEMS, frozenset({99}), ten) == 0


def test_the_newest_pins_have_room_first() -> None:
    pins = frozenset({1, 5, 9, 99})
    assert with_room(ITEMS, pins, ten, 30) == {1, 5, 9}
    assert with_room(ITEMS, pins, ten, 20) == {5, 9}
    assert with_room(ITEMS, frozenset({1, 2, 9}), ten, 20) == {1, 9}, "what is small may still fit"


@given(st.frozensets(st.integers(1, 20)), st.integers(0, 250))
def test_what_has_room_never_costs_more_than_the_budget(pins: frozenset[int], budget: int) -> None:
    kept = with_room(ITEMS, pins, ten, budget)
    assert kept <= pins
    assert cost_of(ITEMS, kept, ten) <= budget
    if cost_of(ITEMS, pins, ten) <= budget:
        assert kept == pins & {item.key for item in ITEMS}


def test_a_plan_keeps_pins_and_counts_them_to_the_floor() -> None:
    history = long_conversation(30)
    items, usage = as_items(history), usage_of(history, 16_000)
    free = irreducible_floor(items, usage, tokens, PLIMSOLL)
    pins = frozenset({2})
    plan = plan_compaction(items, usage, tokens, PLIMSOLL, trigger="background", pinned=pins)
    assert isinstance(plan, Plan)
    assert [item.key for item in plan.split.head] == [2, 3]
    assert irreducible_floor(items, usage, tokens, PLIMSOLL, pins) == plan.floor
    assert plan.floor - free == sum(tokens(item) for item in plan.split.head)


def test_pins_beyond_the_budget_leave_as_if_they_were_none() -> None:
    history = long_conversation(30)
    items, usage = as_items(history), usage_of(history, 16_000)
    every = frozenset(item.key for item in items)
    plan = plan_compaction(items, usage, tokens, PLIMSOLL, trigger="background", pinned=every)
    assert isinstance(plan, Plan)
    assert plan.split.old
    assert plan.floor < usage.window.effective
