"""Deleting a session: all of it, and never one that somebody writes."""

from pathlib import Path

import pytest

from tui_app.events import SessionStart
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.management import delete_session
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder


def begun(path: Path) -> tuple[Path, str, SessionFolder]:
    database = path / "sessions.db"
    store = SqliteStore(database)
    session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
    store.close()
    folder = SessionFolder(path / session)
    folder.write_index([])
    return database, session, folder


def left(database: Path) -> list[str]:
    store = SqliteStore(database)
    try:
        return [info.id for info in store.sessions()]
    finally:
        store.close()


def test_log_and_folder_go(tmp_path: Path) -> None:
    database, session, folder = begun(tmp_path)
    _, other, others = begun(tmp_path)
    delete_session(database, tmp_path, session)
    assert left(database) == [other]
    assert not folder.path.exists()
    assert others.path.exists()


def test_session_that_somebody_writes_stays(tmp_path: Path) -> None:
    database, session, folder = begun(tmp_path)
    with WriterLock(folder.lock_file), pytest.raises(SessionLocked):
        delete_session(database, tmp_path, session)
    assert left(database) == [session]
    assert folder.workspace_file.exists()
    delete_session(database, tmp_path, session)
    assert left(database) == []
