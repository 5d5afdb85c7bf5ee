"""Threads of Zed: values that are told apart by the name of their one key."""

from typing import Any

from tui_app.session.importers.content import attached, text_block
from tui_app.session.importers.places import stores_in
from tui_app.session.importers.shape import ASIDE, Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import has_items, list_at, object_at, objects_at, text_at, value_at


def _zed(message: Json) -> Json:
    if "segments" in message:
        return {
            **message,
            "content": [
                {**each, "type": "thinking", "thinking": each.get("text")}
                if value_at(each, "type") == "thinking"
                else each
                for each in list_at(message, "segments")
            ],
            # As a thread of version 0.2 has calls and results.
            "tool_calls": [
                {**each, "arguments": each.get("input")} for each in objects_at(message, "tool_uses")
            ],
            "results": objects_at(message, "tool_results"),
        }
    role = "user" if "User" in message else "assistant" if "Agent" in message else ""
    inner = object_at(message, "User") or object_at(message, "Agent")
    results = [
        {**each, "content": [_zed_block(part) for part in _as_list(each.get("content"))]}
        for each in object_at(inner, "tool_results").values()
        if isinstance(each, dict)
    ]
    if not role:
        return {**message, "role": ASIDE if set(message) <= {"Resume", "Compaction"} else ""}
    return {
        "role": role,
        "content": [_zed_block(part) for part in list_at(inner, "content")],
        "results": results,
    }


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value is not None else []


def _zed_block(part: Any) -> Any:
    if not isinstance(part, dict) or len(part) != 1:
        return part
    kind, value = next(iter(part.items()))
    match kind:
        case "Text":
            return text_block(value)
        case "Thinking":
            return {"type": "thinking", "thinking": text_at(value, "text")}
        case "RedactedThinking":
            return {"type": "redacted_thinking"}
        case "ToolUse" if isinstance(value, dict):
            given = object_at(value, "input")
            args = given["value"] if set(given) == {"type", "value"} and given["type"] == "json" else given
            return {**value, "type": "tool_use", "input": args}
        case "Mention":
            return attached(str(value_at(value, "uri")), text_at(value, "content"))
        case "Image":
            source = {"type": "base64", "media_type": "image/png", "data": value_at(value, "source")}
            return {"type": "image", "source": source}
    return part


ZED = Shape(
    name="zed", program="Zed", sign=lambda each: has_items(each, "messages", "User", "Agent", "segments"),
    places=(
        stores_in("XDG_DATA_HOME", ".local/share", "zed/threads/threads.db"),
        stores_in("", "Library/Application Support", "Zed/threads/threads.db"),
    ),
    talk=("messages",), title=("title", "summary"),
    cwd=("folder", "initial_project_snapshot.worktree_snapshots.worktree_path"), models=("model.model",),
    marks=("Resume",), turned=_zed,
)  # fmt: skip
