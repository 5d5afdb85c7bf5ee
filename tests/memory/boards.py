"""Boards for tests, each with its own session database and a clock that advances with every reading."""

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.views.view import Item
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import EXTRACTION, Draft, EntryKind
from tui_app.memory.scope import Scope
from tui_app.memory.store import SqliteBoardStore
from tui_app.session.stores.sqlite_connection import connect

MAIN = Scope(repository="/home/ada/ferry", branch="main")


def store_in(folder: Path) -> SqliteBoardStore:
    return SqliteBoardStore(partial(connect, folder / "sessions.db", read_only=False))


def board_in(folder: Path, scope: Scope = MAIN, most: int = 100) -> ContextBoard:
    ticks = count(1_000)
    return ContextBoard(store_in(folder), scope, most, lambda: float(next(ticks)))


def found(
    text: str, kind: EntryKind = "note", *, seq: int = 1, weight: float = 1.0, session: str = "s1"
) -> Draft:
    """Build an entry as extraction drafts it."""
    return Draft(text=text, kind=kind, made_by=EXTRACTION, session=session, seq=seq, weight=weight)


def items_of(*messages: ModelMessage) -> list[Item]:
    return [Item(key, message) for key, message in enumerate(messages, start=2)]


def you(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def it(text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)])


def ran(command: str, output: str, number: int = 1) -> Sequence[ModelMessage]:
    call = ToolCallPart("run_command", {"command": command}, f"c{number}")
    return (
        ModelResponse(parts=[call]),
        ModelRequest(parts=[ToolReturnPart("run_command", output, f"c{number}")]),
    )


def edited(path: str, number: int) -> Sequence[ModelMessage]:
    call = ToolCallPart("edit_file", {"path": path, "old": "a", "new": "b"}, f"e{number}")
    return (
        ModelResponse(parts=[call]),
        ModelRequest(parts=[ToolReturnPart("edit_file", "edited", f"e{number}")]),
    )


def asked(question: str, answer: str) -> Sequence[ModelMessage]:
    call = ToolCallPart("ask_user", {"question": question}, f"q{len(question)}")
    return (
        ModelResponse(parts=[call]),
        ModelRequest(parts=[ToolReturnPart("ask_user", answer, call.tool_call_id)]),
    )
