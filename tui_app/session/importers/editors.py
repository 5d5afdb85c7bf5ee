"""Conversations that editors and their extensions keep: Cline and its relatives, Continue, Cursor, Zed."""

import re
from typing import Any

from tui_app.session.importers.chat_exports import attached, text_block
from tui_app.session.importers.places import files_in, stores_in
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
from tui_app.session.importers.shapes import ASIDE, Shape, elements
from tui_app.session.importers.source import Json

# Cline, Roo Code, Kilo Code: Anthropic's messages; older ones write calls as XML into the text.

_TOOLS = (
    "access_mcp_resource", "apply_diff", "ask_followup_question", "attempt_completion", "browser_action",
    "execute_command", "insert_content", "list_code_definition_names", "list_files", "new_task",
    "plan_mode_respond", "read_file", "replace_in_file", "search_and_replace", "search_files", "switch_mode",
    "update_todo_list", "use_mcp_tool", "write_to_file",
)  # fmt: skip
_XML_CALL = re.compile(rf"<(?P<tag>{'|'.join(_TOOLS)})>")
_XML_ARG = re.compile(r"<(?P<tag>\w+)>")
_XML_RESULT = re.compile(rf"\[(?P<name>{'|'.join(_TOOLS)})\b[^\n]*\] Result:\s*")


def _cline(message: Json) -> Json:
    blocks: list[Any] = []
    parts = block_list(message.get("content"))
    if message.get("role") == "assistant":
        for part in parts:
            text = record_text(part, "text") if isinstance(part, dict) else ""
            at = 0
            for match, inner, end in elements(text, _XML_CALL):
                blocks.append(text_block(text[at : match.start()].strip()))
                args = {each["tag"]: value.strip() for each, value, _ in elements(inner, _XML_ARG)}
                blocks.append({"type": "tool_use", "name": match["tag"], "input": args})
                at = end
            blocks.append({**part, "text": text[at:].strip()} if at else part)
    else:
        # The result itself may stand in the block behind the one that says whose it is.
        announced = ""
        for part in parts:
            text = record_text(part, "text") if isinstance(part, dict) else ""
            told_by = _XML_RESULT.match(text)
            name, told = (told_by["name"], text[told_by.end() :]) if told_by else (announced, text)
            announced = name if told_by and not told.strip() else ""
            if name and not announced:
                blocks.append({"type": "tool_result", "name": name, "content": told})
            elif not announced:
                blocks.append(part)
        if announced:
            blocks.append({"type": "tool_result", "name": announced, "content": ""})
    return {**message, "content": blocks}


def _is_cline(record: Json) -> bool:
    texts = (value_at(block, "text") for block in block_list(record.get("content")))
    if "role" in record and any("<environment_details>" in text for text in texts if isinstance(text, str)):
        return True
    return ("role" in record and "modelInfo" in record) or (
        record.get("type") in ("ask", "say") and "ts" in record
    )


_VS_CODE = "globalStorage/*/tasks/*/api_conversation_history.json"
CLINE = Shape(
    name="cline",
    program="Cline",
    sign=_is_cline,
    places=(
        files_in(
            "",
            "",
            f".config/Code/User/{_VS_CODE}",
            f"Library/Application Support/Code/User/{_VS_CODE}",
            ".cline/data/tasks/*/api_conversation_history.json",
        ),
    ),
    time=("ts",),
    model=("modelInfo.modelId", "model"),
    tokens=("metrics.tokens.prompt", "metrics.tokens.completion", "metrics.tokens.cached"),
    typed=re.compile(r"<(?P<tag>task|feedback|answer|user_message)>"),
    note=re.compile(
        r"\s*(?:\[ERROR\]|\[TASK RESUMPTION\]|# task_progress|# TODO LIST|\[Request interrupted)"
    ),
    turned=_cline,
)


# Continue: the states of calls stand beside the message that makes them.


def _continue(item: Json) -> Json:
    message = object_at(item, "message")
    blocks = [*block_list(message.get("content"))]
    results: list[Json] = []
    if message.get("role") == "user":
        for each in objects_at(item, "contextItems"):
            blocks.append(attached(record_text(each, "name"), record_text(each, "content")))
    for state in objects_at(item, "toolCallStates") or [object_at(item, "toolCallState")]:
        told = [record_text(each, "content") for each in objects_at(state, "output")]
        if told or state.get("status") in ("errored", "canceled"):
            call_id, status = record_text(state, "toolCallId"), state.get("status")
            results.append({"tool_use_id": call_id, "content": "\n".join(told), "status": status})
    logs = objects_at(item, "promptLogs")
    model = text_at(logs[-1], "modelTitle", "modelProvider") if logs else ""
    reasoning = text_at(item, "reasoning.text")
    return {**message, "content": blocks, "results": results, "model": model, "reasoning": reasoning}


CONTINUE = Shape(
    name="continue",
    program="Continue",
    sign=lambda each: "sessionId" in each and has_items(each, "history", "message"),
    places=(files_in("CONTINUE_GLOBAL_DIR", ".continue", "sessions/*-*.json"),),
    talk=("history",), cwd=("workspaceDirectory",), models=("chatModelTitle",), turned=_continue,
)  # fmt: skip


# Cursor: transcripts and the store of its command line have messages as the AI SDK does.

QUERY = re.compile(r"<(?P<tag>user_query)>")
SURROUNDINGS = re.compile(
    r"\s*<(?:user_info|git_status|rules|agent_skills|project_layout|attached_files|open_and_recently_viewed_files|"
    r"agent_transcripts|mcp_\w+|system_reminder|timestamp)\b"
)
"""How texts begin that hold what the editor knows and nobody typed."""


def _cursor(record: Json) -> Json:
    message = object_at(record, "message")
    if record.get("type") == "tool_call":
        return _cursor_call(record)
    if record.get("type") in ("system", "result", "thinking") and not message:
        return {**record, "role": ASIDE}
    return {**record, **message, "role": record_text(record, "role") or record_text(message, "role")}


def _cursor_call(record: Json) -> Json:
    """A call as the program prints it: when it begins, and again with its result when it ends."""
    if record.get("subtype") != "completed":
        return {"role": ASIDE}
    call_id = record_text(record, "call_id")
    name, inner = next(iter(object_at(record, "tool_call").items()), ("", None))
    result = object_at(inner, "result")
    failed = bool(result) and "success" not in result
    call = {
        "type": "tool_use",
        "id": call_id,
        "name": name.removesuffix("ToolCall"),
        "input": value_at(inner, "args"),
    }
    told = {"tool_use_id": call_id, "content": result.get("success", result), "is_error": failed}
    return {"role": "assistant", "content": [call], "results": [told]}


def _is_cursor(record: Json) -> bool:
    if record.get("type") == "tool_call":
        return "tool_call" in record
    return "role" in record and "type" not in record and "content" in object_at(record, "message")


CURSOR = Shape(
    name="cursor",
    program="Cursor",
    sign=_is_cursor,
    places=(
        files_in("", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"),
        stores_in("", ".cursor", "chats/*/*/store.db"),
    ),
    talk=("messages",),
    title=("name", "title"),
    cwd=("cwd",),
    models=("lastUsedModel", "model"),
    time=("timestamp", "timestamp_ms", "createdAt"),
    typed=QUERY,
    note=SURROUNDINGS,
    turned=_cursor,
)


# Zed: values that are told apart by the name of their one key.


def _zed(message: Json) -> Json:
    if "segments" in message:
        return {
            **message,
            "content": [
                {**each, "type": "thinking", "thinking": each.get("text")}
                if value_at(each, "type") == "thinking"
                else each
                for each in list_at(message, "segments")
            ],
            # As a thread of version 0.2 has calls and results.
            "tool_calls": [
                {**each, "arguments": each.get("input")} for each in objects_at(message, "tool_uses")
            ],
            "results": objects_at(message, "tool_results"),
        }
    role = "user" if "User" in message else "assistant" if "Agent" in message else ""
    inner = object_at(message, "User") or object_at(message, "Agent")
    results = [
        {**each, "content": [_zed_block(part) for part in _as_list(each.get("content"))]}
        for each in object_at(inner, "tool_results").values()
        if isinstance(each, dict)
    ]
    if not role:
        return {**message, "role": ASIDE if set(message) <= {"Resume", "Compaction"} else ""}
    return {
        "role": role,
        "content": [_zed_block(part) for part in list_at(inner, "content")],
        "results": results,
    }


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value is not None else []


def _zed_block(part: Any) -> Any:
    if not isinstance(part, dict) or len(part) != 1:
        return part
    kind, value = next(iter(part.items()))
    match kind:
        case "Text":
            return text_block(value)
        case "Thinking":
            return {"type": "thinking", "thinking": text_at(value, "text")}
        case "RedactedThinking":
            return {"type": "redacted_thinking"}
        case "ToolUse" if isinstance(value, dict):
            given = object_at(value, "input")
            args = given["value"] if set(given) == {"type", "value"} and given["type"] == "json" else given
            return {**value, "type": "tool_use", "input": args}
        case "Mention":
            return attached(str(value_at(value, "uri")), text_at(value, "content"))
        case "Image":
            source = {"type": "base64", "media_type": "image/png", "data": value_at(value, "source")}
            return {"type": "image", "source": source}
    return part


ZED = Shape(
    name="zed",
    program="Zed",
    sign=lambda each: has_items(each, "messages", "User", "Agent", "segments"),
    places=(
        stores_in("XDG_DATA_HOME", ".local/share", "zed/threads/threads.db"),
        stores_in("", "Library/Application Support", "Zed/threads/threads.db"),
    ),
    talk=("messages",),
    title=("title", "summary"),
    cwd=("folder", "initial_project_snapshot.worktree_snapshots.worktree_path"),
    models=("model.model",),
    time=("timestamp",),
    turned=_zed,
)
