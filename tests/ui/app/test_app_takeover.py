"""A second window of a session, also on a server: read-only while the first one writes, then the writer."""

import asyncio
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Self

import pytest

from tests.conversation import driving
from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import PASSWORD, Cluster
from tests.ui.app.story import MODEL, NOON, Story
from tests.ui.app.test_app_sessions import written_elsewhere
from tests.ui.kit import LIMIT_S, Deck, Desk, shown
from tui_app.conversation.engine import Engine
from tui_app.conversation.work import Prompt
from tui_app.events import CompactionComplete, PolicyChange, ToolResult
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import SessionServer
from tui_app.ui.chat import follower as following
from tui_app.ui.chat.follower import FREE, TAKEN_OVER
from tui_app.ui.dialogs.actions import send
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.rows import read_checkpoint
from tui_app.ui.dialogs.stats import StatsScreen
from tui_app.ui.panels.header import ChatHeader

# A second window of a session: read-only while the first one writes, and the writer after it has gone.


WRITER = """
import sys
from pathlib import Path
from tui_app.session.lock import SessionLocked, WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story("ferries").user("how late?").answer("At eleven."))


def folder_of(desk: Desk, session: str) -> SessionFolder:
    return SessionFolder(desk.paths.sessions_dir / session)


@contextmanager
def another_process(desk: Desk, session: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", WRITER, str(folder_of(desk, session).lock_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


class Window:
    """Another window of the session, without a screen."""

    def __init__(self, desk: Desk, session: str) -> None:
        self._engine = Engine(desk.launch(session).opening(session), lambda record: None)

    async def open(self) -> Self:
        await self._engine.open()
        self._engine.begin()
        return self

    async def say(self, text: str) -> None:
        """Run a whole turn."""

        async def turn() -> None:
            async for _ in driving.send(opened.conversation, text):
                pass

        opened = await self._engine.session()
        await asyncio.wrap_future(self._engine.call(turn))

    async def close(self) -> None:
        await self._engine.stop(LIMIT_S)


@asynccontextmanager
async def second(desk: Desk, session: str) -> AsyncIterator[Deck]:
    """A window that opens while another one writes."""
    async with shown(desk.app(session)) as deck:
        await deck.says("read-only here")
        yield deck


async def test_a_prompt_takes_over_from_a_window_that_was_closed_and_shows_what_it_said(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(Text("Low at nine."), Text("As I said."))
    first = await Window(served, session).open()
    async with second(served, session) as deck:
        await first.say("and low tide?")
        await deck.send("sure?")
        assert deck.editor.text == "sure?"
        assert "read-only here" in deck.status
        await first.close()
        await deck.press("enter")
        await deck.answered(3)
        assert deck.editor.is_empty
        assert deck.queue == []
        assert deck.kinds == ["user", "assistant"] * 3
        titles = [entry.title for entry in deck.app.chat.session.presenter.view.entries]
        assert titles[2:] == ["and low tide?", "Low at nine.", "sure?", "As I said."]
        assert "Low at nine." in deck.text
        await deck.until(lambda: TAKEN_OVER in deck.app.chat.session.state.notices, TAKEN_OVER)
        said = [message["content"] for message in fake_openai.journal[-1]["messages"]]
        assert said[-3:] == ["and low tide?", "Low at nine.", "sure?"]
        with pytest.raises(SessionLocked):
            WriterLock(folder_of(served, session).lock_file)
    WriterLock(folder_of(served, session).lock_file).release()


async def test_a_prompt_takes_over_from_a_killed_window(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(Text("Still at eleven."))
    with another_process(served, session) as process:
        async with second(served, session) as deck:
            assert "another window (since " in deck.status
            process.send_signal(signal.SIGKILL)
            process.wait(LIMIT_S)
            await deck.send("sure?")
            await deck.answered(2)
            assert "Still at eleven." in deck.text
            assert not deck.app.chat.session.read_only


async def test_title_and_gauge_follow_what_was_said_elsewhere_also_without_a_model(served: Desk) -> None:
    session = served.store(Story(model="nobody:nothing"))
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        story = Story(model="nobody:nothing").user("When is low tide?").answer("At nine.", reported=12_800)
        with served.log() as store:
            store.append_many(session, story.events)
        lock.release()
        await deck.send("sure?")
        await deck.until(lambda: deck.editor.text == "sure?", "the prompt back")
        assert deck.kinds[:2] == ["user", "assistant"]
        assert deck.app.chat.session.state.title == "When is low tide?"
        assert deck.gauge == "10% of 128k? · ~12.8k · ok", "and the draft"


async def test_two_windows_of_one_program(served: Desk, fake_openai: FakeOpenAI, session: str) -> None:
    fake_openai.add(Text("From the first."), Text("From the second."))
    async with shown(served.app(session)) as first:
        await first.ready()
        async with second(served, session) as deck:
            send(first.app.chat, Prompt("and low tide?"))
            await first.answered(2)
            await deck.until(lambda: "From the first." in deck.text, "what the other window says")
            await first.app.chat.session.close()
            await deck.send("sure?")
            await deck.answered(3)
            assert "From the first." in deck.text
            assert "From the second." in deck.text


async def test_compacting_in_a_second_window_waits_for_the_first_one_to_let_go(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        await deck.press("ctrl+g")
        await deck.settle()
        assert "read-only here" in deck.status
        assert (deck.queue, fake_openai.journal) == ([], [])
        assert deck.app.chat.session.conversation is None
        lock.release()
        await deck.press("ctrl+g")
        await deck.says("Nothing to compact")
        assert not deck.app.chat.session.read_only


async def test_typing_is_enough_to_be_told_that_the_session_is_free(served: Desk, session: str) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        await deck.type("sure")
        assert "read-only here" in deck.status
        lock.release()
        await deck.press("question_mark")
        await deck.until(lambda: deck.status == FREE, FREE)
        assert deck.editor.text == "sure?"
        assert deck.app.chat.session.conversation is None, "nothing was asked for"


@pytest.mark.parametrize("command", ["/compact", "/undo", "/model offline:extractive", "/context"])
async def test_a_command_takes_over_too(served: Desk, session: str, command: str) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        lock.release()
        await deck.send(command)
        await deck.until(lambda: deck.app.chat.session.conversation, "the agent side")
        if command == "/context":
            await deck.says("esc close")
        assert not deck.app.chat.session.read_only


async def test_clearing_takes_over_once_it_is_confirmed(served: Desk, session: str) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        lock.release()
        await deck.send("/clear")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        assert deck.app.chat.session.conversation is None
        await deck.press("y")
        await deck.says("Conversation cleared")
    assert served.agent_view(session) == []


async def test_a_prompt_comes_back_when_somebody_else_was_faster(
    served: Desk, fake_openai: FakeOpenAI, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        # As if the lock had been free for a moment.
        with monkeypatch.context() as patched:
            patched.setattr(following, "holder", lambda _path: "")
            await deck.send("sure?")
            await deck.until(lambda: deck.editor.text == "sure?", "the prompt back")
        assert deck.queue == []
        await deck.press("left")
        await deck.says("read-only here")
        assert deck.app.chat.session.read_only
        lock.release()
        fake_openai.add(Text("Sure."))
        await deck.press("enter")
        await deck.answered(2)
        assert deck.editor.is_empty


async def test_a_prompt_comes_back_when_the_session_is_gone(served: Desk, session: str) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        with served.log() as store:
            store.delete(session)
        lock.release()
        await deck.send("sure?")
        await deck.until(lambda: deck.editor.text == "sure?", "the prompt back")
        await deck.says(f"There is no session with the id '{session}'")
        assert deck.queue == []


async def test_further_prompts_wait_while_the_session_is_taken_over(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(HangBeforeHeaders())
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        lock.release()
        for text in ("one", "two", "three"):
            send(deck.app.chat, Prompt(text))
        await (await fake_openai.request(1)).paused.wait()
        await deck.until(lambda: len(deck.queue) == 2, "two waiting prompts")
        assert deck.editor.is_empty
        assert MODEL in deck.status


async def test_the_header_names_the_policy_in_a_window_that_only_reads(served: Desk, session: str) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        header = deck.app.screen.query_one(ChatHeader)
        assert "· plimsoll" in str(header.render())
        with served.log() as store:
            store.append(session, PolicyChange(old="plimsoll", new="reserve"), None, time=2.0)
        await deck.until(lambda: "· reserve" in str(header.render()), "what the other window has chosen")
    lock.release()


async def test_the_todo_list_follows_what_the_other_window_does(served: Desk, session: str) -> None:
    with WriterLock(folder_of(served, session).lock_file):
        async with second(served, session) as deck:
            for text, words in (("- [~] reef\n- [ ] moor", "● reef"), ("- [x] reef\n- [~] moor", "● moor")):
                with served.log() as store:
                    done = ToolResult(tool_call_id="c", name="todo", text=text)
                    store.append(session, done, None, time=2.0)
                await deck.says(words)


async def test_the_limit_of_a_model_that_was_never_asked_is_known_here_too(served: Desk) -> None:
    unasked = Story().user("how late does the last ferry go?", 4_000).answer("At eleven.", reported=0)
    session = served.store(unasked)
    with another_process(served, session):
        async with second(served, session) as deck:
            await deck.until(lambda: deck.gauge.startswith("3% of 128k · ~4."), "the gauge")


async def test_a_window_that_looks_on_names_only_keys_that_act_there_and_a_way_on(
    served: Desk, session: str
) -> None:
    lock = WriterLock(folder_of(served, session).lock_file)
    async with second(served, session) as deck:
        assert "/fork continues in a copy" in deck.status
        assert "/fork a copy to write in" in deck.hints
        assert "f3 context" in deck.hints
        assert not re.search("compact|models", deck.hints)
        deck.transcript.focus()
        await deck.press("up")
        await deck.until(lambda: "enter open" in deck.hints, "keys of the row")
        assert not re.search("pin|undo|compact|from here", deck.hints)
        await deck.press("v")
        await deck.until(lambda: "1 marked" in deck.hints, "the mark")
        assert not re.search("pin|offload|archive", deck.hints)
        await deck.press("escape", "f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        await deck.until(lambda: "s order" in deck.text, "its keys")
        assert not re.search("p pin|o offload|a archive|u undo", deck.text)
        await deck.press("escape")
        lock.release()
        await deck.says(FREE)
        deck.editor.focus()
        await deck.until(lambda: "ctrl+g compact" in deck.hints, "all keys")
        assert "/fork" not in deck.hints


async def test_a_copy_can_be_made_of_what_another_window_writes(served: Desk, session: str) -> None:
    with WriterLock(folder_of(served, session).lock_file):
        async with second(served, session) as deck:
            await deck.send("/fork #2")
            await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != session, "a copy")
            await deck.ready()
            assert not deck.app.chat.session.read_only
            assert deck.editor.text == "how late?"
            assert "ctrl+g compact" in deck.hints


# A session on a server: one window writes, another follows it live and takes over.


@pytest.fixture
def server(postgres: Cluster) -> SessionServer:
    return SessionServer(postgres.database())


@pytest.fixture
def shared(served: Desk, server: SessionServer) -> Desk:
    served.paths.ensure()
    return served.change(store=server.url)


@pytest.fixture
async def shared_session(shared: Desk, server: SessionServer) -> AsyncIterator[str]:
    store = PostgresStore(server)
    story = Story("ferries").user("how late?").answer("At eleven.")
    session = store.create(story.start, time=NOON)
    store.append_many(session, story.events)
    yield session
    store.close()


@pytest.mark.postgres
async def test_a_second_window_follows_live_and_takes_over(
    shared: Desk, fake_openai: FakeOpenAI, shared_session: str
) -> None:
    fake_openai.add(Text("Low at nine."), Text("High at four."), Text("As I said."))
    first = await Window(shared, shared_session).open()
    async with shown(shared.app(shared_session)) as deck:
        await deck.says("read-only here")
        await first.say("and low tide?")
        await deck.says("Low at nine.")
        await first.say("and high tide?")
        await deck.says("High at four.")
        assert deck.kinds == ["user", "assistant"] * 3
        await deck.send("sure?")
        assert deck.editor.text == "sure?"
        await first.close()
        await deck.until(lambda: deck.status == FREE, FREE)
        await deck.press("enter")
        await deck.answered(4)
        await deck.until(lambda: TAKEN_OVER in deck.app.chat.session.state.notices, TAKEN_OVER)
        assert "As I said." in deck.text
        await deck.send("/status")
        await deck.says("Kept on")
        assert "postgresql://mate@127.0.0.1" in deck.text
        assert PASSWORD not in deck.text


@pytest.mark.postgres
async def test_a_cut_connection_is_said_and_the_prompt_stays(
    shared: Desk,
    fake_openai: FakeOpenAI,
    shared_session: str,
    postgres: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_app.session.stores.postgres_store._PATIENCE_S", 0.2)
    fake_openai.add(Text("Here again."))
    async with shown(shared.app(shared_session)) as deck:
        await deck.ready()
        postgres.stop()
        try:
            await deck.send("are you there?")
            await deck.until(lambda: deck.app.chat.session.state.notices, "a notice")
            await deck.idle()
            assert deck.editor.text == "are you there?"
            assert "cannot be reached" in deck.status
            await deck.press("f2")
            await deck.says("cannot be reached")
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        finally:
            postgres.start()
        deck.editor.focus()
        await deck.press("enter")
        await deck.answered(2)
        assert "Here again." in deck.text
        assert deck.editor.is_empty


@pytest.mark.postgres
async def test_a_server_that_is_away_at_the_start_is_said(shared: Desk, postgres: Cluster) -> None:
    postgres.stop()
    try:
        async with shown(shared.app()) as deck:
            await deck.says("cannot be reached")
            await deck.send("hello?")
            await deck.until(lambda: deck.editor.text == "hello?", "the prompt kept")
            deck.editor.clear()
            await deck.send("/sessions")
            await deck.says("/resume did not work. ")
            assert PASSWORD not in deck.text
    finally:
        postgres.start()


@pytest.mark.postgres
async def test_lists_prompts_and_figures_come_from_the_server(shared: Desk, shared_session: str) -> None:
    async with shown(shared.app()) as deck:
        await deck.ready()
        await deck.send("/sessions")
        await deck.says("ferries")
        await deck.press("enter")
        await deck.says("At eleven.")
        await deck.ready()
        assert deck.app.chat.session.id == shared_session
        await deck.send("/stats")
        await deck.until(lambda: isinstance(deck.app.screen, StatsScreen), "the figures")


@pytest.mark.postgres
def test_a_checkpoint_of_another_machine_is_told_from_the_log() -> None:
    done = CompactionComplete(
        job="j", outcome="success", trigger="manual", summary="# What was done", checkpoint_path="/ship/1.md"
    )
    text = read_checkpoint(done)
    assert text.startswith("/ship/1.md is not on this machine")
    assert text.endswith("# What was done")


# Keys pressed before the user sees that another window is the writer.


@pytest.mark.parametrize("wanted", ["/context", "/mcp", "/approvals", "/memory", "/rewind #2"])
async def test_what_was_asked_for_before_the_lock_was_known_is_shown_or_told_why_not(
    served: Desk, slow_start: threading.Event, wanted: str
) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    with written_elsewhere(served, session):
        async with shown(served.app(session)) as deck:
            await deck.until(lambda: deck.app.chat.is_ready, "the chat")
            await deck.send(wanted)
            await deck.settle()
            slow_start.set()
            await deck.until(lambda: deck.app.chat.session.read_only, "the refusal")
            if wanted == "/context":
                await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the items")
            await deck.settle()
            assert "defect" not in " ".join((*deck.app.chat.session.state.notices, deck.words))
