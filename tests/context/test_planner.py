"""Plans and refusals, guards and policies: everything decided before a model is asked."""

from dataclasses import replace

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, ToolReturnPart, UserPromptPart

from tests.context.governor_kit import tokens
from tests.context.histories import as_items, long_conversation
from tui_app.context.compaction.guards import Breaker, refuse_result
from tui_app.context.compaction.plan import Plan, Refusal, irreducible_floor, plan_compaction
from tui_app.context.policy import OFF, PLIMSOLL, PRESETS, Policy
from tui_app.context.windows import resolve_window
from tui_app.events import CompactionComplete, Trigger
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

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


def planned(
    history: list[ModelMessage], usage: ContextUsage, trigger: Trigger = "background"
) -> Plan | Refusal:
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
    assert refusal == Refusal("Nothing to compact yet: there are fewer than two messages.")


def test_a_floor_above_the_window_is_refused_with_the_sizes() -> None:
    giant = ModelRequest(parts=[UserPromptPart("word " * 2_000)])
    history = [*long_conversation(3), giant]
    refusal = planned(history, usage_of(history, 2_000), "overflow")
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("Compaction cannot help: what must stay is 2.5k")
    assert "the window holds 2.0k with 256 tokens kept for the answer" in refusal.reason


def test_a_person_may_compact_a_small_view() -> None:
    history = long_conversation(5)
    usage = usage_of(history, 128_000)
    assert isinstance(planned(history, usage, "manual"), Plan)
    assert isinstance(planned(history, usage, "overflow"), Plan)


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
    assert PLIMSOLL.recent_budget(window) == 200
    assert PLIMSOLL.recent_budget(ContextWindow(limit=1, source="setting")) == 1


def test_off_is_never_under_pressure() -> None:
    assert OFF.pressure(at(5_000)) == "none"
    assert PRESETS["off"] is OFF
    assert Policy().pressure(at(800)) == "background"


def test_a_large_floor_leaves_the_summary_most_of_the_rest() -> None:
    """A latest prompt of most of a small window must not squeeze everything else out."""
    history = [*long_conversation(30), ModelRequest(parts=[UserPromptPart("tide " * 9_000)])]
    usage = usage_of(history, 16_000)
    plan = planned(history, usage)
    assert isinstance(plan, Plan)
    below_mark = PLIMSOLL.background_mark(usage.window) - plan.floor
    assert below_mark < 1_600
    budgets = plan.summary_budget + plan.prompts_budget + plan.facts_budget
    assert budgets > below_mark
    assert plan.floor + budgets < usage.window.effective
