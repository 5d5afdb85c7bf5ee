"""Compaction plans and refusals: where a view is cut, which part was chosen, and what stays."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
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

from tests.context.governor_kit import tokens
from tests.context.histories import as_items, long_conversation
from tui_app.context.compaction.guards import Breaker, refuse_gain, refuse_result
from tui_app.context.compaction.plan import Plan, irreducible_floor, plan_compaction, split_span
from tui_app.context.compaction.replacement import NOTES, Passage, summary_message
from tui_app.context.policy import OFF, PLIMSOLL, PRESETS, Policy
from tui_app.context.views.cuts import choose_boundary, safe_cuts, split_at, units
from tui_app.context.views.view import Item, latest_prompt_index
from tui_app.context.windows.windows import resolve_window
from tui_app.events import CompactionComplete, Trigger
from tui_app.references import Span
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

# Plans, refusals, guards and policies: everything decided before a model is asked.


SYSTEM = ModelRequest(parts=[SystemPromptPart("be kind " * 40)])


def usage_of(history: list[ModelMessage], limit: int, fixed: int = 0, unmeasured: int = 0) -> ContextUsage:
    counted = sum(map(tokens, as_items(history)))
    system = sum(tokens(item) for item in as_items(history) if item.message is SYSTEM)
    return ContextUsage(
        parts=Breakdown(system=fixed + system, user=counted - system),
        window=resolve_window(setting=limit),
        messages=len(history),
        unmeasured=unmeasured,
    )


def planned(history: list[ModelMessage], usage: ContextUsage, trigger: Trigger = "background") -> Plan | str:
    return plan_compaction(as_items(history), usage, tokens, PLIMSOLL, trigger=trigger)


def test_budgets_leave_the_view_below_the_background_mark() -> None:
    history = long_conversation(30)
    usage = usage_of(history, 16_000)
    plan = planned(history, usage)
    assert isinstance(plan, Plan)
    assert plan.floor + plan.old == pytest.approx(usage.total, abs=2)
    most = plan.floor + plan.summary_budget + plan.prompts_budget + plan.facts_budget
    assert most < PLIMSOLL.background_mark(usage.window)
    recent = sum(map(tokens, plan.split.recent))
    assert recent <= PLIMSOLL.recent_budget(usage.window)


def test_system_prompts_in_the_view_are_counted_once() -> None:
    history = [SYSTEM, *long_conversation(30)]
    usage = usage_of(history, 16_000, fixed=500)
    plan = planned(history, usage)
    assert isinstance(plan, Plan)
    assert plan.sizes.carried == 500
    assert plan.floor == 500 + sum(map(tokens, (*plan.split.head, *plan.split.recent)))
    assert irreducible_floor(as_items(history), usage, tokens, PLIMSOLL) == plan.floor


def test_what_the_provider_counts_beyond_us_is_planned_for() -> None:
    history = long_conversation(30)
    plain = usage_of(history, 20_000)
    usage = usage_of(history, 20_000, unmeasured=plain.total)
    plan = planned(history, usage)
    assert isinstance(plan, Plan)
    assert plan.sizes.scale == pytest.approx(2.0)
    assert sum(map(tokens, plan.split.recent)) <= PLIMSOLL.recent_budget(usage.window) // 2


def test_a_view_of_one_message_is_refused() -> None:
    history = long_conversation(1)[:1]
    refusal = planned(history, usage_of(history, 16_000), "manual")
    assert refusal == "Nothing to compact yet: there are fewer than two messages."


def test_a_floor_above_the_window_is_refused_with_the_sizes() -> None:
    giant = ModelRequest(parts=[UserPromptPart("word " * 2_000)])
    history = [*long_conversation(3), giant]
    refusal = planned(history, usage_of(history, 2_000), "overflow")
    assert isinstance(refusal, str)
    assert refusal.startswith("Compaction cannot help: what must stay is 2.5k")
    assert "the window holds 2.0k with 256 tokens kept for the answer" in refusal


def test_a_person_may_compact_a_small_view() -> None:
    history = long_conversation(5)
    usage = usage_of(history, 128_000)
    assert isinstance(planned(history, usage, "manual"), Plan)
    assert isinstance(planned(history, usage, "overflow"), Plan)


@pytest.mark.parametrize("carried", [0, 1_500, 15_000, 60_000])
@pytest.mark.parametrize("trigger", ["manual", "headless"])
@pytest.mark.parametrize("policy", PRESETS.values(), ids=lambda policy: policy.name)
def test_what_a_request_carries_besides_eats_nothing_of_what_may_leave(
    policy: Policy, trigger: Trigger, carried: int
) -> None:
    items = as_items(long_conversation(16))
    said = sum(map(tokens, items))
    usage = usage_of(long_conversation(16), 200_000, fixed=carried)
    plan = plan_compaction(items, usage, tokens, policy, trigger=trigger)
    assert isinstance(plan, Plan)
    assert plan.old >= said // 2


def test_a_window_full_of_tool_definitions_is_relieved_of_messages() -> None:
    history = long_conversation(30)
    said = sum(map(tokens, as_items(history)))
    usage = usage_of(history, said * 6, fixed=said * 4)
    plan = planned(history, usage)
    assert isinstance(plan, Plan)
    assert sum(map(tokens, plan.split.recent)) <= said // 2


def test_where_the_newest_fill_the_view_a_part_can_be_named() -> None:
    notes = ModelRequest(parts=[CompactionPart("word " * 2_000)])
    turn = [ModelRequest(parts=[UserPromptPart("go")]), ModelResponse(parts=[TextPart("done")])]
    history = [notes, *turn, *turn]
    refusal = planned(history, usage_of(history, 128_000), "manual")
    assert isinstance(refusal, str)
    assert refusal.startswith("Nothing to compact: the last 4 messages are kept as they are")
    assert refusal.endswith(" /compact --up-to #3 replaces more.")
    usage = usage_of(history, 128_000)
    split = plan_compaction(as_items(history), usage, tokens, PLIMSOLL, trigger="manual", span=Span(last=3))
    assert isinstance(split, Plan)
    assert planned(history, usage_of(history, 128_000), "overflow") == (
        refusal.removesuffix(" /compact --up-to #3 replaces more.")
    )


def test_an_orphaned_result_can_leave() -> None:
    history = [ModelRequest(parts=[ToolReturnPart("read", "x " * 300, "z")]), *long_conversation(5)]
    plan = planned(history, usage_of(history, 128_000), "manual")
    assert isinstance(plan, Plan)
    assert plan.split.old[0].key == 1


def test_results_that_are_no_gain_are_refused() -> None:
    history = long_conversation(30)
    plan = planned(history, usage_of(history, 16_000))
    assert isinstance(plan, Plan)
    complete = CompactionComplete(
        job="j", outcome="success", trigger="manual", tokens_before=10_000, tokens_after=9_999
    )
    assert refuse_result(complete, plan) == ""
    assert "not smaller" in refuse_result(replace(complete, tokens_after=10_000), plan)
    large = replace(complete, tokens_before=90_000, tokens_after=15_001)
    assert refuse_result(large, plan) == "the result would still be 15001 tokens, above the 15000 that fit"


@pytest.mark.parametrize(
    ("freed", "carried", "refused"), [(90, 0, True), (90, 8_500, False), (70, 8_500, True)]
)
def test_a_gain_by_hand_is_one_of_the_messages(freed: int, carried: int, refused: bool) -> None:
    complete = CompactionComplete(
        job="j",
        outcome="success",
        trigger="manual",
        tokens_before=10_000,
        tokens_removed=freed,
        breakdown={"tools": carried, "user": 10_000 - carried},
    )
    assert bool(refuse_gain(complete, PLIMSOLL)) is refused


def at(total: int, limit: int = 1_000) -> ContextUsage:
    window = ContextWindow(limit=limit, source="setting")
    return ContextUsage(parts=Breakdown(user=total), window=window, messages=9)


def test_the_breaker_waits_for_growth_after_a_failure() -> None:
    breaker = Breaker()
    assert breaker.allows(at(800), PLIMSOLL, "background")
    breaker.failed(800, 1_000)
    assert not breaker.allows(at(839), PLIMSOLL, "background")
    assert breaker.allows(at(840), PLIMSOLL, "background")
    assert breaker.allows(at(800), PLIMSOLL, "overflow")
    assert breaker.allows(at(800, limit=900), PLIMSOLL, "background")
    breaker.succeeded(800, 400, PLIMSOLL)
    assert breaker.allows(at(400), PLIMSOLL, "background")


def test_the_breaker_trips_after_two_attempts_without_progress() -> None:
    breaker = Breaker()
    breaker.succeeded(1_000, 49, PLIMSOLL)
    assert not breaker.tripped(PLIMSOLL)
    breaker.succeeded(1_000, 10, PLIMSOLL)
    assert breaker.tripped(PLIMSOLL)
    assert not breaker.allows(at(990), PLIMSOLL, "blocking")
    assert breaker.allows(at(990), PLIMSOLL, "manual")
    breaker.succeeded(1_000, 50, PLIMSOLL)
    assert not breaker.tripped(PLIMSOLL)


def test_marks_leave_room_for_the_answer() -> None:
    window = resolve_window(setting=1_000)
    assert window.effective == 750
    assert PLIMSOLL.blocking_mark(window) == 750
    assert PLIMSOLL.background_mark(window) == 750
    assert PLIMSOLL.recent_budget(window) == 120
    assert PLIMSOLL.recent_budget(ContextWindow(limit=1, source="setting")) == 1


def test_off_is_never_under_pressure() -> None:
    assert OFF.pressure(at(5_000)) == "none"
    assert PRESETS["off"] is OFF
    assert Policy().pressure(at(800)) == "background"


def test_a_large_floor_leaves_the_summary_most_of_the_rest() -> None:
    """A prompt that fills most of a small window must leave room for the rest."""
    history = [*long_conversation(30), ModelRequest(parts=[UserPromptPart("tide " * 9_000)])]
    usage = usage_of(history, 16_000)
    plan = planned(history, usage)
    assert isinstance(plan, Plan)
    below_mark = PLIMSOLL.background_mark(usage.window) - plan.floor
    assert below_mark < 1_600
    assert plan.summary_budget >= min(400, (usage.window.effective - plan.floor) // 4)
    assert plan.aim > plan.floor + plan.summary_budget
    assert plan.aim <= usage.window.effective


# Where a view is cut.


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


# Compacting a part that the user chose: where the view is cut, what stays, and when it is refused.


HISTORY: list[ModelMessage] = long_conversation(12)
ITEMS = as_items(HISTORY)


def span_planned(
    span: Span, pinned: frozenset[int] = frozenset(), items: list[Item] | None = None
) -> Plan | str:
    usage = usage_of(HISTORY, 100_000)
    return plan_compaction(
        items or ITEMS, usage, tokens, PLIMSOLL, trigger="manual", pinned=pinned, span=span
    )


def keys(items: tuple[Item, ...]) -> list[int]:
    return [item.key for item in items]


def test_up_to_a_message_leaves_what_follows() -> None:
    plan = span_planned(Span(last=9))
    assert isinstance(plan, Plan)
    assert 9 in keys(plan.split.old)
    assert keys((*plan.split.old, *plan.split.recent)) == keys(tuple(ITEMS))
    assert plan.split.behind == 0


def test_from_a_message_leaves_what_is_before_it_and_the_newest() -> None:
    plan = span_planned(Span(first=9))
    assert isinstance(plan, Plan)
    assert plan.split.old[0].key <= 9
    assert plan.split.behind == plan.split.old[0].key - 1
    assert keys(plan.split.head)[: plan.split.behind] == list(range(1, plan.split.behind + 1))
    assert plan.split.recent, "the newest stay as they are"


def test_between_two_messages() -> None:
    plan = span_planned(Span(first=5, last=15))
    assert isinstance(plan, Plan)
    assert plan.split.old[0].key <= 5
    assert plan.split.old[-1].key >= 15


def test_an_earlier_summary_in_front_stays_and_one_inside_is_replaced() -> None:
    summary = Item(1_000, summary_message([Passage(NOTES, "model", "Notes.")], "Notes.", writer="model"))
    items = [summary, *ITEMS[4:]]
    behind = span_planned(Span(first=ITEMS[12].key), items=items)
    assert isinstance(behind, Plan)
    assert summary in behind.split.head
    assert summary not in behind.split.old
    inside = span_planned(Span(last=ITEMS[12].key), items=items)
    assert isinstance(inside, Plan)
    assert summary in inside.split.old


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (Span(last=1), "Nothing to compact up to #1: fewer than two messages there can be replaced."),
        (Span(first=len(ITEMS)), f"Nothing to compact from #{len(ITEMS)}: these are the newest messages"),
        (Span(last=9_000), "There is no message #9000 in the model's view."),
        (Span(first=9_000), "There is no message #9000 in the model's view."),
    ],
)
def test_it_is_refused_with_a_reason(span: Span, said: str) -> None:
    refusal = span_planned(span)
    assert isinstance(refusal, str)
    assert refusal.startswith(said)


def test_a_part_that_is_too_small_to_matter_is_refused_before_a_model_is_asked() -> None:
    history = long_conversation(80)
    refusal = plan_compaction(
        as_items(history), usage_of(history, 100_000), tokens, PLIMSOLL, trigger="manual", span=Span(last=2)
    )
    assert isinstance(refusal, str)
    assert refusal.startswith("Too little to gain: what would leave up to #2 is")


def test_up_to_the_very_last_the_latest_prompt_stays() -> None:
    plan = span_planned(Span(last=ITEMS[-1].key))
    latest = latest_prompt_index(ITEMS)
    assert isinstance(plan, Plan)
    assert latest is not None
    assert ITEMS[latest] in plan.split.head
    assert ITEMS[-1] in plan.split.old


def test_pins_stay() -> None:
    plan = span_planned(Span(last=15), frozenset({3}))
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
