"""A session's budget: a warning at 80%, and approval required above it."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tui_app.conversation.budget import Budget, budget_of
from tui_app.events import AssistantMessage, CompactionComplete, Error, Notice, SessionStart
from tui_app.session.figures.costs import Costs, is_over
from tui_app.session.preview import StatsReader
from tui_app.session.stores.sqlite_store import SqliteStore


def spent(tmp_path: Path, *costs: float | None) -> Budget:
    store = SqliteStore(tmp_path / "log.db")
    session = store.create(SessionStart(cwd="/", model="a:b", policy="off"), time=time.time())
    for cost in costs:
        store.append(
            session, AssistantMessage(text="x", input_tokens=9, cost_usd=cost), None, time=time.time()
        )
    store.close()
    return Budget(1.0, StatsReader(tmp_path / "log.db", session))


async def test_below_four_fifths_nothing_is_said(tmp_path: Path) -> None:
    assert await spent(tmp_path, 0.79).verdict(agreed=False) is None


async def test_at_four_fifths_it_is_said_once(tmp_path: Path) -> None:
    budget = spent(tmp_path, 0.5, 0.3)
    assert await budget.verdict(agreed=False) == Notice(
        text="This session has cost $0.80 of its budget of $1.00."
    )
    assert await budget.verdict(agreed=False) is None


async def test_above_it_a_prompt_needs_a_yes(tmp_path: Path) -> None:
    budget = spent(tmp_path, 1.0, None)
    told = await budget.verdict(agreed=False)
    assert isinstance(told, Error)
    assert "$1.00 of its budget of $1.00, plus requests of unknown price" in told.message
    assert await budget.verdict(agreed=True) is None


@pytest.mark.parametrize("settings", [{}, {"session_usd": 0.0}])
def test_no_budget_is_no_limit(settings: dict[str, float], tmp_path: Path) -> None:
    assert budget_of(settings, tmp_path / "log.db", "s") is None
    assert not is_over(settings, 1e6)


def test_costs_add_up_and_say_what_is_unknown() -> None:
    costs = Costs()
    for usd in (None, 0.2, 0.1):
        costs = costs.after(
            AssistantMessage(
                text="x",
                input_tokens=10,
                cache_read_tokens=4,
                cache_write_tokens=2,
                output_tokens=1,
                cost_usd=usd,
            )
        )
    assert (costs.input_tokens, costs.cached_tokens, costs.output_tokens) == (30, 12, 3)
    assert costs.written_tokens == 6
    assert costs.usd == pytest.approx(0.3)
    assert costs.unpriced == 1


def test_a_summary_by_a_free_model_costs_nothing_and_is_no_unknown() -> None:
    done = CompactionComplete(job="j", outcome="success", trigger="manual", input_tokens=9, output_tokens=1)
    free = Costs().after(replace(done, cost_usd=0.0))
    assert (free.usd, free.unpriced) == (0.0, 0)
    assert Costs().after(done).unpriced == 1
    made_by_code = Costs().after(replace(done, input_tokens=0, output_tokens=0, cost_usd=0.0))
    assert (made_by_code.usd, made_by_code.unpriced) == (None, 0)
