"""Exports of ChatGPT: messages in a tree, in which a tool call is a message to a tool."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_app.session.importers.content import attached, text_block
from tui_app.session.importers.places import Env, LocalTranscript, transcript_at
from tui_app.session.importers.shape import ASIDE, NOTE, Shape
from tui_app.session.importers.source import Json, parse_json
from tui_app.session.importers.values import list_at, object_at, objects_at, text_at, value_at

_MAX_EXPORT = 100_000_000
"""Maximum bytes of an export whose conversations are listed."""
_UNFINISHED = ("in_progress", "finished_partial_completion")
"""States of interrupted answers."""
_EXPORTS = (("chatgpt", "mapping", ("title", "id", "update_time")),
            ("claude-ai", "chat_messages", ("name", "uuid", "updated_at")),
            ("open-webui", "chat", ("title", "id", "updated_at")))  # fmt: skip
"""Format, the key that only its conversations have, and the keys of title, id and time."""


def _exports(_env: Env, _home: Path, cwd: Path) -> Iterator[LocalTranscript]:
    for path in [cwd / "conversations.json", *cwd.glob("chat-export-*.json")]:
        if not path.is_file() or path.stat().st_size > _MAX_EXPORT:
            continue
        try:
            listed = parse_json(path.read_bytes().decode("utf-8", "replace"))
        except ValueError:
            continue
        for each in listed if isinstance(listed, list) else []:
            for program, sign, (title, name, updated) in _EXPORTS:
                if isinstance(each, dict) and each.get(sign):
                    part, moment = text_at(each, name), each.get(updated) or path.stat().st_mtime
                    info = {"title": each.get(title), "time": {"updated": moment}}
                    yield transcript_at(path, info, program, part=part)


def _chatgpt(node: Json) -> Json:
    message = object_at(node, "message")
    role, recipient = text_at(message, "author.role"), text_at(message, "recipient")
    content = object_at(message, "content")
    kind, text = text_at(content, "content_type"), text_at(content, "text", "result")
    hidden = value_at(message, "metadata.is_visually_hidden_from_conversation") is True
    if not message or hidden or kind in ("model_editable_context", "reasoning_recap"):
        return {**node, "role": ASIDE}
    state = "interrupted" if message.get("status") in _UNFINISHED else ""
    turned = {"role": role, "name": text_at(message, "author.name"), "state": state, "message": message}
    if kind == "user_editable_context":
        return {**node, "role": NOTE}
    if kind == "thoughts":
        parts = objects_at(content, "thoughts")
        pairs = (filter(None, (text_at(each, "summary"), text_at(each, "content"))) for each in parts)
        thoughts = [{"type": "thinking", "thinking": "\n".join(each)} for each in pairs]
        return {**turned, "role": "thinking", "content": thoughts}
    blocks = [_chatgpt_part(part) for part in [*list_at(content, "parts"), text] if part]
    if role == "assistant" and recipient not in ("", "all"):
        asked = "\n".join(text_at(block, "text") for block in blocks)
        return {**turned, "content": [], "tool_calls": [{"name": recipient, "arguments": asked or "{}"}]}
    files = objects_at(message, "metadata.attachments") if role == "user" else []
    return {**turned, "content": [*blocks, *(attached(text_at(each, "name")) for each in files)]}


def _chatgpt_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return text_block(part)
    place = text_at(part, "asset_pointer", "audio_asset_pointer.asset_pointer", "name")
    return text_block(text_at(part, "text") or f"[{text_at(part, 'content_type') or 'file'}: {place}]")


CHATGPT = Shape(
    name="chatgpt", program="ChatGPT",
    signs=("mapping current_node", "mapping create_time"),
    places=(_exports,), talk=("mapping",), time=("message.create_time",), convert=_chatgpt,
    links=("id", "parent", ("current_node",)), changed=("update_time", "create_time"),
    model=("message.metadata.model_slug",), models=("default_model_slug",),
)  # fmt: skip
