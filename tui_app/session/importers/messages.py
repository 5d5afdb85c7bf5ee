"""pydantic-ai messages as plain dicts, and the one place where they are checked by pydantic-ai itself.

pydantic-ai fills missing times and ids with the present moment and random values, so every dict made here
carries both: importing a file twice gives the same bytes.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeGuard

from tui_app.session.importers.source import Json

Content = str | Sequence[str | Json]
"""Text, or texts and binary parts in order."""


class MessageRefusedError(ValueError):
    """pydantic-ai does not accept the message; the text says where and why."""


def canonical(message: Json) -> str:
    """Check one message with pydantic-ai and return its JSON text as pydantic-ai writes it.

    Raises:
        MessageRefusedError: if it is no valid message.
    """
    from pydantic import ValidationError
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    try:
        messages = ModelMessagesTypeAdapter.validate_json(json.dumps([message], ensure_ascii=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"][1:])
        raise MessageRefusedError(f"{place}: {first['msg']}" if place else first["msg"]) from error
    return ModelMessagesTypeAdapter.dump_json(messages)[1:-1].decode()


def request(part: Json, time: float) -> Json:
    """A request that holds one part."""
    return {"kind": "request", "timestamp": iso(time), "parts": [part]}


def system_request(text: str, time: float) -> Json:
    """A system prompt that stands in the history."""
    return request({"part_kind": "system-prompt", "content": text, "timestamp": iso(time)}, time)


def user_request(content: Content, time: float) -> Json:
    """A prompt of the person."""
    return request({"part_kind": "user-prompt", "content": content, "timestamp": iso(time)}, time)


def summary_request(summary: str, time: float) -> Json:
    """The summary that stands for compacted history."""
    return request({"part_kind": "compaction", "content": summary}, time)


def return_request(call_id: str, name: str, content: Content, outcome: str, time: float) -> Json:
    """The answer of a tool; ``outcome`` in pydantic-ai's words (``success``, ``failed``, ...)."""
    part = {
        "part_kind": "tool-return",
        "tool_name": name,
        "tool_call_id": call_id,
        "content": content,
        "outcome": outcome,
        "timestamp": iso(time),
    }
    return request(part, time)


def call_part(call_id: str, name: str, args: Json | str) -> Json:
    """One tool call of a response."""
    return {"part_kind": "tool-call", "tool_name": name, "args": args, "tool_call_id": call_id}


def args_text(args: Any) -> str:
    """Arguments of a call as JSON text; text that a model wrote stays as it is, even when it is broken."""
    if isinstance(args, str):
        return args or "{}"
    return json.dumps(args or {}, ensure_ascii=False)


def plain_text(content: Any) -> str:
    """The readable text of a part's content: binary items are named, other values are written as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(_is_content(item) for item in content):
        return "\n\n".join(_item_text(item) for item in content)
    return json.dumps(content, ensure_ascii=False)


def is_file(item: str | Json) -> TypeGuard[Json]:
    """Whether a content item is an image, a document or the like, and no text."""
    return not isinstance(item, str) and "content" not in item


def attachment_name(item: Json) -> str:
    """What to call a content item that is no text: its media type, else its kind."""
    return str(item.get("media_type") or item["kind"])


def iso(time: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, cut to milliseconds."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_content(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and isinstance(item.get("kind"), str))


def _item_text(item: str | Json) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item.get("content"), str):
        return str(item["content"])
    return f"[{attachment_name(item)}]"
