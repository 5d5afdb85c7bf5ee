"""Conversations as files for other programs and for people.

Both kinds of export mask secrets unless told otherwise, and give the same bytes for the same input.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tui_app.context.events import (
    AssistantMessage,
    CheckpointCreated,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Error,
    ModelChange,
    Payload,
    Record,
    SessionClear,
    SessionRewind,
    SessionStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    Truncation,
    UsageInfo,
    UserMessage,
    payload_to_json,
)
from tui_app.context.masking import MASK, mask_secrets, names_secret
from tui_app.session.plain_text import plain_text

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")


def user_view_messages(rows: Sequence[tuple[Record, str | None]]) -> list[str]:
    """The messages of everything that was ever said: all of the log but the summaries of compactions."""
    return [text for record, text in rows if text and not isinstance(record.data, CompactionComplete)]


def export_pydantic_ai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list that pydantic-ai's ``ModelMessagesTypeAdapter`` reads.

    Args:
        messages: JSON texts of pydantic-ai messages, as the log keeps them.
        mask: Whether secrets are masked.

    Raises:
        ValueError: if one of them is not JSON.
    """
    grouped = group_tool_returns([json.loads(text) for text in messages])
    masked = [_masked_json(message) for message in grouped] if mask else grouped
    lines = [json.dumps(message, ensure_ascii=False, separators=(",", ":")) for message in masked]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def group_tool_returns(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join requests that follow each other and hold only tool returns: one response, one request.

    The log keeps each result apart; pydantic-ai itself answers all calls of a response in one request.
    The first request gives the other fields, the last one that has any gives the instructions.
    """
    grouped: list[dict[str, Any]] = []
    for message in messages:
        if grouped and _only_returns(message) and _only_returns(grouped[-1]):
            first = grouped[-1]
            joined = {**first, "parts": [*first["parts"], *message["parts"]]}
            if message.get("instructions"):
                joined["instructions"] = message["instructions"]
            grouped[-1] = joined
        else:
            grouped.append(message)
    return grouped


def export_markdown(records: Sequence[Record], *, title: str, mask: bool = True) -> str:
    """Write a conversation for reading.

    Prompts are quoted and everything of tools stands in fences longer than any fence inside, so nothing
    that was said can pass for the document's own structure.

    Args:
        records: The log, in order.
        title: Heading of the document.
        mask: Whether secrets are masked.
    """
    heading = plain_text(mask_secrets(title) if mask else title)
    blocks = [f"# {_inline(heading) or 'Conversation'}"]
    for record in records:
        heading, body = _section(_prepared(record.data, mask))
        if heading:
            moment = datetime.fromtimestamp(record.time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            blocks += [f"## #{record.seq} {heading}", f"<sub>{moment}</sub>", body]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _prepared(data: Payload, mask: bool) -> Payload:
    """The payload with its texts made safe to show; secrets are masked before any Markdown is added."""
    if isinstance(data, UsageInfo):
        return data
    texts = {name: value for name, value in payload_to_json(data).items() if isinstance(value, str)}
    cleaned = {name: plain_text(value) for name, value in texts.items()}
    return replace(data, **{name: mask_secrets(text) if mask else text for name, text in cleaned.items()})


def _section(data: Payload) -> tuple[str, str]:
    match data:
        case UserMessage():
            named = [f"[{_inline(plain_text(name))}]" for name in data.attachments if name not in data.text]
            return "You", _quote("\n\n".join(filter(None, (data.text, *named))))
        case AssistantMessage():
            return _answer(data)
        case ToolCall():
            return f"Tool call: {_code(data.name)}", _fenced(data.args, "json")
        case ToolResult():
            state = "" if data.outcome == "success" else f" ({data.outcome})"
            return f"Result of {_code(data.name)}{state}", _fenced(data.text)
        case SystemMessage():
            return "System prompt", _fenced(data.text)
        case CompactionComplete():
            return _compaction(data)
        case _:
            return _notice(data), ""


def _answer(data: AssistantMessage) -> tuple[str, str]:
    heading = f"Answer of {_code(data.model)}" if data.model else "Answer"
    thinking = f"Thinking:\n\n{_fenced(data.thinking)}" if data.thinking.strip() else ""
    text = _contained(data.text.strip("\n"))
    return heading + (" (interrupted)" if data.interrupted else ""), "\n\n".join(
        filter(None, (thinking, text))
    )


def _compaction(data: CompactionComplete) -> tuple[str, str]:
    if data.outcome != "success":
        return f"Compaction {data.outcome}", _quote(data.reason)
    rows = [f"Trigger {data.trigger}, by {data.performed_by}"]
    for before, after, unit in (
        (data.tokens_before, data.tokens_after, "tokens"),
        (data.messages_before, data.messages_after, "messages"),
    ):
        if before:
            rows.append(f"{before:,} → {after:,} {unit}" if after else f"{before:,} {unit} before")
    if data.retention is not None:
        rows.append(f"{data.retention:.0%} of the facts kept")
    return "Conversation compacted", "\n\n".join(filter(None, (" · ".join(rows), _quote(data.summary))))


def _notice(data: Payload) -> str:
    match data:
        case SessionStart():
            origin = f", imported from {_inline(data.imported_from)}" if data.imported_from else ""
            return f"Session began{origin}"
        case CompactionUndone():
            return f"Compaction #{data.compaction} undone"
        case CompactionRedone():
            return f"Compaction #{data.compaction} redone"
        case ModelChange():
            return f"Model changed: {_code(data.old)} → {_code(data.new)}"
        case Truncation():
            return f"Request cut to fit: {data.tokens_before:,} → {data.tokens_after:,} tokens"
        case SessionClear() | SessionRewind():
            return "Context cleared" if isinstance(data, SessionClear) else "Conversation rewound"
        case CheckpointCreated():
            return f"Checkpoint {data.number}: {_inline(data.title)}"
        case _:
            return f"Error: {_inline(data.message)}" if isinstance(data, Error) else ""


def _inline(text: str) -> str:
    """One line in which no character means anything to Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(39)).split()) or '?'}`"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def _fenced(text: str, language: str = "") -> str:
    text = text.strip("\n")
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _contained(text: str) -> str:
    """Keep an answer's Markdown, but close its open fence and take raw HTML at the start of lines."""
    lines: list[str] = []
    fence = ""
    for raw in text.split("\n"):
        line = raw
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["mark"].startswith(fence) and not mark["info"].strip():
                fence = ""
        elif mark:
            fence = mark["mark"]
        elif line.lstrip().startswith("<"):
            line = line.replace("<", "\\<", 1)
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def _masked_json(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        return MASK if names_secret(name) and value else mask_secrets(value)
    if isinstance(value, list):
        return [_masked_json(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    # Signatures and file contents are no text: a change there would break the message.
    kept = {"data", "identifier"} if value.get("kind") == "binary" else {"signature", "tool_call_id", "id"}
    return {key: item if key in kept else _masked_json(item, key) for key, item in value.items()}


def _only_returns(message: dict[str, Any]) -> bool:
    parts = message.get("parts")
    return message.get("kind") == "request" and bool(parts) and all(_is_return(part) for part in parts or ())


def _is_return(part: dict[str, Any]) -> bool:
    return part.get("part_kind") == "tool-return"
