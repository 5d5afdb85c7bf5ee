"""Pruning: copies, deletion, and which sessions exceed a limit."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tui_app.context.storage_errors import DiskFull, StorageError
from tui_app.events import SessionStart, UserMessage
from tui_app.refusals import Refusal
from tui_app.session.backup import back_up
from tui_app.session.damage import Health, examine
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.management import DAY_S, Limits, delete_session, due_sessions
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionInfo
from tui_app.session.workspace import SessionFolder

# Limits of age, number and size; a wrong clock must not delete anything.


def info(id: str, days_ago: float, now: float = 1_000 * DAY_S) -> SessionInfo:
    updated = now - days_ago * DAY_S
    return SessionInfo(
        id=id, title="", cwd="/", model="", created=0.0, updated=updated, events=2, messages=1, tokens=1
    )


SESSIONS = [info("a", 0), info("b", 10), info("c", 40), info("d", 400)]
SIZES = {"a": 10, "b": 100, "c": 20, "d": 5}
NOW = 1_000 * DAY_S


@pytest.mark.parametrize(
    ("limits", "gone"),
    [
        (Limits(), ""),
        (Limits(days=30), "cd"),
        (Limits(days=500), ""),
        (Limits(max_sessions=3), "d"),
        (Limits(max_sessions=1), "bcd"),
        (Limits(max_bytes=1_000), ""),
        (Limits(max_bytes=115), "cd"),
        (Limits(max_bytes=35), "bcd"),
        (Limits(days=30, max_sessions=1), "bcd"),
    ],
)
def test_limits(limits: Limits, gone: str) -> None:
    found = due_sessions(list(reversed(SESSIONS)), limits, now=NOW, sizes=SIZES)
    assert "".join(sorted(each.info.id for each in found)) == gone
    assert all(each.reason for each in found)
    assert limits.any is (limits != Limits())


@pytest.mark.parametrize("wrong", [-5_000 * DAY_S, 5_000 * DAY_S], ids=["behind", "ahead"])
def test_a_wrong_clock_makes_nothing_old(wrong: float) -> None:
    fresh = SESSIONS[:2]
    assert due_sessions(fresh, Limits(days=30), now=NOW + wrong, sizes={}) == []


# Deleting a session: completely, and never while it is being written.


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


# Backing up the session database while it is in use.


START = SessionStart(cwd="/", model="a:b")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "data" / "sessions.db")
    yield store
    store.close()


def test_copy_while_somebody_writes(store: SqliteStore, tmp_path: Path) -> None:
    session = store.create(START, time=1.0)
    store.append(session, UserMessage(text="the albatross"), None, time=2.0)
    enough = threading.Event()

    def write() -> None:
        with closing(SqliteStore(store.path)) as other:
            number = 0
            while not enough.is_set() or number < 20:
                other.append(session, UserMessage(text=f"more {number}"), None, time=3.0)
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = [back_up(store.path, tmp_path / f"copy{number}.db") for number in range(5)]
    finally:
        enough.set()
        writer.join()
    for each in made:
        assert (each.sessions, stat.S_IMODE(each.path.stat().st_mode)) == (1, 0o600)
        with closing(SqliteStore(each.path)) as copy:
            seqs = [record.seq for record, _ in copy.records(session)]
            assert seqs == list(range(1, len(seqs) + 1))
            assert [seq for seq, _ in copy.matching(session, ["albatross"])] == [2]
    assert not list(tmp_path.glob(".*"))


def test_nothing_is_overwritten(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(Refusal, match="exists already"):
        back_up(store.path, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
    with pytest.raises(OSError, match="No such file"):
        back_up(store.path, tmp_path / "missing" / "copy.db")


def test_a_damaged_file_is_not_copied_as_a_good_one(store: SqliteStore, tmp_path: Path) -> None:
    session = store.create(START, time=1.0)
    for _ in range(40):
        store.append(session, UserMessage(text="x" * 4_000), None, time=2.0)
    store.close()
    raw = bytearray(store.path.read_bytes())
    raw[30 * 4096 : 34 * 4096] = b"\xa5" * (4 * 4096)
    store.path.write_bytes(raw)
    with pytest.raises((Refusal, sqlite3.DatabaseError)):
        back_up(store.path, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_full_disk_gives_back_what_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleting needs no additional page, and no additional file."""
    path, folders = tmp_path / "sessions.db", tmp_path / "sessions"
    with closing(SqliteStore(path)) as store:
        ids = [store.create(SessionStart(cwd="/p", model="a:b", title=f"{n}"), time=1.0) for n in range(3)]
        for session in ids:
            store.append(session, UserMessage(text="tide " * 50_000), None, time=2.0)
    size, connect = path.stat().st_size, sqlite3.connect

    def full(name: str, **more: Any) -> sqlite3.Connection:
        db = connect(name, **more)
        db.set_authorizer(
            lambda action, _first, value, *_: (
                sqlite3.SQLITE_DENY
                if action == sqlite3.SQLITE_PRAGMA and str(value).upper() == "WAL"
                else sqlite3.SQLITE_OK
            )
        )
        return db

    def refused(error: BaseException, _file: Path | None = None) -> StorageError | None:
        return DiskFull("the sessions file") if isinstance(error, sqlite3.Error) else None

    monkeypatch.setattr("tui_app.session.stores.sqlite_store.sqlite3.connect", full)
    monkeypatch.setattr("tui_app.session.management.storage_error", refused)
    delete_session(path, folders, ids[1])
    monkeypatch.undo()
    assert [info.id for info in SqliteStore(path).sessions()] == [ids[2], ids[0]]
    assert path.stat().st_size < 0.8 * size
    assert examine(path, folders) == Health()
