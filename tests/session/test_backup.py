"""Copying the sessions file while it is in use."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tui_app.events import SessionStart, UserMessage
from tui_app.session.management import BackupRefused, back_up
from tui_app.session.sqlite_store import SqliteStore

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
    with pytest.raises(BackupRefused, match="exists already"):
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
    with pytest.raises((BackupRefused, sqlite3.DatabaseError)):
        back_up(store.path, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
