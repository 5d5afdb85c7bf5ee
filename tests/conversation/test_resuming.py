"""Closing and opening again: nothing lost, nothing left behind, one writer."""

import asyncio
import json
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
from tui_app.conversation.assembly import open_session
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.work import Compact
from tui_app.events import AgentOutput, AssistantMessage, Error, SessionEnd, ToolCall, ToolResult, UserMessage
from tui_app.session.lock import SessionLocked
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.store import SessionNotFound
from tui_app.session.user_view import fold_user_view
from tui_app.settings import SettingsError

NOTES = "Title: Sea\nThe sea is salty."


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
        # The summary's own request has taught the tokenizer's factor meanwhile.
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
