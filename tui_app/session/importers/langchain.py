"""Messages of LangChain as serializers write them: ``{lc, type, id, kwargs}`` or ``{type, data}``."""

from typing import Any

from tui_app.session.importers.openai_chat import read_role_messages
from tui_app.session.importers.reader import block_list, objects_at, of_type, record_text, text_at, value_at
from tui_app.session.importers.source import Found, Imported, Json, Source, find_messages

FORMAT = "langchain"

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
}
_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}


_NO_CONTENT = ("tool_use", "tool_call", "function_call", "thinking", "reasoning", "input_json_delta")
"""Types of blocks that are told apart from what the model said."""


def is_langchain(source: Source) -> bool:
    """Whether the file holds serialized messages."""
    return find_messages(source.document, _is_message) is not None


def read_langchain(source: Source) -> Imported:
    """Read a conversation."""
    found = find_messages(source.document, _is_message) or Found([], {})
    spelled = Found([_role_message(item) for item in found.messages], found.owner, found.others)
    return read_role_messages(source, spelled, format=FORMAT)


def _is_message(item: Any) -> bool:
    kind, fields = _kind_and_fields(item)
    return (kind in _ROLES or kind == "chat") and ("content" in fields or "tool_calls" in fields)


def _kind_and_fields(item: Any) -> tuple[str, Json]:
    """What a message is and what it holds; empty for what is no message."""
    if not isinstance(item, dict):
        return "", {}
    fields = item.get("kwargs")
    if item.get("type") == "constructor" and isinstance(fields, dict):
        names = item.get("id")
        name = names[-1] if isinstance(names, list) and names else ""
        return _CLASSES.get(name if isinstance(name, str) else "", ""), fields
    fields = item.get("data")
    return (record_text(item, "type"), fields) if isinstance(fields, dict) else ("", {})


def _role_message(item: Any) -> Any:
    kind, fields = _kind_and_fields(item)
    role = record_text(fields, "role") if kind == "chat" else _ROLES.get(kind)
    if role is None:
        return item
    message = {**fields, "role": role}
    known = objects_at(fields, "tool_calls")
    if role == "assistant":
        blocks = block_list(fields.get("content"))
        known = known or of_type(blocks, "tool_use")
        thoughts = [block for block in blocks if value_at(block, "type") in ("thinking", "reasoning")]
        texts = (text_at(block, "thinking", "reasoning") for block in thoughts)
        message["reasoning"] = "\n\n".join(filter(None, texts))
        message["content"] = [block for block in blocks if value_at(block, "type") not in _NO_CONTENT]
        message["model"] = text_at(fields, "response_metadata.model_name")
        cached = value_at(fields, "usage_metadata.input_token_details.cache_read")
        message["usage"] = {
            "prompt_tokens": value_at(fields, "usage_metadata.input_tokens"),
            "completion_tokens": value_at(fields, "usage_metadata.output_tokens"),
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    message["tool_calls"] = [
        {
            "id": call.get("id"),
            "function": {"name": call.get("name"), "arguments": call.get("args", call.get("input"))},
        }
        for call in known
    ]
    return message
