"""Small conversations in the formats that only map names, made up for these tests."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

Json = dict[str, Any]
T0 = "2026-03-01T10:00:{:02}.000Z"
SECONDS, MILLISECONDS = 1_772_359_200, 1_772_359_200_000
REMINDER = "<system-reminder>Always be brief.</system-reminder>"


def said(text: str) -> Json:
    return {"type": "text", "text": text}


def used(call_id: str = "c1", name: str = "read") -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": "till.py"}}


def answered(call_id: str = "c1", **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "print()"} | fields


def function(call_id: str = "c1") -> Json:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "till.py"}'},
    }


def amp() -> Json:
    run = {"status": "done", "result": "print()"}
    refused = {"status": "rejected-by-user", "reason": "not now"}
    return {
        "v": 9, "id": "T-1", "created": MILLISECONDS, "title": "The till",
        "env": {"initial": {"trees": [{"uri": "file:///home/ann/shop"}]}},
        "messages": [
            {"role": "user", "messageId": 0, "content": [said("Fix the till")],
             "meta": {"sentAt": MILLISECONDS + 1_000}},
            {"role": "assistant", "messageId": 1, "usage": {"model": "claude-opus-4-6", "outputTokens": 7},
             "content": [{"type": "thinking", "thinking": "hm"}, used(), used("c2", "rm")]},
            {"role": "user", "messageId": 2, "content": [
                {"type": "tool_result", "toolUseID": "c1", "run": run},
                {"type": "tool_result", "toolUseID": "c2", "run": refused}]},
            {"role": "assistant", "messageId": 3, "content": [said("Fixed.")]},
        ],
    }  # fmt: skip


def anthropic_api() -> Json:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    response = {"id": "m1", "role": "assistant", "content": [said("Fixed.")], "stop_reason": "end_turn",
                "usage": {"input_tokens": 50, "cache_read_input_tokens": 40, "output_tokens": 5}}  # fmt: skip
    return {
        "request": {
            "model": "claude-opus-4-6", "system": [said("You are an agent.")],
            "messages": [
                {"role": "user", "content": "Fix the till"},
                {"role": "assistant", "content": [thought, said("Look"), used(), used("c2", "list")]},
                {"role": "user", "content": [answered(), answered("c2", is_error=True)]},
            ],
        },
        "response": response,
    }  # fmt: skip


def ai_sdk() -> list[Json]:
    def made(call_id: str, **fields: Any) -> Json:
        return {"type": "tool-read", "toolCallId": call_id, "input": {"path": "till.py"}} | fields

    parts = [
        {"type": "step-start"}, {"type": "reasoning", "text": "hm"},
        made("c1", state="output-available", output="print()"),
        made("c2", state="output-error", errorText="no such file"),
        {"type": "step-start"}, said("Fixed."),
    ]  # fmt: skip
    usage = {"inputTokens": 90, "outputTokens": 5, "cachedInputTokens": 40}
    metadata = {"createdAt": T0.format(2), "model": "gpt-5", "totalUsage": usage}
    return [
        {"id": "m1", "role": "user", "parts": [said("Fix the till")]},
        {"id": "m2", "role": "assistant", "parts": parts, "metadata": metadata},
    ]


def copilot_chat() -> Json:
    calls = [{"id": name, "name": "read", "arguments": '{"path": "till.py"}'} for name in ("c1", "c2")]
    rounds = [
        {"response": "Look", "thinking": {"id": "t", "text": "hm"}, "toolCalls": calls},
        {"response": "Fixed.", "toolCalls": []},
    ]
    results = {name: {"content": [{"$mid": 21, "value": "print()"}]} for name in ("c1", "c2")}
    stopped = {"message": {"text": "And the pier?"}, "timestamp": MILLISECONDS + 9_000, "isCanceled": True,
               "response": [{"value": "I w"}, {"kind": "inlineReference"}, {"value": "as"}]}  # fmt: skip
    return {
        "responderUsername": "GitHub Copilot", "customTitle": "The till",
        "requests": [
            {"message": {"text": "Fix the till"}, "timestamp": MILLISECONDS + 1_000, "modelId": "gpt-5",
             "variableData": {"variables": [{"name": "pier.py"}]}, "response": [{"value": "Fixed."}],
             "result": {"metadata": {"toolCallRounds": rounds, "toolCallResults": results}}},
            stopped,
            {"message": {"text": "Leave it"}, "response": [{"value": "Done"}]},
        ],
    }  # fmt: skip


def atif() -> Json:
    call = {"tool_call_id": "c1", "function_name": "read", "arguments": {"path": "till.py"}}
    return {
        "schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "a", "model_name": "glm-5"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Fix the till", "timestamp": T0.format(1)},
            {"step_id": 2, "source": "agent", "message": "Look", "reasoning_content": "hm",
             "tool_calls": [call],
             "observation": {"results": [{"source_call_id": "c1", "content": "print()"}]},
             "metrics": {"prompt_tokens": 90, "completion_tokens": 5, "cached_tokens": 40}},
            {"step_id": 3, "source": "agent", "message": "Fixed."},
        ],
    }  # fmt: skip


def chatgpt() -> list[Json]:
    def node(key: str, parent: str | None, role: str = "", kind: str = "text", **message: Any) -> Json:
        content = message.pop("content", {"parts": [message.pop("text", "")]})
        made = {
            "id": key,
            "author": {"role": role, "name": message.pop("name", None)},
            "metadata": {},
            "create_time": SECONDS + int(key[1:]),
            "content": {"content_type": kind} | content,
        } | message
        return {"id": key, "parent": parent, "children": [], "message": made if role else None}

    nodes = [
        node("n0", None),
        node("n1", "n0", "user", "user_editable_context", content={"user_profile": "Be brief."}),
        node("n3", "n1", "user", text="A wrong way"),
        node("n2", "n1", "user", text="Fix the till"),
        node(
            "n4", "n2", "assistant", "thoughts", content={"thoughts": [{"summary": "Look", "content": "hm"}]}
        ),
        node("n5", "n4", "assistant", "code", content={"text": "print(1)"}, recipient="python"),
        node("n6", "n5", "tool", "execution_output", content={"text": "1"}, name="python"),
        node("n7", "n6", "assistant", text="Fixed.", metadata={"model_slug": "gpt-5"}),
    ]
    old = {
        "title": "Old",
        "id": "old",
        "update_time": 1.0,
        "current_node": "n1",
        "mapping": {each["id"]: each for each in [node("n0", None), node("n1", "n0", "user", text="Hi")]},
    }
    new = {"title": "The till", "id": "new", "update_time": SECONDS, "current_node": "n7",
           "mapping": {each["id"]: each for each in nodes}}  # fmt: skip
    return [old, new]


def claude_ai() -> list[Json]:
    def message(number: int, sender: str, *content: Json, above: int = 0, **fields: Any) -> Json:
        return {
            "uuid": f"m{number}",
            "sender": sender,
            "text": "",
            "content": list(content),
            "attachments": [],
            "parent_message_uuid": f"m{above or number - 1}",
            "created_at": T0.format(number),
        } | fields

    file = {"file_name": "pier.py", "extracted_content": "print('pier')"}
    return [
        {
            "uuid": "c1", "name": "The till", "updated_at": T0.format(9), "current_leaf_message_uuid": "m4",
            "chat_messages": [
                message(1, "human", said("Fix the till"), attachments=[file],
                        parent_message_uuid="00000000-0000-4000-8000-000000000000"),
                message(2, "assistant", said("A wrong way")),
                message(3, "assistant", {"type": "thinking", "thinking": "hm"}, used(), answered(),
                        said("Look"), above=1),
                message(4, "assistant", said("Fixed.")),
            ],
        }
    ]  # fmt: skip


def cline() -> list[Json]:
    around = said("<environment_details>\n# Time\n10:00\n</environment_details>")
    return [
        {"role": "user", "content": [said("<task>\nFix the till\n</task>"), around]},
        {"role": "assistant", "content": [used()], "modelInfo": {"modelId": "claude-opus-4-6"}},
        {
            "role": "user",
            "content": [answered(content="The user denied this operation.", is_error=True), around],
        },
        {"role": "assistant", "content": [said("Look\n<read_file>\n<path>till.py</path>\n</read_file>")]},
        {"role": "user", "content": [said("[read_file for 'till.py'] Result:"), said("print()"), around]},
        {"role": "assistant", "content": [said("Fixed.")]},
    ]


def continue_() -> Json:
    state = {"toolCallId": "c1", "toolCall": function(), "status": "done", "output": [{"content": "print()"}]}
    return {
        "sessionId": "s", "title": "The till", "workspaceDirectory": "/home/ann/shop",
        "history": [
            {"message": {"role": "user", "content": "Fix the till"},
             "contextItems": [{"name": "pier.py", "content": "print('pier')"}]},
            {"message": {"role": "assistant", "content": "Look", "toolCalls": [function()]},
             "toolCallStates": [state], "promptLogs": [{"modelTitle": "qwen3"}]},
            {"message": {"role": "assistant", "content": "Fixed."}},
        ],
    }  # fmt: skip


def cursor() -> list[Json]:
    query = "<user_info>\nOS: linux\n</user_info>", "<user_query>\nFix the till\n</user_query>"
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "read", "args": {"path": "till.py"}}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "read", "result": "print()"}
    return [
        {"role": "user", "message": {"content": [said(each) for each in query]}},
        {"role": "assistant", "message": {"content": [{"type": "reasoning", "text": "hm"}, call]}},
        {"role": "tool", "message": {"content": [result]}},
        {"role": "assistant", "message": {"content": [said("Fixed.")]}},
    ]


def factory() -> list[Json]:
    def message(second: int, role: str, *content: Json) -> Json:
        return {"type": "message", "id": f"m{second}", "timestamp": T0.format(second),
                "message": {"role": role, "content": list(content)}}  # fmt: skip

    return [
        {"type": "session_start", "id": "s1", "title": "The till", "cwd": "/home/ann/shop"},
        message(1, "user", said(REMINDER), said("Fix the till")),
        message(2, "assistant", said("Look"), used()),
        message(3, "user", answered(is_error=True)),
        message(4, "assistant", said("Fixed.")),
        {"type": "todo_state", "id": "t1", "todos": {}},
    ]


def gemini_api() -> list[Json]:
    call = {"functionCall": {"name": "read", "args": {"path": "till.py"}}}
    result = {"functionResponse": {"name": "read", "response": {"output": "print()"}}}
    return [
        {
            "role": "user",
            "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}],
        },
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": "Fix the till"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, call]},
        {"role": "user", "parts": [result]},
        {"role": "model", "parts": [{"text": "Fixed."}]},
    ]


def goose() -> list[Json]:
    def message(second: int, role: str, *content: Json, **fields: Any) -> Json:
        return {"role": role, "created": SECONDS + second, "content": list(content)} | fields

    call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}
    result = {"status": "success", "value": {"content": [said("till.py")], "isError": True}}
    hidden = {"userVisible": False, "agentVisible": True}
    return [
        {"working_dir": "/home/ann/shop", "description": "The till", "message_count": 4},
        message(1, "user", said("Fix the till")),
        message(1, "user", said("The time is ten."), metadata=hidden),
        message(2, "assistant", said("Look"), {"type": "toolRequest", "id": "c1", "toolCall": call}),
        message(3, "user", {"type": "toolResponse", "id": "c1", "toolResult": result}),
        message(4, "assistant", said("Fixed.")),
    ]


def grok() -> list[Json]:
    return [
        {"type": "system", "content": "You are an agent."},
        {"type": "user", "content": [said("<user_query>\nFix the till\n</user_query>")]},
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "assistant", "content": "Look", "model_id": "grok-4.5",
         "tool_calls": [{"id": "c1", "name": "read", "arguments": "{}"}]},
        {"type": "tool_result", "tool_call_id": "c1", "content": "print()"},
        {"type": "assistant", "content": "Fixed."},
    ]  # fmt: skip


def kimi() -> list[Json]:
    return [
        {"role": "_system_prompt", "content": "You are an agent."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "Fix the till"},
        {"role": "assistant", "content": [{"type": "think", "think": "hm"}], "tool_calls": [function()]},
        {"role": "_usage", "token_count": 90},
        {"role": "tool", "content": [said("print()")], "tool_call_id": "c1"},
        {"role": "assistant", "content": [said("Fixed.")]},
    ]


def librechat() -> Json:
    def message(number: int, above: int, **fields: Any) -> Json:
        return {"messageId": f"m{number}", "parentMessageId": f"m{above}", "createdAt": T0.format(number),
                "isCreatedByUser": False, "text": ""} | fields  # fmt: skip

    call = {"id": "c1", "name": "read", "args": '{"path": "till.py"}', "output": "print()"}
    parts = [{"type": "think", "think": "hm"}, {"type": "tool_call", "tool_call": call}, said("Look")]
    return {
        "conversationId": "c", "title": "The till",
        "messages": [
            message(1, 0, isCreatedByUser=True, text="Fix the till",
                    parentMessageId="00000000-0000-0000-0000-000000000000"),
            message(2, 1, text="A wrong way"),
            message(3, 1, content=parts, model="gpt-5"),
            message(4, 3, text="Fixed."),
        ],
    }  # fmt: skip


def open_webui() -> list[Json]:
    def message(number: int, above: str | None, role: str, content: str, **fields: Any) -> Json:
        return {"id": f"m{number}", "parentId": above, "role": role, "content": content,
                "timestamp": SECONDS + number} | fields  # fmt: skip

    thought = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> hm\n</details>\n'
    call = (
        '<details type="tool_calls" done="true" id="c1" name="read" arguments="{&quot;path&quot;: 1}" '
        'result="print()">\n<summary>Done</summary>\n</details>\n'
    )
    listed = [
        message(1, None, "user", "Fix the till"),
        message(2, "m1", "assistant", "A wrong way"),
        message(3, "m1", "assistant", f"{thought}{call}Fixed.", model="llama3"),
    ]
    history = {"currentId": "m3", "messages": {each["id"]: each for each in listed}}
    chat = {"title": "The till", "models": ["llama3"], "messages": listed[:1], "history": history}
    return [{"id": "c1", "title": "The till", "updated_at": SECONDS, "chat": chat}]


def qwen_code() -> list[Json]:
    def record(number: int, kind: str, *parts: Json, above: int | None = None, **fields: Any) -> Json:
        parent = f"u{number - 1 if above is None else above}" if number else None
        role = "model" if kind == "assistant" else "user"
        return {
            "uuid": f"u{number}",
            "parentUuid": parent,
            "sessionId": "s",
            "type": kind,
            "cwd": "/home/ann/shop",
            "timestamp": T0.format(number),
            "message": {"role": role, "parts": list(parts)},
        } | fields

    call = {"functionCall": {"id": "c1", "name": "read", "args": {"path": "till.py"}}}
    result = {"functionResponse": {"id": "c1", "name": "read", "response": {"error": "no such file"}}}
    counted = {"promptTokenCount": 90, "candidatesTokenCount": 5, "cachedContentTokenCount": 40}
    return [
        record(0, "user", {"text": "Fix the till"}),
        record(1, "assistant", {"text": "A wrong way"}, model="qwen3"),
        record(2, "assistant", {"text": "hm", "thought": True}, call, above=0, model="qwen3-coder",
               usageMetadata=counted),
        record(3, "tool_result", result),
        record(4, "system", subtype="custom_title", systemPayload={"customTitle": "The till"}),
        record(5, "assistant", {"text": "Fixed."}),
    ]  # fmt: skip


def vibe() -> Json:
    environment = {"working_directory": "/home/ann/shop"}
    return {
        "metadata": {"session_id": "s", "title": "The till", "environment": environment,
                     "agent_config": {"active_model": "devstral-2"}},
        "messages": vibe_lines(),
    }  # fmt: skip


def vibe_lines() -> list[Json]:
    return [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Fix the till"},
        {"role": "assistant", "content": "", "tool_calls": [function() | {"index": 0}]},
        {"role": "tool", "content": "print()", "name": "read", "tool_call_id": "c1"},
        {"role": "assistant", "content": "Fixed."},
    ]


def zed() -> Json:
    call = {
        "id": "c1",
        "name": "read",
        "raw_input": "{}",
        "input": {"type": "json", "value": {"path": "till.py"}},
    }
    result = {
        "tool_use_id": "c1",
        "tool_name": "read",
        "is_error": True,
        "content": [{"Text": "no such file"}],
    }
    mention = {"Mention": {"uri": "file:///pier.py", "content": "print('pier')"}}
    return {
        "title": "The till", "version": "0.3.0", "updated_at": T0.format(9),
        "model": {"provider": "anthropic", "model": "claude-opus-4-6"},
        "messages": [
            {"User": {"id": "u1", "content": [{"Text": "Fix the till"}, mention]}},
            {"Agent": {"content": [{"Thinking": {"text": "hm", "signature": "x"}}, {"ToolUse": call}],
                       "tool_results": {"c1": result}}},
            "Resume",
            {"Agent": {"content": [{"Text": "Fixed."}], "tool_results": {}}},
        ],
    }  # fmt: skip


LINES: dict[str, list[Json]] = {
    "cursor": cursor(), "factory": factory(), "goose": goose(), "grok": grok(), "kimi": kimi(),
    "qwen-code": qwen_code(),
}  # fmt: skip
DOCUMENTS: dict[str, Any] = {
    "amp": amp(), "anthropic-api": anthropic_api(), "ai-sdk": ai_sdk(), "copilot-chat": copilot_chat(),
    "atif": atif(), "chatgpt": chatgpt(), "claude-ai": claude_ai(), "cline": cline(),
    "continue": continue_(), "gemini-api": gemini_api(), "librechat": librechat(), "open-webui": open_webui(),
    "vibe": vibe(), "zed": zed(),
}  # fmt: skip


# The same as databases, which three of the programs use.


def write_store(path: Path, program: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        {"goose": _write_goose, "zed": _write_zed, "cursor": _write_cursor}[program](database)
    return path


def _write_goose(database: sqlite3.Connection) -> None:
    database.executescript(
        "CREATE TABLE schema_version (version INTEGER);"
        "CREATE TABLE sessions (id TEXT, name TEXT, working_dir TEXT, updated_at TEXT,"
        " model_config_json TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT,"
        " created_timestamp INTEGER, metadata_json TEXT);"
        "INSERT INTO sessions VALUES ('old', 'Old', '/', '2026-01-01 10:00:00', NULL);"
        "INSERT INTO sessions VALUES"
        " ('s1', 'The till', '/home/ann/shop', '2026-03-01 10:00:00', '{\"model_name\": \"glm-5\"}');"
    )
    for each in goose()[1:]:
        row = (
            each["role"],
            json.dumps(each["content"]),
            each["created"],
            json.dumps(each.get("metadata", {})),
        )
        database.execute(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json)"
            " VALUES ('s1', ?, ?, ?, ?)",
            row,
        )


def _write_zed(database: sqlite3.Connection) -> None:
    database.execute(
        "CREATE TABLE threads (id TEXT, folder_paths TEXT, summary TEXT, updated_at TEXT, data_type TEXT,"
        " data BLOB)"
    )
    row = ("t1", "/home/ann/shop", "The till", T0.format(9), "json", json.dumps(zed()).encode())
    database.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?)", row)


def _write_cursor(database: sqlite3.Connection) -> None:
    database.executescript(
        "CREATE TABLE blobs (id TEXT, data BLOB); CREATE TABLE meta (key TEXT, value TEXT)"
    )
    root = b""
    for number, each in enumerate(cursor()):
        name = bytes([number]) * 32
        message = {"role": each["role"]} | each["message"]
        database.execute("INSERT INTO blobs VALUES (?, ?)", (name.hex(), json.dumps(message).encode()))
        root += b"\x0a\x20" + name
    database.execute("INSERT INTO blobs VALUES ('ff', ?)", (root + b"\x4a\x04shop",))
    meta = {"agentId": "a1", "name": "The till", "latestRootBlobId": "ff", "createdAt": MILLISECONDS,
            "lastUsedModel": "claude-opus-4-6"}  # fmt: skip
    database.execute("INSERT INTO meta VALUES ('0', ?)", (json.dumps(meta).encode().hex(),))
