"""Conversations on a server: one writer, several followers, and the prompt kept when the writer ends."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, Following, done, of, turn, until, view_bytes
from tests.conversation.test_branches import git
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import Cluster
from tui_app.conversation.assembly import open_session
from tui_app.conversation.branches.branches import plan_merge
from tui_app.conversation.branches.new_branch import make_branch
from tui_app.conversation.inspection import inspect_session
from tui_app.conversation.work import Compact, Prompt, Restate
from tui_app.events import (
    ApprovalRequested,
    AssistantMessage,
    CompactionComplete,
    CompactionUndone,
    Error,
    TurnEnd,
    UserMessage,
)
from tui_app.refusals import Refusal
from tui_app.session.background import BackgroundState, SessionWaits, background_state, standings_of
from tui_app.session.branches import branches_of
from tui_app.session.lock import SessionLocked
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.database import follow
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.session.sub_agents import read_sent_agents
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import UserView, fold_user_view
from tui_app.settings.spec import SessionServer

pytestmark = pytest.mark.postgres


@pytest.fixture
def server(postgres: Cluster) -> SessionServer:
    return SessionServer(postgres.database())


class Reader:
    """Follows a session from another process, as a read-only window does."""

    def __init__(self, server: SessionServer, session: str) -> None:
        self._follower = follow(server, session, Path())
        self._store = PostgresStore(server, read_only=True)
        self._session, self.last, self.view = session, 0, UserView()
        self.types: list[str] = []

    def catch_up(self) -> None:
        """Wait for new events and fold them."""
        assert self._follower.wait(20.0)
        for head in self._store.heads(self._session, self.last):
            self.last = head.seq
            self.types.append(head.type)
            self.view.apply(head)

    def close(self) -> None:
        self._follower.close()
        self._store.close()


async def test_two_readers_follow_a_conversation_that_is_compacted_and_undone(
    desk: Desk, fake_openai: FakeOpenAI, server: SessionServer
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(*[Text(f"Answer {number}. {'word ' * 300}") for number in range(4)])
    async with desk.session(store=server.url) as opened:
        conversation = opened.conversation
        session = conversation.session
        readers = [Reader(server, session) for _ in range(2)]
        for number in range(4):
            await turn(conversation, f"Question {number}? {'why ' * 200}")
            for reader in readers:
                await asyncio.to_thread(reader.catch_up)
        fake_openai.add(Text("## Intent\nQuestions were asked and answered."))
        await done(conversation, Compact())
        before = view_bytes(conversation)
        await done(conversation, Restate(undo=True))
        assert view_bytes(conversation) != before
        last = opened.store.info(session).events
        for reader in readers:
            while reader.last < last:
                await asyncio.to_thread(reader.catch_up)
            assert CompactionComplete.TYPE in reader.types
            assert CompactionUndone.TYPE in reader.types
            assert reader.view.entries == fold_user_view(opened.store.heads(session)).entries
            reader.close()
        history = conversation.history
        assert fold_agent_view(opened.store.heads(session)).visible() == history.view.visible()
        with pytest.raises(SessionLocked):
            open_session(desk.opening(session=session, store=server.url))
        looked = await inspect_session(desk.opening(session=session, store=server.url))
        assert looked.history.usage().messages == history.usage().messages
        looked.close()
    reopened = PostgresStore(server, read_only=True)
    assert fold_agent_view(reopened.heads(session)).visible()
    reopened.close()


async def test_another_machine_goes_on_without_the_files_of_the_first(
    desk: Desk, fake_openai: FakeOpenAI, server: SessionServer, tmp_path: Path
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(*[Text(f"Answer {number}. {'word ' * 300}") for number in range(4)])
    async with desk.session(store=server.url) as opened:
        for number in range(4):
            await turn(opened.conversation, f"Question {number}? {'why ' * 200}")
        fake_openai.add(Text("## Intent\nQuestions were asked and answered."))
        await done(opened.conversation, Compact())
        session, view = opened.conversation.session, view_bytes(opened.conversation)
    elsewhere = Desk(home=tmp_path / "elsewhere", cwd=desk.cwd, endpoints=desk.endpoints)
    async with elsewhere.session(session=session, store=server.url) as opened:
        assert view_bytes(opened.conversation) == view
        fake_openai.add(Text("Going on."))
        assert of(await turn(opened.conversation, "and now?"), TurnEnd) != []
        await done(opened.conversation, Restate(undo=True))
        assert len(opened.conversation.history.items()) > 8


async def test_a_prompt_that_the_server_did_not_take_comes_back(
    desk: Desk,
    fake_openai: FakeOpenAI,
    server: SessionServer,
    postgres: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_app.session.stores.postgres_store._PATIENCE_S", 0.2)
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("First."), Text("Third."))
    async with desk.session(store=server.url) as opened:
        await turn(opened.conversation, "one")
        postgres.stop()
        try:
            records = await turn(opened.conversation, "two")
        finally:
            postgres.start()
        (end,) = of(records, TurnEnd)
        (error,) = of(records, Error)
        assert isinstance(end, TurnEnd)
        assert isinstance(error, Error)
        assert (end.outcome, end.prompt) == ("failed", "two")
        assert "cannot be reached" in error.message
        assert "Check the network" in error.hint
        await turn(opened.conversation, "three")
        session = opened.conversation.session
        texts = [r.data.text for r, _ in opened.store.records(session) if isinstance(r.data, UserMessage)]
        assert texts == ["one", "three"]
        assert fold_agent_view(opened.store.heads(session)).visible() == (
            opened.conversation.history.view.visible()
        )


async def test_a_writer_that_was_overtaken_gives_its_prompt_back(
    desk: Desk, fake_openai: FakeOpenAI, server: SessionServer, postgres: Cluster
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("First."), Text("Theirs."))
    async with desk.session(store=server.url) as opened:
        await turn(opened.conversation, "one")
        postgres.cut(server.url)
        session = opened.conversation.session
        async with desk.session(session=session, store=server.url) as other:
            await turn(other.conversation, "theirs")
            records = await turn(opened.conversation, "mine")
            (end,) = of(records, TurnEnd)
            (error,) = of(records, Error)
            assert isinstance(end, TurnEnd)
            assert isinstance(error, Error)
            assert (end.outcome, end.prompt) == ("failed", "mine")
            assert "has been written by another window, on" in error.message
            assert "Open the session again" in error.hint
    store = PostgresStore(server, read_only=True)
    assert "mine" not in [r.data.text for r, _ in store.records(session) if isinstance(r.data, UserMessage)]
    store.close()


async def test_a_budget_counts_what_the_server_holds(
    desk: Desk, fake_openai: FakeOpenAI, server: SessionServer
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("It is cheap."))
    async with desk.session(store=server.url, budget={"session_usd": 1.0}) as opened:
        happened = await turn(opened.conversation, "What does it cost?")
        assert of(happened, Error) == []
        assert of(happened, TurnEnd)[-1].outcome == "done"
        opened.store.append(
            opened.conversation.session,
            AssistantMessage(text="dear", input_tokens=9, cost_usd=1.5),
            None,
            time=time.time(),
        )
        [refused] = of(await turn(opened.conversation, "And now?"), Error)
        assert "$1.50 of its budget of $1.00" in refused.message


async def test_branches_and_what_waits_are_on_the_server_too(
    desk: Desk, fake_openai: FakeOpenAI, server: SessionServer
) -> None:
    """One machine creates and merges a branch; another sees what awaits an answer there."""
    git(desk.cwd, "init", "-q")
    git(desk.cwd, "add", ".")
    git(desk.cwd, "commit", "-qm", "Begin")
    desk = replace(desk, env={**desk.env, "PATH": os.environ["PATH"]})
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Hello."), Text("Tried."), tool("run_command", command="echo tide > made.txt"))
    opening = desk.opening(store=server.url, read_only=False)
    async with desk.session(store=server.url) as opened:
        await turn(opened.conversation, "Begin.")
        opening = replace(opening, session=opened.conversation.session)
        made = make_branch(opening, "aside", at=None, now=2.0)
        with pytest.raises(Refusal):
            make_branch(opening, "aside", at=None, now=3.0)
        apart = replace(desk, cwd=made.folder)
        async with apart.session(session=made.fork.session, store=server.url) as other:
            with pytest.raises(Refusal, match="aside is open in another window"):
                await plan_merge(opening, "aside", extract=True)
            await turn(other.conversation, "Try.")
        (made.folder / "sea.py").write_text("sea\n")
        await done(opened.conversation, (await plan_merge(opening, "aside", extract=True)).work())
        assert (desk.cwd / "sea.py").read_text() == "sea\n"
        assert [each.state for each in branches_of(opened.store, opening.session)] == ["merged"]
        await done(opened.conversation, Restate(undo=True))
        assert not (desk.cwd / "sea.py").exists()
    opened, nowhere = open_session(replace(opening, attended=True, goes_on=True)), desk.home / "elsewhere"
    await opened.prepare()
    opened.background.write_down("left")
    store = PostgresStore(server)
    assert standings_of(store, nowhere, store.sessions()) == {
        opening.session: BackgroundState(state="running")
    }
    watching = Following(opened.conversation.bus)
    opened.conversation.submit(Prompt("make it"))
    await until(watching, lambda data: isinstance(data, ApprovalRequested))
    assert await opened.detach() == "waiting"
    await opened.close()
    waits = BackgroundState(state="waiting", question="run_command echo tide > made.txt")
    assert standings_of(store, nowhere, store.sessions()) == {opening.session: waits}
    with pytest.raises(SessionWaits):
        open_session(opening)
    forked = fork_session(store, nowhere, opening.session, now=4.0).session
    assert background_state(store, nowhere, forked) is None
    agent = fork_session(store, nowhere, opening.session, now=4.0, agent="Look").session
    assert store.children(opening.session) == [agent]
    assert agent not in {each.id for each in store.sessions()}
    assert {each.info.id for each in branches_of(store, opening.session)} == {made.fork.session, forked}
    store.delete(opening.session)
    assert {each.id for each in store.sessions(hidden=True)} == {made.fork.session, forked}
    store.close()


async def test_sub_agents_work_in_sessions_of_the_server(
    desk: Desk, fake_openai: FakeOpenAI, server: SessionServer
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    calls = [("fork", {"task": "Look up."}), ("explore", {"task": "Look down.", "background": True})]
    fake_openai.add(Tool(tuple(calls)), phrase="Send both.")
    fake_openai.add(tool("ls"), Text("Blue."), phrase="Look up.")
    fake_openai.add(Text("Wet."), Text("Still wet."), phrase="Look down.")
    fake_openai.add(Text("Both sent."), phrase="has ended")
    async with desk.session(store=server.url, explore={}) as opened:
        session, agents = opened.conversation.session, opened.conversation.agents
        await turn(opened.conversation, "Send both.")
        assert "Wet." in await agents.tend("wait", "explore-1", "")
        children = {each.session for each in agents.every.values()}
        assert set(opened.store.children(session)) == children
    async with desk.session(store=server.url, explore={}, session=session) as opened:
        agents = opened.conversation.agents
        await agents.tend("send", "explore-1", "And now?")
        assert "Still wet." in await agents.tend("wait", "explore-1", "")
        child = await agents.promote("fork-1")
        rows = {
            each.start.name: (each.state, each.sums.steps) for each in read_sent_agents(opened.store, session)
        }
        assert rows == {"explore-1": ("done", 2), "fork-1": ("promoted", 2)}
    async with desk.session(store=server.url, session=child) as opened:
        fake_openai.add(Text("Here."), phrase="Still there?")
        assert of(await turn(opened.conversation, "Still there?"), TurnEnd)
