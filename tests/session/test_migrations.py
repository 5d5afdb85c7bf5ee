"""Files of every older version open, with everything in them, and are then of this version."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.session.older import OLDER, build_older
from tui_app.session import migrations
from tui_app.session.search import search_sessions
from tui_app.session.sqlite_store import SqliteStore

VERSIONS = range(1, len(migrations.MIGRATIONS))


def schema(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(name, "".join(sql.split())) for name, sql in rows}


def test_there_is_a_fixture_for_every_version() -> None:
    """Whoever adds a migration adds the schema that it starts from."""
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
    """The screen's own connection changes nothing; the engine's does."""
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
        patched.setattr("tui_app.session.sqlite_store.sqlite3.connect", small)
        with pytest.raises(sqlite3.DatabaseError, match="The disk is full"):
            SqliteStore(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == version
    store = SqliteStore(path)
    for session, events in written.items():
        assert [str(record.to_json()) for record, _ in store.records(session)] == events
    store.close()
