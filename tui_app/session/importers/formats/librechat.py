"""Exports of LibreChat: content in parts, where a call has its result."""

from typing import Any

from tui_app.session.importers.content import text_block
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import object_at, text_at, value_at


def _librechat(message: Json) -> Json:
    said_by = "user" if message.get("isCreatedByUser") is True else "assistant"
    return {**message, "role": said_by, "state": "interrupted" if message.get("unfinished") is True else ""}


def _block(part: Any) -> Any:
    kind, call = value_at(part, "type"), object_at(part, "tool_call")
    if kind == "tool_call":
        return {**call, **object_at(call, "function"), "type": "tool_use"}
    if kind == "error":
        return text_block(text_at(part, "error", "text") or "error")
    value = value_at(part, "text.value")
    return {**part, "text": value} if isinstance(value, str) else part


LIBRECHAT = Shape(
    name="librechat", program="LibreChat",
    signs=tuple(f"{path}isCreatedByUser" for path in ("", "messages.", "messagesTree.")),
    talk=("messages", "messagesTree"), nested="children", time=("createdAt", "updatedAt"),
    models=("options.model", "model"),
    links=("messageId", "parentMessageId", ()), convert=_librechat, files=("files",),
    content=("content", "text"), block=_block,
)  # fmt: skip
