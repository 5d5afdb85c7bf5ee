"""Keeping less, copies and budgets of sessions that a server keeps."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.cli.test_cli_shared import server
from tests.servers.postgres import PASSWORD, Cluster
from tui_app.events import MemoryConsolidated, SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.postgres_store import PostgresStore
from tui_app.session.sqlite_store import SqliteStore
from tui_app.settings.spec import SessionServer

__all__ = ["server"]
pytestmark = pytest.mark.postgres
DAY_S = 86_400.0


@pytest.fixture
def store(server: SessionServer) -> Iterator[PostgresStore]:
    with closing(PostgresStore(server)) as store:
        yield store


def begin(
    store: PostgresStore | SqliteStore, title: str, days_ago: float, *, said: str = "Hello there"
) -> str:
    moment = time.time() - days_ago * DAY_S
    session = store.create(SessionStart(cwd="/tmp", model="", title=title), time=moment)
    store.append(session, UserMessage(text=said), None, time=moment)
    return session


def ids(store: PostgresStore) -> set[str]:
    return {info.id for info in store.sessions()}


def test_prune_deletes_what_is_over_the_limits_and_keeps_what_is_open(
    plimsoll: Plimsoll, store: PostgresStore, server: SessionServer, plimsoll_home: Path
) -> None:
    old, older, fresh = (begin(store, *each) for each in (("Forty", 40), ("Ninety", 90), ("Fresh", 1)))
    folder = plimsoll_home / "data" / "sessions" / old
    folder.mkdir(parents=True)
    (folder / "plan.md").write_text("x")
    assert plimsoll("config", "set", "retention.days", "30").code == 0
    with closing(PostgresStore(server)) as elsewhere:
        lock = elsewhere.lock(older, Path())
        listed = plimsoll("sessions", "prune", "--dry-run", "--json").json
        assert listed == {
            "deleted": False,
            "sessions": [{"session": old, "reason": "not used for 39 days"}],
            "open": [older],
        }
        unasked = plimsoll("sessions", "prune")
        assert (unasked.code, "--yes" in unasked.err) == (2, True)
        assert len(ids(store)) == 3
        done = plimsoll("sessions", "prune", "--yes", "--json").json
        assert ([row["session"] for row in done["sessions"]], done["open"]) == ([old], [older])
        lock.release()
    assert ids(store) == {fresh, older}
    assert not folder.exists()
    assert plimsoll("sessions", "prune", "--yes").code == 0
    assert ids(store) == {fresh}


def test_prune_by_number_and_size(plimsoll: Plimsoll, store: PostgresStore) -> None:
    kept = [begin(store, "", 9 - number, said="x" * 1_000) for number in range(4)]
    plimsoll("config", "set", "retention.max_sessions", "3")
    due = plimsoll("sessions", "prune", "--dry-run", "--json").json["sessions"]
    assert [row["session"] for row in due] == [kept[0]]
    plimsoll("config", "set", "retention.max_bytes", "4000")
    due = plimsoll("sessions", "prune", "--dry-run", "--json").json["sessions"]
    assert "bytes together" in due[0]["reason"]
    assert {row["session"] for row in due} < set(kept)


def test_prune_without_the_server_says_so(
    plimsoll: Plimsoll, store: PostgresStore, postgres: Cluster
) -> None:
    begin(store, "Old", 90)
    begin(store, "New", 0)
    plimsoll("config", "set", "retention.days", "30")
    postgres.stop()
    try:
        result = plimsoll("sessions", "prune", "--yes")
    finally:
        postgres.start()
    assert result.code == 1
    assert "cannot be reached" in result.err
    assert PASSWORD not in result.err
    assert len(ids(store)) == 2


def test_the_budget_counts_what_the_server_knows(plimsoll: Plimsoll, store: PostgresStore) -> None:
    session = begin(store, "Dear", 0)
    dear = MemoryConsolidated(outcome="success", performed_by="model", input_tokens=9, cost_usd=3.0)
    store.append(session, dear, None, time=time.time())
    plimsoll("config", "set", "budget.session_usd", "2")
    result = plimsoll("run", "more", "--session", session, "--model", "offline:extractive")
    assert result.code == 1
    assert "has cost $3.00 of its budget of $2.00" in result.err


def test_a_copy_is_made_by_the_servers_own_tools(
    plimsoll: Plimsoll, server: SessionServer, project: Path, plimsoll_home: Path
) -> None:
    database = server.url.rpartition("/")[2]
    result = plimsoll("sessions", "backup", "copy of all.db")
    assert result.code == 1
    assert "nothing to copy on this machine" in result.err
    assert f"pg_dump --schema=plimsoll --format=custom '--file=copy of all.dump' {server.shown}" in result.err
    assert server.shown.endswith(f"/{database}")
    assert PASSWORD not in result.err
    assert list(project.glob("*.db")) == []
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    paths.ensure()
    with closing(SqliteStore(paths.database)) as local:
        session = begin(local, "Of this machine", 0)
    made = plimsoll("sessions", "backup", "local.db")
    assert made.code == 0
    assert "Copied 1 session, " in made.out
    assert "are not in it" in made.err
    assert "pg_dump " in made.err
    with closing(SqliteStore(project / "local.db")) as copy:
        assert [info.id for info in copy.sessions()] == [session]
    row = plimsoll("sessions", "backup", "again.db", "--json").json
    assert (row["sessions"], row["server"]) == (1, server.shown)
    assert row["server_backup"].startswith("pg_dump ")
