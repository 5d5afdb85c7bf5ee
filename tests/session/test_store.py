"""The session database: durable, atomic, and shared between processes.

What all stores have in common is tested in ``test_store_contract.py``.
"""

import contextlib
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import SYNCHRONOUS
from tests.session.older import OLDER, build_older
from tui_app.context.storage_errors import StorageError
from tui_app.events import Notice, SessionStart, SystemMessage, UserMessage
from tui_app.session.search import search_sessions
from tui_app.session.stores import migrations, sqlite_connection
from tui_app.session.stores.sql_store import Db
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionDeleted

START = SessionStart(cwd="/tmp", model="a:b")
WRITER = """
import sys
from pathlib import Path
from tui_app.events import SessionStart, UserMessage
from tui_app.session.stores.sqlite_store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
for number in range(40):
    store.append(session, UserMessage(text=f"{sys.argv[2]} {number}"), None, time=2.0)
print(session)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close()


def ask(path: Path, query: str) -> object:
    with sqlite3.connect(path) as db:
        row = db.execute(query).fetchone()
    db.close()
    return row[0]


def test_programs_that_make_the_same_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    with ThreadPoolExecutor(max_workers=8) as starts:
        for number in range(40):
            together = threading.Barrier(8)

            def start(path: Path, together: threading.Barrier) -> None:
                together.wait()
                SqliteStore(path).close()

            made = [starts.submit(start, tmp_path / str(number) / "sessions.db", together) for _ in range(8)]
            for each in made:
                each.result()


def test_commits_survive_a_power_cut_and_readers_never_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "SYNCHRONOUS", SYNCHRONOUS)
    with closing(SqliteStore(path)) as store:
        assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert ask(path, "PRAGMA journal_mode") == "wal"
    assert ask(path, "PRAGMA user_version") == len(migrations.MIGRATIONS)


def test_only_the_owner_may_look(store: SqliteStore, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    store.create(START, time=1.0)
    for name in ("sessions.db-wal", "sessions.db-shm"):
        assert stat.S_IMODE(path.with_name(name).stat().st_mode) == 0o600


def test_reader_sees_what_is_committed_while_another_writes(store: SqliteStore, path: Path) -> None:
    session = store.create(START, time=1.0)
    reader = SqliteStore(path, read_only=True)

    def write(db: Db) -> None:
        store._write(db, session, [(UserMessage(text="not yet"), None, 2.0)])
        assert [record.seq for record, _ in reader.records(session)] == [1]

    store._change(write)
    assert [record.seq for record, _ in reader.records(session)] == [1, 2]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.append(session, UserMessage(text="no"), None, time=3.0)
    reader.close()


def test_two_processes_write_different_sessions(store: SqliteStore, path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "ab"]
    sessions = [process.communicate(timeout=60)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    for name, session in zip("ab", sessions, strict=True):
        texts = [r.data.text for r, _ in store.records(session) if isinstance(r.data, UserMessage)]
        assert texts == [f"{name} {number}" for number in range(40)]


def test_title_is_the_first_prompt_unless_there_is_one(store: SqliteStore) -> None:
    session = store.create(START, time=1.0)
    store.append(session, SystemMessage(text="be brief"), None, time=2.0)
    store.append(session, UserMessage(text="\n  Why is the sea salty?\nTell me."), None, time=2.0)
    store.append(session, UserMessage(text="And the sky?"), None, time=3.0)
    assert store.info(session).title == "Why is the sea salty?"
    store.set_title(session, "Salt")
    assert store.info(session).title == "Salt"
    imported = store.create(SessionStart(cwd="/", model="", title="From elsewhere"), time=1.0)
    store.append(imported, UserMessage(text="Hello"), None, time=2.0)
    assert store.info(imported).title == "From elsewhere"


def test_nothing_is_written_for_a_session_that_is_gone(store: SqliteStore) -> None:
    """Otherwise the events could never be read again."""
    session = store.create(START, time=1.0)
    store.delete(session)
    with pytest.raises(SessionDeleted, match=f"{session} was deleted.*/new"):
        store.append(session, UserMessage(text="lost?"), None, time=2.0)
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        store._db.execute(
            "INSERT INTO events VALUES (?, 1, 'session.end', 1.0, '{}', '{}', NULL, NULL)", (session,)
        )
    assert ask(store.path, "SELECT COUNT(*) FROM events") == 0


def test_file_with_events_of_a_missing_session_still_opens(store: SqliteStore, path: Path) -> None:
    kept, gone = store.create(START, time=1.0), store.create(START, time=1.0)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM sessions WHERE id = ?", (gone,))
    db.close()
    again = SqliteStore(path)
    again.append(kept, UserMessage(text="x"), None, time=2.0)
    assert [info.id for info in again.sessions()] == [kept]
    assert len(list(again.records(gone))) == 1
    again.close()


def test_newer_file_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(sqlite3.DatabaseError, match="schema 99"):
        SqliteStore(path)
    assert ask(path, "PRAGMA user_version") == 99


@pytest.mark.parametrize("read_only", [False, True])
def test_file_that_is_no_database(path: Path, read_only: bool) -> None:
    letter = "This is a letter, not a database. " * 50
    path.parent.mkdir(parents=True)
    path.write_text(letter)
    with pytest.raises(StorageError, match="file is not a database") as caught:
        SqliteStore(path, read_only=read_only)
    assert str(path) in caught.value.message
    assert path.read_text() == letter
    assert sorted(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_database_of_another_program(path: Path, read_only: bool, version: int) -> None:
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE recipes (x)")
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(StorageError, match="Not a readable Plimsoll database") as caught:
        SqliteStore(path, read_only=read_only)
    assert str(path) in caught.value.message
    assert ask(path, "SELECT GROUP_CONCAT(name) FROM sqlite_master") == "recipes"
    assert ask(path, "PRAGMA journal_mode") == "delete"


def test_older_file_is_brought_up_to_date(path: Path) -> None:
    build_older(path, 1, sessions=1)
    store = SqliteStore(path)
    assert [seq for seq, _ in store.matching("00000000", ["albatross"])] == [5]
    store.close()


def test_failed_migration_leaves_the_old_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).close()
    before = len(migrations.MIGRATIONS)
    broken = (*migrations.MIGRATIONS, ("CREATE TABLE extra (x)", "NONSENSE"))
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", broken)
        with pytest.raises(sqlite3.OperationalError):
            SqliteStore(path)
    assert ask(path, "PRAGMA user_version") == before
    assert ask(path, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'extra'") == 0


def test_migration_that_fills_the_disk_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself may roll back then, and a second rollback must not hide the cause."""
    too_much = ("CREATE TABLE big (x)", "INSERT INTO big VALUES (zeroblob(1000000))")
    monkeypatch.setattr(migrations, "MIGRATIONS", (too_much,))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute("PRAGMA max_page_count = 10")
        with pytest.raises(sqlite3.OperationalError, match="full") as caught:
            migrations.migrate(db)
        assert caught.value.sqlite_errorcode == sqlite3.SQLITE_FULL
        assert not db.in_transaction


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_no_file_may_be_opened_any_more(store: SqliteStore, path: Path, spare: int) -> None:
    """The error must not blame the disk or the database."""
    store.create(START, time=1.0)
    store.close()
    held: list[int] = []
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 40, limits[1]))
    try:
        with contextlib.suppress(OSError):
            held.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(200))
        for _ in range(spare):
            os.close(held.pop())
        with pytest.raises(StorageError, match=r"Too many files are open.*is kept"):
            SqliteStore(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for each in held:
            os.close(each)


def test_deleting_leaves_nothing_behind(store: SqliteStore) -> None:
    kept, gone = store.create(START, time=1.0), store.create(START, time=1.0)
    for session in (kept, gone):
        store.append(session, UserMessage(text="the albatross"), None, time=2.0)
    store.delete(gone)
    assert [info.id for info in store.sessions()] == [kept]
    assert list(store.records(gone)) == []
    assert store._db.execute("SELECT COUNT(*) FROM said WHERE said MATCH 'albatross'").fetchone()[0] == 1


def test_live_events_are_none_of_the_logs_business() -> None:
    assert Notice.STORED is False


def test_appending_does_not_slow_down(store: SqliteStore) -> None:
    """The next number is found through an index, not by scanning the log."""
    session = store.create(START, time=1.0)
    plan = store._db.execute(
        "EXPLAIN QUERY PLAN SELECT MAX(seq) FROM events WHERE session = ?", (session,)
    ).fetchall()
    assert "SEARCH" in plan[0][3]
    assert time.time() > store.info(session).created


# Files of every older version open with all their content, and are then at this version.


VERSIONS = range(1, len(migrations.MIGRATIONS))


def schema(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(name, "".join(sql.split())) for name, sql in rows}


def test_there_is_a_fixture_for_every_version() -> None:
    """Anyone adding a migration must add the schema it starts from."""
    assert len(OLDER) >= len(migrations.MIGRATIONS) - 1


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_lost_on_the_way(tmp_path: Path, version: int) -> None:
    path = tmp_path / "sessions.db"
    written = build_older(path, version)
    SqliteStore(tmp_path / "new.db").close()
    store = SqliteStore(path)
    assert {info.id for info in store.sessions()} == set(written)
    for session, events in written.items():
        rows = list(store.records(session))
        assert [str(record.to_json()) for record, _ in rows] == events
        assert {message for _, message in rows} == {'{"m": 1}'}
        assert store.info(session).messages == 5, "each result is a message, as on the context screen"
        assert store.info(session).tokens == 812
        assert len(store.matching(session, ["albatross"])) == 1
    store.close()
    assert len(search_sessions(path, "low water")) == len(written)
    assert schema(path) == schema(tmp_path / "new.db")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(migrations.MIGRATIONS)
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reader_does_not_need_the_newest_version(tmp_path: Path, version: int) -> None:
    """The screen's own connection must not migrate; the engine's does."""
    path = tmp_path / "sessions.db"
    written = build_older(path, version)
    store = SqliteStore(path, read_only=True)
    for session, events in written.items():
        assert [str(record.to_json()) for record, _ in store.records(session)] == events
    store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == version
    assert len(search_sessions(path, "low water")) == len(written)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_disk_that_fills_up_keeps_the_older_version_whole(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.db"
    written = build_older(path, version)
    big = ("CREATE TABLE big (x)", "INSERT INTO big VALUES (zeroblob(4000000))")
    too_much = (*migrations.MIGRATIONS[version], *big)
    steps = (*migrations.MIGRATIONS[:version], too_much, *migrations.MIGRATIONS[version + 1 :])
    connect = sqlite3.connect

    def small(*args: object, **more: object) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **more)  # type: ignore[call-overload]
        db.execute("PRAGMA max_page_count = 200")
        return db

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", steps)
        patched.setattr("tui_app.session.stores.sqlite_store.sqlite3.connect", small)
        with pytest.raises(sqlite3.DatabaseError, match="The disk is full"):
            SqliteStore(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == version
    store = SqliteStore(path)
    for session, events in written.items():
        assert [str(record.to_json()) for record, _ in store.records(session)] == events
    store.close()
