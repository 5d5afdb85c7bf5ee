"""The schema on the server: created once, by the first client, and never by read-only users."""

import subprocess
import traceback
from collections.abc import Callable

import psycopg
import pytest

from tests.postgres.conftest import Writer
from tests.servers.postgres import Cluster
from tui_app.context.storage_errors import StorageError
from tui_app.events import SessionStart, UserMessage
from tui_app.session.search import search_sessions
from tui_app.session.stores import postgres_server as schema
from tui_app.session.stores.database import log_exists
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres

START = SessionStart(cwd="/tmp", model="a:b")
BEGINNER = """
import sys
from tui_app.events import SessionStart
from tui_app.session.stores.database import SessionServer
from tui_app.session.stores.database import open_store
import tui_app.session.stores.postgres_store
print("ready", flush=True)
sys.stdin.readline()
store = open_store(SessionServer(sys.argv[1]))
print(store.create(SessionStart(cwd="/", model="a:b"), time=1.0), flush=True)
"""


def test_processes_that_start_at_once_make_it_once(server: SessionServer, run_python: Writer) -> None:
    starting: list[subprocess.Popen[str]] = [run_python(BEGINNER, server.url) for _ in range(5)]
    for process in starting:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    answers = []
    for process in starting:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in starting:
        assert process.stdout is not None
        answers.append(process.stdout.readline().strip())
    store = PostgresStore(server, read_only=True)
    assert sorted(info.id for info in store.sessions()) == sorted(answers)
    store.close()


def test_a_migration_is_whole_or_not_at_all(server: SessionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (*schema.MIGRATIONS, ("CREATE TABLE plimsoll.more (x integer)", "SELECT 1 / 0"))
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    with pytest.raises(StorageError, match="division by zero"):
        PostgresStore(server)
    assert not log_exists(server)
    monkeypatch.setattr(schema, "MIGRATIONS", (*steps[:-1], ("CREATE TABLE plimsoll.more (x integer)",)))
    PostgresStore(server).close()
    with psycopg.connect(server.url) as db:
        assert db.execute("SELECT number FROM plimsoll.version").fetchall() == [(len(steps),)]
        assert db.execute("SELECT count(*) FROM plimsoll.more").fetchone() == (0,)


def test_an_older_schema_is_brought_up_to_date_with_what_it_holds(
    server: SessionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = PostgresStore(server)
    session = first.create(START, time=1.0)
    step = ("ALTER TABLE plimsoll.sessions ADD COLUMN extra text",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    second = PostgresStore(server)
    assert [info.id for info in second.sessions()] == [session]
    first.close()
    second.close()


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_schema_is_left_alone(server: SessionServer, read_only: bool) -> None:
    PostgresStore(server).close()
    with psycopg.connect(server.url) as db:
        db.execute("UPDATE plimsoll.version SET number = 99")
    with pytest.raises(StorageError, match="have schema 99, this program knows"):
        PostgresStore(server, read_only=read_only)


def test_a_reader_makes_nothing(server: SessionServer) -> None:
    PostgresStore(server, read_only=True).close()
    assert not log_exists(server)
    with psycopg.connect(server.url) as db:
        assert db.execute("SELECT to_regnamespace('plimsoll')").fetchone() == (None,)


def test_rights_that_are_missing_are_named(server: SessionServer, postgres: Cluster) -> None:
    name = server.url.rpartition("/")[2]
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("DROP ROLE IF EXISTS deckhand")
        db.execute("CREATE ROLE deckhand LOGIN PASSWORD 'hidden-word'")
    guest = SessionServer(postgres.url(name, user="deckhand", password="hidden-word"))
    with pytest.raises(StorageError, match=r"we may not do this: permission denied .*owner must grant"):
        PostgresStore(guest)
    with pytest.raises(StorageError, match=r"cannot be reached: .*password authentication failed") as told:
        PostgresStore(SessionServer(postgres.url(name, password="wrong-password")))
    assert "wrong-password" not in str(told.value)


def test_a_database_that_cannot_hold_every_character_is_refused(server: SessionServer) -> None:
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    url = server.url.rpartition("/")[0] + "/latin"
    with pytest.raises(StorageError, match="has the encoding LATIN1"):
        PostgresStore(SessionServer(url))
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("DROP DATABASE latin WITH (FORCE)")


Bad = Callable[[str], str]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda url: url.replace("tide-table", "tide%zztable"),
        lambda url: f"{url}?sslmode=nonsense&password=other-secret-99",
        lambda url: f"{url}?unknown=other-secret-99",
        lambda url: url.replace("127.0.0.1", "127.0.0.1:x"),
    ],
)
def test_an_address_that_is_wrong_shows_no_password(server: SessionServer, spoil: Bad) -> None:
    with pytest.raises(StorageError) as told:
        PostgresStore(SessionServer(spoil(server.url)))
    shown = f"{''.join(traceback.format_exception(told.value))} {SessionServer(spoil(server.url))!r}"
    assert "4711" not in shown
    assert "other-secret" not in shown


def test_an_older_index_is_cut_anew(server: SessionServer) -> None:
    store = PostgresStore(server)
    session = store.create(START, time=1.0)
    store.append(session, UserMessage(text="把潮汐服务部署到生产环境"), None, time=2.0)
    store.close()
    with psycopg.connect(server.url, autocommit=True) as db:
        old = "'把潮汐服务部署到生产环境':1"
        db.execute("UPDATE plimsoll.events SET words = %s::tsvector WHERE words IS NOT NULL", (old,))
        db.execute("UPDATE plimsoll.version SET number = 5")
    assert not search_sessions(server, "部署")
    PostgresStore(server).close()
    assert [found.seq for found in search_sessions(server, "部署")] == [2]
