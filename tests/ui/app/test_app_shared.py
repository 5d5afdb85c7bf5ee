"""A session on a server, on the screen: one window writes, another one follows it live and takes over."""

from collections.abc import AsyncIterator

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import PASSWORD, Cluster
from tests.ui.app.story import NOON, Story
from tests.ui.app.test_app_takeover import Window
from tests.ui.kit import Desk, shown
from tui_app.events import CompactionComplete
from tui_app.session.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer
from tui_app.ui.chat.log_reader import FREE, TAKEN_OVER
from tui_app.ui.dialogs.rows import read_checkpoint
from tui_app.ui.dialogs.session_info import StatsScreen

pytestmark = pytest.mark.postgres


@pytest.fixture
def server(postgres: Cluster) -> SessionServer:
    return SessionServer(postgres.database())


@pytest.fixture
def shared(served: Desk, server: SessionServer) -> Desk:
    served.paths.ensure()
    return served.change(store=server.url)


@pytest.fixture
async def session(shared: Desk, server: SessionServer) -> AsyncIterator[str]:
    store = PostgresStore(server)
    story = Story("ferries").user("how late?").answer("At eleven.")
    session = store.create(story.start, time=NOON)
    store.append_many(session, story.events)
    yield session
    store.close()


async def test_a_second_window_follows_live_and_takes_over(
    shared: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(Text("Low at nine."), Text("High at four."), Text("As I said."))
    first = await Window(shared, session).open()
    async with shown(shared.app(session)) as deck:
        await deck.says("shown read-only")
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
        assert TAKEN_OVER in deck.app.chat.session.state.notices
        assert "As I said." in deck.text
        await deck.send("/status")
        await deck.says("Kept on")
        assert "postgresql://mate@127.0.0.1" in deck.text
        assert PASSWORD not in deck.text


async def test_a_cut_connection_is_said_and_the_prompt_stays(
    shared: Desk,
    fake_openai: FakeOpenAI,
    session: str,
    postgres: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_app.session.postgres_store._PATIENCE_S", 0.2)
    fake_openai.add(Text("Here again."))
    async with shown(shared.app(session)) as deck:
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


async def test_a_server_that_is_away_at_the_start_is_said(shared: Desk, postgres: Cluster) -> None:
    postgres.stop()
    try:
        async with shown(shared.app()) as deck:
            await deck.says("cannot be reached")
            await deck.send("hello?")
            await deck.until(lambda: deck.editor.text == "hello?", "the prompt kept")
            deck.editor.clear()
            await deck.send("/sessions")
            await deck.says("The sessions cannot be read")
            assert PASSWORD not in deck.text
    finally:
        postgres.start()


async def test_lists_prompts_and_figures_come_from_the_server(shared: Desk, session: str) -> None:
    async with shown(shared.app()) as deck:
        await deck.ready()
        await deck.send("/sessions")
        await deck.says("ferries")
        await deck.press("enter")
        await deck.says("At eleven.")
        await deck.ready()
        assert deck.app.chat.session.id == session
        await deck.send("/stats")
        await deck.until(lambda: isinstance(deck.app.screen, StatsScreen), "the figures")


def test_a_checkpoint_of_another_machine_is_told_from_the_log() -> None:
    done = CompactionComplete(
        job="j", outcome="success", trigger="manual", summary="# What was done", checkpoint_path="/ship/1.md"
    )
    text = read_checkpoint(done)
    assert text.startswith("/ship/1.md is not on this machine")
    assert text.endswith("# What was done")
