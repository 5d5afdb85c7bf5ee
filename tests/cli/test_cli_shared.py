"""Commands on sessions stored on a server, and which parts of its address are never shown."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.servers.postgres import PASSWORD, Cluster
from tui_app.events import MemoryConsolidated, Notice, SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.exports.export import agent_messages
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres


@pytest.fixture
def server(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> SessionServer:
    url = postgres.database()
    monkeypatch.setenv("PLIMSOLL_STORE", url)
    return SessionServer(url)


@pytest.fixture
def imported(server: SessionServer, imported: str) -> str:
    """The imported conversation, stored on the server because its address was set before the import."""
    return imported


def test_a_turn_a_compaction_and_its_undoing(
    plimsoll: Plimsoll, server: SessionServer, plimsoll_home: Path
) -> None:
    assert plimsoll("sessions").err.startswith("There are no sessions yet.")
    assert plimsoll("sessions", "show", "x").code == 1
    lines = plimsoll("run", "when is low water?", "--model", "offline:extractive", "--json").lines
    session = lines[0]["session"]
    assert [line["type"] for line in lines if line["type"] == "turn.end"]
    again = plimsoll("run", "and high water?", "--session", session)
    assert again.code == 0
    assert "15:50" in again.out
    assert not (plimsoll_home / "data" / "sessions.db").exists()
    listed = plimsoll("sessions", "--json").json["sessions"]
    assert [(row["id"], row["title"]) for row in listed] == [(session, "when is low water?")]
    assert plimsoll("stats", session, "--json").json["models"][0]["answers"] >= 2
    assert "low water" in plimsoll("sessions", "show", session).out
    store = PostgresStore(server, read_only=True)
    assert [r.data.text for r, _ in store.records(session) if isinstance(r.data, UserMessage)] == [
        "when is low water?",
        "and high water?",
    ]
    store.close()


def test_an_imported_session_is_compacted_undone_exported_and_forked(
    plimsoll: Plimsoll, server: SessionServer, imported: str
) -> None:
    store = PostgresStore(server, read_only=True)
    before = agent_messages(store, imported)
    total = plimsoll("context", imported, "--json").json["total"]
    done = plimsoll("compact", imported, "--json").json
    assert done["outcome"] == "success"
    assert Path(done["checkpoint_path"]).exists()
    assert plimsoll("context", imported, "--json").json["total"] < total
    assert agent_messages(store, imported) != before
    assert plimsoll("compact", imported, "--undo").code == 0
    assert agent_messages(store, imported) == before
    assert plimsoll("compact", imported, "--redo").code == 0
    assert agent_messages(store, imported) != before
    for format in ("pydantic-ai", "markdown"):
        result = plimsoll("export", imported, "--format", format)
        assert result.code == 0
        assert len(result.out) > 500
        assert PASSWORD not in result.out
    forked = plimsoll("sessions", "fork", imported, "--json").json["session"]
    assert agent_messages(store, forked) == agent_messages(store, imported)
    simulated = plimsoll("simulate", imported, "--window", "32000", "--json")
    assert simulated.code == 0
    assert plimsoll("sessions", "delete", forked, "--yes").code == 0
    assert [info.id for info in store.sessions()] == [imported]
    store.close()


def test_what_is_written_elsewhere_is_neither_compacted_nor_deleted(
    plimsoll: Plimsoll, server: SessionServer, imported: str
) -> None:
    store = PostgresStore(server)
    lock = store.lock(imported, Path())
    for command in (
        ("compact", imported),
        ("run", "x", "--session", imported),
        ("sessions", "delete", imported, "--yes"),
    ):
        result = plimsoll(*command)
        assert result.code == 1
        assert "open in another window, on " in result.err
    assert plimsoll("context", imported).code == 0
    lock.release()
    store.close()
    assert plimsoll("compact", imported).code == 0


def test_the_password_is_nowhere(
    plimsoll: Plimsoll, server: SessionServer, postgres: Cluster, plimsoll_home: Path, project: Path
) -> None:
    config = plimsoll_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    seen = project / "seen"
    config.write_text(f'[[hooks.sessionStart]]\ncommand = ["sh", "-c", "env > {seen}; cat >> {seen}"]\n')
    outputs = [plimsoll("run", f"what is {PASSWORD}?", "--model", "offline:extractive")]
    assert "PLIMSOLL_HOME" in seen.read_text()
    assert "PLIMSOLL_STORE" not in seen.read_text()
    assert PASSWORD not in seen.read_text()
    for command in (
        ("config",),
        ("config", "--json"),
        ("config", "path", "--json"),
        ("doctor",),
        ("doctor", "--json"),
    ):
        outputs.append(plimsoll(*command))
        assert PASSWORD not in outputs[-1].out + outputs[-1].err
    assert server.shown in plimsoll("doctor").out
    assert server.shown in plimsoll("config").out
    postgres.stop()
    try:
        for command in (("sessions",), ("run", "x"), ("doctor",), ("compact", "x")):
            result = plimsoll(*command)
            assert result.code == 1
            assert "cannot be reached" in result.out + result.err
            assert PASSWORD not in result.out + result.err
    finally:
        postgres.start()
    written = [path.read_bytes() for path in plimsoll_home.rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in text for text in written)


@pytest.mark.parametrize("bad", ["mysql://a:secret-word-1@b/c", "postgresql://a:secret word-1@b/c", "x"])
def test_a_wrong_address_is_refused_unseen(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch, plimsoll_home: Path, bad: str
) -> None:
    monkeypatch.setenv("PLIMSOLL_STORE", bad)
    for command in (("sessions",), ("run", "x"), ("config",)):
        result = plimsoll(*command)
        assert result.code == 1
        assert "PLIMSOLL_STORE is (not shown); allowed: postgresql://USER@HOST/DATABASE" in result.err
    monkeypatch.delenv("PLIMSOLL_STORE")
    assert "store is (not shown)" in plimsoll("config", "set", "store", bad).err
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config" / "config.toml").write_text(f"store = {json.dumps(bad)}\n")
    assert "store is (not shown)" in plimsoll("sessions").err


def test_the_address_may_stand_in_the_file(
    plimsoll: Plimsoll, server: SessionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLIMSOLL_STORE")
    assert plimsoll("config", "set", "store", server.url).code == 0
    assert plimsoll("run", "when is low water?", "--model", "offline:extractive").code == 0
    store = PostgresStore(server, read_only=True)
    assert len(store.sessions()) == 1
    store.close()
    assert plimsoll("config", "unset", "store").code == 0
    assert plimsoll("sessions", "--json").json == {"sessions": []}


def test_killed_in_the_middle_of_a_turn(
    plimsoll: Plimsoll, server: SessionServer, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    process = start("run", "when is low water?", "--model", "offline:extractive", "--json")
    assert process.stdout is not None
    acknowledged = [json.loads(process.stdout.readline()) for _ in range(3)]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    session = acknowledged[0]["session"]
    result = plimsoll("run", "go on", "--session", session, "--model", "offline:extractive")
    assert result.code == 0
    store = PostgresStore(server, read_only=True)
    kept = {(record.seq, record.data.TYPE) for record, _ in store.records(session)}
    assert {(line["seq"], line["type"]) for line in acknowledged if line["seq"]} <= kept
    store.close()


def test_the_context_board_is_on_the_server(
    plimsoll: Plimsoll,
    server: SessionServer,
    project: Path,
    plimsoll_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = "Never touch legacy/importer.py."
    (project / ".git").mkdir()
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (project / ".git/config").write_text('[remote "origin"]\n\turl = git@forge.example:ada/ferry.git\n')
    empty = {"board": {"repository": "forge.example/ada/ferry", "branch": "main"}, "entries": []}
    assert plimsoll("memory", "--json").json == empty
    assert plimsoll("run", rule, "--model", "offline:extractive").code == 0
    (session,) = [row["id"] for row in plimsoll("sessions", "--json").json["sessions"]]
    (read,) = plimsoll("memory", "run", session, "--json").json["sessions"]
    assert read["consolidated"]["added"] == 1
    assert f"{session}#2" in plimsoll("memory").out
    assert plimsoll("memory", "edit", "1", "Never touch the old importer.").out == "Added as entry 2.\n"
    assert plimsoll("memory", "add", "Ada reviews every change.").code == 0
    store = PostgresStore(server)
    lock = store.lock(session, Path())
    assert "open in another window, on " in plimsoll("memory", "run", session).err
    assert plimsoll("memory", "forget", "2", "--yes").code == 0
    store.append(session, Notice(text="still the writer"), None, time=1.0)
    lock.release()
    store.close()
    assert [entry["text"] for entry in plimsoll("memory", "--json").json["entries"]] == [
        "Ada reviews every change."
    ]
    assert rule in plimsoll("memory", "--pruned").out
    assert not (plimsoll_home / "data" / "sessions.db").exists()
    monkeypatch.setenv("PLIMSOLL_HOME", str(project.parent / "laptop"))
    assert "Ada reviews" in plimsoll("run", "What is it?", "--model", "offline:extractive", "--json").out


def test_a_session_of_a_folder_elsewhere_is_read_where_its_board_is_known(
    plimsoll: Plimsoll, server: SessionServer
) -> None:
    store = PostgresStore(server)
    session = store.create(SessionStart(cwd="/nowhere/on/this/machine", model="offline:extractive"), time=1.0)
    store.close()
    done = plimsoll("memory", "run", session)
    assert done.code == 1
    assert "its folder /nowhere/on/this/machine is on another machine; read it there" in done.err


def test_a_board_on_a_server_that_is_away(
    plimsoll: Plimsoll, server: SessionServer, postgres: Cluster
) -> None:
    assert plimsoll("memory", "add", "Ada reviews every change.").code == 0
    postgres.stop()
    try:
        for words in (("list",), ("add", "x y z"), ("forget", "1", "--yes"), ("run",)):
            result = plimsoll("memory", *words)
            assert result.code == 1
            assert "cannot be reached" in result.err
            assert PASSWORD not in result.err
    finally:
        postgres.start()
    assert "Ada reviews" in plimsoll("memory").out


# Pruning, copies and budgets of sessions on a server.


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
