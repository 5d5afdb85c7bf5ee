"""Exports of messages and the log as JSON, with secrets masked."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from tui_app.events import Record
from tui_app.session.event_rows import MESSAGES
from tui_app.system.secrets import MASK, mask_secrets, names_secret

_IDS = frozenset({"signature", "tool_call_id", "id", "call_ids", "session"})

_FILE = frozenset({"data", "identifier"})


def masked_json(value: Any, name: str = "") -> Any:
    """Mask the secrets in the texts of a JSON value.

    Args:
        value: The value.
        name: Its key. If that names a secret, the whole text is masked.
    """
    if isinstance(value, str):
        return MASK if names_secret(name) and value else mask_secrets(value)
    if isinstance(value, list):
        return [masked_json(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    # Signatures and file contents are no text: a change would break the message.
    kept = _FILE if value.get("kind") == "binary" else _IDS
    return {key: item if key in kept else masked_json(item, key) for key, item in value.items()}


def user_view_messages(rows: Sequence[tuple[Record, str | None]]) -> list[str]:
    """Return all messages of the history, without those that only replace others."""
    return [text for record, text in rows if text and record.data.TYPE in MESSAGES]


UNANSWERED = "No result: the call had not ended when this was exported."


def answered(texts: Sequence[str]) -> list[str]:
    """Add a result for every unanswered call, as a request needs it; also after a crash or within a turn.

    Args:
        texts: JSON texts of pydantic-ai messages, as in the log.

    Raises:
        ValueError: if one of them is not JSON.
    """
    messages = [json.loads(text) for text in texts]
    done = {part["tool_call_id"] for each in messages for part in _parts(each, "tool-return", "retry-prompt")}
    complete: list[str] = []
    late: list[str] = []
    for text, message in zip(texts, messages, strict=True):
        if not _parts(message, "tool-return", "retry-prompt"):
            complete += late
            late.clear()
        complete.append(text)
        for call in _parts(message, "tool-call"):
            if (id := call["tool_call_id"]) not in done:
                moment = message.get("timestamp")
                part = {"tool_name": call["tool_name"], "content": UNANSWERED, "tool_call_id": id}
                part |= {"timestamp": moment, "part_kind": "tool-return", "outcome": "interrupted"}
                late.append(json.dumps({"parts": [part], "kind": "request", "timestamp": moment}))
    return complete + late


def _parts(message: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    """Return the parts of these kinds that belong to a call."""
    return [part for part in message["parts"] if part.get("part_kind") in kinds and part.get("tool_call_id")]


def export_pydantic_ai(messages: Sequence[str], *, mask: bool = True) -> str:
    """Write messages as a JSON list that pydantic-ai's ``ModelMessagesTypeAdapter`` reads.

    Args:
        messages: JSON texts of pydantic-ai messages, as in the log.
        mask: Whether secrets are masked.

    Raises:
        ValueError: if one of them is not JSON.
    """
    grouped = group_tool_returns([json.loads(text) for text in messages])
    masked = [masked_json(message) for message in grouped] if mask else grouped
    lines = [json.dumps(message, ensure_ascii=False, separators=(",", ":")) for message in masked]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def group_tool_returns(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join consecutive requests with nothing but tool returns, so that each response has one request.

    The log has a message per result, whereas pydantic-ai answers all calls of a response in one request. The
    other fields come from the first request, the instructions from the last one that has any.
    """
    grouped: list[dict[str, Any]] = []
    for are_returns, run in groupby(messages, _only_returns):
        some = list(run)
        fields = [{"instructions": each["instructions"]} for each in some if each.get("instructions")]
        parts = [part for each in some for part in each.get("parts") or ()]
        grouped += [{**some[0], **(fields or [{}])[-1], "parts": parts}] if are_returns else some
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


def _only_returns(message: dict[str, Any]) -> bool:
    kinds = {part.get("part_kind") for part in message.get("parts") or ()}
    return message.get("kind") == "request" and kinds == {"tool-return"}
