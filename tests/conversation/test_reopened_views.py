"""Opening, compacting and undoing leave a view as it was, also one that another program or a kill cut off."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from tests.conversation.driving import Desk, assert_valid, done, of, turn, view_bytes
from tui_app.agent.turn import ENDED
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.exports import export_session
from tui_app.conversation.imports import import_session
from tui_app.conversation.session_history import storable
from tui_app.conversation.work import Compact, Restate
from tui_app.events import AssistantMessage, ToolCall, ToolResult, UserMessage
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.user_view import fold_user_view

OFFLINE = "offline:extractive"
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
    """Compact and undo in one open session and in two; the view and its export are the same at the end."""
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
    """What a killed process leaves: two calls, one of them begun, and no result."""
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
