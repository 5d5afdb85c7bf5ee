"""The ledger of the next request: every item once, with its age and form, and when the window is full."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from tests.session.test_folds import ARCHIVED, SAID, STEPS, TRIMMED, heads, played
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    MessagePinned,
    SessionRewind,
    SystemMessage,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolResult,
    UserMessage,
)
from tui_app.events.base import Payload
from tui_app.session.figures.request_ledger import (
    LedgerRow,
    fixed_rows,
    growths,
    ledger,
    scaled,
    together,
    turns_left,
)
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.ui.context.request_ledger import title_of
from tui_app.usage import CATEGORIES, Breakdown, sum_breakdowns


def rows_of(*payloads: Payload) -> list[LedgerRow]:
    return ledger(fold_agent_view(heads(*payloads)), {2: "ls"})


def test_items_stand_as_they_are_sent_with_age_and_title() -> None:
    rows = rows_of(SystemMessage(text="be brief"), *SAID)
    assert [(row.seq, row.age, row.kind) for row in rows] == [
        (1, 3, "system"), (2, 2, "user"), (3, 2, "tool_result"), (4, 2, "tool_result"), (5, 1, "user"),
    ]  # fmt: skip
    assert (rows[1].title, rows[4].title) == ("ls", "go on")
    assert [row.state for row in rows] == ["stays", "visible", "visible", "visible", "latest"]


def test_what_goes_with_every_request_has_what_the_messages_do_not_explain() -> None:
    view = fold_agent_view(heads(SystemMessage(text="be brief"), *SAID))
    held = sum_breakdowns(each.tokens for each in view.message_weights()).system
    parts = Breakdown(system=2 * held + 30, tools=400, user=9)
    rows = fixed_rows(view, parts, 2.0, {"tools": "all tools"})
    assert [(row.seq, row.kind, row.tokens, row.title, row.state) for row in rows] == [
        (-1, "tools", 400, "all tools", "stays"), (-2, "system", 30, "", "stays"),
    ]  # fmt: skip
    assert fixed_rows(view, Breakdown(system=2 * held), 2.0, {}) == []


def test_each_form_has_its_word() -> None:
    kinds = (ToolNormalised, ToolOffloaded, ToolPointers)
    states = [rows_of(*SAID, kind(changes=TRIMMED.changes))[1].state for kind in kinds]
    assert states == ["cut", "offloaded", "pointer"]
    assert rows_of(*SAID, TRIMMED)[1].state == "trimmed"
    rows = rows_of(*SAID, TRIMMED, ARCHIVED)
    assert [row.state for row in rows] == ["visible", "archived", "archived", "stand_in", "latest"]
    assert [row.tokens for row in rows] == [2, 5, 6, 20, 3]
    assert [together(rows, row) for row in rows] == [0, 2, 2, 0, 0]
    assert rows[1].form == (6, 0)


def test_pins_and_summaries() -> None:
    done = CompactionComplete(
        job="j", outcome="success", trigger="manual", removed=((1, 2),), tokens={"summary": 7}
    )
    rows = rows_of(*SAID, MessagePinned(seq=3), done)
    assert [(row.seq, row.state, row.pinned) for row in rows] == [
        (6, "stand_in", False), (3, "visible", True), (4, "latest", False),
    ]  # fmt: skip
    assert not any(
        row.pinned for row in rows_of(*SAID, MessagePinned(seq=3), MessagePinned(seq=3, pinned=False))
    )


@given(STEPS)
@example([("user", 0), ("exclude", 1)])
def test_the_ledger_is_what_is_sent_and_what_is_excluded(steps: list[tuple[str, int]]) -> None:
    session = played(steps)
    every = ledger(session.agent, {})
    excluded = {row.seq for row in every if row.state == "excluded"}
    assert excluded == session.agent.excluded.keys()
    rows = [row for row in every if row.seq not in excluded]
    assert [row.seq for row in rows] == session.visible
    assert sum(row.tokens for row in rows) == sum(
        each.tokens.total for each in session.agent.message_weights()
    )
    assert [row.seq for row in rows if row.pinned] == [
        seq for seq in session.visible if seq in session.agent.pins
    ]
    ages = [row.age for row in rows]
    assert ages == sorted(ages, reverse=True)


@given(STEPS, st.floats(0.3, 3.0))
def test_items_add_up_to_the_figures_above_them(steps: list[tuple[str, int]], factor: float) -> None:
    view = played(steps).agent
    rows = ledger(view, {})
    counted = sum_breakdowns(each.tokens for each in view.message_weights())
    assert scaled(rows, 1.0) == rows
    real = scaled(rows, factor)
    assert [(row.seq, row.state) for row in real] == [(row.seq, row.state) for row in rows]
    # Each row and each category is rounded separately.
    tokens = sum(row.tokens for row in rows)
    said = counted.total - counted.system - counted.tools - counted.memory
    if round(said * factor) > len(CATEGORIES):
        slack = (len(rows) + len(CATEGORIES) * tokens / said) / 2
        assert abs(sum(row.tokens for row in real) - tokens * factor) <= slack + 0.001


def talk(*sizes: int) -> list[Payload]:
    said: list[Payload] = []
    for size in sizes:
        said += [UserMessage(text="go", tokens={"user": 1})]
        said += [AssistantMessage(text="done", tokens={"assistant": size - 1})] if size else []
    return said


def test_turns_without_an_answer_do_not_grow() -> None:
    view = fold_agent_view(heads(*talk(10, 0, 30, 20), SessionRewind(to=6)))
    assert growths(view) == [10, 30, 20], "what was rewound was said all the same"
    assert growths(view, running=True) == [10, 30]
    assert growths(fold_agent_view([])) == []


def test_a_forecast_is_the_mean_of_the_last_turns() -> None:
    assert turns_left([1_000, 10, 10, 10, 10, 10], 70, 100) == 3
    assert turns_left([10, 10], 71, 100) == 3
    assert turns_left([10, 10], 100, 100) == 0
    assert turns_left([], 100, 100) == 0
    assert turns_left([10], 70, 100) is None, "one turn says nothing"
    assert turns_left([0, 0], 70, 100) is None
    assert turns_left([10, 10], 70, 0) is None


@given(st.lists(st.integers(0, 9_999), max_size=9), st.integers(0, 99_999), st.integers(1, 99_999))
def test_a_forecast_never_falls_short_of_the_mark(grown: list[int], total: int, mark: int) -> None:
    turns = turns_left(grown, total, mark)
    if turns is not None and total < mark:
        mean = sum(grown[-5:]) / len(grown[-5:])
        assert total + turns * mean >= mark > total + (turns - 1) * mean


def test_an_answer_without_words_names_what_it_calls() -> None:
    rows = ledger(
        fold_agent_view(
            heads(
                UserMessage(text="look", tokens={"user": 2}),
                AssistantMessage(text="", tokens={"tool_calls": 9}, call_ids=("c1", "c2")),
                ToolResult(tool_call_id="c1", name="read_file", text="x", tokens={"tool_results": 5}),
                ToolResult(tool_call_id="c2", name="grep", text="y", tokens={"tool_results": 6}),
            )
        ),
        {3: "read_file a.py · 12 lines", 4: "grep ebb"},
    )
    assert rows[1].calls == "read_file a.py, grep ebb"
    assert title_of(rows[1]) == "calls read_file a.py, grep ebb"
    assert title_of(replace(rows[1], calls="")) == "(calls tools)", "where their results are not there yet"
