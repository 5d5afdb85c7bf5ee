"""Conversations as the messages of OpenAI's chat completions."""

import json
from collections.abc import Sequence
from typing import Any

from tui_app.session.exports.masking import masked_json

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
            spelled.append(_answer(message["parts"]))
        else:
            spelled += [_asked(part) for part in message["parts"]]
    lines = [json.dumps(each, ensure_ascii=False) for each in spelled if each]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def _answer(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    texts = [part["content"] for part in parts if part["part_kind"] == "text"]
    thoughts = [part["content"] for part in parts if part["part_kind"] == "thinking" and part["content"]]
    calls = [_call(part) for part in parts if part["part_kind"] == "tool-call"]
    message: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message if texts or thoughts or calls else {}


def _call(part: dict[str, Any]) -> dict[str, Any]:
    args = part.get("args")
    text = args if isinstance(args, str) else json.dumps(args or {}, ensure_ascii=False)
    function = {"name": part["tool_name"], "arguments": text or "{}"}
    return {"id": part["tool_call_id"], "type": "function", "function": function}


def _asked(part: dict[str, Any]) -> dict[str, Any]:
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
