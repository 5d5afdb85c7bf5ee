"""Hand-made transcripts in the formats of other programs, and helpers for tests of damaged ones."""

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.session.importing import mapped_samples
from tui_app.events import ToolResult, payload_from_json, payload_to_json
from tui_app.session.event_rows import MESSAGES
from tui_app.session.importers.formats import Imported

# Small conversations in the formats of other programs, written for these tests.


Json = dict[str, Any]
T0 = "2026-03-01T10:00:{:02}.000Z"


def jsonl(records: list[Json]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def zstd(content: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression.zstd import compress
    else:
        from backports.zstd import compress

    return compress(content)


def codex() -> list[Json]:
    def item(second: int, **payload: Any) -> Json:
        return {"timestamp": T0.format(second), "type": "response_item", "payload": payload}

    def event(second: int, **payload: Any) -> Json:
        return {"timestamp": T0.format(second), "type": "event_msg", "payload": payload}

    note = "<environment_context>\n  <cwd>/home/ann/shop</cwd>\n</environment_context>"
    return [
        {"timestamp": T0.format(0), "type": "session_meta",
         "payload": {"id": "s1", "cwd": "/home/ann/shop", "cli_version": "0.98.0"}},
        item(1, type="message", role="developer", content=[{"type": "input_text", "text": "Be safe."}]),
        item(2, type="message", role="user", content=[{"type": "input_text", "text": note}]),
        {"timestamp": T0.format(3), "type": "turn_context", "payload": {"model": "gpt-5.2-codex"}},
        item(4, type="message", role="user", content=[{"type": "input_text", "text": "Fix the till"}]),
        event(5, type="user_message", message="Fix the till"),
        item(6, type="reasoning", summary=[{"type": "summary_text", "text": "Look first"}],
             encrypted_content="xyz"),
        item(7, type="function_call", name="shell", call_id="c1", arguments='{"command":["ls"]}'),
        item(8, type="custom_tool_call", name="apply_patch", call_id="c2", input="*** Begin Patch"),
        item(9, type="function_call_output", call_id="c1",
             output='{"output":"till.py","metadata":{"exit_code":2}}'),
        item(10, type="custom_tool_call_output", call_id="c2", output="Success."),
        event(11, type="token_count", info=None),
        item(12, type="message", role="assistant", content=[{"type": "output_text", "text": "Fixed."}]),
    ]  # fmt: skip


def copilot() -> list[Json]:
    def event(second: int, kind: str, **data: Any) -> Json:
        return {"type": kind, "data": data, "id": f"e{second}", "timestamp": T0.format(second),
                "parentId": f"e{second - 1}" if second else None}  # fmt: skip

    request = {"toolCallId": "c1", "name": "view", "arguments": {"path": "till.py"}}
    return [
        event(0, "session.start", sessionId="s1", context={"cwd": "/home/ann/shop"}),
        event(1, "session.model_change", newModel="gpt-5.2"),
        event(2, "system.message", role="system", content="You are a helper."),
        event(3, "user.message", content="Fix the till"),
        event(4, "user.message", content="reminder", source="system"),
        event(5, "assistant.message", content="Looking", model="gpt-5.2", outputTokens=7,
              toolRequests=[request]),
        event(6, "tool.execution_start", toolCallId="c1", toolName="view", arguments={"path": "till.py"}),
        event(7, "assistant.message", content="from a helper", parentToolCallId="c1"),
        event(8, "tool.execution_complete", toolCallId="c1", success=False,
              error={"message": "no such file", "code": "failure"}),
        event(9, "assistant.message", content="Fixed."),
    ]  # fmt: skip


def pi() -> list[Json]:
    def entry(name: str, parent: str | None, kind: str, **fields: Any) -> Json:
        second = int(name[1:])
        return {"type": kind, "id": name, "parentId": parent, "timestamp": T0.format(second)} | fields

    def said(name: str, parent: str | None, role: str, content: Any, **fields: Any) -> Json:
        return entry(name, parent, "message", message={"role": role, "content": content} | fields)

    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "till.py"}}
    usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 2}
    return [
        {"type": "session", "version": 3, "id": "s1", "timestamp": T0.format(0), "cwd": "/home/ann/shop"},
        entry("e1", None, "model_change", provider="anthropic", modelId="claude-opus-4-6"),
        said("e2", "e1", "user", "Fix the till"),
        said("e3", "e2", "user", [{"type": "text", "text": "A wrong way"}]),
        said("e4", "e2", "assistant", [{"type": "thinking", "thinking": "hm"}, call],
             model="claude-opus-4-6", usage=usage, stopReason="toolUse"),
        said("e5", "e4", "toolResult", [{"type": "text", "text": "print()"}], toolCallId="c1",
             toolName="read", isError=False),
        said("e6", "e5", "assistant", [{"type": "text", "text": "Fixed."}], stopReason="stop"),
    ]  # fmt: skip


def gemini() -> Json:
    answered = {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "print()"}}}
    call = {"id": "c1", "name": "read_file", "args": {"path": "till.py"}, "status": "success",
            "result": [answered]}  # fmt: skip
    thought = {"subject": "Look", "description": "first"}
    return {
        "sessionId": "s1", "projectHash": "abc", "startTime": T0.format(0),
        "messages": [
            {"id": "m1", "timestamp": T0.format(1), "type": "user", "content": "Fix the till"},
            {"id": "m2", "timestamp": T0.format(2), "type": "gemini", "content": "Looking",
             "thoughts": [thought], "model": "gemini-3-pro", "toolCalls": [call],
             "tokens": {"input": 100, "output": 5, "cached": 40, "thoughts": 2, "total": 107}},
            {"id": "m3", "timestamp": T0.format(3), "type": "info", "content": "Update available"},
            {"id": "m4", "timestamp": T0.format(4), "type": "gemini", "content": [{"text": "Fixed."}]},
        ],
    }  # fmt: skip


def gemini_log() -> list[Json]:
    chat = gemini()
    started, done = chat["messages"][1] | {"toolCalls": []}, chat["messages"][1]
    return [
        {"sessionId": "s1", "projectHash": "abc", "startTime": T0.format(0)},
        chat["messages"][0],
        started,
        done,
        {"$set": {"summary": "The till"}},
        {"id": "m9", "timestamp": T0.format(9), "type": "user", "content": "A wrong way"},
        {"$rewindTo": "m9"},
        chat["messages"][3],
    ]


def gemini_stream() -> list[Json]:
    def event(second: int, kind: str, **fields: Any) -> Json:
        return {"type": kind, "timestamp": T0.format(second)} | fields

    stats = {"total_tokens": 105, "input_tokens": 100, "output_tokens": 5, "cached": 40}
    return [
        event(0, "init", session_id="s1", model="gemini-3-pro"),
        event(1, "message", role="user", content="Fix the till"),
        event(2, "tool_use", tool_name="read_file", tool_id="c1", parameters={"path": "till.py"}),
        event(3, "tool_result", tool_id="c1", status="error", output="", error={"message": "no such file"}),
        event(4, "message", role="assistant", content="Fix", delta=True),
        event(5, "message", role="assistant", content="ed.", delta=True),
        event(6, "result", status="success", stats=stats),
    ]


def opencode() -> Json:
    def part(kind: str, **fields: Any) -> Json:
        return {"type": kind, "id": f"prt_{kind}"} | fields

    state = {"status": "completed", "input": {"filePath": "till.py"}, "output": "print()"}
    failed = {"status": "error", "input": {}, "error": "no such file"}
    tokens = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 100, "write": 2}}
    return {
        "info": {"id": "ses_1", "title": "The till", "directory": "/home/ann/shop"},
        "messages": [
            {"info": {"role": "user", "time": {"created": 1772359201000}},
             "parts": [part("text", text="Fix the till"),
                       part("file", filename="till.py", url="file:///home/ann/shop/till.py")]},
            {"info": {"role": "assistant", "modelID": "mimo", "tokens": tokens, "finish": "tool-calls",
                      "time": {"created": 1772359202000}},
             "parts": [part("step-start"), part("reasoning", text="hm"),
                       part("tool", tool="read", callID="c1", state=state),
                       part("tool", tool="edit", callID="c2", state=failed), part("step-finish"),
                       part("step-start"), part("text", text="Fixed."), part("step-finish")]},
        ],
    }  # fmt: skip


def swe_agent() -> Json:
    return {
        "environment": "swe_main",
        "trajectory": [
            {"action": "ls\n", "observation": "till.py"},
            {"action": "submit\n", "observation": "ok"},
        ],
        "history": [
            {"role": "system", "content": "SETTING: a shell", "agent": "primary"},
            {"role": "user", "content": "Fix the till", "agent": "primary"},
            {"role": "assistant", "content": "Look\n```\nls\n```", "thought": "Look\n", "action": "ls\n"},
            {"role": "user", "content": "till.py\n(Open file: n/a)"},
            {"role": "assistant", "content": "Done\n```\nsubmit\n```", "thought": "", "action": "submit\n"},
        ],
    }


def openhands() -> Json:
    def response(number: int, text: str) -> Json:
        function = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
        call = {"id": f"c{number}", "function": function}
        message = {"content": text, "role": "assistant", "tool_calls": [call]}
        usage = {"prompt_tokens": 50, "completion_tokens": 5}
        return {"id": f"r{number}", "model": "llama", "choices": [{"message": message}], "usage": usage}

    def event(number: int, **fields: Any) -> Json:
        return {"id": number, "timestamp": T0.format(number)[:-1], "source": "agent"} | fields

    metadata = {"function_name": "execute_bash", "tool_call_id": "c5", "model_response": response(5, "Look")}
    return {
        "instance_id": "shop-1",
        "history": [
            event(0, action="system", args={"content": "You are an agent."}),
            event(1, source="user", action="message", args={"content": "Fix the till"}),
            event(2, source="user", action="recall", args={"query": "Fix the till"}),
            event(3, source="environment", observation="recall", cause=2, content="context"),
            event(5, action="run", args={"command": "ls", "thought": "Look"}, tool_call_metadata=metadata),
            event(6, observation="run", cause=5, content="till.py", tool_call_metadata=metadata),
            event(7, action="finish", args={"final_thought": "Fixed."}, message="Fixed."),
        ],
    }


def openhands_events() -> list[Json]:
    """The events of version 1."""

    def event(number: int, kind: str, source: str, **fields: Any) -> Json:
        return {
            "id": f"e{number}",
            "timestamp": T0.format(number)[:-1],
            "kind": kind,
            "source": source,
        } | fields

    def texts(value: str) -> list[Json]:
        return [{"type": "text", "text": value}]

    def action(number: int, call: str, thought: str) -> Json:
        made = {"id": call, "name": "terminal", "arguments": '{"command": "ls"}'}
        return event(
            number,
            "ActionEvent",
            "agent",
            thought=texts(thought) if thought else [],
            tool_name="terminal",
            tool_call_id=call,
            tool_call=made,
            llm_response_id="r1",
            reasoning_content=thought and "hm",
        )

    result = {"content": texts("till.py"), "is_error": False, "kind": "TerminalObservation"}
    return [
        event(0, "SystemPromptEvent", "agent", system_prompt={"type": "text", "text": "You are an agent."}),
        event(1, "MessageEvent", "user", llm_message={"role": "user", "content": texts("Fix the till")},
              extended_content=texts("Always be brief.")),
        event(2, "ConversationStateUpdateEvent", "environment", value={"agent": {"llm": {"model": "llama"}}}),
        action(3, "c3", "Look"),
        action(4, "c4", ""),
        event(5, "ObservationEvent", "environment", tool_call_id="c3", observation=result),
        event(6, "AgentErrorEvent", "agent", tool_name="terminal", tool_call_id="c4", error="no such file"),
        event(7, "MessageEvent", "environment", llm_message={"role": "user", "content": texts("Go on")}),
        event(8, "MessageEvent", "agent", llm_message={"role": "assistant", "content": texts("Fixed.")}),
    ]  # fmt: skip


def langchain() -> list[Json]:
    def message(kind: str, **fields: Any) -> Json:
        return {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", kind],
            "kwargs": fields,
        }

    call = {"id": "c1", "name": "read", "args": {"path": "till.py"}, "type": "tool_call"}
    block = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "till.py"}}
    return [
        message("HumanMessage", content="Fix the till", type="human"),
        message("AIMessage", content=[{"type": "text", "text": "Looking"}, block], tool_calls=[call],
                response_metadata={"model_name": "claude-opus-4-6"},
                usage_metadata={"input_tokens": 12, "output_tokens": 3}),
        message("ToolMessage", content="no such file", tool_call_id="c1", status="error"),
        message("AIMessage", content="Fixed."),
    ]  # fmt: skip


def inspect_ai() -> Json:
    call = {"id": "c1", "function": "browse", "arguments": {"url": "http://127.0.0.1/"}}
    messages = [
        {"role": "user", "content": "Fix the till", "source": "input"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}], "tool_calls": [call]},
        {"role": "tool", "content": "attachment://a1", "tool_call_id": "c1", "function": "browse"},
        {"role": "assistant", "content": "Fixed.", "model": "gpt-4o-mini"},
    ]
    sample = {"id": 1, "epoch": 1, "messages": messages, "attachments": {"a1": "a long page"}}
    return {"version": 2, "eval": {"task": "till"}, "samples": [sample, sample | {"id": 2}]}


AIDER = """
# aider chat started at 2026-03-01 10:00:00

> /usr/bin/aider till.py  
> Model: gpt-4o with diff edit format  

#### Fix the till  
#### and test it  

Looking at `till.py`.

> a quotation of the model's own

#### A heading of the model's own

> Applied edit to till.py  

#### Thanks  

Fixed.
"""  # noqa: W291


def openai() -> list[Json]:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "till.py"}'}}
    return [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Fix the till"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "print()"},
        {"role": "assistant", "content": "Fixed."},
    ]


LINES: dict[str, list[Json]] = {
    "codex": codex(), "copilot-cli": copilot(), "pi": pi(), "gemini-cli": gemini_log(),
    "gemini-stream": gemini_stream(), "openhands": openhands_events(), **mapped_samples.LINES,
}  # fmt: skip
"""Formats of one JSON object per line."""
DOCUMENTS: dict[str, Any] = {
    "gemini-cli": gemini(), "opencode": opencode(), "swe-agent": swe_agent(), "openhands": openhands(),
    "langchain": langchain(), "inspect-ai": inspect_ai(), "openai-chat": openai(),
    **mapped_samples.DOCUMENTS,
}  # fmt: skip
"""Formats of one JSON document."""
FILES: list[tuple[str, bytes]] = [
    *((name, jsonl(records)) for name, records in LINES.items()),
    *((name, json.dumps(document, indent=1).encode()) for name, document in DOCUMENTS.items()),
    ("aider", AIDER.encode()),
]


# Hand-made records in the shape of Claude Code transcripts.


Record = dict[str, Any]


class Script:
    """Writes records in order; each has the previous one as its parent unless stated otherwise."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, kind: str, **fields: Any) -> str:
        number = len(self.records)
        uuid = f"u{number}"
        parent = self.records[-1].get("uuid") if self.records else None
        record = {"type": kind, "uuid": uuid, "parentUuid": parent, "cwd": "/home/ann/shop"}
        record["timestamp"] = f"2026-03-01T10:{number // 60:02}:{number % 60:02}.000Z"
        self.records.append(record | fields)
        return str(self.records[-1]["uuid"])

    def user(self, content: Any, **fields: Any) -> str:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def says(self, message_id: str, *blocks: Record, usage: Record | None = None, **fields: Any) -> str:
        message = {"id": message_id, "role": "assistant", "model": "claude-opus-4-6", "content": list(blocks)}
        message |= {"usage": usage or {"input_tokens": 3, "output_tokens": 5}, "stop_reason": None}
        return self.record("assistant", message=message, **fields)

    def returns(self, call_id: str, content: Any, **fields: Any) -> str:
        return self.user([result(call_id, content)], **fields)

    def compacts(self, summary: str, trigger: str = "auto") -> None:
        last = self.records[-1]["uuid"]
        metadata = {"trigger": trigger, "preTokens": 171_000}
        self.record(
            "system",
            subtype="compact_boundary",
            parentUuid=None,
            logicalParentUuid=last,
            compactMetadata=metadata,
        )
        self.user(summary, isCompactSummary=True)

    def lines(self) -> list[bytes]:
        return [json.dumps(record).encode() for record in self.records]

    def write(self, folder: Path) -> Path:
        return write_lines(folder, self.lines())


def write_lines(folder: Path, lines: list[bytes]) -> Path:
    path = folder / "session.data"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def text(value: str) -> Record:
    return {"type": "text", "text": value}


def call(call_id: str, name: str = "Read", **args: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(call_id: str, content: Any, **fields: Any) -> Record:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | fields


# For tests of damaged files: a small valid transcript, any JSON values, and invariants.


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def valid_script() -> Script:
    script = Script()
    script.user("Start")
    script.says("m1", text("Looking"), call("t1", path="a"))
    script.returns("t1", "content")
    script.says("m2", text("Done"))
    return script


def messages_of(imported: Imported) -> int:
    """Count requests and responses without summaries; the results of one response count once."""
    told = [event.data for event in imported.events if event.data.TYPE in MESSAGES]
    results = [isinstance(each, ToolResult) for each in told]
    return len(told) - sum(map(all, pairwise(results)))


def strict(imported: Imported) -> None:
    """Assert that every text can be stored as UTF-8, and every message and event can be read again."""
    texts = [event.message for event in imported.events if event.message]
    ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]".encode())
    repr([event.data for event in imported.events]).encode()
    for event in imported.events:
        assert payload_from_json(event.data.TYPE, payload_to_json(event.data)) == event.data
