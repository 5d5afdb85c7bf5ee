"""Threads of Zed, whose values are objects with one key that names their type."""

import sqlite3
from collections.abc import Callable
from typing import Any

from tui_app.session.importers.content import attached, picture, text_block
from tui_app.session.importers.databases import Row, Rows, Store, as_bytes, parsed
from tui_app.session.importers.places import stores_in
from tui_app.session.importers.shape import ASIDE, Shape
from tui_app.session.importers.source import ImportFormatError, Json, unpacked
from tui_app.session.importers.values import block_list, list_at, object_at, objects_at, text_at, value_at


def _heads(rows: Rows) -> list[Row]:
    # Not the threads themselves, which may be large. Old versions do not record the folder.
    names = "id, summary, updated_at"
    try:
        found = rows(f"SELECT {names}, folder_paths FROM threads ORDER BY updated_at DESC")
    except sqlite3.OperationalError:
        found = rows(f"SELECT {names} FROM threads ORDER BY updated_at DESC")
    # The first of the open folders.
    return [{**row, "folder": text_at(row, "folder_paths").partition("\n")[0]} for row in found]


def _document(rows: Rows, head: Row) -> Json:
    (row,) = rows("SELECT data, data_type FROM threads WHERE id = ?", str(head["id"]))
    data = as_bytes(row["data"])
    thread = parsed((unpacked(data) if row["data_type"] == "zstd" else data).decode("utf-8", "replace"))
    if not isinstance(thread, dict):
        raise ImportFormatError("The thread is damaged and cannot be read. Another may be whole: FILE#ID.")
    return {**head, **thread}


_STORE = Store(
    tables={"threads": frozenset({"summary", "data_type", "data"})}, heads=_heads, title=("summary",),
    folder="folder", updated="updated_at", document=_document,
)  # fmt: skip


def _zed(message: Json) -> Json:
    if "segments" in message:
        # The form of version 0.2, with separate calls and results.
        calls = [{**each, "arguments": each.get("input")} for each in objects_at(message, "tool_uses")]
        content, results = list_at(message, "segments"), objects_at(message, "tool_results")
        return {**message, "content": content, "tool_calls": calls, "results": results}
    inner = object_at(message, "User") or object_at(message, "Agent")
    if "User" not in message and "Agent" not in message:
        return {**message, "role": ASIDE if set(message) <= {"Resume", "Compaction"} else ""}
    results = [
        {**each, "content": block_list(each.get("content"))}
        for each in object_at(inner, "tool_results").values()
        if isinstance(each, dict)
    ]
    role = "user" if "User" in message else "assistant"
    return {"role": role, "content": inner.get("content"), "results": results}


def _zed_block(part: Any) -> Any:
    kind, value = next(iter(part.items())) if isinstance(part, dict) and len(part) == 1 else ("", None)
    return _BLOCKS[kind](value) if kind in _BLOCKS else part


def _call(value: Any) -> Json:
    given = object_at(value, "input")
    args = given["value"] if set(given) == {"type", "value"} and given["type"] == "json" else given
    return {**(value if isinstance(value, dict) else {}), "type": "tool_use", "input": args}


_BLOCKS: dict[str, Callable[[Any], Json]] = {
    "Text": text_block, "ToolUse": _call, "RedactedThinking": lambda _: {"type": "redacted_thinking"},
    "Thinking": lambda value: {"type": "thinking", "thinking": text_at(value, "text")},
    "Mention": lambda value: attached(str(value_at(value, "uri")), text_at(value, "content")),
    "Image": lambda value: picture("image/png", value_at(value, "source")),
}  # fmt: skip
ZED = Shape(
    name="zed", program="Zed", store=_STORE,
    signs=("messages.User", "messages.Agent", "messages.segments"),
    places=(
        stores_in(_STORE, "XDG_DATA_HOME", ".local/share", "zed/threads/threads.db"),
        stores_in(_STORE, "", "Library/Application Support", "Zed/threads/threads.db"),
    ),
    talk=("messages",), title=("title", "summary"),
    cwd=("folder", "initial_project_snapshot.worktree_snapshots.worktree_path"), models=("model.model",),
    marks=("Resume",), convert=_zed, block=_zed_block,
)  # fmt: skip
