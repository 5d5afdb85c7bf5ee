"""A session's history without a conversation, filled message by message."""

from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.conversation.history.compaction_archive import Archive
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import AssistantMessage, Record, ToolResult, UserMessage
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder
from tui_app.usage import Breakdown, ContextWindow, Overhead

WINDOW = ContextWindow(limit=8_000, source="setting", reserve=500)
FIXED = Breakdown(system=100, tools=200)


def opened(store: SqliteStore, session: str, records: list[Record], path: Path) -> SessionHistory:
    history = SessionHistory(
        store=store,
        session=session,
        archive=Archive(SessionFolder(path / session)),
        counter=TokenCounter(TextCounter(None)),
        publish=records.append,
        model="a:b",
    )
    history.load()
    history.set_overhead(Overhead(WINDOW, FIXED), "a:b")
    return history


def say(history: SessionHistory, text: str) -> None:
    message = ModelRequest(parts=[UserPromptPart(text)])
    tokens = history.counter.message(message).nonzero()
    history.append(UserMessage(text=text, tokens=tokens), message)


def answer(history: SessionHistory, text: str, reported: tuple[int, int] = (0, 0), call: str = "") -> None:
    calls = [ToolCallPart("ls", {}, tool_call_id=call)] if call else []
    parts: list[TextPart | ToolCallPart] = [TextPart(text), *calls]
    message = ModelResponse(
        parts=parts, usage=RequestUsage(input_tokens=reported[0], output_tokens=reported[1])
    )
    payload = AssistantMessage(
        text=text,
        tokens=history.counter.message(message).nonzero(),
        model="a:b",
        call_ids=(call,) if call else (),
        input_tokens=reported[0],
        output_tokens=reported[1],
    )
    history.append(payload, message)


def result(history: SessionHistory, call: str, text: str) -> None:
    message = ModelRequest(parts=[ToolReturnPart("ls", text, tool_call_id=call)])
    tokens = history.counter.message(message).nonzero()
    history.append(ToolResult(tool_call_id=call, name="ls", text=text, tokens=tokens), message)


def as_json(history: SessionHistory) -> list[bytes]:
    messages: list[ModelMessage] = [item.message for item in history.items()]
    return [ModelMessagesTypeAdapter.dump_json([message]) for message in messages]
