"""Programs that are known by what nobody else writes: those whose files are not read.

Their files look like another format that is read; as such they would lose calls, results, and who said what.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from tui_app.session.importers.databases import columns_of, store_of
from tui_app.session.importers.opencode import database_sessions
from tui_app.session.importers.reader import block_list, has_blocks, has_items, objects_at
from tui_app.session.importers.shapes import Shape, beside_file
from tui_app.session.importers.source import Json, Source, find_messages, is_database, is_role_message

_LOOKED_AT = 1_000
"""Records of a file in which the signs are looked for."""


def _is_ai_sdk(record: Json) -> bool:
    parts = "toolInvocations" in record or has_items(record, "parts", "type")
    return "role" in record and (parts or has_blocks(record, "tool-call", "tool-result"))


def _is_bedrock(record: Json) -> bool:
    blocks = block_list(record.get("content")) if "role" in record else ()
    return any(isinstance(block, dict) and {"toolUse", "toolResult"} & block.keys() for block in blocks)


_SIGNS: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("Amazon Q, or Kiro", lambda each: has_items(each, "history", "assistant")),
    ("Copilot Chat of VS Code", lambda each: "requests" in each and "responderUsername" in each),
    ("the AI SDK, or of one that writes as it does", _is_ai_sdk),
    (
        "Open Interpreter",
        lambda each: each.get("role") == "computer" or (each.get("type") == "code" and "role" in each),
    ),
    ("Amazon Bedrock", _is_bedrock),
    ("OpenAI's Assistants, or Jan", lambda each: each.get("object") == "thread.message"),
    ("OpenAI's Assistants, or Jan", lambda each: has_items(each, "data", "thread_id")),
    ("Langfuse", lambda each: {"observations", "input"} <= each.keys()),
    ("LM Studio", lambda each: has_items(each, "messages", "versions")),
    ("Google's AI Studio", lambda each: "chunkedPrompt" in each),
    ("SillyTavern", lambda each: {"is_user", "mes"} <= each.keys()),
    ("Chatbox", lambda each: has_items(each, "messages", "contentParts")),
    ("smolagents", lambda each: {"step_number", "model_output"} <= each.keys()),
    (
        "the AI SDK, or of one that writes as it does",
        lambda each: any({"role", "parts"} <= message.keys() for message in objects_at(each, "messages")),
    ),
    ("ShareGPT, or a set for training", lambda each: has_items(each, "conversations", "from")),
    ("Anthropic's API", lambda each: "role" in each and has_blocks(each, "tool_use", "tool_result")),
)  # fmt: skip
"""Programs whose files are not read, in the order in which they are asked. Each is told a record, or a
message in one."""
_TABLES = (
    ("Crush", {"goose_db_version"}),
    ("Cursor, whose command line keeps what can be read", {"cursorDiskKV"}),
    ("Goose", {"sessions", "messages", "schema_version"}),
    ("LangGraph", {"checkpoints", "writes"}),
)
"""Databases that are not read, by tables that they have."""


def program_of(source: Source, shapes: Sequence[Shape]) -> str:
    """The format of a file, or the name of the program if its conversations are not read; else nothing.

    Args:
        source: The file.
        shapes: The formats that are a map of names; they are asked first.
    """
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
    signs = (*((shape.name, shape.sign) for shape in shapes), *_SIGNS)
    program = next((program for program, is_from in signs if any(map(is_from, known))), "")
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
