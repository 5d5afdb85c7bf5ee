"""Conversations as files for pydantic-ai, as they are in the log, and as Markdown for people.

Every export masks secrets unless told otherwise, and gives the same bytes for the same input.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tui_app.context.secrets import MASK, mask_secrets, names_secret
from tui_app.events import (
    AgentOutput,
    AssistantMessage,
    CompactionAcknowledged,
    CompactionComplete,
    Payload,
    Record,
    ShellCommand,
    ShellResult,
    SystemMessage,
    ToolArchived,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
    payload_to_json,
)
from tui_app.session.event_heads import MESSAGES
from tui_app.session.exports.markdown import code, contained, fenced, inline, notice, quote
from tui_app.session.user_view import INTERRUPTED, is_interruption
from tui_app.text import plain_text

# What an export does to texts before it writes them: secrets are masked, controls are taken out.

_IDS = frozenset({"signature", "tool_call_id", "id", "call_ids", "session"})
_FILE = frozenset({"data", "identifier"})


def masked_json(value: Any, name: str = "") -> Any:
    """A JSON value with the secrets in its texts masked.

    Args:
        value: The value.
        name: The key it stands under: one that names a secret masks the whole text.
    """
    if isinstance(value, str):
        return MASK if names_secret(name) and value else mask_secrets(value)
    if isinstance(value, list):
        return [masked_json(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    # Signatures and file contents are no text: a change there would break the message.
    kept = _FILE if value.get("kind") == "binary" else _IDS
    return {key: item if key in kept else masked_json(item, key) for key, item in value.items()}


def readable(data: Payload, mask: bool) -> Payload:
    """The payload with its texts made safe to show; secrets are masked before anything is added to them."""
    if isinstance(data, UsageInfo):
        return data
    values = payload_to_json(data)
    texts: dict[str, Any] = {
        name: safe(value, mask) for name, value in values.items() if isinstance(value, str)
    }
    if isinstance(data, UserMessage):
        texts["attachments"] = tuple(safe(name, mask) for name in data.attachments)
    return replace(data, **texts)


def safe(text: str, mask: bool) -> str:
    """A text without controls, and without secrets where these are masked."""
    cleaned = plain_text(text)
    return mask_secrets(cleaned) if mask else cleaned


def user_view_messages(rows: Sequence[tuple[Record, str | None]]) -> list[str]:
    """The messages of everything that was ever said: all of the log but what only stands for messages."""
    return [text for record, text in rows if text and record.data.TYPE in MESSAGES]


def export_pydantic_ai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list that pydantic-ai's ``ModelMessagesTypeAdapter`` reads.

    Args:
        messages: JSON texts of pydantic-ai messages, as the log keeps them.
        mask: Whether secrets are masked.

    Raises:
        ValueError: if one of them is not JSON.
    """
    grouped = group_tool_returns([json.loads(text) for text in messages])
    masked = [masked_json(message) for message in grouped] if mask else grouped
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


def export_jsonl(rows: Iterable[tuple[Record, str | None]], *, mask: bool = True) -> Iterator[str]:
    """Write the log as JSON lines: the public envelope of each event, with the message it carries.

    Args:
        rows: The log, in order: each event and its message as JSON text.
        mask: Whether secrets are masked.
    """
    for record, message in rows:
        line = record.to_json()
        if message is not None:
            line["message"] = json.loads(message)
        shown = masked_json(line) if mask else line
        yield json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n"


KEPT = " (not shown to the model)"
EXCLUDED = " (excluded)"
"""Behind the heading of a message that a user keeps out of the model's sight."""


def export_markdown(
    records: Sequence[Record],
    *,
    title: str,
    mask: bool = True,
    shown: Mapping[int, str] | None = None,
    excluded: Collection[int] = (),
) -> str:
    """Write a conversation for reading.

    Prompts are quoted and everything of tools stands in fences longer than any fence inside, so nothing
    that was said can pass for the document's own structure.

    Args:
        records: The log, in order.
        title: Heading of the document.
        mask: Whether secrets are masked.
        shown: By log number, what a model is shown in place of an event's own text.
        excluded: Log numbers of what the user keeps out of the model's sight.
    """
    heading = safe(title, mask)
    blocks = [f"# {inline(heading) or 'Conversation'}"]
    for record in records:
        instead = (shown or {}).get(record.seq)
        heading, body = _section(
            readable(record.data, mask), None if instead is None else safe(instead, mask)
        )
        if heading:
            moment = datetime.fromtimestamp(record.time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            heading += EXCLUDED if record.seq in excluded else ""
            blocks += [f"## #{record.seq} {heading}", f"<sub>{moment}</sub>", body]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _section(data: Payload, shown: str | None) -> tuple[str, str]:
    """Heading and body of an event; ``shown`` takes the place of its text."""
    match data:
        case UserMessage(text=text) if is_interruption(text):
            return INTERRUPTED, ""
        case UserMessage():
            named = [f"[{inline(plain_text(name))}]" for name in data.attachments if name not in data.text]
            return "You", quote("\n\n".join(filter(None, (data.text, *named))))
        case AssistantMessage():
            heading = f"Answer of {code(data.model)}" if data.model else "Answer"
            state = " (interrupted)" if data.interrupted else ""
            thinking = f"Thinking:\n\n{fenced(data.thinking)}" if data.thinking.strip() else ""
            text = contained(data.text.strip("\n"))
            return heading + state, "\n\n".join(filter(None, (thinking, text)))
        case SystemMessage():
            return "System prompt", fenced(data.text)
        case ShellCommand():
            return "Your command" + (KEPT if data.private else ""), fenced(data.text, "sh")
        case ShellResult():
            heading = "Output of your command" + (KEPT if data.private else "")
            return heading, fenced(data.text if shown is None else shown)
        case CompactionComplete():
            return _compaction(data, data.summary if shown is None else shown)
        case CompactionAcknowledged():
            return "Acknowledged", contained(data.text)
        case _:
            return _tool(data, shown) or (notice(data), "")


def _tool(data: Payload, shown: str | None) -> tuple[str, str] | None:
    match data:
        case ToolCall():
            return f"Tool call: {code(data.name)}", fenced(data.args if shown is None else shown, "json")
        case ToolResult():
            state = "" if data.outcome == "success" else f" ({data.outcome})"
            return f"Result of {code(data.name)}{state}", fenced(data.text if shown is None else shown)
        case AgentOutput():
            return "Answer", fenced(data.text, "json") if data.structured else contained(data.text)
        case ToolArchived() if shown is not None:
            return "Digest of archived results", fenced(shown)
        case _:
            return None


def _compaction(data: CompactionComplete, text: str) -> tuple[str, str]:
    if data.outcome != "success":
        return f"Compaction {data.outcome}", quote(data.reason)
    rows = [f"Trigger {data.trigger}, by {data.performed_by}"]
    for before, after, unit in (
        (data.tokens_before, data.tokens_after, "tokens"),
        (data.messages_before, data.messages_after, "messages"),
    ):
        if before:
            rows.append(f"{before:,} → {after:,} {unit}" if after else f"{before:,} {unit} before")
    if data.retention is not None:
        rows.append(f"{data.retention:.0%} of the facts kept by weight")
    return "Conversation compacted", "\n\n".join(filter(None, (" · ".join(rows), quote(text))))


def _only_returns(message: dict[str, Any]) -> bool:
    parts = message.get("parts")
    return (
        message.get("kind") == "request"
        and bool(parts)
        and all(part.get("part_kind") == "tool-return" for part in parts or ())
    )


# Conversations as the messages of OpenAI's chat completions.

_ROLES = {"system-prompt": "system", "compaction": "user", "instruction": "system"}


def export_openai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list of role messages.

    Args:
        messages: JSON texts of pydantic-ai messages, as the log keeps them.
        mask: Whether secrets are masked.

    Raises:
        ValueError: if one of them is not JSON.
    """
    spelled: list[dict[str, Any]] = []
    for text in messages:
        message = json.loads(text)
        message = masked_json(message) if mask else message
        if message["kind"] == "response":
            spelled.append(_openai_answer(message["parts"]))
        else:
            spelled += map(_openai_question, message["parts"])
    lines = [json.dumps(each, ensure_ascii=False) for each in spelled if each]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def _openai_answer(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    texts = [part["content"] for part in parts if part["part_kind"] == "text"]
    thoughts = [part["content"] for part in parts if part["part_kind"] == "thinking" and part["content"]]
    calls: list[dict[str, Any]] = []
    for part in parts:
        if part["part_kind"] == "tool-call":
            args = part.get("args")
            text = args if isinstance(args, str) else json.dumps(args or {}, ensure_ascii=False)
            function = {"name": part["tool_name"], "arguments": text or "{}"}
            calls.append({"id": part["tool_call_id"], "type": "function", "function": function})
    message: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message if texts or thoughts or calls else {}


def _openai_question(part: dict[str, Any]) -> dict[str, Any]:
    kind = part["part_kind"]
    answers_call = kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name"))
    if answers_call:
        return {"role": "tool", "tool_call_id": part["tool_call_id"], "content": _text(part.get("content"))}
    content = part.get("content") or ""
    if kind == "user-prompt" and not isinstance(content, str):
        return {"role": "user", "content": [_block(item) for item in content]}
    return {"role": _ROLES.get(kind, "user"), "content": _text(content)}


def _block(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    media, data = item.get("media_type", ""), item.get("data")
    if item.get("kind") == "binary" and str(media).startswith("image/"):
        # The log spells base64 for addresses; a data URL takes the common alphabet.
        common = str(data).replace("-", "+").replace("_", "/")
        return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{common}"}}
    if item.get("kind") == "image-url":
        return {"type": "image_url", "image_url": {"url": item["url"]}}
    if isinstance(item.get("content"), str):
        return {"type": "text", "text": item["content"]}
    return {"type": "text", "text": f"[{media or item.get('kind')}]"}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(item, str) for item in content):
        return "\n".join(content)
    return json.dumps(content, ensure_ascii=False)
