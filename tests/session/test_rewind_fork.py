"""Rewind targets, what each would remove, and forks."""

from pathlib import Path

import pytest

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    ModelChange,
    Payload,
    Rewritten,
    SessionClear,
    SessionEnd,
    SessionRewind,
    SessionStart,
    ToolOffloaded,
    ToolResult,
    UserMessage,
)
from tui_app.session.event_heads import head_of
from tui_app.session.rewind_fork import NotAPrompt, fork_session
from tui_app.session.rewind_points import rewind_points, tokens_after_rewind
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionNotFound
from tui_app.session.views.agent_view import AgentView, fold_agent_view
from tui_app.ui.dialogs.sessions.rewind import leaving_text
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

# Rewind targets, and what each would remove.


def view(*events: Payload) -> AgentView:
    return fold_agent_view(head_of(seq, float(seq), event) for seq, event in enumerate(events, 1))


def asked(text: str, tokens: int = 10) -> UserMessage:
    return UserMessage(text=text, tokens={"user": tokens})


def answered(tokens: int = 90) -> AssistantMessage:
    return AssistantMessage(text="yes", tokens={"assistant": tokens})


DONE = CompactionComplete(
    job="j", outcome="success", trigger="manual", summary="s", tokens={"summary": 20}, removed=((1, 2),)
)
TALK = (asked("one"), answered(), asked("two\nlines"), answered(), ToolResult(
    tool_call_id="c", name="ls", text="x", tokens={"tool_results": 5}
))  # fmt: skip


def usage(view: AgentView, *, factor: float = 1.0, fixed: int = 0) -> ContextUsage:
    counted = sum(weighed.tokens.total for weighed in view.message_weights())
    parts = Breakdown(user=round(counted * factor), tools=fixed)
    return ContextUsage(parts=parts, window=ContextWindow(limit=1_000, source="default"), messages=2)


def test_the_newest_prompt_comes_first_with_what_follows_it() -> None:
    points = rewind_points(view(*TALK))
    assert [(point.seq, point.title, point.messages) for point in points] == [(3, "two", 3), (1, "one", 5)]
    assert [point.time for point in points] == [3.0, 1.0]


def test_prompts_in_a_summary_are_offered_and_say_that_it_would_be_taken_back() -> None:
    points = rewind_points(view(*TALK, DONE, asked("three")))
    assert [(p.title, p.messages, p.compactions) for p in points] == [
        ("three", 1, 0), ("two", 4, 1), ("one", 6, 1)
    ]  # fmt: skip


def test_what_was_left_behind_or_cleared_is_not_offered() -> None:
    assert [point.title for point in rewind_points(view(*TALK, SessionRewind(to=3)))] == ["one"]
    assert rewind_points(view(*TALK, SessionClear())) == []


def test_every_point_can_be_rewound_to() -> None:
    folded = view(*TALK, DONE, asked("three"))
    assert all(folded.can_rewind(point.seq) for point in rewind_points(folded))


def test_tokens_after_are_those_of_what_stays_by_the_measure_of_the_model() -> None:
    folded = view(*TALK)
    assert tokens_after_rewind(folded, 3, usage(folded)) == 100
    assert tokens_after_rewind(folded, 3, usage(folded, factor=2.0, fixed=50)) == 250
    assert tokens_after_rewind(folded, 1, usage(folded, fixed=50)) == 50
    assert rewind_points(folded)[0].seq == 3, "asking changes nothing"


def test_going_back_behind_a_summary_counts_the_full_history_in_front_of_it() -> None:
    folded = view(*TALK, DONE, asked("three"))
    assert tokens_after_rewind(folded, 3, usage(folded)) == 100


def test_what_was_rewritten_behind_a_prompt_comes_back_in_full_with_it() -> None:
    result = ToolResult(tool_call_id="c", name="ls", text="x", tokens={"tool_results": 500})
    call = AssistantMessage(text="", call_ids=("c",), tokens={"tool_calls": 5})
    change = Rewritten(seq=3, tokens={"tool_results": 20})
    stage = ToolOffloaded(changes=(change,), tokens_before=500, tokens_after=20)
    folded = view(asked("one"), call, result, answered(), asked("two"), stage, answered(), asked("three"))
    points = {point.title: point for point in rewind_points(folded)}
    assert {title: point.restored for title, point in points.items()} == {"one": 0, "two": 1, "three": 0}
    assert "1 result rewritten since comes back in full." in leaving_text(points["two"], None)
    assert "rewritten" not in leaving_text(points["three"], None)
    grown = tokens_after_rewind(folded, points["two"].seq, usage(folded))
    assert grown > usage(folded).total


# Forks.


NOW = 9_000.0


@pytest.fixture
def store(tmp_path: Path):
    store = SqliteStore(tmp_path / "sessions.db")
    yield store
    store.close()


def told(store: SqliteStore) -> str:
    """Store two turns, a compaction, a third prompt that was undone, and a change of model."""
    session = store.create(SessionStart(cwd="/tmp", model="one", title="Tides"), time=1.0)
    done = CompactionComplete(job="j", outcome="success", trigger="manual", summary="s", removed=((2, 3),))
    events = [
        UserMessage(text="first", tokens={"user": 1}),
        AssistantMessage(text="yes", tokens={"assistant": 1}),
        ModelChange(old="one", new="two"),
        UserMessage(text="second\nline", tokens={"user": 1}),
        AssistantMessage(text="yes", tokens={"assistant": 1}),
        done,
        ModelChange(old="two", new="three"),
        UserMessage(text="third", tokens={"user": 1}),
        SessionRewind(to=9),
    ]
    store.append_many(session, [(event, f'"{seq}"', float(seq)) for seq, event in enumerate(events, 2)])
    store.set_model(session, "three")
    return session


def rows(store: SqliteStore, session: str) -> list[tuple[object, ...]]:
    return [(record.seq, record.time, record.data, message) for record, message in store.records(session)]


def test_what_was_before_the_prompt_is_copied_and_the_other_stays(store: SqliteStore, tmp_path: Path) -> None:
    session = told(store)
    before, info = rows(store, session), store.info(session)
    fork = fork_session(store, tmp_path / "s", session[:6], at=9, now=NOW)
    assert fork.prompt == "third"
    copied = rows(store, fork.session)
    assert copied[1:-1] == before[1:8]
    assert copied[0][2] == SessionStart(
        cwd="/tmp", model="three", title="Fork of Tides", forked_from=session, forked_at=9
    )
    assert copied[-1][1:3] == (NOW, SessionEnd())
    assert (rows(store, session), store.info(session)) == (before, info)
    assert store.sessions()[0].id == fork.session


def test_the_view_and_the_model_are_those_of_that_moment(store: SqliteStore, tmp_path: Path) -> None:
    session = told(store)
    fork = fork_session(store, tmp_path / "s", session, at=5, now=NOW)
    assert fork.prompt == "second\nline"
    assert [head.seq for head in fold_agent_view(store.heads(fork.session)).visible()] == [2, 3]
    assert store.info(fork.session).model == "two"


def test_without_a_prompt_everything_is_taken_over(store: SqliteStore, tmp_path: Path) -> None:
    session = told(store)
    fork = fork_session(store, tmp_path / "s", session, now=NOW)
    views = [fold_agent_view(store.heads(each)).visible() for each in (session, fork.session)]
    assert views[0] == views[1] != []
    assert (fork.prompt, store.info(fork.session).model) == ("", "three")


def test_files_come_along_without_the_lock(store: SqliteStore, tmp_path: Path) -> None:
    session = told(store)
    source = tmp_path / "s" / session
    (source / "checkpoints").mkdir(parents=True)
    (source / "checkpoints" / "001-tides.md").write_text("# Tides", encoding="utf-8")
    (source / "writer.lock").write_text("1", encoding="utf-8")
    fork = fork_session(store, tmp_path / "s", session, at=9, now=NOW)
    target = tmp_path / "s" / fork.session
    assert (target / "checkpoints" / "001-tides.md").read_text(encoding="utf-8") == "# Tides"
    assert not (target / "writer.lock").exists()


@pytest.mark.parametrize("at", [0, -1, 1, 3, 99])
def test_only_a_prompt_can_be_forked_at(store: SqliteStore, tmp_path: Path, at: int) -> None:
    session = told(store)
    with pytest.raises(NotAPrompt, match=f"#{at} is not a prompt of session {session}"):
        fork_session(store, tmp_path / "s", session, at=at, now=NOW)
    assert [info.id for info in store.sessions()] == [session]
    with pytest.raises(SessionNotFound):
        fork_session(store, tmp_path / "s", "nope", at=at, now=NOW)


def test_a_disk_that_refuses_leaves_nothing(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = told(store)
    source = tmp_path / "s" / session
    source.mkdir(parents=True)
    (source / "plan.md").write_text("plan", encoding="utf-8")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tui_app.session.rewind_fork.shutil.copytree", full)
    with pytest.raises(OSError, match="No space"):
        fork_session(store, tmp_path / "s", session, at=9, now=NOW)
    assert [info.id for info in store.sessions()] == [session]
    assert [path.name for path in (tmp_path / "s").iterdir()] == [session]
