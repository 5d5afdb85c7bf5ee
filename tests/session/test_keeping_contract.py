"""Pruning, for every store of sessions: when a session was last used, its size, and its writer."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.session.test_store_contract import OPEN, database, opened, store
from tui_app.events import MemoryConsolidated, MemoryPruned, SessionStart, UserMessage
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session, sizes_of
from tui_app.session.stores.database import Database, open_store
from tui_app.session.stores.store import SessionNotFound, SessionStore
from tui_app.session.workspace import SessionFolder

__all__ = ["database", "opened", "store"]
START = SessionStart(cwd="/tmp", model="a:b")


def test_sizes_are_those_of_log_and_files(store: SessionStore, tmp_path: Path) -> None:
    ids = [store.create(START, time=1.0) for _ in range(2)]
    store.append(ids[1], UserMessage(text="x" * 5_000), '{"m": "' + "ü" * 1_000 + '"}', time=2.0)
    folder = tmp_path / "sessions" / ids[0] / "tool_outputs"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("y" * 9_000)
    sizes = sizes_of(store, tmp_path / "sessions")
    assert 9_000 < sizes[ids[0]] < 9_500
    assert 7_000 < sizes[ids[1]] < 7_600, "bytes, not characters"


def test_being_read_for_memory_is_no_use_of_a_session(store: SessionStore) -> None:
    session = store.create(START, time=1.0)
    store.append(session, UserMessage(text="ahoy"), None, time=2.0)
    store.append(session, MemoryConsolidated(outcome="success", performed_by="extraction"), None, time=900.0)
    store.append(session, MemoryPruned(entry=1, text="x", by="person"), None, time=901.0)
    assert store.info(session).updated == 2.0
    assert store.sessions()[0].updated == 2.0


def test_whoever_writes_a_session_is_named(opened: OPEN, tmp_path: Path) -> None:
    ours, theirs = opened(), opened()
    session, file = ours.create(START, time=1.0), tmp_path / "lock"
    assert theirs.holder(session, file) == ""
    lock = ours.lock(session, file)
    assert theirs.holder(session, file).startswith("another window")
    lock.release()
    assert theirs.holder(session, file) == ""


def test_what_was_used_since_it_was_looked_at_is_not_deleted(
    store: SessionStore, database: Database, tmp_path: Path
) -> None:
    session = store.create(START, time=1.0)
    seen = store.info(session).updated
    store.append(session, UserMessage(text="still wanted"), None, time=2.0)
    with pytest.raises(SessionLocked):
        delete_session(database, tmp_path / "sessions", session, last_used=seen)
    assert store.info(session).updated == 2.0
    delete_session(database, tmp_path / "sessions", session, last_used=2.0)
    with pytest.raises(SessionNotFound):
        store.info(session)


def test_what_is_written_is_not_deleted(store: SessionStore, database: Database, tmp_path: Path) -> None:
    session = store.create(START, time=1.0)
    folder = SessionFolder(tmp_path / "sessions" / session)
    with closing(open_store(database)) as other:
        lock = other.lock(session, folder.lock_file)
        with pytest.raises(SessionLocked):
            delete_session(database, tmp_path / "sessions", session, last_used=1.0)
        lock.release()
    assert store.info(session).id == session
