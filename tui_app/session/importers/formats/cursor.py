"""Cursor's transcripts and the store of its command line: messages as the AI SDK has them."""

import re

from tui_app.session.importers.places import files_in, stores_in
from tui_app.session.importers.shape import Shape, aside
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import object_at, record_text, value_at


def _cursor(record: Json) -> Json:
    message = object_at(record, "message")
    if record.get("type") == "tool_call":
        return _cursor_call(record)
    if record.get("type") in ("system", "result", "thinking") and not message:
        return {**record, **aside()}
    return {**record, **message, "role": record_text(record, "role") or record_text(message, "role")}


def _cursor_call(record: Json) -> Json:
    """A call as the program prints it: when it begins, and again with its result when it ends."""
    if record.get("subtype") != "completed":
        return aside()
    call_id = record_text(record, "call_id")
    name, inner = next(iter(object_at(record, "tool_call").items()), ("", None))
    result = object_at(inner, "result")
    failed = bool(result) and "success" not in result
    call = {
        "type": "tool_use", "id": call_id, "name": name.removesuffix("ToolCall"),
        "input": value_at(inner, "args"),
    }  # fmt: skip
    told = {"tool_use_id": call_id, "content": result.get("success", result), "is_error": failed}
    return {"role": "assistant", "content": [call], "results": [told]}


def _is_cursor(record: Json) -> bool:
    if record.get("type") == "tool_call":
        return "tool_call" in record
    return "role" in record and "type" not in record and "content" in object_at(record, "message")


CURSOR = Shape(
    name="cursor", program="Cursor", sign=_is_cursor,
    places=(
        files_in("", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"),
        stores_in("", ".cursor", "chats/*/*/store.db"),
    ),
    talk=("messages",), title=("name", "title"), models=("lastUsedModel", "model"),
    time=("timestamp", "timestamp_ms", "createdAt"), typed=re.compile(r"<(?P<tag>user_query)>"),
    turned=_cursor,
)  # fmt: skip
