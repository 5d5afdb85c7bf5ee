"""Cursor's transcripts, and the database of its command line with messages of the AI SDK."""

import re
from collections import Counter
from typing import Any

from tui_app.session.importers.databases import Row, Rows, Store, as_bytes, parsed
from tui_app.session.importers.places import files_in, stores_in
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json, parse_json
from tui_app.session.importers.values import object_at, text_at, value_at

_LISTED = b"\x0a\x20"
"""Prefix of a field in a root that has the id of a message, a hash of 32 bytes."""
_MAX_USES = 50


def _heads(rows: Rows) -> list[Row]:
    for row in rows("SELECT value FROM meta"):
        try:
            value = parse_json(bytes.fromhex(row["value"]).decode("utf-8", "replace"))
        except (TypeError, ValueError):
            continue
        if isinstance(value, dict):
            return [{**value, "id": str(value.get("agentId") or "session")}]
    return []


def _document(rows: Rows, head: Row) -> Json:
    """Read the blobs, stored by hash, of the messages listed in the newest root."""

    def blob(name: str) -> bytes:
        return next((as_bytes(row["data"]) for row in rows("SELECT data FROM blobs WHERE id = ?", name)), b"")

    root, uses = blob(str(head.get("latestRootBlobId"))), Counter[str]()
    listed: list[Any] = []
    for at in range(0, len(root) - 33, 34):
        if not root.startswith(_LISTED, at):
            break
        name = root[at + 2 : at + 34].hex()
        uses[name] += 1
        if uses[name] <= _MAX_USES:
            listed.append(parsed(blob(name).decode("utf-8", "replace")))
    return {**head, "messages": listed}


_STORE = Store(
    tables={"blobs": frozenset({"id", "data"}), "meta": frozenset({"value"})}, heads=_heads,
    title=("name",), folder="", updated="createdAt", document=_document,
)  # fmt: skip


def _cursor(record: Json) -> Json:
    """Convert a call, which is printed when it begins, and again with its result when it ends."""
    name, inner = next(iter(object_at(record, "tool_call").items()), ("", None))
    if record.get("type") != "tool_call":
        return record
    result = object_at(inner, "result")
    call = {
        "type": "tool_use", "id": text_at(record, "call_id"), "name": name.removesuffix("ToolCall"),
        "input": value_at(inner, "args"), "output": result.get("success", result),
        "is_error": bool(result) and "success" not in result,
    }  # fmt: skip
    return {"role": "assistant", "content": [call]}


CURSOR = Shape(
    name="cursor", store=_STORE, program="Cursor",
    signs=("type=tool_call tool_call", "role !type message.content"),
    places=(
        files_in("", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"),
        stores_in(_STORE, "", ".cursor", "chats/*/*/store.db"),
    ),
    talk=("messages",), title=("name", "title"), models=("lastUsedModel", "model"),
    time=("timestamp", "timestamp_ms", "createdAt"), typed=re.compile(r"<(?P<tag>user_query)>"),
    message="message", convert=_cursor,
    about=(
        "type=system|result|thinking !message", "type=tool_call !subtype",
        "type=tool_call subtype!=completed",
    ),
)  # fmt: skip
