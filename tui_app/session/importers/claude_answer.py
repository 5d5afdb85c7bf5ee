"""One response of a Claude model, put together from the records that hold pieces of it."""

import json

from tui_app.session.importers import messages
from tui_app.session.importers.claude_tree import message_of
from tui_app.session.importers.content import block_list
from tui_app.session.importers.fields import count, record_text
from tui_app.session.importers.source import Json, Line, shown
from tui_app.session.importers.timeline import Timeline

PROVIDER = "anthropic"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_SYNTHETIC = "<synthetic>"
"""Model name of answers that the program wrote itself."""


def build_answer(lines: list[Line], time: float, report: Timeline) -> Json:
    """Merge the records of one response into a pydantic-ai response.

    Args:
        lines: Its records in order.
        time: When it came, in seconds since the epoch.
        report: Where its tool calls are registered, told about blocks that cannot be used.
    """
    model = _last(lines, "model")
    model = "" if model == _SYNTHETIC else model
    real = model.startswith("claude")
    parts: list[Json] = []
    seen: set[str] = set()
    for line in lines:
        for block in block_list(message_of(line.data)["content"]):
            part = _part(block, line.number, real, seen, report)
            if part is not None:
                parts.append(part)
    for part in parts:
        if part["part_kind"] == "tool-call":
            part["tool_call_id"] = report.calls.begin(part["tool_call_id"], part["tool_name"])
    return {
        "kind": "response",
        "parts": parts,
        "timestamp": messages.iso(time),
        "model_name": model or None,
        "provider_name": PROVIDER if real else None,
        "provider_response_id": _last(lines, "id") or None,
        "finish_reason": _FINISH.get(_last(lines, "stop_reason")),
        "usage": _usage(lines),
    }


def _last(lines: list[Line], key: str) -> str:
    values = [record_text(message_of(line.data), key) for line in lines]
    return next((value for value in reversed(values) if value), "")


def _usage(lines: list[Line]) -> Json:
    """The last usage reported: each record of a response repeats it, the later ones with more output.

    Anthropic counts cached input apart; pydantic-ai's input tokens hold all of it.
    """
    reported = [message_of(line.data).get("usage") for line in lines]
    usage: Json = next((usage for usage in reversed(reported) if isinstance(usage, dict)), {})
    read = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return {
        "input_tokens": count(usage.get("input_tokens")) + read + written,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": count(usage.get("output_tokens")),
    }


def _part(block: object, line: int, real: bool, seen: set[str], report: Timeline) -> Json | None:
    if not isinstance(block, dict):
        report.skip(line, f"content block that is no object: {shown(block)}")
        return None
    match block.get("type"):
        case "text":
            text = _words(block, "text", line, report)
            return {"part_kind": "text", "content": text} if text else None
        case "thinking":
            text = _words(block, "thinking", line, report)
            return _thinking(block, text, "signature", real)
        case "redacted_thinking":
            return _thinking(block, "", "data", real)
        case "tool_use":
            return _call(block, line, seen, report)
        case kind:
            report.skip(line, f"content block of unknown type {shown(kind)}, kept as text")
            return {"part_kind": "text", "content": json.dumps(block, ensure_ascii=False)}


def _words(block: Json, kind: str, line: int, report: Timeline) -> str:
    text = block.get(kind)
    if isinstance(text, str):
        return text
    report.skip(line, f"{kind} block without text: {shown(text)}")
    return ""


def _thinking(block: Json, text: str, signed_in: str, real: bool) -> Json | None:
    # Only the vendor that signed a thought can check the signature; others would be refused with it.
    signature = record_text(block, signed_in) if real else ""
    if not text and not signature:
        return None
    part: Json = {"part_kind": "thinking", "content": text}
    if block["type"] == "redacted_thinking":
        part["id"] = "redacted_thinking"
    if signature:
        part |= {"signature": signature, "provider_name": PROVIDER}
    return part


def _call(block: Json, line: int, seen: set[str], report: Timeline) -> Json | None:
    call_id, name, args = record_text(block, "id"), record_text(block, "name"), block.get("input")
    if not name:
        report.skip(line, "tool call without a tool's name")
        return None
    if call_id and call_id in seen:
        report.skip(line, f"tool call id {shown(call_id)} stands twice in one response")
        return None
    seen.add(call_id)
    if not isinstance(args, dict):
        args = {"input": args} if args else {}
    return messages.call_part(call_id, name, args)
