"""Imports contain what an independent counter finds, for everything the other formats can contain."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.session.importing.counters import Json, objects
from tests.session.importing.foreign import T0, jsonl, strict
from tests.session.importing.mapped_samples import SECONDS
from tui_app.events import AssistantMessage, CompactionComplete, ToolCall, ToolResult, UserMessage
from tui_app.session.importers.formats import import_file

PICTURE = "data:image/png;base64,QUJD"
EDIT = {"path": "till.py", "text": "x = 1"}


@dataclass(frozen=True)
class Counted:
    """The counts of a transcript."""

    prompts: list[str]
    calls: int
    results: int
    edited: set[str]
    """Paths in the arguments of ``edit`` calls."""
    output: int = 0
    """Output tokens."""
    pictures: int = 0
    stopped: int = 0
    """Responses that the user stopped."""
    summaries: tuple[str, ...] = ()


def paths(texts: list[Any]) -> set[str]:
    """Return the values of ``path`` in arguments that are objects, JSON, or elements in a text."""
    found = re.findall(r"path\W+([\w./]+)", json.dumps(texts).replace("\\", ""))
    return set(found)


# Samples: parallel calls of which one fails or is refused, an image, a stopped response; and subagents and
# compactions if the program writes them to the file.


def chatgpt() -> list[Json]:
    def node(number: int, role: str, content: Json, **message: Any) -> Json:
        made = {"author": {"role": role}, "content": content, "create_time": SECONDS + number,
                "status": "finished_successfully", "recipient": "all", "metadata": {}} | message  # fmt: skip
        return {"id": f"n{number}", "parent": f"n{number - 1}", "children": [], "message": made}

    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    nodes = [
        {"id": "n0", "parent": None, "children": [], "message": None},
        node(1, "user", {"content_type": "multimodal_text", "parts": [image, "Fix the till"]}),
        node(2, "assistant", {"content_type": "code", "text": json.dumps(EDIT)}, recipient="edit"),
        node(3, "tool", {"content_type": "text", "parts": ["done"]}, author={"role": "tool", "name": "edit"}),
        node(4, "assistant", {"content_type": "text", "parts": ["Fixed."]}),
        node(5, "user", {"content_type": "text", "parts": ["And the pier"]}),
        node(6, "assistant", {"content_type": "text", "parts": ["I w"]}, status="in_progress"),
    ]
    left = node(4, "assistant", {"content_type": "text", "parts": ["Another way"]}) | {"id": "x4"}
    mapping = {each["id"]: each for each in [*nodes, left]}
    return [{"title": "The till", "create_time": SECONDS, "current_node": "n6", "mapping": mapping}]


def count_chatgpt(content: bytes) -> Counted:
    (chat,) = json.loads(content)
    at, way = chat["current_node"], []
    while at:
        node = chat["mapping"][at]
        way.append(node["message"] or {})
        at = node["parent"]
    way = way[::-1]
    said = [each for each in way if each.get("author", {}).get("role") == "user"]
    calls = [each for each in way if each.get("recipient", "all") != "all"]
    parts = [part for each in said for part in each["content"]["parts"]]
    return Counted(
        [part for part in parts if isinstance(part, str)],
        len(calls),
        sum(each.get("author", {}).get("role") == "tool" for each in way),
        paths([each["content"]["text"] for each in calls]),
        stopped=sum(each.get("status") == "in_progress" for each in way),
    )


def claude_ai() -> list[Json]:
    def message(number: int, sender: str, *content: Json, **fields: Any) -> Json:
        return {"uuid": f"m{number}", "parent_message_uuid": f"m{number - 1}", "sender": sender, "text": "",
                "content": list(content), "created_at": T0.format(number)} | fields  # fmt: skip

    calls = [{"type": "tool_use", "id": name, "name": "edit", "input": EDIT} for name in ("c1", "c2")]
    results = [{"type": "tool_result", "tool_use_id": name, "name": "edit", "is_error": name == "c2",
                "content": [{"type": "text", "text": "done"}]} for name in ("c1", "c2")]  # fmt: skip
    fixed = {"type": "text", "text": "Fixed."}
    return [
        {
            "uuid": "c", "name": "The till", "current_leaf_message_uuid": "m3",
            "chat_messages": [
                message(1, "human", {"type": "text", "text": "Fix the till"},
                        files=[{"file_kind": "image", "file_name": "till.png"}]),
                message(2, "assistant", *calls, *results, fixed),
                message(9, "assistant", {"type": "text", "text": "Another way"}, parent_message_uuid="m1"),
                message(3, "human", {"type": "text", "text": "Thanks"}),
            ],
        }
    ]  # fmt: skip


def count_claude_ai(content: bytes) -> Counted:
    found = list(objects(content))
    said = [each for each in found if each.get("sender") == "human"]
    calls = [each for each in found if each.get("type") == "tool_use"]
    return Counted(
        [block["text"] for each in said for block in each["content"]],
        len(calls),
        sum(each.get("type") == "tool_result" for each in found),
        {each["input"]["path"] for each in calls},
    )


def cline() -> list[Json]:
    def said(text: str) -> Json:
        return {"type": "text", "text": text}

    around = said("<environment_details>\n# Time\n10:00\n</environment_details>")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    calls = [{"type": "tool_use", "id": name, "name": "edit", "input": EDIT} for name in ("c1", "c2")]
    denied = "The user denied this operation."
    results = [{"type": "tool_result", "tool_use_id": "c1", "content": "done"},
               {"type": "tool_result", "tool_use_id": "c2", "content": denied, "is_error": True}]  # fmt: skip
    gone = {"condenseParent": "s1"}
    return [
        {"role": "user", "content": [said("<task>\nFix the till\n</task>"), image, around], **gone},
        {"role": "assistant", "content": calls, "modelInfo": {"modelId": "claude-opus-4-6"},
         "metrics": {"tokens": {"prompt": 90, "completion": 7}}, **gone},
        {"role": "user", "content": [*results, around], **gone},
        {"role": "assistant", "content": [said("Fixed.")], **gone},
        {"role": "user", "content": [said("They fixed it.")], "isSummary": True, "condenseId": "s1"},
        {"role": "user", "content": [said("The oldest went."), around], "isTruncationMarker": True},
        {"role": "user", "content": [said("<feedback>\nAnd the pier\n</feedback>"), around]},
        {"role": "assistant", "content": [said("I will.")]},
    ]  # fmt: skip


def count_cline(content: bytes) -> Counted:
    found = list(objects(content))
    calls = [each for each in found if each.get("type") == "tool_use"]
    return Counted(
        re.findall(r"<(?:task|feedback)>\\n(.*?)\\n</", content.decode()),
        len(calls),
        sum(each.get("type") == "tool_result" for each in found),
        {each["input"]["path"] for each in calls},
        sum(each["completion"] for each in found if "completion" in each),
        sum(each.get("type") == "image" for each in found),
        summaries=tuple(each["content"][0]["text"] for each in found if each.get("isSummary")),
    )


def inspect_ai() -> Json:
    calls = [{"id": name, "function": "edit", "arguments": EDIT} for name in ("c1", "c2")]
    image = {"type": "image", "image": PICTURE}
    sample = {
        "id": 1, "epoch": 1,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Fix the till"}, image]},
            {"role": "assistant", "content": "", "tool_calls": calls, "model": "gpt-5"},
            {"role": "tool", "tool_call_id": "c1", "function": "edit", "content": "done"},
            {"role": "tool", "tool_call_id": "c2", "function": "edit", "content": "",
             "error": {"type": "timeout", "message": "It took too long."}},
            {"role": "assistant", "content": "Fixed.", "model": "gpt-5"},
        ],
    }  # fmt: skip
    return {"version": 2, "eval": {"task": "till"}, "samples": [sample]}


def count_inspect_ai(content: bytes) -> Counted:
    found = list(objects(content))
    calls = [each for each in found if "function" in each and "arguments" in each]
    return Counted(
        [block["text"] for each in found if each.get("role") == "user" for block in each["content"][:1]],
        len(calls),
        sum(each.get("role") == "tool" for each in found),
        {each["arguments"]["path"] for each in calls},
        pictures=sum(each.get("type") == "image" for each in found),
    )


def librechat() -> Json:
    def message(number: int, **fields: Any) -> Json:
        return {"messageId": f"m{number}", "parentMessageId": f"m{number - 1}", "isCreatedByUser": False,
                "createdAt": T0.format(number), "text": ""} | fields  # fmt: skip

    calls = [
        {
            "type": "tool_call",
            "tool_call": {"id": name, "name": "edit", "args": json.dumps(EDIT), "output": "done"},
        }
        for name in ("c1", "c2")
    ]
    return {
        "conversationId": "c", "title": "The till",
        "messages": [
            message(1, isCreatedByUser=True, text="Fix the till", files=[{"filename": "till.png"}]),
            message(2, content=[*calls, {"type": "text", "text": "Fixed."}], model="gpt-5"),
            message(3, isCreatedByUser=True, text="And the pier"),
            message(4, text="I w", unfinished=True),
        ],
    }  # fmt: skip


def count_librechat(content: bytes) -> Counted:
    found = list(objects(content))
    calls = [each for each in found if "args" in each and "name" in each]
    return Counted(
        [each["text"] for each in found if each.get("isCreatedByUser")],
        len(calls),
        sum("output" in each for each in calls),
        paths([each["args"] for each in calls]),
        stopped=sum(each.get("unfinished") is True for each in found),
    )


def open_webui() -> list[Json]:
    args = json.dumps(EDIT).replace('"', "&quot;")

    def call(name: str) -> str:
        opening = f'<details type="tool_calls" done="true" id="{name}" name="edit"'
        return f'{opening} arguments="{args}" result="done">\n</details>\n'

    listed = [
        {"id": "m1", "parentId": None, "role": "user", "content": "Fix the till", "timestamp": SECONDS,
         "files": [{"type": "image", "url": PICTURE}]},
        {"id": "m2", "parentId": "m1", "role": "assistant", "model": "llama3", "timestamp": SECONDS,
         "content": f"{call('c1')}{call('c2')}Fixed.",
         "usage": {"prompt_tokens": 90, "completion_tokens": 7}},
    ]  # fmt: skip
    history = {"currentId": "m2", "messages": {each["id"]: each for each in listed}}
    return [
        {"id": "c", "title": "The till", "chat": {"models": ["llama3"], "messages": [], "history": history}}
    ]


def count_open_webui(content: bytes) -> Counted:
    found = list(objects(content))
    answers = [each["content"] for each in found if each.get("role") == "assistant"]
    calls = re.findall(r'<details type="tool_calls"[^>]*>', " ".join(answers))
    return Counted(
        [each["content"] for each in found if each.get("role") == "user"],
        len(calls),
        sum("result=" in each for each in calls),
        paths([each.replace("&quot;", '"') for each in calls]),
        sum(each.get("completion_tokens", 0) for each in found),
        sum(each.get("type") == "image" for each in found),
    )


def openhands() -> list[Json]:
    """Events since version 1."""

    def event(number: int, kind: str, source: str, **fields: Any) -> Json:
        return {"id": f"e{number}", "timestamp": T0.format(number), "kind": kind, "source": source} | fields

    def action(number: int, call: str) -> Json:
        made = {"id": call, "name": "edit", "arguments": json.dumps(EDIT)}
        return event(number, "ActionEvent", "agent", thought=[], tool_name="edit", tool_call_id=call,
                     tool_call=made, llm_response_id="r1")  # fmt: skip

    told = {"content": [{"type": "text", "text": "done"}], "is_error": False}
    image = {"type": "image", "image_urls": [PICTURE, PICTURE]}
    words = {"type": "text", "text": "Fix the till"}
    fixed = {"role": "assistant", "content": [{"type": "text", "text": "Fixed."}]}
    return [
        event(1, "MessageEvent", "user", llm_message={"role": "user", "content": [words, image]}),
        action(2, "c1"),
        action(3, "c2"),
        event(4, "ObservationEvent", "environment", tool_call_id="c1", observation=told),
        event(5, "UserRejectObservation", "user", tool_call_id="c2", rejection_reason="no"),
        event(6, "Condensation", "environment", summary="They fixed it.", forgotten_event_ids=["e1"]),
        event(7, "MessageEvent", "agent", llm_message=fixed),
        event(8, "PauseEvent", "user"),
    ]


def count_openhands(content: bytes) -> Counted:
    found = [json.loads(line) for line in content.splitlines()]
    calls = [each["tool_call"] for each in found if "tool_call" in each]
    said = [
        each["llm_message"]["content"] for each in found if each["source"] == "user" and "llm_message" in each
    ]
    return Counted(
        [block["text"] for blocks in said for block in blocks if "text" in block],
        len(calls),
        sum("observation" in each or "rejection_reason" in each for each in found),
        paths([each["arguments"] for each in calls]),
        pictures=sum(len(block.get("image_urls", ())) for blocks in said for block in blocks),
        summaries=tuple(each["summary"] for each in found if each["kind"] == "Condensation"),
    )


def openhands_old() -> Json:
    def event(number: int, **fields: Any) -> Json:
        return {"id": number, "timestamp": T0.format(number), "source": "agent"} | fields

    calls = [
        {"id": name, "function": {"name": "edit", "arguments": json.dumps(EDIT)}} for name in ("c1", "c2")
    ]
    message = {"content": "Look", "role": "assistant", "tool_calls": calls}
    response = {"id": "r1", "model": "llama", "choices": [{"message": message}],
                "usage": {"prompt_tokens": 50, "completion_tokens": 7}}  # fmt: skip

    def metadata(name: str) -> Json:
        return {"function_name": "edit", "tool_call_id": name, "model_response": response}

    said = {"content": "Fix the till", "image_urls": [PICTURE]}
    return {
        "instance_id": "shop-1",
        "history": [
            event(1, source="user", action="message", args=said),
            event(2, action="edit", args=EDIT, tool_call_metadata=metadata("c1")),
            event(3, action="edit", args=EDIT, tool_call_metadata=metadata("c2")),
            event(4, observation="edit", cause=2, content="done", tool_call_metadata=metadata("c1")),
            event(5, observation="error", cause=3, content="no", tool_call_metadata=metadata("c2")),
            event(6, action="condensation", args={"summary": "They fixed it.", "forgotten_event_ids": [1]}),
            event(7, action="finish", args={"final_thought": "Fixed."}, message="Fixed."),
            event(8, observation="agent_state_changed", content="", extras={"agent_state": "stopped"}),
        ],
    }


def count_openhands_old(content: bytes) -> Counted:
    found = json.loads(content)["history"]
    made = [each for each in found if "action" in each and "tool_call_metadata" in each]
    said = [each["args"] for each in found if each["source"] == "user"]
    responses = {each["tool_call_metadata"]["model_response"]["id"]: each for each in made}.values()
    usages = [each["tool_call_metadata"]["model_response"]["usage"] for each in responses]
    # Finishing the task is also a call, which has no result.
    return Counted(
        [each["content"] for each in said],
        len(made) + sum(each.get("action") == "finish" for each in found),
        sum("observation" in each and "cause" in each for each in found),
        {each["args"]["path"] for each in made},
        sum(each["completion_tokens"] for each in usages),
        sum(len(each["image_urls"]) for each in said),
        summaries=tuple(each["args"]["summary"] for each in found if each.get("action") == "condensation"),
    )


def pydantic_ai() -> list[Json]:
    picture = {"kind": "binary", "data": "QUJD", "media_type": "image/png"}
    calls = [{"part_kind": "tool-call", "tool_name": "edit", "args": EDIT, "tool_call_id": name}
             for name in ("c1", "c2")]  # fmt: skip
    done = {"part_kind": "tool-return", "tool_name": "edit", "content": "done", "tool_call_id": "c1"}
    again = {"part_kind": "retry-prompt", "tool_name": "edit", "content": "no", "tool_call_id": "c2"}
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["Fix the till", picture]}]},
        {"kind": "response", "model_name": "gpt-5", "parts": calls, "usage": {"output_tokens": 7}},
        {"kind": "request", "parts": [done, again]},
        {"kind": "response", "model_name": "gpt-5", "parts": [{"part_kind": "text", "content": "Fixed."}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And the pier"}]},
        {"kind": "response", "state": "interrupted", "parts": [{"part_kind": "text", "content": "I w"}]},
    ]


def count_pydantic_ai(content: bytes) -> Counted:
    found = list(objects(content))
    said = [each["content"] for each in found if each.get("part_kind") == "user-prompt"]
    calls = [each for each in found if each.get("part_kind") == "tool-call"]
    return Counted(
        [each if isinstance(each, str) else each[0] for each in said],
        len(calls),
        sum(each.get("part_kind") in ("tool-return", "retry-prompt") for each in found),
        {each["args"]["path"] for each in calls},
        sum(each.get("output_tokens", 0) for each in found),
        sum(each.get("kind") == "binary" for each in found),
        sum(each.get("state") == "interrupted" for each in found),
    )


def qwen_code() -> list[Json]:
    def record(number: int, kind: str, *parts: Json, **fields: Any) -> Json:
        above = f"u{number - 1}" if number > 1 else None
        message = {"message": {"role": "user", "parts": list(parts)}} if parts else {}
        return {"uuid": f"u{number}", "parentUuid": above, "type": kind, "sessionId": "s",
                "timestamp": T0.format(number)} | message | fields  # fmt: skip

    image = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    calls = [{"functionCall": {"id": name, "name": "edit", "args": EDIT}} for name in ("c1", "c2")]
    said = {"c1": {"output": "done"}, "c2": {"error": "cancelled"}}
    answers = [
        {"functionResponse": {"id": id, "name": "edit", "response": each}} for id, each in said.items()
    ]
    told = [
        {"role": "user", "parts": [{"text": "They fixed it."}]},
        {"role": "model", "parts": [{"text": "Good."}]},
    ]
    info = {"originalTokenCount": 900, "newTokenCount": 90}
    payload = {"info": info, "compressedHistory": told}
    used = {"promptTokenCount": 90, "candidatesTokenCount": 7}
    return [
        record(1, "user", {"text": "Fix the till"}, image),
        record(2, "assistant", *calls, model="qwen3", usageMetadata=used),
        record(31, "user", {"text": "inner"}, isSidechain=True, agentId="a1", parentUuid=None),
        record(32, "assistant", {"text": "inner"}, isSidechain=True, agentId="a1",
               usageMetadata={"candidatesTokenCount": 99}),
        record(3, "tool_result", answers[0]),
        record(4, "tool_result", answers[1], toolCallResult={"callId": "c2", "status": "cancelled"}),
        record(5, "user", {"text": "<task-notification>done</task-notification>"}, subtype="notification"),
        record(6, "assistant", {"text": "Fixed."}, model="qwen3"),
        record(7, "system", subtype="chat_compression", systemPayload=payload),
        record(8, "user", {"text": "And the pier"}, subtype="mid_turn_user_message"),
        record(33, "assistant", {"text": "inner"}, isSidechain=True, agentId="a1", parentUuid="u32"),
    ]  # fmt: skip


def count_qwen_code(content: bytes) -> Counted:
    found = [json.loads(line) for line in content.splitlines()]
    own = [each for each in found if "agentId" not in each]
    parts = [part for each in own for part in each.get("message", {}).get("parts", ())]
    said = [each for each in own if each["type"] == "user" and each.get("subtype") != "notification"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    payloads = [each["systemPayload"] for each in own if each.get("subtype") == "chat_compression"]
    return Counted(
        [each["message"]["parts"][0]["text"] for each in said],
        len(calls),
        sum("functionResponse" in part for part in parts),
        {each["args"]["path"] for each in calls},
        sum(each.get("usageMetadata", {}).get("candidatesTokenCount", 0) for each in own),
        sum("inlineData" in part for part in parts),
        summaries=tuple(each["compressedHistory"][0]["parts"][0]["text"] for each in payloads),
    )


def swe_agent() -> Json:
    calls = [{"id": name, "type": "function", "function": {"name": "edit", "arguments": json.dumps(EDIT)}}
             for name in ("c1", "c2")]  # fmt: skip
    image = {"type": "image_url", "image_url": {"url": PICTURE}}
    return {
        "trajectory": [{"action": "edit", "observation": "done"}, {"action": "submit", "observation": None}],
        "history": [
            {"role": "system", "content": "SETTING: a shell"},
            {"role": "user", "content": [{"type": "text", "text": "Fix the till"}, image]},
            {
                "role": "assistant",
                "content": "Look",
                "thought": "Look",
                "action": "edit",
                "tool_calls": calls,
            },
            {"role": "tool", "content": "done", "tool_call_ids": ["c1"]},
            {"role": "tool", "content": "no", "tool_call_ids": ["c2"]},
            {"role": "assistant", "content": "Fixed."},
        ],
    }


def count_swe_agent(content: bytes) -> Counted:
    history = json.loads(content)["history"]
    calls = [call["function"] for each in history for call in each.get("tool_calls", ())]
    said = [each["content"] for each in history if each["role"] == "user"]
    return Counted(
        [blocks[0]["text"] for blocks in said],
        len(calls),
        sum(each["role"] == "tool" for each in history),
        paths([each["arguments"] for each in calls]),
        pictures=sum(block["type"] == "image_url" for blocks in said for block in blocks),
    )


AIDER = """
# aider chat started at 2026-03-01 10:00:00

> Model: gpt-4o with diff edit format  

#### Fix the till  

I change `till.py`.

> Tokens: 1.2k sent, 700 cache hit, 70 received. Cost: $0.01 message, $0.01 session.  
> Applied edit to till.py  

#### And the pier  

I w

> ^C KeyboardInterrupt  
"""  # noqa: W291


def count_aider(content: bytes) -> Counted:
    text = content.decode()
    received = re.findall(r"> Tokens: .*?(\d+) received", text)
    return Counted(re.findall(r"(?m)^#### (.*?) *$", text), 0, 0, set(), sum(map(int, received)))


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("ai-sdk", {"type": "image", "image": "QUJD", "mediaType": "image/png"}),
        ("ai-sdk", {"type": "file", "data": "QUJD", "mediaType": "image/png"}),
        ("ai-sdk", {"type": "file", "url": PICTURE, "mediaType": "image/png"}),
        ("continue", {"type": "imageUrl", "imageUrl": {"url": PICTURE}}),
    ],
)
def test_a_picture_is_one_however_it_is_spelled(tmp_path: Path, name: str, block: Json) -> None:
    content = [{"type": "text", "text": "Fix the till"}, block]
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "edit", "input": EDIT}
    samples: dict[str, Any] = {
        "ai-sdk": [{"role": "user", "content": content}, {"role": "assistant", "content": [call]}],
        "continue": {"sessionId": "s", "history": [{"message": {"role": "user", "content": content}}]},
    }
    path = tmp_path / "file"
    path.write_bytes(document(samples[name]))
    imported = import_file(path)
    prompt = imported.events[0].data
    assert isinstance(prompt, UserMessage)
    assert (imported.format, prompt.attachments) == (name, ("image/png",))


def document(value: Json | list[Json]) -> bytes:
    return json.dumps(value).encode()


ROWS: list[tuple[str, bytes, Callable[[bytes], Counted]]] = [
    ("aider", AIDER.encode(), count_aider),
    ("chatgpt", document(chatgpt()), count_chatgpt),
    ("claude-ai", document(claude_ai()), count_claude_ai),
    ("cline", document(cline()), count_cline),
    ("inspect-ai", document(inspect_ai()), count_inspect_ai),
    ("librechat", document(librechat()), count_librechat),
    ("open-webui", document(open_webui()), count_open_webui),
    ("openhands", jsonl(openhands()), count_openhands),
    ("openhands", document(openhands_old()), count_openhands_old),
    ("pydantic-ai", document(pydantic_ai()), count_pydantic_ai),
    ("qwen-code", jsonl(qwen_code()), count_qwen_code),
    ("swe-agent", document(swe_agent()), count_swe_agent),
]


@pytest.mark.parametrize(
    ("name", "content", "counted"), ROWS, ids=[count.__name__[6:] for _, _, count in ROWS]
)
def test_an_import_counts_as_a_counter_of_its_own(
    tmp_path: Path, name: str, content: bytes, counted: Callable[[bytes], Counted]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    imported = import_file(path)
    strict(imported)
    assert (imported.format, imported.skipped) == (name, ())
    data = [event.data for event in imported.events]
    prompts = [each for each in data if isinstance(each, UserMessage)]
    calls = [each for each in data if isinstance(each, ToolCall)]
    answers = [each for each in data if isinstance(each, AssistantMessage)]
    assert not any("inner" in (event.message or "") for event in imported.events)
    assert sum(isinstance(each, ToolResult) for each in data) == len(calls)
    expected = counted(content)
    pictures = sum(name == "image/png" for each in prompts for name in each.attachments)
    found = Counted(
        [
            each.text.partition("\n")[0] if expected.pictures else each.text.split("\n")[-1]
            for each in prompts
        ],
        imported.tool_calls,
        imported.tool_results,
        paths([each.args for each in calls if each.name == "edit"]),
        sum(each.output_tokens for each in answers),
        pictures,
        sum(each.interrupted for each in answers),
        tuple(each.summary for each in data if isinstance(each, CompactionComplete)),
    )
    assert found == expected
