"""Messages of LangChain as its serializers write them: ``{lc, id, kwargs}``, ``{type, data}`` or flat."""

from typing import Any

from tui_app.session.importers.shape import USUAL, Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import list_at, text_at

_TALK = ("human", "ai", "AIMessageChunk")
"""Message types that only LangChain has: messages of a graph's state are flat, without ``data``."""
_TRACED = (
    "extra.metadata.ls_model_name", "extra.invocation_params.model", "extra.invocation_params.model_name",
)  # fmt: skip
_CLASSES = {
    "HumanMessage": "human", "AIMessage": "ai", "AIMessageChunk": "AIMessageChunk", "SystemMessage": "system",
    "ToolMessage": "tool", "FunctionMessage": "function", "ChatMessage": "chat",
}  # fmt: skip


def _kind_and_fields(item: Any) -> tuple[str, Json]:
    """Return the type and fields of a message; empty if it is none."""
    if not isinstance(item, dict):
        return "", {}
    fields = item.get("kwargs")
    if item.get("type") == "constructor" and isinstance(fields, dict):
        name = (list_at(item, "id") or [""])[-1]
        return _CLASSES.get(name if isinstance(name, str) else "", ""), fields
    kind, fields = text_at(item, "type"), item.get("data")
    return (kind, fields) if isinstance(fields, dict) else (kind, item)


def _is_message(item: Any) -> bool:
    kind, fields = _kind_and_fields(item)
    known = kind in (_TALK if fields is item else _CLASSES.values())
    return known and ("content" in fields or "tool_calls" in fields)


def _convert(item: Json) -> Json:
    kind, fields = _kind_and_fields(item)
    pieces = {"response": fields.get("id"), "delta": True} if kind == "AIMessageChunk" else {}
    return {**fields, **pieces, "said_by": text_at(fields, "role") if kind == "chat" else kind}


LANGCHAIN = Shape(
    name="langchain", program="LangChain", is_message=_is_message, role=("said_by",),
    roles={**USUAL, "ai": "assistant", "AIMessageChunk": "assistant"},
    model=("response_metadata.model_name", "response_metadata.model"), models=_TRACED,
    tokens={
        "total": "usage_metadata.input_tokens", "read": "usage_metadata.input_token_details.cache_read",
        "output": "usage_metadata.output_tokens", "thought": "usage_metadata.output_token_details.reasoning",
        "written": "usage_metadata.input_token_details.cache_creation",
    },
    convert=_convert,
)  # fmt: skip
