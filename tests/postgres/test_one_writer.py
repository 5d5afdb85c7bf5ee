"""One writer per session, through crashes, errors and restarts of machines, connections and servers."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.postgres.conftest import Writer
from tests.servers.postgres import Cluster
from tui_app.context.storage_errors import StorageError
from tui_app.events import Notice, SessionStart, UserMessage
from tui_app.session.lock import Overtaken, SessionLocked
from tui_app.session.stores import postgres_store as writing
from tui_app.session.stores.postgres_follower import PostgresFollower
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres

START = SessionStart(cwd="/tmp", model="a:b")
NOWHERE = Path("/nonexistent/writer.lock")
LIMIT_S = 20.0
RACER = """
import sys
from pathlib import Path
from tui_app.events import UserMessage
from tui_app.session.lock import Overtaken, SessionLocked
from tui_app.session.stores.database import SessionServer
from tui_app.session.stores.database import open_store
store = open_store(SessionServer(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    lock = store.lock(sys.argv[2], Path("/nonexistent"))
except SessionLocked as locked:
    print("refused", flush=True)
else:
    print("held", flush=True)
    number = 0
    while sys.argv[3] == "write":
        number += 1
        store.append(sys.argv[2], UserMessage(text=str(number)), None, time=2.0)
        print(number, flush=True)
sys.stdin.read()
"""
Opened = Callable[..., PostgresStore]


def said(store: PostgresStore, session: str) -> list[str]:
    return [record.data.text for record, _ in store.records(session) if isinstance(record.data, UserMessage)]


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_of_processes_that_race_for_a_session_one_gets_it(
    store: PostgresStore, server: SessionServer, run_python: Writer
) -> None:
    session = store.create(START, time=1.0)
    racers = [run_python(RACER, server.url, session, "hold") for _ in range(4)]
    assert [line(racer) for racer in racers] == ["ready"] * 4
    for racer in racers:
        tell(racer)
    assert sorted(line(racer) for racer in racers) == ["held", "refused", "refused", "refused"]


def test_a_killed_writer_frees_the_session_and_loses_nothing_it_was_told_is_kept(
    store: PostgresStore, server: SessionServer, run_python: Writer
) -> None:
    session = store.create(START, time=1.0)
    writer = run_python(RACER, server.url, session, "write")
    assert line(writer) == "ready"
    tell(writer)
    assert line(writer) == "held"
    acknowledged = [line(writer) for _ in range(30)]
    with pytest.raises(SessionLocked, match="another window, on "):
        store.lock(session, NOWHERE)
    writer.send_signal(signal.SIGKILL)
    assert writer.stdout is not None
    acknowledged += writer.stdout.read().split()
    follower = PostgresFollower(server, session)
    while follower.holder():
        follower.wait(0.05)
    follower.close()
    lock = store.lock(session, NOWHERE)
    kept = said(store, session)
    assert kept[: len(acknowledged)] == acknowledged == [str(n + 1) for n in range(len(acknowledged))]
    assert len(kept) <= len(acknowledged) + 1
    store.append(session, UserMessage(text="mine now"), None, time=3.0)
    assert [head.seq for head in store.heads(session)] == list(range(1, len(kept) + 3))
    lock.release()


def test_writing_goes_on_by_itself_after_the_connection_was_cut(
    store: PostgresStore, server: SessionServer, postgres: Cluster, opened: Opened
) -> None:
    session = store.create(START, time=1.0)
    lock = store.lock(session, NOWHERE)
    store.append(session, UserMessage(text="before"), None, time=2.0)
    assert postgres.cut(server.url) == 1
    store.append(session, UserMessage(text="after"), None, time=3.0)
    assert said(store, session) == ["before", "after"]
    with pytest.raises(SessionLocked):
        opened().lock(session, NOWHERE)
    lock.release()
    opened().lock(session, NOWHERE).release()


def test_a_connection_cut_in_the_middle_of_a_transaction_leaves_all_or_nothing(
    store: PostgresStore, server: SessionServer, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.create(START, time=1.0)
    store.lock(session, NOWHERE)
    real, cuts = writing.notify_followers, []

    def cut_once(db: object, session: str) -> None:
        if not cuts:
            cuts.append(postgres.cut(server.url))
        real(db, session)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "notify_followers", cut_once)
    records = store.append_many(session, [(UserMessage(text=text), None, 2.0) for text in "ab"])
    assert cuts == [1]
    assert [record.seq for record in records] == [2, 3]
    assert said(store, session) == ["a", "b"]


def test_an_answer_lost_with_the_connection_is_not_written_twice(
    store: PostgresStore, server: SessionServer, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.create(START, time=1.0)
    store.lock(session, NOWHERE)
    real, lost = psycopg.Connection.transaction, []

    class Losing:
        """Commits, then loses the connection before confirming."""

        def __init__(self, db: "psycopg.Connection[object]") -> None:
            self._db, self._real = db, real(db)

        def __enter__(self) -> None:
            self._real.__enter__()

        def __exit__(self, *error: object) -> None:
            self._real.__exit__(*error)  # type: ignore[arg-type]
            if not lost:
                lost.append(postgres.cut(server.url))
                self._db.execute("SELECT 1")

    monkeypatch.setattr(psycopg.Connection, "transaction", lambda db: Losing(db))  # noqa: PLW0108 - a class would be no method
    record = store.append(session, UserMessage(text="once"), None, time=2.0)
    assert (record.seq, lost) == (2, [1])
    store.append(session, UserMessage(text="twice"), None, time=3.0)
    assert said(store, session) == ["once", "twice"]


def test_a_restarted_server_is_found_again(
    store: PostgresStore, server: SessionServer, postgres: Cluster, opened: Opened
) -> None:
    reader = opened(read_only=True)
    session = store.create(START, time=1.0)
    lock = store.lock(session, NOWHERE)
    follower = PostgresFollower(server, session)
    store.append(session, UserMessage(text="before"), None, time=2.0)
    for how in (signal.SIGINT, signal.SIGQUIT):
        postgres.stop(how)
        postgres.start()
        store.append(session, UserMessage(text=how.name), None, time=3.0)
        assert reader.info(session).events == len(said(store, session)) + 1
    assert said(store, session) == ["before", "SIGINT", "SIGQUIT"]
    while not follower.wait(0.1):
        pass
    assert "another window" in follower.holder()
    follower.close()
    lock.release()


def test_while_the_server_is_away_nothing_is_written_and_everybody_is_told(
    store: PostgresStore, server: SessionServer, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_app.session.stores.postgres_store._PATIENCE_S", 0.2)
    session = store.create(START, time=1.0)
    store.lock(session, NOWHERE)
    postgres.stop()
    try:
        for _ in range(2):
            with pytest.raises(StorageError, match="cannot be reached") as told:
                store.append(session, UserMessage(text="lost"), None, time=2.0)
            assert server.shown in str(told.value)
            assert "tide-table" not in str(told.value)
        with pytest.raises(StorageError, match="cannot be reached"):
            store.sessions()
        with pytest.raises(StorageError, match="cannot be reached") as told:
            PostgresStore(server)
        assert "accepting" not in str(told.value)
    finally:
        postgres.start()
    assert store.append(session, UserMessage(text="found"), None, time=3.0).seq == 2
    assert said(store, session) == ["found"]


def test_whoever_was_overtaken_while_away_writes_no_more(
    store: PostgresStore, server: SessionServer, postgres: Cluster, opened: Opened
) -> None:
    session = store.create(START, time=1.0)
    lock = store.lock(session, NOWHERE)
    postgres.cut(server.url)
    other = opened()
    theirs = other.lock(session, NOWHERE)
    other.append(session, UserMessage(text="theirs"), None, time=2.0)
    for released in (False, True):
        if released:
            theirs.release()
        with pytest.raises(Overtaken, match="has been written by another window, on"):
            store.append(session, UserMessage(text="mine"), None, time=3.0)
    assert said(other, session) == ["theirs"]
    lock.release()
    opened().lock(session, NOWHERE).release()


def test_a_lock_that_only_a_dead_connection_of_ours_holds_is_taken_back(
    store: PostgresStore, opened: Opened
) -> None:
    session = store.create(START, time=1.0)
    store.lock(session, NOWHERE)
    ghost = store._wire.db
    store._wire.db = opened()._wire.db
    try:
        assert store.append(session, UserMessage(text="still mine"), None, time=2.0).seq == 2
    finally:
        ghost.close()


def test_an_epoch_that_has_passed_fences_a_writer_whose_lock_nobody_saw_go(
    store: PostgresStore, server: SessionServer
) -> None:
    session = store.create(START, time=1.0)
    store.lock(session, NOWHERE)
    with psycopg.connect(server.url) as db:
        db.execute("UPDATE plimsoll.sessions SET epoch = epoch + 1, writer = 'somebody'")
    with pytest.raises(Overtaken, match="by somebody while"):
        store.append(session, Notice(text="x"), None, time=2.0)


def test_what_is_written_besides_overtakes_nobody(store: PostgresStore, opened: Opened) -> None:
    session, besides = store.create(START, time=1.0), opened()
    lock = store.lock(session, NOWHERE)
    with pytest.raises(SessionLocked, match="another window"):
        besides.append(session, Notice(text="a word from elsewhere"), None, time=2.0)
    store.append(session, UserMessage(text="still ours"), None, time=3.0)
    lock.release()
    besides.append(session, Notice(text="now there is room"), None, time=4.0)
    again = store.lock(session, NOWHERE)
    store.append(session, UserMessage(text="and on"), None, time=5.0)
    again.release()
    assert said(store, session) == ["still ours", "and on"]
