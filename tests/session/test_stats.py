"""Statistics of a session: every row, undone events, and reading no event twice."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Error,
    HookRan,
    MemoryConsolidated,
    Payload,
    RewriteUndone,
    SessionClear,
    SessionRewind,
    SessionStart,
    SubAgentStep,
    ToolArchived,
    ToolCall,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolResult,
    ToolTrimmed,
    Truncation,
    UsageInfo,
    UserMessage,
    payload_to_json,
)
from tui_app.session.preview import StatsReader
from tui_app.session.stats import SessionStats, StatsFold
from tui_app.session.stats_rows import CompactionRow, ModelRow, StageRow
from tui_app.session.stores.sqlite_store import SqliteStore


def folded(*events: Payload) -> SessionStats:
    fold = StatsFold()
    for number, event in enumerate(events, 1):
        fold.apply(number, event.TYPE, payload_to_json(event))
    return fold.stats()


def compaction(outcome: str = "success", **more: object) -> CompactionComplete:
    figures = {"tokens_removed": 900, "duration_s": 2.0, "cost_usd": 0.01, "retention": 0.9, **more}
    return CompactionComplete(job="1", outcome=outcome, trigger="manual", **figures)  # type: ignore[arg-type]


def cut(tokens: int) -> Truncation:
    return Truncation(
        tokens_before=0, tokens_after=0, messages_before=0, messages_after=0, tokens_removed=tokens,
        messages_removed=0,
    )  # fmt: skip


def test_nothing_yet() -> None:
    assert folded() == SessionStats()
    assert folded().to_json()["cache_share"] is None


def test_answers_of_another_program_were_asked_for_too() -> None:
    said, sent = AssistantMessage(text="a", model="m"), UsageInfo(usage={})
    assert folded(said, said).requests == 2
    assert folded(said, sent, said, sent, sent, said).requests == 4, "one of ours was sent twice"
    assert folded(sent, SubAgentStep(tool_call_id="c"), said).requests == 1


def test_turns_requests_and_tools() -> None:
    stats = folded(
        UserMessage(text="one"),
        UsageInfo(usage={}),
        ToolCall(tool_call_id="a", name="ls", args="{}"),
        ToolResult(tool_call_id="a", name="ls", text="x"),
        ToolCall(tool_call_id="b", name="ls", args="{}"),
        ToolResult(tool_call_id="b", name="ls", text="x", outcome="denied"),
        UsageInfo(usage={}),
        UserMessage(text="two"),
        SessionRewind(to=8, failed=True),
        UserMessage(text="three"),
        SessionRewind(to=10),
    )
    assert (stats.turns, stats.requests, stats.tool_calls, stats.tool_failures) == (2, 2, 2, 1)


def test_an_answer_that_broke_off_and_was_asked_for_again_takes_no_turn_away() -> None:
    stats = folded(UserMessage(text="one"), AssistantMessage(text="Well"), SessionRewind(to=2, failed=True))
    assert stats.turns == 1


def test_tokens_and_cost_by_model() -> None:
    stats = folded(
        AssistantMessage(
            text="",
            model="m",
            input_tokens=100,
            output_tokens=5,
            cache_read_tokens=40,
            cost_usd=0.5,
            cache_write_tokens=30,
        ),
        AssistantMessage(text="", model="m", input_tokens=300, output_tokens=7, cost_usd=None),
        AssistantMessage(text="", model="n", cost_usd=0.25),
        compaction(cost_usd=0.125),
    )
    assert stats.models == (
        ModelRow(
            model="m", answers=2, input_tokens=400, output_tokens=12, cache_read_tokens=40, cost_usd=0.5,
            cache_write_tokens=30, unpriced=1,
        ),
        ModelRow(model="n", answers=1, cost_usd=0.25),
    )  # fmt: skip
    assert stats.answers == 3
    assert stats.cost_usd == pytest.approx(0.875)
    assert stats.cache_share == pytest.approx(0.1)


def test_what_caches_can_keep() -> None:
    stats = folded(*(UsageInfo(usage={}, prefix_kept=share) for share in (None, 1.0, 0.25, 1.0)))
    assert (stats.prefix_kept, stats.prefix_kept_min, stats.prefix_breaks) == (0.75, 0.25, 1)


def test_compactions_by_trigger_and_outcome() -> None:
    stats = folded(
        compaction(),
        compaction(retention=0.7),
        compaction("failed", retention=None, cost_usd=None),
        compaction("cancelled", retention=None, cost_usd=None),
    )
    rows = {(row.trigger, row.outcome): row for row in stats.compactions}
    assert rows["manual", "success"] == CompactionRow(
        trigger="manual", outcome="success", count=2, tokens_removed=1_800, duration_s=4.0, cost_usd=0.02
    )
    assert rows["manual", "failed"].tokens_removed == 0
    assert rows["manual", "cancelled"].count == 1
    assert stats.retention == pytest.approx(0.8)
    assert stats.retention_min == 0.7


def test_tokens_saved_by_every_stage_in_their_order() -> None:
    kinds = (ToolPointers, ToolTrimmed, ToolArchived, ToolOffloaded, ToolNormalised)
    stats = folded(
        *(kind(tokens_removed=number) for number, kind in enumerate(kinds, 1)), compaction(), cut(7)
    )
    assert [(row.stage, row.count, row.tokens_removed) for row in stats.stages] == [
        ("normalise", 1, 5),
        ("offload", 1, 4),
        ("archive", 1, 3),
        ("trim", 1, 2),
        ("pointers", 1, 1),
        ("compact", 1, 900),
        ("truncate", 1, 7),
    ]


def test_what_was_taken_back_saves_nothing() -> None:
    events = [ToolTrimmed(tokens_removed=50), compaction(), RewriteUndone(rewrite=1)]
    stats = folded(*events, CompactionUndone(compaction=2))
    assert stats.stages == (
        StageRow(stage="trim", count=1, undone=1),
        StageRow(stage="compact", count=1, undone=1),
    )
    assert [(row.count, row.undone, row.tokens_removed) for row in stats.compactions] == [(1, 1, 0)]
    redone = folded(*events, CompactionUndone(compaction=2), CompactionRedone(compaction=2))
    assert redone.stages[1] == StageRow(stage="compact", count=1, tokens_removed=900)
    assert folded(CompactionUndone(compaction=9)) == SessionStats()


def test_what_a_rewind_leaves_behind_saves_nothing() -> None:
    events = [ToolTrimmed(tokens_removed=50), UserMessage(text="go on"), ToolArchived(tokens_removed=70),
              compaction(), cut(3)]  # fmt: skip
    stats = folded(*events, SessionRewind(to=2))
    assert stats.stages == (
        StageRow(stage="archive", count=1, undone=1),
        StageRow(stage="trim", count=1, tokens_removed=50),
        StageRow(stage="compact", count=1, undone=1),
        StageRow(stage="truncate", count=1, tokens_removed=3),
    )
    assert [(row.count, row.undone, row.tokens_removed) for row in stats.compactions] == [(1, 1, 0)]
    # Neither a second undo nor a failed prompt changes anything.
    assert folded(*events, SessionRewind(to=2), RewriteUndone(rewrite=3)).stages == stats.stages
    assert folded(*events, SessionRewind(to=2, failed=True)).stages == folded(*events).stages


def test_a_cleared_view_is_spared_nothing() -> None:
    stats = folded(
        ToolTrimmed(tokens_removed=50), compaction(), SessionClear(), ToolTrimmed(tokens_removed=4)
    )
    assert stats.stages == (
        StageRow(stage="trim", count=2, tokens_removed=4),
        StageRow(stage="compact", count=1),
    )
    assert [(row.undone, row.tokens_removed) for row in stats.compactions] == [(0, 900)]


def test_a_compaction_of_another_program_is_told_as_one() -> None:
    theirs = CompactionComplete(job="imported-9", outcome="success", trigger="blocking", tokens_removed=900)
    stats = folded(theirs, CompactionUndone(compaction=1))
    assert stats.compactions == (CompactionRow(trigger="blocking", outcome="imported", count=1, undone=1),)


def test_errors_by_kind() -> None:
    kinds = ("network", "auth", "network")
    assert folded(*(Error(kind=kind, message="") for kind in kinds)).errors == {"auth": 1, "network": 2}  # type: ignore[arg-type]


def test_hooks_by_name_and_outcome() -> None:
    ran = [HookRan(hook="preCompact", command="check", outcome=outcome) for outcome in ("ok", "vetoed", "ok")]  # type: ignore[arg-type]
    assert folded(*ran).hooks == {"preCompact ok": 2, "preCompact vetoed": 1}


@contextmanager
def a_store() -> Iterator[SqliteStore]:
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "sessions.db")
        yield store
        store.close()


EVENTS = st.lists(
    st.sampled_from(
        [
            UserMessage(text="long " * 1_000),
            AssistantMessage(text="x", model="m", input_tokens=3, cost_usd=0.5),
            ToolCall(tool_call_id="a", name="ls", args="{}"),
            ToolResult(tool_call_id="a", name="ls", text="x", outcome="error"),
            UsageInfo(usage={"total": 3, "model": "of a newer version"}, prefix_kept=0.5),
            compaction(),
            ToolTrimmed(tokens_removed=4),
            RewriteUndone(rewrite=3),
            CompactionUndone(compaction=3),
            CompactionRedone(compaction=3),
            Error(kind="tool", message="no"),
            cut(2),
        ]
    ),
    max_size=12,
)


@given(EVENTS, st.integers(0, 12))
def test_reading_in_two_goes_is_reading_at_once(events: Sequence[Payload], first: int) -> None:
    with a_store() as store:
        session = store.create(SessionStart(cwd="/", model="m"), time=1.0)
        other = store.create(SessionStart(cwd="/", model="m"), time=1.0)
        store.append(other, UserMessage(text="elsewhere"), None, time=1.0)
        reader = StatsReader(store.path, session)
        store.append_many(session, [(event, None, 1.0) for event in events[:first]])
        reader.read()
        store.append_many(session, [(event, None, 1.0) for event in events[first:]])
        assert reader.read() == reader.read() == folded(SessionStart(cwd="/", model="m"), *events)
        assert StatsReader(store.path, session).read() == reader.known


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.Error):
        StatsReader(tmp_path / "none.db", "x").read()


def test_digests_and_memory_are_told_apart_and_counted() -> None:
    paid = {"input_tokens": 900, "output_tokens": 40}
    stats = folded(
        ToolArchived(changes=(), performed_by="llm", cost_usd=0.02, **paid),
        ToolArchived(changes=()),
        MemoryConsolidated(outcome="success", performed_by="model", **paid),
        MemoryConsolidated(outcome="success", performed_by="extraction"),
        compaction(cost_usd=None, **paid),
    )
    assert [(row.purpose, row.count, row.cost_usd, row.unpriced) for row in stats.sides] == [
        ("digests", 1, 0.02, 0),
        ("memory", 1, 0.0, 1),
    ]
    assert (stats.cost_usd, stats.unpriced) == (0.02, 2)
    assert stats.to_json()["unpriced"] == 2
