"""Opening and closing sessions: all or nothing, nothing lost, one writer, and an unchanged view."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.conversation.driving import Desk, assert_valid, done, of, turn, view_bytes
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.turn import ENDED
from tui_app.context.storage_errors import StorageError
from tui_app.conversation.agents import agent_setup as agents
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.engine import Engine
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.history.view_messages import storable
from tui_app.conversation.imports.imports import import_session
from tui_app.conversation.work import Compact, Restate
from tui_app.events import (
    AgentOutput,
    AssistantMessage,
    Error,
    GaugeChanged,
    ModelChange,
    Record,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    UsageInfo,
    UserMessage,
)
from tui_app.session.exports.export import export_session
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.preview import Preview, load_preview
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionNotFound
from tui_app.session.views.user_view import fold_user_view
from tui_app.session.workspace import SessionFolder
from tui_app.settings import SettingsError
from tui_app.usage import ContextUsage

# Closing and reopening: nothing lost, nothing left over, one writer.


NOTES = "Title: Sea\n## State\nThe sea is salty."


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


async def test_everything_is_as_it_was(desk: Desk, server: FakeOpenAI) -> None:
    server.add(tool("ls"), Text("There it is.", usage=(900, 9)), Text("Yes.", usage=(950, 3)))
    async with desk.session() as opened:
        for prompt in ("Look", "Is it?"):
            await turn(opened.conversation, prompt)
        session, before = opened.conversation.session, view_bytes(opened.conversation)
        usage, items = opened.conversation.usage, opened.conversation.history.items()
    async with desk.session(session=session[:6], model="") as opened:
        conversation = opened.conversation
        assert (conversation.session, conversation.model) == (session, "local:scripted")
        assert view_bytes(conversation) == before
        assert conversation.usage == usage
        assert [(i.key, i.reported, i.model) for i in conversation.history.items()] == [
            (i.key, i.reported, i.model) for i in items
        ]
        server.add(Text("Again."))
        await turn(conversation, "Once more")
    assert [m["role"] for m in server.journal[-1]["messages"]][1:] == [
        "user", "assistant", "tool", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


async def test_compacted_view_is_as_it_was(desk: Desk, server: FakeOpenAI) -> None:
    long = "The sea is below and the sky above. " * 60
    server.add(*(Text(long, usage=(0, 0)) for _ in range(4)))
    server.add(Text(NOTES), phrase="Write the notes for this transcript")
    async with desk.session() as opened:
        for number in range(4):
            await turn(opened.conversation, f"{number} {long}")
        full = view_bytes(opened.conversation)
        await done(opened.conversation, Compact())
        session, before = opened.conversation.session, view_bytes(opened.conversation)
        usage = opened.conversation.usage
    async with desk.session(session=session) as opened:
        assert view_bytes(opened.conversation) == before != full
        # The summary request has adjusted the tokenizer's factor in the meantime.
        assert opened.conversation.usage.total == pytest.approx(usage.total, rel=0.02)
        opened.conversation.history.restate(opened.conversation.history.view.compactions[-1], undo=True)
        assert view_bytes(opened.conversation) == full


async def test_session_in_which_nothing_was_said_leaves_no_trace(desk: Desk) -> None:
    async with desk.session(model="offline:extractive") as opened:
        session, folder = opened.conversation.session, opened.folder
        assert folder.lock_file.exists()
        assert opened.store.info(session).messages == 0
    assert not folder.path.exists()
    store = SqliteStore(desk.opening().paths.database)
    assert store.sessions() == []
    store.close()


async def test_title_is_the_first_prompt(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Yes."), Text("No."))
    async with desk.session() as opened:
        for prompt in ("Is the sea\nsalty?", "Is the sky?"):
            await turn(opened.conversation, prompt)
        info = opened.store.info(opened.conversation.session)
    assert (info.title, info.messages, info.model) == ("Is the sea", 4, "local:scripted")


async def test_one_writer_at_a_time(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Yes."))
    async with desk.session() as opened:
        await turn(opened.conversation, "Hello")
        session = opened.conversation.session
        with pytest.raises(SessionLocked):
            open_session(desk.opening(session=session))
    async with desk.session(session=session) as opened:
        assert opened.conversation.session == session


async def test_two_conversations_in_one_process(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("For one."), phrase="number one")
    server.add(Text("For two."), phrase="number two")
    async with desk.session() as one, desk.session() as two:
        await asyncio.gather(turn(one.conversation, "number one"), turn(two.conversation, "number two"))
        for opened, name in ((one, "one"), (two, "two")):
            said = [r for r, _ in opened.store.records(opened.conversation.session)]
            texts = [each.text for each in of(said, UserMessage, AssistantMessage)]  # type: ignore[attr-defined]
            assert texts == [f"number {name}", f"For {name}."]


async def test_what_cannot_be_opened(desk: Desk) -> None:
    with pytest.raises(SessionNotFound):
        open_session(desk.opening(session="ffffffff"))
    with pytest.raises(SettingsError, match="policy"):
        open_session(desk.opening(policy="none-such"))


async def test_calls_a_killed_process_left_open_are_closed(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Yes."))
    async with desk.session() as opened:
        await turn(opened.conversation, "Hello")
        session = opened.conversation.session
    calls = [ToolCallPart("ls", {}, tool_call_id="c1"), ToolCallPart("grep", {}, tool_call_id="c2")]
    message = ModelMessagesTypeAdapter.dump_json([ModelResponse(parts=calls)]).decode()[1:-1]
    store = SqliteStore(desk.opening().paths.database)
    store.append(session, UserMessage(text="Look"), json.dumps(USER), time=1.0)
    store.append(session, AssistantMessage(text="", call_ids=("c1", "c2")), message, time=1.0)
    store.append(session, ToolCall(tool_call_id="c1", name="ls", args="{}"), None, time=1.0)
    store.close()
    async with desk.session(session=session) as opened:
        conversation = opened.conversation
        assert_valid(conversation)
        closed = of([r for r, _ in opened.store.records(session)], ToolResult)
        assert [(c.tool_call_id, c.outcome) for c in closed if isinstance(c, ToolResult)] == [
            ("c1", "interrupted"),
            ("c2", "interrupted"),
        ]
        assert {c.text for c in closed if isinstance(c, ToolResult)} == {ENDED}, "nobody has interrupted it"
        rows = fold_user_view(opened.store.heads(session)).entries
        assert not [row for row in rows if row.state == "running"]
        assert opened.store.last_of(session, SessionEnd.TYPE) is not None
    async with desk.session(session=session) as opened:
        assert len(of([r for r, _ in opened.store.records(session)], ToolResult)) == 2, "only once"


USER = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Look"}]}


async def test_tool_that_answers_twice_the_same_id_is_no_trouble(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Tool(calls=(("ls", {}),), ids=("same",)), Text("A."))
    server.add(Tool(calls=(("ls", {}),), ids=("same",)), Text("B."))
    async with desk.session() as opened:
        for prompt in ("One", "Two"):
            await turn(opened.conversation, prompt)
        assert_valid(opened.conversation)
        rows = fold_user_view(opened.store.heads(opened.conversation.session)).entries
        assert [row.state for row in rows if row.kind == "tool"] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("last", "marked"), [("success", True), ("denied", True), ("interrupted", False), ("answered", False)]
)
async def test_a_turn_that_was_killed_behind_the_result_of_a_tool_is_marked_once(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, last: Any, *, marked: bool
) -> None:
    append = SessionHistory.append
    monkeypatch.setattr(
        SessionHistory,
        "append",
        lambda self, data, *more: None if isinstance(data, SessionEnd) else append(self, data, *more),
    )
    async with desk.session() as opened:
        session, history = opened.conversation.session, opened.conversation.history
        history.append(UserMessage(text="Look"), ModelRequest(parts=[UserPromptPart("Look")]))
        call = ToolCallPart("ls", {}, tool_call_id="c1")
        history.append(AssistantMessage(text="", call_ids=("c1",)), ModelResponse(parts=[call]))
        history.append(ToolCall(tool_call_id="c1", name="ls", args="{}"))
        outcome = "success" if last == "answered" else last
        history.append(
            ToolResult(tool_call_id="c1", name="ls", text="a.md", outcome=outcome),
            ModelRequest(parts=[ToolReturnPart("ls", "a.md", tool_call_id="c1")]),
        )
        if last == "answered":
            history.append(AgentOutput(text="Done."))
    monkeypatch.undo()
    for _ in range(2):
        async with desk.session(session=session) as opened:
            stored = [record for record, _ in opened.store.records(session)]
            told = [error.message for error in of(stored, Error) if isinstance(error, Error)]
            assert told == ["Interrupted: the program ended before this prompt was answered."][:marked]


@pytest.mark.parametrize("killed", [True, False])
async def test_a_prompt_whose_process_was_killed_is_marked_once(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    async with desk.session() as opened:
        session, history = opened.conversation.session, opened.conversation.history
        history.append(UserMessage(text="Well?"), ModelRequest(parts=[UserPromptPart("Well?")]))
        if killed:
            append = SessionHistory.append
            monkeypatch.setattr(
                SessionHistory,
                "append",
                lambda self, data, *more: None if isinstance(data, SessionEnd) else append(self, data, *more),
            )
    monkeypatch.undo()
    for _ in range(2):
        async with desk.session(session=session) as opened:
            stored = [record for record, _ in opened.store.records(session)]
            told = [error.message for error in of(stored, Error) if isinstance(error, Error)]
            assert told == ["Interrupted: the program ended before this prompt was answered."][:killed]
    assert server.journal == []


# Opening: all or nothing, nothing happens silently, and log, list and screen name the same model.


OFFLINE = "offline:extractive"


async def spoken(desk: Desk, server: FakeOpenAI) -> str:
    """Store a session with one turn."""
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
    """The file's header and the list of sessions are intact."""
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
    with pytest.raises(StorageError, match=r"The disk is full.*Free some disk space"):
        open_session(desk.opening(model=OFFLINE))


async def test_session_deleted_from_elsewhere_is_left_in_peace(desk: Desk, fake_openai: FakeOpenAI) -> None:
    session = await spoken(desk, fake_openai)
    opened = open_session(desk.opening(session=session))
    await opened.prepare()
    elsewhere = SqliteStore(desk.opening().paths.database)
    elsewhere.delete(session)
    said = of(await turn(opened.conversation, "Are you there?"), Error, TurnEnd)
    assert isinstance(error := said[0], Error)
    assert (error.message, "/new" in error.hint) == (f"The session {session} was deleted meanwhile.", True)
    assert isinstance(end := said[1], TurnEnd)
    assert (end.outcome, end.prompt) == ("failed", "Are you there?")
    async with asyncio.timeout(10):
        await opened.close()
    WriterLock(opened.folder.lock_file).release()
    assert elsewhere.sessions() == []
    elsewhere.close()


async def test_the_session_is_let_go_when_its_end_cannot_be_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_session(desk.opening(model=OFFLINE))

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(SqliteStore, "append", full)
    async with asyncio.timeout(10):
        with pytest.raises(sqlite3.OperationalError):
            await opened.close()
    WriterLock(opened.folder.lock_file).release()


async def killed(desk: Desk, server: FakeOpenAI) -> str:
    """Store a session whose process died while a tool ran."""
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
    """A screen that shows a session from its file follows the changes made by opening it."""
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
    async def broken(_: object, *, tokenizer: bool) -> None:
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


# Opening, compacting and undoing leave a view unchanged, including imported and interrupted ones.


LONG = " ".join(f"stop{index}" for index in range(400))
ASK = {"role": "user", "content": "Look"}


def transcript(folder: Path, *ending: dict[str, Any]) -> Path:
    talk = [
        {"role": role, "content": f"{number} {LONG}"} for number in range(6) for role in ("user", "assistant")
    ]
    path = folder / "chat.json"
    path.write_text(json.dumps([*talk, ASK, *ending] if ending else talk))
    return path


def asks(*ids: str) -> dict[str, Any]:
    calls = [{"id": name, "function": {"name": "ls", "arguments": "{}"}} for name in ids]
    return {"role": "assistant", "content": "I will look.", "tool_calls": calls}


def imported(desk: Desk, path: Path) -> str:
    paths = desk.opening().paths
    paths.ensure()
    store = SqliteStore(paths.database)
    try:
        return import_session(path, store=store, cwd=desk.cwd, now=1_000.0).session
    finally:
        store.close()


def exported(opened: OpenSession) -> list[str]:
    session = opened.conversation.session
    return [
        export_session(opened.store, session, format="pydantic-ai", view="agent"),
        export_session(opened.store, session, format="markdown", view="agent"),
    ]


async def there_and_back(desk: Desk, session: str, before: bytes | None = None) -> None:
    """Compact and undo, within one open session and across two; view and export must be unchanged."""
    async with desk.session(session=session, model=OFFLINE) as opened:
        conversation = opened.conversation
        assert_valid(conversation)
        first, files = view_bytes(conversation), exported(opened)
        assert before in (None, first), "opening changed the view"
        await done(conversation, Compact())
        assert view_bytes(conversation) != first
        await done(conversation, Restate(undo=True))
        assert (view_bytes(conversation), exported(opened)) == (first, files)
        await done(conversation, Restate(undo=False))
        compacted = view_bytes(conversation)
    async with desk.session(session=session, model=OFFLINE) as opened:
        assert view_bytes(opened.conversation) == compacted != first
        await done(opened.conversation, Restate(undo=True))
        assert (view_bytes(opened.conversation), exported(opened)) == (first, files)


@pytest.mark.parametrize(
    "ending",
    [
        (),
        (asks("a"),),
        (asks("a", "b"), {"role": "tool", "tool_call_id": "b", "content": "done"}),
        (asks("a"), {"role": "user", "content": "Never mind."}),
        (asks("a"), {"role": "user", "content": "Never mind."}, {"role": "assistant", "content": "Fine."}),
    ],
    ids=["whole", "in a call", "in half of the results", "in a prompt", "behind an open call"],
)
async def test_imported_view_is_what_the_transcript_says(
    desk: Desk, tmp_path: Path, ending: tuple[dict[str, Any], ...]
) -> None:
    session = imported(desk, transcript(tmp_path, *ending))
    store = SqliteStore(desk.opening().paths.database, read_only=True)
    before = [text for _, text in store.records(session) if text]
    rows = fold_user_view(store.heads(session)).entries
    store.close()
    assert not [row for row in rows if row.state == "running"], "no call looks as if it still ran"
    await there_and_back(desk, session, "\n".join(before).encode())


def left_in_mid_call(desk: Desk, session: str) -> None:
    """Store what a killed process leaves: two calls, one of them started, and no result."""
    calls = [ToolCallPart("ls", {}, tool_call_id="c1"), ToolCallPart("grep", {}, tool_call_id="c2")]
    prompt, answer = ModelRequest(parts=[UserPromptPart("Look")]), ModelResponse(parts=calls)
    store = SqliteStore(desk.opening().paths.database)
    store.append(session, UserMessage(text="Look"), storable(prompt)[0], time=1.0)
    store.append(session, AssistantMessage(text="", call_ids=("c1", "c2")), storable(answer)[0], time=1.0)
    store.append(session, ToolCall(tool_call_id="c1", name="ls", args="{}"), None, time=1.0)
    store.close()


@pytest.mark.parametrize("opened_before", [False, True])
async def test_session_left_in_mid_call_is_closed_once_and_then_stays(
    desk: Desk, tmp_path: Path, opened_before: bool
) -> None:
    session = imported(desk, transcript(tmp_path))
    left_in_mid_call(desk, session)
    if opened_before:
        async with desk.session(session=session, model=OFFLINE) as opened:
            assert_valid(opened.conversation)
    await there_and_back(desk, session)
    async with desk.session(session=session, model=OFFLINE) as opened:
        results = of([record for record, _ in opened.store.records(session)], ToolResult)
        closed = [(one.tool_call_id, one.text) for one in results if isinstance(one, ToolResult)]
        assert closed == [("c1", ENDED), ("c2", ENDED)]
        end = await turn(opened.conversation, "what is in README.md?")
        assert of(end, AssistantMessage)
        assert_valid(opened.conversation)


# A session's size according to its log equals the gauge of the window that writes it.


KNOWN_SIZES_LONG = "The sea is below and the sky above. " * 60


@pytest.fixture
def known_sizes_server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    (desk.cwd / "AGENTS.md").write_text("Always answer in rhymes. " * 40)
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text(NOTES), phrase="Write the notes for this transcript")
    return fake_openai


def gauge_of(preview: Preview, setting: int | None = None) -> ContextUsage:
    """The gauge of a session before its model has been asked for its window."""
    return preview.known.usage(preview.agent_view, preview.info.model, setting)


def seen(desk: Desk, session: str) -> ContextUsage:
    """The gauge of a read-only window."""
    return gauge_of(load_preview(desk.opening().paths.database, session))


async def talk(opened: OpenSession, server: FakeOpenAI, scale: float) -> None:
    """Run some turns with a server whose tokens are finer or coarser than ours."""
    for number in range(4):
        size = round(opened.conversation.usage.total * scale) + round(600 * scale)
        server.add(Text(KNOWN_SIZES_LONG, usage=(size, 500)))
        await turn(opened.conversation, f"{number} {KNOWN_SIZES_LONG}")


async def nothing(_opened: OpenSession) -> None:
    """Leave the session unchanged."""


async def compacted(opened: OpenSession) -> None:
    await done(opened.conversation, Compact())


async def taken_back(opened: OpenSession) -> None:
    await done(opened.conversation, Compact(), Restate(undo=True))


@pytest.mark.parametrize("after", [nothing, compacted, taken_back])
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.4])
async def test_a_reader_sees_the_number_of_the_writer(
    desk: Desk, known_sizes_server: FakeOpenAI, scale: float, after: Callable[[OpenSession], object]
) -> None:
    async with desk.session() as opened:
        await talk(opened, known_sizes_server, scale)
        await after(opened)  # type: ignore[misc]
        session, usage = opened.conversation.session, opened.conversation.usage
        read = seen(desk, session)
        assert read.total == pytest.approx(usage.total, rel=0.02)
        assert (read.window, read.exact) == (usage.window, usage.exact)
    read = seen(desk, session)
    assert read.total == pytest.approx(usage.total, rel=0.02)
    again = open_session(desk.opening(session=session))
    assert again.conversation.usage.total == read.total, "also before the model is there"
    assert again.conversation.usage.window == usage.window
    await again.close()


async def test_the_window_of_a_session_that_was_never_measured_is_not_made_up(
    desk: Desk, known_sizes_server: FakeOpenAI
) -> None:
    paths = desk.opening().paths
    paths.ensure()
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd="/", model="local:scripted"), time=1.0)
    store.append(session, UserMessage(text="hi", tokens={"user": 40}), None, time=2.0)
    store.close()
    assert seen(desk, session).window.limit == 0
    assert gauge_of(load_preview(paths.database, session), 9_000).window.limit == 9_000
    opened = open_session(desk.opening(session=session))
    told: list[Record] = []
    opened.bus.listen(told.append)
    opened.conversation.history.show_gauge()
    assert told == []
    await opened.conversation.models.prepare(tokenizer=True)
    [gauge] = [record.data for record in told if isinstance(record.data, GaugeChanged)]
    assert gauge.usage.window.limit == 32_000
    await opened.close()


async def test_another_model_takes_its_own_window_along(desk: Desk, known_sizes_server: FakeOpenAI) -> None:
    desk.server("wide", known_sizes_server.base_url, window=64_000)
    async with desk.session() as opened:
        await talk(opened, known_sizes_server, 1.4)
        session = opened.conversation.session
    async with desk.session(session=session, model="wide:scripted") as opened:
        assert opened.conversation.usage.window.limit == 64_000
        assert seen(desk, session).window.limit == 64_000


async def test_older_logs_count_what_stands_among_the_instructions(
    desk: Desk, known_sizes_server: FakeOpenAI
) -> None:
    async with desk.session() as opened:
        await talk(opened, known_sizes_server, 1.0)
        history = opened.conversation.history
        measured = history.store.last_of(history.session, UsageInfo.TYPE)
        assert measured is not None
        assert isinstance(measured.data, UsageInfo)
        usage = {**measured.data.usage, "memory": 900, "system": 100, "tools": 300}
        history.report(UsageInfo(usage=usage))
        await taken_back(opened)
        read = seen(desk, history.session)
        assert read.parts.memory == pytest.approx(900, rel=0.5)
