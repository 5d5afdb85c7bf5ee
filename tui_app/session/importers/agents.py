"""Conversations of agents in a terminal that are a map of names: Amp, Factory, Goose, Grok, Kimi, Qwen, Vibe.

And two that programs hand on: checkpoints with the messages of Gemini's API, and ATIF.
"""

import re
from typing import Any

from tui_app.session.importers.chat_exports import text_block
from tui_app.session.importers.editors import QUERY, SURROUNDINGS
from tui_app.session.importers.gemini_cli import part_block
from tui_app.session.importers.places import files_in, stores_in
from tui_app.session.importers.reader import (
    block_list,
    has_blocks,
    has_items,
    list_at,
    object_at,
    objects_at,
    record_text,
    text_at,
    value_at,
)
from tui_app.session.importers.shapes import ASIDE, NOTE, THOUGHT, USUAL, Shape
from tui_app.session.importers.source import ROLES, Json

_OPENAI_TOKENS = (
    "usage.prompt_tokens", "usage.completion_tokens", "usage.prompt_tokens_details.cached_tokens",
)  # fmt: skip


def _is_amp(record: Json) -> bool:
    is_thread = record_text(record, "id").startswith("T-") and "messages" in record
    return is_thread or ("role" in record and type(record.get("messageId")) is int)


AMP = Shape(
    name="amp",
    program="Amp",
    sign=_is_amp,
    places=(files_in("XDG_DATA_HOME", ".local/share", "amp/threads/T-*.json"),),
    talk=("messages",),
    time=("meta.sentAt",),
    model=("usage.model",),
    tokens=("usage.totalInputTokens", "usage.outputTokens", "usage.cacheReadInputTokens"),
    cwd=("env.initial.trees.uri",),
)


def _atif(step: Json) -> Json:
    results = [
        {"tool_use_id": each.get("source_call_id"), "content": each.get("content")}
        for each in objects_at(step, "observation.results")
    ]
    return {**step, "results": results, "content": step.get("message")}


ATIF = Shape(
    name="atif",
    program="ATIF",
    sign=lambda each: record_text(each, "schema_version").startswith("ATIF"),
    talk=("steps",),
    role=("source",),
    model=("model_name",),
    tokens=("metrics.prompt_tokens", "metrics.completion_tokens", "metrics.cached_tokens"),
    models=("agent.model_name",),
    turned=_atif,
)


# Factory's Droid: records with messages as Anthropic's API has them.


def _factory(record: Json) -> Json:
    if record.get("type") != "message":
        return {**record, "role": ASIDE}
    return {**object_at(record, "message"), "timestamp": record.get("timestamp")}


def _is_factory(record: Json) -> bool:
    kind = record.get("type")
    return (kind == "session_start" and "id" in record) or (
        kind == "message"
        and "role" in object_at(record, "message")
        and has_blocks(record, "tool_use", "tool_result")
    )


FACTORY = Shape(
    name="factory",
    program="Factory",
    sign=_is_factory,
    places=(files_in("", ".factory", "sessions/**/*.jsonl"),),
    title=("title", "sessionTitle"),
    cwd=("cwd",),
    models=("model",),
    sidecar="{stem}.settings.json",
    turned=_factory,
)


# Messages of Gemini's API, in checkpoints of Gemini CLI and in sessions of Qwen Code.


def gemini_parts(parts: Any) -> list[Any]:
    blocks: list[Any] = []
    for part in parts if isinstance(parts, list) else []:
        call, result = object_at(part, "functionCall"), object_at(part, "functionResponse")
        if call:
            blocks.append({**call, "type": "tool_use", "input": call.get("args")})
        elif result:
            answer = object_at(result, "response")
            told = answer.get("output", answer.get("error", answer))
            block = {"type": "tool_result", "tool_use_id": result.get("id"), "name": result.get("name")}
            blocks.append({**block, "content": told, "is_error": "error" in answer})
        elif value_at(part, "thought") is True:
            blocks.append({"type": "thinking", "thinking": text_at(part, "text")})
        else:
            blocks.append(part_block(part))
    return blocks


def _is_gemini(record: Json) -> bool:
    if record.get("role") in ("user", "model") and "content" not in record:
        return any("type" not in part for part in objects_at(record, "parts"))
    return has_items(record, "history", "parts") or has_items(record, "contents", "parts")


GEMINI_SETUP = re.compile(r"\s*(?:This is the (?:Gemini|Qwen)|<session_context>|My setup is complete\.)")
GEMINI = Shape(
    name="gemini-api",
    program="Gemini API",
    sign=_is_gemini,
    places=(files_in("GEMINI_CLI_HOME", "", ".gemini/tmp/*/checkpoint*.json"),),
    talk=("clientHistory", "history", "contents"),
    note=GEMINI_SETUP,
    turned=lambda record: {**record, "content": gemini_parts(record.get("parts"))},
)


def _qwen(record: Json) -> Json:
    kind = record_text(record, "type")
    title = text_at(record, "systemPayload.customTitle")
    role = "user" if kind in ("user", "tool_result") else kind
    blocks = gemini_parts(value_at(record, "message.parts"))
    if kind == "tool_result" and not any(value_at(block, "type") == "tool_result" for block in blocks):
        call_id, told = (
            text_at(record, "toolCallResult.callId"),
            value_at(record, "toolCallResult.resultDisplay"),
        )
        blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": told}]
    return {**record, "role": ASIDE if kind == "system" else role, "title": title, "content": blocks}


QWEN = Shape(
    name="qwen-code",
    program="Qwen Code",
    sign=lambda each: each.get("type") in ROLES and bool(list_at(each, "message.parts")),
    places=(files_in("", ".qwen", "projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"),),
    tokens=(
        "usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount",
        "usageMetadata.cachedContentTokenCount",
    ),
    cwd=("cwd",),
    links=("uuid", "parentUuid", ()),
    note=GEMINI_SETUP,
    turned=_qwen,
)  # fmt: skip


# Goose: calls and results are requests and responses; some messages are for the model alone.


def _goose(record: Json) -> Json:
    if "role" not in record:
        return {**record, "role": ASIDE}
    hidden = value_at(record, "metadata.userVisible") is False
    blocks = [
        block
        for block in block_list(record.get("content"))
        if value_at(block, "type")
        not in ("toolConfirmationRequest", "systemNotification", "frontendToolRequest")
    ]
    typed = not any(value_at(block, "type") == "toolResponse" for block in blocks)
    return {
        **record,
        "role": NOTE if hidden and record["role"] == "user" and typed else record["role"],
        "content": blocks,
    }


def _is_goose(record: Json) -> bool:
    headed = "working_dir" in record and ("message_count" in record or "conversation" in record)
    return headed or ("role" in record and has_blocks(record, "toolRequest", "toolResponse"))


GOOSE = Shape(
    name="goose",
    program="Goose",
    sign=_is_goose,
    places=(
        files_in("XDG_DATA_HOME", ".local/share", "goose/sessions/*.jsonl"),
        stores_in("XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db"),
    ),
    talk=("conversation", "conversation.messages"),
    time=("created",),
    title=("description", "name"),
    cwd=("working_dir",),
    models=("model", "model_config.model_name"),
    turned=_goose,
)


def _grok(record: Json) -> Json:
    kind = record_text(record, "type")
    if kind == "reasoning":
        blocks = [text_block(text_at(each, "text")) for each in objects_at(record, "summary")]
        return {**record, "content": blocks}
    return record


def _is_grok(record: Json) -> bool:
    kind = record.get("type")
    if "message" in record or "content" not in record:
        return False
    return kind == "assistant" or (kind == "tool_result" and "tool_call_id" in record)


GROK = Shape(
    name="grok",
    program="Grok",
    sign=_is_grok,
    places=(files_in("GROK_HOME", ".grok", "sessions/*/*/chat_history.jsonl"),),
    role=("type",),
    roles={**USUAL, "reasoning": THOUGHT, "tool_result": "tool"},
    model=("model_id", "model"),
    title=("generated_title", "title", "session_summary"),
    cwd=("info.cwd", "cwd"),
    models=("current_model_id", "model"),
    sidecar="summary.json",
    typed=QUERY,
    note=SURROUNDINGS,
    turned=_grok,
)


KIMI = Shape(
    name="kimi",
    program="Kimi",
    sign=lambda record: (
        record_text(record, "role").startswith("_") or "payload" in object_at(record, "message")
    ),
    places=(files_in("KIMI_SHARE_DIR", ".kimi", "sessions/*/*/context.jsonl"),),
    roles={**USUAL, "_system_prompt": "system", "_checkpoint": ASIDE, "_usage": ASIDE},
    title=("custom_title", "title"),
    cwd=("work_dir",),
    sidecar="state.json",
)


VIBE = Shape(
    name="vibe",
    program="Vibe",
    sign=lambda record: (
        "messages" in record and bool(text_at(record, "metadata.environment.working_directory"))
    ),
    places=(files_in("VIBE_HOME", ".vibe", "logs/session/*/messages.jsonl"),),
    talk=("messages",),
    tokens=_OPENAI_TOKENS,
    title=("title", "metadata.title"),
    cwd=("environment.working_directory", "metadata.environment.working_directory"),
    models=("config.active_model", "agent_config.active_model", "metadata.agent_config.active_model"),
    sidecar="meta.json",
)
"""Messages as OpenAI has them; what is beside them says where and with which model."""
