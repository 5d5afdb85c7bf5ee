"""Programs that are known by what nobody else writes: formats that are read, and those that are not.

Their files look like another format that is read; as such they would lose calls, results, and who said what.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from tui_app.session.importers.databases import columns_of, store_of
from tui_app.session.importers.opencode import database_sessions
from tui_app.session.importers.reader import (
    block_list,
    list_at,
    object_at,
    objects_at,
    record_text,
    text_at,
    value_at,
)
from tui_app.session.importers.shapes import beside_file
from tui_app.session.importers.source import ROLES, Json, Source, find_messages, is_database, is_role_message

_LOOKED_AT = 1_000
"""Records of a file in which the signs are looked for."""


def _blocks(message: Json, *kinds: str) -> bool:
    """Whether the content of a message, or of one inside of it, has blocks of such types."""
    content = message.get("content", value_at(message, "message.content"))
    return any(value_at(block, "type") in kinds for block in block_list(content))


def _items(record: Json, path: str, *keys: str) -> bool:
    """Whether a list has objects with one of the keys."""
    return any(key in item for item in objects_at(record, path) for key in keys)


def _is_cline(record: Json) -> bool:
    texts = (value_at(block, "text") for block in block_list(record.get("content")))
    if "role" in record and any("<environment_details>" in text for text in texts if isinstance(text, str)):
        return True
    return ("role" in record and "modelInfo" in record) or (
        record.get("type") in ("ask", "say") and "ts" in record
    )


def _is_ai_sdk(record: Json) -> bool:
    parts = "toolInvocations" in record or _items(record, "parts", "type")
    return "role" in record and (parts or _blocks(record, "tool-call", "tool-result"))


def _is_cursor(record: Json) -> bool:
    if record.get("type") == "tool_call":
        return "tool_call" in record
    return "role" in record and "type" not in record and "content" in object_at(record, "message")


def _is_factory(record: Json) -> bool:
    kind = record.get("type")
    return (kind == "session_start" and "id" in record) or (
        kind == "message"
        and "role" in object_at(record, "message")
        and _blocks(record, "tool_use", "tool_result")
    )


def _is_gemini(record: Json) -> bool:
    if record.get("role") in ("user", "model") and "content" not in record:
        return any("type" not in part for part in objects_at(record, "parts"))
    return _items(record, "history", "parts") or _items(record, "contents", "parts")


def _is_goose(record: Json) -> bool:
    headed = "working_dir" in record and ("message_count" in record or "conversation" in record)
    return headed or ("role" in record and _blocks(record, "toolRequest", "toolResponse"))


def _is_grok(record: Json) -> bool:
    kind = record.get("type")
    if "message" in record or "content" not in record:
        return False
    return kind == "assistant" or (kind == "tool_result" and "tool_call_id" in record)


def _is_kimi(record: Json) -> bool:
    return record_text(record, "role").startswith("_") or "payload" in object_at(record, "message")


def _is_librechat(record: Json) -> bool:
    return "isCreatedByUser" in record or any(
        _items(record, path, "isCreatedByUser") for path in ("messages", "messagesTree")
    )


def _is_open_interpreter(record: Json) -> bool:
    return record.get("role") == "computer" or (record.get("type") == "code" and "role" in record)


def _is_bedrock(record: Json) -> bool:
    blocks = block_list(record.get("content")) if "role" in record else ()
    return any(isinstance(block, dict) and {"toolUse", "toolResult"} & block.keys() for block in blocks)


def _is_vibe(metadata: Any) -> bool:
    return bool(text_at(metadata, "environment.working_directory"))


_SIGNS: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("amp", lambda each: record_text(each, "id").startswith("T-") and "messages" in each),
    ("amp", lambda each: "role" in each and type(each.get("messageId")) is int),
    ("atif", lambda each: record_text(each, "schema_version").startswith("ATIF")),
    ("Amazon Q, or Kiro", lambda each: _items(each, "history", "assistant")),
    ("chatgpt", lambda each: "mapping" in each and ("current_node" in each or "create_time" in each)),
    ("claude-ai", lambda each: "chat_messages" in each),
    ("cline", _is_cline),
    ("continue", lambda each: "sessionId" in each and _items(each, "history", "message")),
    ("Copilot Chat of VS Code", lambda each: "requests" in each and "responderUsername" in each),
    ("cursor", _is_cursor),
    ("factory", _is_factory),
    ("gemini-api", _is_gemini),
    ("goose", _is_goose),
    ("grok", _is_grok),
    ("kimi", _is_kimi),
    ("librechat", _is_librechat),
    ("open-webui", lambda each: {"messages", "history"} <= object_at(each, "chat").keys()),
    ("vibe", lambda each: "messages" in each and _is_vibe(each.get("metadata"))),
    ("qwen-code", lambda each: each.get("type") in ROLES and bool(list_at(each, "message.parts"))),
    ("zed", lambda each: _items(each, "messages", "User", "Agent", "segments")),
    ("the AI SDK, or of one that writes as it does", _is_ai_sdk),
    ("Open Interpreter", _is_open_interpreter),
    ("Amazon Bedrock", _is_bedrock),
    ("OpenAI's Assistants, or Jan", lambda each: each.get("object") == "thread.message"),
    ("OpenAI's Assistants, or Jan", lambda each: _items(each, "data", "thread_id")),
    ("Langfuse", lambda each: {"observations", "input"} <= each.keys()),
    ("LM Studio", lambda each: _items(each, "messages", "versions")),
    ("Google's AI Studio", lambda each: "chunkedPrompt" in each),
    ("SillyTavern", lambda each: {"is_user", "mes"} <= each.keys()),
    ("Chatbox", lambda each: _items(each, "messages", "contentParts")),
    ("smolagents", lambda each: {"step_number", "model_output"} <= each.keys()),
    (
        "the AI SDK, or of one that writes as it does",
        lambda each: any({"role", "parts"} <= message.keys() for message in objects_at(each, "messages")),
    ),
    ("ShareGPT, or a set for training", lambda each: _items(each, "conversations", "from")),
    ("Anthropic's API", lambda each: "role" in each and _blocks(each, "tool_use", "tool_result")),
)  # fmt: skip
"""In the order in which they are asked: a format, or the name of a program whose files are not read.

Each is told a record, or a message in one.
"""
_TABLES = (
    ("Crush", {"goose_db_version"}),
    ("Cursor, whose command line keeps what can be read", {"cursorDiskKV"}),
    ("Goose", {"sessions", "messages", "schema_version"}),
    ("LangGraph", {"checkpoints", "writes"}),
)
"""Databases that are not read, by tables that they have."""


def program_of(source: Source) -> str:
    """The format of a file, or the name of the program if its conversations are not read; else nothing."""
    if is_database(source.raw):
        return "" if database_sessions(source.path) else _database_of(source)
    value = source.value
    found = find_messages(value, is_role_message)
    records: list[Any] = value[:_LOOKED_AT] if isinstance(value, list) else [value]
    records += islice(found.messages if found else (), _LOOKED_AT)
    known = [record for record in records if isinstance(record, dict)]
    if isinstance(source.document, list) and any(
        record.get("type") in ("function_call", "function_call_output") and "call_id" in record
        for record in known
    ):
        # On lines of their own the same items are an old rollout of Codex.
        return "OpenAI's Responses API"
    program = next((program for program, is_from in _SIGNS if any(map(is_from, known))), "")
    # Vibe's lines are those of many; only the file beside them is its own.
    if (
        not program
        and source.document is None
        and found
        and "environment" in beside_file(source.path, "meta.json")
    ):
        return "vibe"
    return program


def _database_of(source: Source) -> str:
    if store := store_of(source.path):
        return store.program
    tables = columns_of(source.path).keys()
    if not tables or tables >= {"session", "message", "part"}:
        return ""
    return next((program for program, names in _TABLES if names <= tables), "another program")
