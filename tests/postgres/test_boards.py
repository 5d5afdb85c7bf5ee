"""Boards shared by machines: what each one writes and reads, lost connections, a silent server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers.postgres import PASSWORD, Cluster
from tui_app.context.storage_errors import StorageError
from tui_app.memory.entries import PERSON, Draft, DueSession
from tui_app.memory.store import PostgresBoardStore
from tui_app.session.stores import postgres_server as schema
from tui_app.session.stores.postgres_server import SideLine
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres
RULE = Draft(text="Never touch the legacy importer.", kind="rule", session="s1", seq=2)


def boards_of(server: SessionServer, machine: str, patience_s: float = 30.0) -> PostgresBoardStore:
    return PostgresBoardStore(SideLine(server, patience_s), machine)


def test_what_one_machine_remembers_the_other_one_knows_and_only_the_first_tells(
    server: SessionServer,
) -> None:
    desk, laptop = boards_of(server, "desk"), boards_of(server, "laptop")
    made = desk.add(RULE, "forge.example/ada/ferry", "main", [], 1.0)
    assert laptop.entries(None) == [made]
    assert (len(desk.untold()), laptop.untold()) == (1, [])
    laptop.prune(made.id, PERSON, "forgotten", 2.0)
    assert [change.kind for change in desk.untold()] == ["added"]
    assert [change.kind for change in laptop.untold()] == ["pruned"]
    again = desk.add(RULE, "forge.example/ada/ferry", "main", [], 3.0)
    laptop.add(RULE, "forge.example/ada/ferry", "main", [again.id], 4.0)
    assert [change.kind for change in laptop.untold()] == ["pruned", "pruned", "added"]


def test_a_session_is_read_by_the_machine_it_was_used_on_last(server: SessionServer) -> None:
    desk, laptop = boards_of(server, "desk"), boards_of(server, "laptop")
    desk.request_reading(DueSession(session="s1", repository="r", branch="main", asked=1.0))
    assert ([due.session for due in desk.due_sessions()], laptop.due_sessions()) == (["s1"], [])
    laptop.request_reading(DueSession(session="s1", repository="r", branch="main", asked=2.0))
    assert (desk.due_sessions(), [due.session for due in laptop.due_sessions()]) == ([], ["s1"])
    laptop.mark_read("s1", 9, asked=2.0)
    assert desk.read_until("s1") == 9


def test_an_older_schema_gets_boards_and_keeps_its_sessions(
    server: SessionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older, psycopg.connect(server.url) as db:
        older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        schema.migrate(db, server)
        db.execute(
            "INSERT INTO plimsoll.sessions (id, title, cwd, model, created, updated)"
            " VALUES ('5e55', 'ferries', '/tmp', 'a:b', 1.0, 1.0)"
        )
    boards = boards_of(server, "desk")
    boards.add(RULE, "r", "", [], 1.0)
    store = PostgresStore(server, read_only=True)
    assert [info.id for info in store.sessions()] == ["5e55"]
    store.close()


class _Losing:
    """Loses the response to the first operation."""

    def __init__(self, line: SideLine) -> None:
        self.line, self.times = line, 0

    def ask(self, work: Any) -> Any:
        def twice(db: "psycopg.Connection[Any]") -> Any:
            self.times += 1
            done = work(db)
            if self.times == 1:
                db.close()
                raise psycopg.OperationalError("the answer is lost")
            return done

        return self.line.ask(twice)


def test_an_entry_whose_answer_was_lost_is_not_put_there_twice(server: SessionServer) -> None:
    losing = _Losing(SideLine(server, 30.0))
    made = PostgresBoardStore(losing, "desk").add(RULE, "r", "", [], 1.0)
    assert losing.times == 2
    assert boards_of(server, "desk").entries(None) == [made]


def test_a_server_that_is_away_is_named_without_its_password(
    server: SessionServer, postgres: Cluster
) -> None:
    boards = boards_of(server, "desk")
    assert boards.entries(None) == []
    postgres.stop()
    try:
        with pytest.raises(StorageError, match="cannot be reached") as told:
            boards.entries(None)
        assert PASSWORD not in str(told.value)
    finally:
        postgres.start()
    assert boards.entries(None) == []


@contextmanager
def busy(server: SessionServer) -> Iterator[None]:
    """Make queries for entries wait."""
    with psycopg.connect(server.url) as db:
        db.execute("LOCK TABLE plimsoll.memories IN ACCESS EXCLUSIVE MODE")
        yield


def test_a_server_that_says_nothing_is_waited_for_only_so_long(server: SessionServer) -> None:
    boards_of(server, "desk").entries(None)
    boards = boards_of(server, "desk", patience_s=0.3)
    with busy(server):
        with pytest.raises(StorageError, match=r"has not answered in 0\.3 seconds"):
            boards.add(RULE, "r", "", [], 1.0)
        assert all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())
    assert len(boards_of(server, "desk").entries(None)) <= 1


def test_rights_that_are_missing_are_named(server: SessionServer, postgres: Cluster) -> None:
    PostgresStore(server).close()
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("CREATE ROLE stoker LOGIN PASSWORD 'x'")
        db.execute("GRANT USAGE ON SCHEMA plimsoll TO stoker")
        db.execute("GRANT SELECT ON plimsoll.version TO stoker")
    boards = boards_of(
        SessionServer(postgres.url(Path(server.url).name, user="stoker", password="x")), "desk"
    )
    with pytest.raises(StorageError, match="we may not do this"):
        boards.entries(None)
