"""Which records of a Codex rollout count: turns that were taken back, and what the program itself said."""

from dataclasses import dataclass, field
from typing import Any

from tui_app.session.importers.content import block_list
from tui_app.session.importers.fields import count, record_text
from tui_app.session.importers.source import Json, Line

ITEM = "response_item"
_TYPES = (ITEM, "session_meta", "turn_context", "event_msg", "compacted", "world_state")
_BARE = (
    "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
    "custom_tool_call_output", "web_search_call",
)  # fmt: skip
_ROLES = ("user", "assistant", "developer", "system")
_NOTE_STARTS = (
    "<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<skill>",
    "<subagent_notification>", "<permissions instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
)  # fmt: skip
"""How prompts begin that the program writes in the person's name."""


@dataclass
class Rollout:
    """Line numbers that are not part of the conversation."""

    taken_back: set[int] = field(default_factory=set)
    notes: set[int] = field(default_factory=set)


def is_codex_record(record: Json) -> bool:
    """Whether a record can only be one of a rollout."""
    if record.get("type") in _TYPES and isinstance(record.get("payload"), dict):
        return True
    return _is_bare(record)


def item_of(record: Json) -> tuple[str, Json]:
    """Type and payload of a record, whichever generation wrote it."""
    payload = record.get("payload")
    if isinstance(payload, dict):
        return record_text(record, "type"), payload
    if _is_bare(record):
        return ITEM, record
    # The first line of an old rollout is the session's data, without a type.
    return ("session_meta", record) if "instructions" in record and "id" in record else ("", {})


def unroll(records: tuple[Line, ...]) -> Rollout:
    """Find the records of turns that were taken back, and the program's own notes."""
    rollout = Rollout()
    turns: list[list[int]] = []
    for line in records:
        kind, payload = item_of(line.data)
        if kind == ITEM and payload.get("type") == "message" and payload.get("role") == "user":
            if is_note(payload.get("content")):
                rollout.notes.add(line.number)
            else:
                turns.append([])
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            dropped = count(payload.get("num_turns"))
            for turn in turns[len(turns) - dropped :] if dropped <= len(turns) else turns:
                rollout.taken_back.update(turn)
            del turns[max(0, len(turns) - dropped) :]
        if turns and kind in (ITEM, "compacted"):
            turns[-1].append(line.number)
    rollout.notes -= rollout.taken_back
    return rollout


def is_note(content: Any) -> bool:
    """Whether a prompt was written by the program: all of its texts begin the way its notes do."""
    blocks = block_list(content)
    texts = [record_text(block, "text").lstrip() for block in blocks if isinstance(block, dict)]
    return bool(texts) and all(text.startswith(_NOTE_STARTS) for text in texts)


def _is_bare(record: Json) -> bool:
    kind = record.get("type")
    if kind == "message":
        return record.get("role") in ("user", "assistant", "developer", "system") and _has_parts(
            record.get("content")
        )
    return kind in _BARE and ("call_id" in record or "summary" in record)


def _has_parts(content: Any) -> bool:
    kinds = ("input_text", "output_text")
    return any(isinstance(block, dict) and block.get("type") in kinds for block in block_list(content))
