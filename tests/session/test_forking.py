"""A new session that begins as another one did."""

from pathlib import Path

import pytest

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    ModelChange,
    SessionEnd,
    SessionRewind,
    SessionStart,
    UserMessage,
)
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.rewind_fork import NotAPrompt, fork_session
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.store import SessionNotFound

NOW = 9_000.0


@pytest.fixture
def store(tmp_path: Path):
    store = SqliteStore(tmp_path / "sessions.db")
    yield store
    store.close()


def told(store: SqliteStore) -> str:
    """Two turns, a compaction, a third prompt that was taken back, another model."""
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
    with pytest.raises(NotAPrompt, match=f"#{at} is no prompt of session {session}"):
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
