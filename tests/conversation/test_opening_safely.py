"""Opening: all or nothing, nothing happens unseen, and log, list and screen name the same model."""

import asyncio
import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.storage_errors import StorageError
from tui_app.conversation import agent_setup as agents
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.engine import Engine
from tui_app.events import AssistantMessage, Error, ModelChange, Record, ToolResult, TurnEnd, UserMessage
from tui_app.session.lock import WriterLock
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder

OFFLINE = "offline:extractive"
USER = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Look"}]}


async def spoken(desk: Desk, server: FakeOpenAI) -> str:
    """A session in which something was said."""
    desk.server("local", server.base_url, window=32_000)
    server.add(Text("Yes."))
    async with desk.session() as opened:
        await turn(opened.conversation, "Hello")
        return opened.conversation.session


def sessions(desk: Desk) -> list[str]:
    store = SqliteStore(desk.opening().paths.database)
    try:
        return [info.id for info in store.sessions()]
    finally:
        store.close()


@pytest.mark.parametrize("fresh", [True, False])
async def test_failed_opening_holds_nothing(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    session = await spoken(desk, fake_openai)
    closed: list[Path] = []
    close = SqliteStore.close

    def noting(store: SqliteStore) -> None:
        closed.append(store.path)
        close(store)

    def broken(*_: object) -> None:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patched:
        patched.setattr(agents, "build_toolset", broken)
        patched.setattr(SqliteStore, "close", noting)
        with pytest.raises(RuntimeError, match="a defect"):
            open_session(desk.opening(session="" if fresh else session))
    assert len(closed) == 1
    sessions_dir = desk.opening().paths.sessions_dir
    WriterLock(SessionFolder(sessions_dir / session).lock_file).release()
    assert sessions(desk) == [session]
    assert [path.name for path in sessions_dir.iterdir()] == [session]


async def test_no_empty_session_stays_where_its_folder_cannot_be_made(desk: Desk) -> None:
    paths = desk.opening().paths
    paths.ensure()
    paths.sessions_dir.rmdir()
    paths.sessions_dir.write_text("in the way")
    paths.sessions_dir.chmod(0o700)
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        open_session(desk.opening(model=OFFLINE))
    assert sessions(desk) == []


async def test_damaged_sessions_file_is_named(desk: Desk) -> None:
    paths = desk.opening().paths
    paths.ensure()
    paths.database.write_text("no database " * 500)
    with pytest.raises(StorageError, match="Not a readable Plimsoll database") as caught:
        open_session(desk.opening(model=OFFLINE))
    assert str(paths.database) in str(caught.value)


async def test_history_that_is_damaged_is_named_as_well(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """The file's head is whole, and the list of sessions too."""
    session = await spoken(desk, fake_openai)
    database = desk.opening().paths.database
    with closing(sqlite3.connect(database)) as db:
        page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    content = bytearray(database.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    database.write_bytes(content)
    with pytest.raises(StorageError, match="Not a readable Plimsoll database"):
        open_session(desk.opening(session=session))


async def test_full_disk_at_the_start_is_called_that(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(SqliteStore, "create", full)
    with pytest.raises(StorageError, match=r"The disk is full.*Make room"):
        open_session(desk.opening(model=OFFLINE))


async def test_session_deleted_from_elsewhere_is_left_in_peace(desk: Desk, fake_openai: FakeOpenAI) -> None:
    session = await spoken(desk, fake_openai)
    opened = open_session(desk.opening(session=session))
    await opened.prepare()
    watching = opened.conversation.watch()
    elsewhere = SqliteStore(desk.opening().paths.database)
    elsewhere.delete(session)
    said = of(await turn(opened.conversation, "Are you there?"), Error, TurnEnd)
    assert isinstance(error := said[0], Error)
    assert (error.message, "/new" in error.hint) == (f"The session {session} was deleted meanwhile.", True)
    assert isinstance(end := said[1], TurnEnd)
    assert (end.outcome, end.prompt) == ("failed", "Are you there?")
    await opened.close()
    async with asyncio.timeout(10):
        async for _ in watching:
            pass
    WriterLock(opened.folder.lock_file).release()
    assert elsewhere.sessions() == []
    elsewhere.close()


async def test_whoever_watches_is_let_go_when_the_end_cannot_be_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_session(desk.opening(model=OFFLINE))
    watching = opened.conversation.watch()

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(SqliteStore, "append", full)
    with pytest.raises(sqlite3.OperationalError):
        await opened.close()
    async with asyncio.timeout(10):
        async for _ in watching:
            pass


async def killed(desk: Desk, server: FakeOpenAI) -> str:
    """A session whose process died while a tool ran."""
    session = await spoken(desk, server)
    message = ModelMessagesTypeAdapter.dump_json(
        [ModelResponse(parts=[ToolCallPart("ls", {}, tool_call_id="c1")])]
    ).decode()[1:-1]
    store = SqliteStore(desk.opening().paths.database)
    store.append(session, UserMessage(text="Look"), json.dumps(USER), time=1.0)
    store.append(session, AssistantMessage(text="", call_ids=("c1",)), message, time=1.0)
    store.close()
    return session


async def test_closing_open_calls_is_seen(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """A screen that shows a session from its file follows what opening it changes."""
    session = await killed(desk, fake_openai)
    records: list[Record] = []
    engine = Engine(desk.opening(session=session), records.append)
    opened = await engine.open()
    engine.begin()
    await asyncio.wrap_future(engine.call(opened.conversation.settle))
    await engine.stop()
    assert [each.outcome for each in of(records, ToolResult) if isinstance(each, ToolResult)] == [
        "interrupted"
    ]


async def test_why_preparing_failed_is_logged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(OpenSession, "prepare", broken)
    engine = Engine(desk.opening(model=OFFLINE), lambda record: None)
    with caplog.at_level(logging.ERROR):
        opened = await engine.open()
        engine.begin()
        await asyncio.wrap_future(engine.call(opened.conversation.settle))
        await engine.stop()
    assert "a defect" in caplog.text


async def test_model_a_session_is_opened_with_is_written_down(desk: Desk, fake_openai: FakeOpenAI) -> None:
    session = await spoken(desk, fake_openai)
    for model, changes in ((OFFLINE, 1), (OFFLINE, 1), ("", 1), ("nobody:nothing", 1), ("local:scripted", 2)):
        async with desk.session(session=session, model=model) as opened:
            said = [record for record, _ in opened.store.records(session)]
            assert len(of(said, ModelChange)) == changes
    assert isinstance(last := of(said, ModelChange)[-1], ModelChange)
    assert (last.old, last.new, last.limit) == (OFFLINE, "local:scripted", 32_000)
    assert isinstance(first := of(said, ModelChange)[0], ModelChange)
    assert (first.old, first.new) == ("local:scripted", OFFLINE)
    store = SqliteStore(desk.opening().paths.database)
    assert store.info(session).model == "local:scripted"
    store.close()
