"""Sizes of sessions: what the list says is what an import says and what would be sent."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.session.older import build_older
from tui_app.conversation.imports import import_session
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Payload,
    SessionClear,
    SessionRewind,
    SessionStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.exports.export import user_view_messages
from tui_app.session.preview import load_preview
from tui_app.session.sqlite_store import SqliteStore

START = SessionStart(cwd="/tmp", model="a:b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close()


def test_messages_are_the_items_of_the_model_s_view(store: SqliteStore) -> None:
    """One meaning everywhere: the list of sessions counts what the context screen and compactions count."""
    session = store.create(START, time=1.0)

    def results(*calls: str) -> list[Payload]:
        return [ToolResult(tool_call_id=call, name="ls", text="a") for call in calls]

    answer = AssistantMessage(text="", call_ids=("c1", "c2"))
    call = ToolCall(tool_call_id="c2", name="ls", args="{}")
    said: list[list[Payload]] = [
        [SystemMessage(text="be brief"), UserMessage(text="x"), answer],
        results("c1"),
        [call, *results("c2", "c3")],
        [AssistantMessage(text="y"), *results("c4", "c5"), UserMessage(text="z"), *results("c6")],
    ]
    counts = []
    for events in said:
        store.append_many(session, [(event, None, 2.0) for event in events])
        counts.append(store.info(session).messages)
        assert counts[-1] == len(fold_agent_view(store.heads(session)).visible())
    assert counts == [3, 4, 6, 11]


def test_tokens_are_those_of_the_view(store: SqliteStore) -> None:
    session = store.create(START, time=1.0)
    tokens = []

    def happens(*events: Payload) -> None:
        store.append_many(session, [(event, None, 2.0) for event in events])
        tokens.append(store.info(session).tokens)

    summary = CompactionComplete(
        job="j", outcome="success", trigger="manual", removed=((2, 3),), tokens={"summary": 5}
    )
    happens(UserMessage(text="x", tokens={"user": 40}))
    happens(AssistantMessage(text="y", tokens={"assistant": 20, "thinking": 1}))
    happens(replace(summary, outcome="failed"))
    happens(summary)
    happens(UserMessage(text="z", tokens={"user": 2}), CompactionUndone(compaction=5))
    happens(UsageInfo(usage={"total": 100, "system": 30, "tools": 7}))
    happens(AssistantMessage(text="a", tokens={"assistant": 3}))
    happens(CompactionRedone(compaction=5))
    happens(SessionClear())
    assert tokens == [40, 61, 61, 5, 63, 100, 103, 5 + 2 + 3 + 37, 37]


def test_system_prompt_of_the_history_is_not_counted_twice(store: SqliteStore, path: Path) -> None:
    """A request's figures hold it together with the instructions."""
    window = {"limit": 8_000, "limit_source": "server", "reserve": 0}
    session = store.create(START, time=1.0)
    events = [
        SystemMessage(text="be brief", tokens={"system": 10}),
        UserMessage(text="x", tokens={"user": 4}),
        UsageInfo(usage={"total": 44, "system": 35, "tools": 5, **window}),
        SessionRewind(to=3),
    ]
    store.append_many(session, [(event, None, 2.0) for event in events])
    assert store.info(session).tokens == 40
    preview = load_preview(path, session)
    assert preview.known.usage(preview.agent_view, "").total == 40


def test_sizes_of_older_sessions_are_counted_again(path: Path) -> None:
    build_older(path, 2, sessions=2)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE sessions SET messages = 99, tokens = 0")
        imported = "json_set(data, '$.imported_from', 'openai-chat')"
        db.execute(f"UPDATE events SET data = {imported} WHERE session = '00000001' AND seq = 1")
    store = SqliteStore(path)
    sizes = [(store.info(each).messages, store.info(each).tokens) for each in ("00000000", "00000001")]
    assert sizes == [(5, 0), (5, 27)]
    store.close()


def test_import_reports_what_the_list_says(store: SqliteStore, tmp_path: Path) -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": "{}"}} for n in (1, 2)
    ]
    chat = [
        {"role": "system", "content": "You help with ferries."},
        {"role": "user", "content": "What is in the two folders?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "a timetable"},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing at all"},
        {"role": "assistant", "content": "A timetable, and nothing."},
    ]
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat))
    report = import_session(file, store=store, cwd=tmp_path, now=5.0)
    info = store.info(report.session)
    assert (info.messages, info.tokens) == (report.messages, report.tokens)
    assert info.messages == len(messages_of(store, report.session)) == 6
    assert info.tokens > 0


def messages_of(store: SqliteStore, session: str) -> list[dict[str, Any]]:
    rows = list(store.records(session))
    return [json.loads(text) for text in user_view_messages(rows)]
