"""Exports of programs that chat in a browser: ChatGPT, Claude.ai, LibreChat, Open WebUI."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_app.session.importers.places import Env, Transcript
from tui_app.session.importers.reader import (
    block_list,
    has_items,
    list_at,
    object_at,
    objects_at,
    record_text,
    text_at,
    value_at,
)
from tui_app.session.importers.shapes import ASIDE, BESIDE, NOTE, USUAL, Shape, elements
from tui_app.session.importers.source import Json, parse_json


def text_block(text: Any) -> Json:
    return {"type": "text", "text": text}


def attached(name: str, text: str) -> Json:
    """A file as the model read it beside a prompt."""
    return {"type": BESIDE, "text": f"{name}\n{text}"}


# Conversations in exports that lie in the current folder.

_MAX_EXPORT = 100_000_000
"""Bytes of an export in which the conversations are counted up."""
_EXPORTS = (("chatgpt", "mapping", ("title", "id", "update_time")),
            ("claude-ai", "chat_messages", ("name", "uuid", "updated_at")),
            ("open-webui", "chat", ("title", "id", "updated_at")))  # fmt: skip
"""Format, what nobody else's conversations have, and where title, id and time stand."""


def _exports(_env: Env, _home: Path, cwd: Path) -> Iterator[Transcript]:
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
                    info = {
                        "title": each.get(title),
                        "time": {"updated": each.get(updated) or path.stat().st_mtime},
                    }
                    part = record_text(each, name)
                    yield Transcript(path.with_name(f"{path.name}#{part}") if part else path, info, program)


# ChatGPT: a table of messages that form a tree; code is sent to tools by naming them as the recipient.


def _chatgpt(node: Json) -> Json:
    message = object_at(node, "message")
    role, kind = text_at(message, "author.role"), text_at(message, "content.content_type")
    hidden = value_at(message, "metadata.is_visually_hidden_from_conversation") is True
    if not message or hidden or kind in ("model_editable_context", "reasoning_recap"):
        return {**node, "role": ASIDE}
    if kind == "user_editable_context":
        return {**node, "role": NOTE}
    content = object_at(message, "content")
    blocks: list[Any] = [_chatgpt_part(part) for part in list_at(content, "parts") if part]
    if text := text_at(content, "text", "result"):
        blocks.append(text_block(text))
    turned = {
        "role": role,
        "content": blocks,
        "time": message.get("create_time"),
        "model": text_at(message, "metadata.model_slug"),
        "name": text_at(message, "author.name"),
    }
    if kind == "thoughts":
        told = (
            (text_at(each, "summary"), text_at(each, "content")) for each in objects_at(content, "thoughts")
        )
        blocks = [{"type": "thinking", "thinking": "\n".join(filter(None, each))} for each in told]
        return turned | {"role": "thinking", "content": blocks}
    recipient = text_at(message, "recipient")
    if role == "assistant" and recipient not in ("", "all"):
        said = "\n".join(record_text(block, "text") for block in blocks)
        return turned | {"content": [], "tool_calls": [{"name": recipient, "arguments": said or "{}"}]}
    for each in objects_at(message, "metadata.attachments") if role == "user" else ():
        blocks.append({"type": BESIDE, "text": record_text(each, "name")})
    return turned


def _chatgpt_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return text_block(part)
    place = text_at(part, "asset_pointer", "audio_asset_pointer.asset_pointer", "name")
    return text_block(text_at(part, "text") or f"[{text_at(part, 'content_type') or 'file'}: {place}]")


CHATGPT = Shape(
    name="chatgpt",
    program="ChatGPT",
    sign=lambda each: "mapping" in each and ("current_node" in each or "create_time" in each),
    places=(_exports,),
    talk=("mapping",),
    time=("time",),
    links=("id", "parent", ("current_node",)),
    models=("default_model_slug",),
    changed=("update_time", "create_time"),
    turned=_chatgpt,
)


def _claude_ai(message: Json) -> Json:
    blocks = [*block_list(message.get("content"))]
    if not blocks:
        blocks = block_list(message.get("text"))
    for each in objects_at(message, "attachments"):
        blocks.append(attached(record_text(each, "file_name"), record_text(each, "extracted_content")))
    named = objects_at(message, "files_v2") or objects_at(message, "files")
    blocks += [attached(record_text(each, "file_name"), "") for each in named]
    kept = [
        block for block in blocks if value_at(block, "type") not in ("token_budget", "flag", "voice_note")
    ]
    return {**message, "content": kept}


CLAUDE_AI = Shape(
    name="claude-ai",
    program="Claude.ai",
    sign=lambda each: "chat_messages" in each,
    talk=("chat_messages",),
    role=("sender",),
    time=("created_at",),
    title=("name",),
    models=("model",),
    links=("uuid", "parent_message_uuid", ("current_leaf_message_uuid",)),
    changed=("updated_at", "created_at"),
    turned=_claude_ai,
)


# LibreChat: content in parts, where a call holds what the tool answered.


def _librechat(message: Json) -> Json:
    blocks: list[Any] = []
    for part in block_list(message.get("content")) or block_list(message.get("text")):
        kind = value_at(part, "type")
        if kind == "tool_call":
            call = object_at(part, "tool_call")
            name, call_id = text_at(call, "name", "function.name"), text_at(call, "id")
            args = value_at(call, "args") or value_at(call, "function.arguments")
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": args})
            output = value_at(call, "output") or value_at(call, "function.output")
            if output is not None and name:
                blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": output})
        elif kind == "error":
            blocks.append(text_block(text_at(part, "error", "text") or "error"))
        else:
            value = value_at(part, "text.value")
            blocks.append({**part, "text": value} if isinstance(value, str) else part)
    blocks += [attached(record_text(each, "filename"), "") for each in objects_at(message, "files")]
    said_by = {True: "user", False: "assistant"}.get(message.get("isCreatedByUser") is True)
    return {**message, "role": said_by, "content": blocks}


def _is_librechat(record: Json) -> bool:
    return "isCreatedByUser" in record or any(
        has_items(record, path, "isCreatedByUser") for path in ("messages", "messagesTree")
    )


LIBRECHAT = Shape(
    name="librechat",
    program="LibreChat",
    sign=_is_librechat,
    talk=("messages", "messagesTree"),
    nested="children",
    time=("createdAt", "updatedAt"),
    models=("options.model", "model"),
    links=("messageId", "parentMessageId", ()),
    turned=_librechat,
)


# Open WebUI: thinking and calls stand as elements of HTML in what the model said.

_DETAILS = re.compile(r'<(?P<tag>details) type="(?P<kind>reasoning|tool_calls)"(?P<names>[^<>]*)>')
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_QUOTED = re.compile(r"(?m)^> ?")


def _open_webui(message: Json) -> Json:
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, str):
        files = [attached(record_text(each, "name"), "") for each in objects_at(message, "files")]
        return {**message, "content": [*block_list(content), *files]}
    blocks: list[Any] = []
    at = 0
    for match, inner, end in elements(content, _DETAILS):
        blocks.append(text_block(content[at : match.start()].strip()))
        at = end
        if match["kind"] == "reasoning":
            told_as, _, behind = inner.partition("</summary>")
            thought = _QUOTED.sub("", behind if "<summary>" in told_as else inner).strip()
            blocks.append({"type": "thinking", "thinking": html.unescape(thought)})
            continue
        told = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(match["names"])}
        call_id = told.get("id", "")
        args = told.get("arguments", "")
        blocks.append({"type": "tool_use", "id": call_id, "name": told.get("name"), "input": args})
        if "result" in told and told.get("name"):
            blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": told["result"]})
    blocks.append(text_block(content[at:].strip()))
    return {**message, "content": [block for block in blocks if block.get("text") != ""]}


OPEN_WEBUI = Shape(
    name="open-webui",
    program="Open WebUI",
    sign=lambda each: {"messages", "history"} <= object_at(each, "chat").keys(),
    talk=("chat.history.messages", "chat.messages"),
    models=("chat.models",),
    tokens=("usage.prompt_tokens", "usage.completion_tokens", "usage.prompt_tokens_details.cached_tokens"),
    title=("title", "chat.title"),
    links=("id", "parentId", ("chat.history.currentId",)),
    changed=("updated_at", "created_at"),
    roles=USUAL,
    turned=_open_webui,
)
