"""Memory of sessions on a server: between machines, through crashes, and without the server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conversation import dying_reader
from tests.conversation.conftest import desk
from tests.conversation.driving import Desk, of, turn
from tests.servers.postgres import Cluster
from tui_app.context.storage_errors import StorageError
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.memory import boards
from tui_app.conversation.memory import memory as remembering
from tui_app.conversation.memory.boards import boards_in
from tui_app.events import MemoryAdded, MemoryConsolidated, MemoryInbox, MemoryPruned, Notice, Payload
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import DueSession
from tui_app.session.stores import postgres_server as side
from tui_app.session.stores import postgres_server as wire
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer

__all__ = ["desk"]
pytestmark = pytest.mark.postgres
OFFLINE = "offline:extractive"
RULE = "Never touch legacy/importer.py."
ORIGIN = '[remote "origin"]\n\turl = git@forge.example:ada/ferry.git\n'
Enter = Callable[[str], Desk]


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "MOMENT_S", 30.0)
    monkeypatch.setattr(boards, "PATIENCE_S", 30.0)


@pytest.fixture
def at(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Switch to a machine with its own home and clone."""

    def sit_down(machine: str) -> Desk:
        monkeypatch.setattr(wire, "this_machine", lambda: machine)
        clone = tmp_path / machine / "ferry"
        if not clone.exists():
            (clone / ".git").mkdir(parents=True)
            (clone / ".git/HEAD").write_text("ref: refs/heads/main\n")
            (clone / ".git/config").write_text(ORIGIN)
        return Desk(tmp_path / machine / "home", clone)

    return sit_down


@asynccontextmanager
async def open_on(
    desk: Desk, server: SessionServer, session: str = "", **settings: object
) -> AsyncIterator[OpenSession]:
    settings.setdefault("memory", {"min_turns": 1})
    async with desk.session(session=session, model=OFFLINE, store=server.url, **settings) as opened:
        yield opened


def standing(desk: Desk, server: SessionServer) -> list[str]:
    store = boards_in(server)
    return [entry.text for entry in ContextBoard(store, store.scope(desk.cwd)).entries()]


def want(server: SessionServer, session: str) -> None:
    """Queue a session to be read."""
    due = DueSession(session=session, repository="forge.example/ada/ferry", branch="main", asked=1.0)
    boards_in(server).request_reading(due)


def logged(server: SessionServer, session: str, *kinds: type[Payload]) -> list[Payload]:
    store = PostgresStore(server, read_only=True)
    try:
        return of([record for record, _ in store.records(session)], *kinds)
    finally:
        store.close()


async def test_what_one_machine_learns_the_next_one_is_given(at: Enter, server: SessionServer) -> None:
    first = at("desk")
    async with open_on(first, server) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, RULE)
    assert standing(first, server) == [RULE]
    (added,) = logged(server, session, MemoryAdded)
    assert isinstance(added, MemoryAdded)
    assert (added.source_session, added.source) == (session, 2)
    assert (added.repository, added.branch) == ("forge.example/ada/ferry", "")
    assert len(logged(server, session, MemoryConsolidated)) == 1
    second = at("laptop")
    async with open_on(second, server) as opened:
        (inbox,) = of(await turn(opened.conversation, "Hello"), MemoryInbox)
        assert isinstance(inbox, MemoryInbox)
        assert (inbox.repository, RULE in inbox.text) == ("forge.example/ada/ferry", True)
        opened.remembering.forget(1)
        (pruned,) = logged(server, opened.conversation.session, MemoryPruned)
        assert isinstance(pruned, MemoryPruned)
    assert standing(first, server) == []
    assert not (first.home / "data" / "sessions.db").exists()


async def test_resumed_elsewhere_it_goes_on_from_what_was_read(at: Enter, server: SessionServer) -> None:
    async with open_on(at("desk"), server) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, RULE)
    second = at("laptop")
    async with open_on(second, server, session) as opened:
        assert of(await turn(opened.conversation, "Always sign commits of `tides.py`."), MemoryInbox) == []
    assert set(standing(second, server)) == {RULE, "Always sign commits of `tides.py`."}
    assert len(logged(server, session, MemoryAdded)) == 2


async def test_a_session_that_another_machine_writes_is_not_read_until_it_ends(
    at: Enter, server: SessionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembering, "_LOOKS", 1)
    here = at("desk")
    async with open_on(here, server, memory={"min_turns": 9}) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, RULE)
    want(server, session)
    elsewhere = PostgresStore(server)
    lock = elsewhere.lock(session, Path())
    async with open_on(here, server) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
        assert standing(here, server) == []
        lock.release()
    async with open_on(here, server) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
    elsewhere.close()
    assert standing(here, server) == [RULE]


async def test_what_belongs_into_a_log_that_is_written_elsewhere_is_told_later(
    at: Enter, server: SessionServer
) -> None:
    here = at("desk")
    async with open_on(here, server) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, RULE)
    elsewhere = PostgresStore(server)
    lock = elsewhere.lock(session, Path())
    async with open_on(here, server) as opened:
        opened.remembering.board().prune(1, "person")
        opened.remembering.telling.write_pending()
        assert logged(server, session, MemoryPruned) == []
        elsewhere.append(session, Notice(text="still the writer"), None, time=1.0)
        lock.release()
        opened.remembering.telling.write_pending()
    elsewhere.close()
    assert len(logged(server, session, MemoryPruned)) == 1


async def test_by_hand_the_open_session_is_read(at: Enter, server: SessionServer) -> None:
    here = at("desk")
    async with open_on(here, server) as opened:
        await turn(opened.conversation, RULE)
        opened.remembering.read_now()
        await opened.remembering.settle()
        (done,) = logged(server, opened.conversation.session, MemoryConsolidated)
        assert isinstance(done, MemoryConsolidated)
        assert done.added == 1
    assert standing(here, server) == [RULE]


async def _left_alone(here: Desk, server: SessionServer, postgres: Cluster) -> None:
    """A session whose server disappears before the session ends."""
    async with open_on(here, server) as opened:
        await turn(opened.conversation, RULE)
        postgres.stop()
        with pytest.raises(StorageError, match="cannot be reached"):
            opened.remembering.add("something else")
        opened.remembering.read_now()
        opened.remembering.catch_up()


async def test_without_the_server_a_session_ends_and_says_why(
    at: Enter, server: SessionServer, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_app.session.stores.postgres_store._PATIENCE_S", 0.0)
    here = at("desk")
    with pytest.raises(StorageError, match="cannot be reached"):
        await _left_alone(here, server, postgres)
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("memory")]
    postgres.start()
    async with open_on(here, server) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
    assert standing(here, server) == [RULE], "what was cut off goes on at the next start"


async def test_a_board_that_cannot_be_read_keeps_no_prompt_back(
    at: Enter, server: SessionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> None:
        raise StorageError("The session server x has not answered in 3 seconds.", "Try again.")

    monkeypatch.setattr(side.SideLine, "ask", silent)
    async with open_on(at("desk"), server) as opened:
        records = await turn(opened.conversation, "What does the README say?")
        assert [record.data for record in records if record.data.TYPE == "turn.end"]
    assert logged(server, opened.conversation.session, MemoryInbox, MemoryConsolidated) == []


@pytest.mark.parametrize("where", ["added", "telling"])
async def test_killed_while_a_session_is_read_the_next_start_goes_on_and_nothing_is_told_twice(
    at: Enter, server: SessionServer, where: str
) -> None:
    here = at("desk")
    async with open_on(here, server, memory={"min_turns": 9}) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, RULE)
        await turn(opened.conversation, "Always sign commits of `tides.py`.")
    want(server, session)
    kept = boards_in(server)
    process = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, dying_reader.__file__, str(here.home), str(here.cwd), where, server.url],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert process.returncode == -signal.SIGKILL
    (due,) = kept.due_sessions()
    assert due.attempts == 1
    async with open_on(here, server) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
    assert set(standing(here, server)) == {RULE, "Always sign commits of `tides.py`."}
    told = [each.entry for each in logged(server, session, MemoryAdded) if isinstance(each, MemoryAdded)]
    assert sorted(told) == sorted(entry.id for entry in kept.entries(None))
    assert (kept.due_sessions(), kept.untold()) == ([], [])
