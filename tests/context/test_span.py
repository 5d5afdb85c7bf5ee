"""Compacting a part that a person named: where the view is cut, what stays, and when it is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from tests.context.governor_kit import tokens
from tests.context.histories import as_items, long_conversation
from tests.context.test_planner import usage_of
from tui_app.context.compaction.plan import Plan, Refusal, plan_compaction, split_span
from tui_app.context.compaction.replacement import WAY_BACK, UserWords, summary_message
from tui_app.context.policy import PLIMSOLL
from tui_app.context.view import Item, latest_prompt_index, safe_cuts
from tui_app.references import Span

HISTORY: list[ModelMessage] = long_conversation(12)
ITEMS = as_items(HISTORY)


def planned(
    span: Span, pinned: frozenset[int] = frozenset(), items: list[Item] | None = None
) -> Plan | Refusal:
    usage = usage_of(HISTORY, 100_000)
    return plan_compaction(
        items or ITEMS, usage, tokens, PLIMSOLL, trigger="manual", pinned=pinned, span=span
    )


def keys(items: tuple[Item, ...]) -> list[int]:
    return [item.key for item in items]


def test_up_to_a_message_leaves_what_follows() -> None:
    plan = planned(Span(last=9))
    assert isinstance(plan, Plan)
    assert 9 in keys(plan.split.old)
    assert keys((*plan.split.old, *plan.split.recent)) == keys(tuple(ITEMS))
    assert plan.split.behind == 0


def test_from_a_message_leaves_what_is_before_it_and_the_newest() -> None:
    plan = planned(Span(first=9))
    assert isinstance(plan, Plan)
    assert plan.split.old[0].key <= 9
    assert plan.split.behind == plan.split.old[0].key - 1
    assert keys(plan.split.head)[: plan.split.behind] == list(range(1, plan.split.behind + 1))
    assert plan.split.recent, "the newest stay as they are"


def test_between_two_messages() -> None:
    plan = planned(Span(first=5, last=15))
    assert isinstance(plan, Plan)
    assert plan.split.old[0].key <= 5
    assert plan.split.old[-1].key >= 15


def test_an_earlier_summary_in_front_stays_and_one_inside_is_replaced() -> None:
    summary = Item(1_000, summary_message("Notes.", UserWords(), "", (), WAY_BACK))
    items = [summary, *ITEMS[4:]]
    behind = planned(Span(first=ITEMS[12].key), items=items)
    assert isinstance(behind, Plan)
    assert summary in behind.split.head
    assert summary not in behind.split.old
    inside = planned(Span(last=ITEMS[12].key), items=items)
    assert isinstance(inside, Plan)
    assert summary in inside.split.old


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (Span(last=1), "Nothing to compact up to #1: fewer than two messages there may leave."),
        (Span(first=len(ITEMS)), f"Nothing to compact from #{len(ITEMS)}: these are the newest messages"),
        (Span(last=9_000), "There is no message #9000 in the model's view."),
        (Span(first=9_000), "There is no message #9000 in the model's view."),
    ],
)
def test_it_is_refused_with_a_reason(span: Span, said: str) -> None:
    refusal = planned(span)
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith(said)


def test_a_part_that_is_too_small_to_matter_is_refused_before_a_model_is_asked() -> None:
    history = long_conversation(80)
    refusal = plan_compaction(
        as_items(history), usage_of(history, 100_000), tokens, PLIMSOLL, trigger="manual", span=Span(last=2)
    )
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("Too little to gain: what would leave up to #2 is")


def test_up_to_the_very_last_the_latest_prompt_stays() -> None:
    plan = planned(Span(last=ITEMS[-1].key))
    latest = latest_prompt_index(ITEMS)
    assert isinstance(plan, Plan)
    assert latest is not None
    assert ITEMS[latest] in plan.split.head
    assert ITEMS[-1] in plan.split.old


def test_pins_stay() -> None:
    plan = planned(Span(last=15), frozenset({3}))
    assert isinstance(plan, Plan)
    assert 3 in keys(plan.split.head)


@given(
    st.integers(0, len(ITEMS) + 2),
    st.integers(0, len(ITEMS) + 2),
    st.frozensets(st.integers(1, 40), max_size=4),
)
def test_any_span_keeps_pairs_pins_and_the_latest_prompt(
    first: int, last: int, pinned: frozenset[int]
) -> None:
    split = split_span(ITEMS, Span(first, last), len(ITEMS) - 4, pinned)
    if isinstance(split, str):
        assert split
        return
    whole = (*split.head, *split.old, *split.recent)
    assert sorted(keys(whole)) == keys(tuple(ITEMS))
    assert pinned.isdisjoint(keys(split.old))
    left = set(keys(split.old))
    safe = safe_cuts(ITEMS)
    for place in range(1, len(ITEMS)):
        together = ITEMS[place - 1].key in left, ITEMS[place].key in left
        assert safe[place] or together[0] == together[1], "no cut inside a pair"
    latest = latest_prompt_index(ITEMS)
    assert latest is not None
    assert ITEMS[latest].key not in left
    if last:
        assert {key for key in left if key > last} <= {last + 1, last + 2, last + 3}
