"""Programs that are known by what nobody else writes: those whose files are not read.

Their files look like another format that is read; as such they would lose calls, results, and who said what.
"""

from collections.abc import Callable
from pathlib import Path

from tui_app.session.importers.databases import columns_of
from tui_app.session.importers.source import Json, Source
from tui_app.session.importers.values import block_list, has_items


def _is_bedrock(record: Json) -> bool:
    blocks = block_list(record.get("content")) if "role" in record else ()
    return any(isinstance(block, dict) and {"toolUse", "toolResult"} & block.keys() for block in blocks)


_SIGNS: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("Amazon Q, or Kiro", lambda each: has_items(each, "history", "assistant")),
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
    ("ShareGPT, or a set for training", lambda each: has_items(each, "conversations", "from")),
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


def program_of(source: Source, records: list[Json]) -> str:
    """The name of the program whose file it is; empty for others.

    Args:
        source: The file.
        records: Its records, and the messages in them.
    """
    if isinstance(source.document, list) and any(
        record.get("type") in ("function_call", "function_call_output") and "call_id" in record
        for record in records
    ):
        # On lines of their own the same items are an old rollout of Codex.
        return "OpenAI's Responses API"
    return next((program for program, is_from in _SIGNS if any(map(is_from, records))), "")


def database_of(path: Path) -> str:
    tables = columns_of(path).keys()
    return next(
        (program for program, names in _TABLES if names <= tables), "another program" if tables else ""
    )
