"""Exports of LibreChat: content in parts, where a call holds what the tool answered."""

from typing import Any

from tui_app.session.importers.content import attached, text_block
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import block_list, has_items, object_at, objects_at, text_at, value_at


def _librechat(message: Json) -> Json:
    blocks: list[Any] = []
    for part in block_list(message.get("content")) or block_list(message.get("text")):
        kind = value_at(part, "type")
        if kind == "tool_call":
            call = object_at(part, "tool_call")
            name, call_id = text_at(call, "name", "function.name"), text_at(call, "id")
            args = value_at(call, "args") or value_at(call, "function.arguments")
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": args})
            output = value_at(call, "output") or value_at(call, "function.output")
            if output is not None and name:
                blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": output})
        elif kind == "error":
            blocks.append(text_block(text_at(part, "error", "text") or "error"))
        else:
            value = value_at(part, "text.value")
            blocks.append({**part, "text": value} if isinstance(value, str) else part)
    blocks += [attached(text_at(each, "filename"), "") for each in objects_at(message, "files")]
    said_by = {True: "user", False: "assistant"}.get(message.get("isCreatedByUser") is True)
    state = "interrupted" if message.get("unfinished") is True else ""
    return {**message, "role": said_by, "content": blocks, "state": state}


def _is_librechat(record: Json) -> bool:
    return "isCreatedByUser" in record or any(
        has_items(record, path, "isCreatedByUser") for path in ("messages", "messagesTree")
    )


LIBRECHAT = Shape(
    name="librechat", program="LibreChat", sign=_is_librechat, talk=("messages", "messagesTree"),
    nested="children", time=("createdAt", "updatedAt"), models=("options.model", "model"),
    links=("messageId", "parentMessageId", ()), convert=_librechat,
)  # fmt: skip
