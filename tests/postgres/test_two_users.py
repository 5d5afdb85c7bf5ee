"""Two users of one database who must not see each other's sessions, set up as in the manual."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.postgres.conftest import ROOT, Writer
from tests.servers.postgres import PASSWORD, USER, Cluster
from tui_app.events import SessionStart, UserMessage
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session
from tui_app.session.search import search_sessions
from tui_app.session.stores.database import follow
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.session.stores.store import SessionDeleted, SessionNotFound
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres
WORD = "hidden-word"


@pytest.fixture
def users(server: SessionServer, postgres: Cluster) -> Iterator[tuple[SessionServer, SessionServer]]:
    PostgresStore(server).close()
    page = (ROOT / "docs/shared-sessions.md").read_text("utf-8")
    (recipe,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    name, names = server.url.rpartition("/")[2], ("bosun", "purser")
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(recipe.encode())
        for user in names:
            db.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{WORD}'".encode())
            db.execute(f"GRANT USAGE ON SCHEMA plimsoll TO {user}".encode())
            rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA plimsoll"
            db.execute(f"GRANT {rights} TO {user}".encode())
    first, second = (SessionServer(postgres.url(name, user=user, password=WORD)) for user in names)
    yield first, second
    with psycopg.connect(server.url, autocommit=True) as db:
        for user in names:
            db.execute(f"DROP OWNED BY {user}; DROP ROLE {user}".encode())


def test_nothing_of_the_other_is_seen(users: tuple[SessionServer, SessionServer], tmp_path: Path) -> None:
    mine, theirs = users
    with closing(PostgresStore(mine)) as ours, closing(PostgresStore(theirs)) as others:
        session = ours.create(SessionStart(cwd="/p", model="a:b", title="Albatross"), time=1.0)
        other = others.create(SessionStart(cwd="/p", model="a:b", title="Gannet"), time=1.0)
        ours.append(session, UserMessage(text="an albatross over the pier"), None, time=2.0)
        others.append(other, UserMessage(text="a gannet over the pier"), None, time=2.0)
        assert [info.id for info in ours.sessions()] == [session]
        assert [info.id for info in others.sessions()] == [other]
        assert (list(others.records(session)), list(others.heads(session)), others.sizes().keys()) == (
            [],
            [],
            {other},
        )
        assert [found.session for found in search_sessions(theirs, "pier")] == [other]
        assert search_sessions(theirs, "albatross") == []
        assert [row[0] for row in others.prompts("/p", 9, 99)] == [other]
        with pytest.raises(SessionNotFound):
            others.info(session)
        with pytest.raises(SessionDeleted):
            others.append(session, UserMessage(text="mine?"), None, time=3.0)
        with pytest.raises((SessionDeleted, SessionLocked)):
            others.lock(session, tmp_path / "lock")
        with pytest.raises((SessionDeleted, SessionNotFound)):
            delete_session(theirs, tmp_path, session)
        assert len(list(ours.records(session))) == 2


def test_nobody_hears_of_a_session_that_is_not_theirs(users: tuple[SessionServer, SessionServer]) -> None:
    mine, theirs = users
    with closing(PostgresStore(mine)) as ours, closing(PostgresStore(theirs)) as others:
        session = ours.create(SessionStart(cwd="/p", model="a:b", title="Albatross"), time=1.0)
        other = others.create(SessionStart(cwd="/p", model="a:b", title="Gannet"), time=1.0)
        with psycopg.connect(theirs.url, autocommit=True) as listening:
            listening.execute("LISTEN plimsoll")
            with closing(follow(theirs, other, Path("/nowhere"))) as follower:
                ours.append(session, UserMessage(text="an albatross"), None, time=time.time())
                assert follower.wait(0.3) is False
                others.append(other, UserMessage(text="a gannet"), None, time=time.time())
                assert follower.wait(20) is True
            assert list(listening.notifies(timeout=0.1)) == []


WRITER = """
import sys, time
from contextlib import closing
from pathlib import Path
from tui_app.events import SessionStart, UserMessage
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer
with closing(PostgresStore(SessionServer(sys.argv[1]))) as store:
    session = store.create(SessionStart(cwd="/p", model="a:b", title="T"), time=1.0)
    lock = store.lock(session, Path("/nowhere"))
    for number in range(5):
        store.append(session, UserMessage(text=f"{number}"), None, time=2.0)
    lock.release()
print(session)
"""


def test_who_finds_no_connection_free_waits_for_one(
    users: tuple[SessionServer, SessionServer], run_python: Writer
) -> None:
    """Waits as for a lock: a server has a hundred connections, and there may be more windows."""
    mine, _ = users
    with closing(PostgresStore(mine)) as store:
        store.create(SessionStart(cwd="/p", model="a:b", title="T"), time=1.0)
        # The owner of the roles may restrict them at any time.
        owner = re.sub(r"//[^@]*@", f"//{USER}:{PASSWORD}@", mine.url)
        with psycopg.connect(owner, autocommit=True) as admin:
            admin.execute("ALTER ROLE bosun CONNECTION LIMIT 2")
        running = [run_python(WRITER, mine.url) for _ in range(6)]
        made = [process.communicate(timeout=100)[0].strip() for process in running]
        assert [process.returncode for process in running] == [0] * 6
        assert {info.id for info in store.sessions()} > set(made)


@pytest.mark.parametrize("id", ["/tmp/elsewhere", "../../elsewhere", "..", "", "deadbeef/../..", "DEADBEEF"])
def test_an_id_of_another_machine_that_is_none(server: SessionServer, tmp_path: Path, id: str) -> None:
    """Anyone with write access may store any id there; none becomes a path here."""
    with closing(PostgresStore(server)) as store:
        session = store.create(SessionStart(cwd="/p", model="a:b", title="T"), time=1.0)
        with psycopg.connect(server.url, autocommit=True) as db:
            row = "INSERT INTO plimsoll.sessions (id, title, cwd, model, created, updated)"
            db.execute(f"{row} VALUES (%s, 'x', '/p', 'm', 1, 1)".encode(), (id,))
        assert [info.id for info in store.sessions()] == [session]
        assert store.sizes().keys() == {session}
        with pytest.raises(SessionNotFound):
            store.info(id)
        with pytest.raises(SessionNotFound):
            delete_session(server, tmp_path, id)
        with pytest.raises(SessionNotFound):
            SessionFolder.named(tmp_path, id)
