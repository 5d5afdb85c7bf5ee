"""Recognition of programs whose files cannot be imported.

Their files look like a supported format, but read as such they would lose calls, results and authors.
"""

from pathlib import Path

from tui_app.session.importers.databases import columns_of
from tui_app.session.importers.source import Json, Source
from tui_app.session.importers.values import meets

_SIGNS = (
    ("Amazon Q, or Kiro", "history.assistant"), ("Open Interpreter", "role=computer"),
    ("Open Interpreter", "role type=code"), ("Amazon Bedrock", "role content.toolUse"),
    ("Amazon Bedrock", "role content.toolResult"), ("OpenAI's Assistants, or Jan", "object=thread.message"),
    ("OpenAI's Assistants, or Jan", "data.thread_id"), ("Langfuse", "observations input"),
    ("LM Studio", "messages.versions"), ("Google's AI Studio", "chunkedPrompt"),
    ("SillyTavern", "is_user mes"), ("Chatbox", "messages.contentParts"),
    ("Codex's exec --json", "type=thread.started thread_id"),
    ("OpenCode's run --format json", "type=step_start sessionID part"),
    ("smolagents", "step_number model_output"), ("ShareGPT, or a set for training", "conversations.from"),
)  # fmt: skip
"""Programs whose files cannot be read, in the order of the checks, with signs that only they have."""
_ITEM = ("OpenAI's Responses API", "type=function_call|function_call_output call_id")
_TABLES = (
    ("Crush", {"goose_db_version"}),
    ("Cursor, whose command line keeps what can be read", {"cursorDiskKV"}),
    ("Goose", {"sessions", "messages", "schema_version"}),
    ("LangGraph", {"checkpoints", "writes"}),
)
"""Databases that cannot be read, by their tables."""


def program_of(source: Source, records: list[Json]) -> str:
    """Return the name of the unsupported program that wrote a file; empty if none did.

    Args:
        source: The file.
        records: Its records, and the messages in them.
    """
    # As separate lines, the same items are an old rollout of Codex.
    signs = _SIGNS if source.document is None else (_ITEM, *_SIGNS)
    names = (program for program, sign in signs if any(meets(record, sign) for record in records))
    return next(names, "")


def database_of(path: Path) -> str:
    tables = columns_of(path).keys()
    return next(
        (program for program, names in _TABLES if names <= tables), "another program" if tables else ""
    )
