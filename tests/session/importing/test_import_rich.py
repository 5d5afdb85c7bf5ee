"""Transcripts with images, parallel calls, subagents, a stopped turn and a compaction."""

from pathlib import Path
from typing import Any

import pytest

from tests.session.importing import foreign
from tests.session.importing.foreign import T0, Script, call, strict, text
from tui_app.events import AssistantMessage, CompactionComplete, ToolCall, ToolResult, UserMessage
from tui_app.session.importers.formats import import_file

Json = dict[str, Any]
PICTURE = "data:image/png;base64,QUJD"


def claude_code() -> list[Json]:
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    script = Script()
    script.user([text("Fix the till"), {"type": "image", "source": source}])
    first = script.says("m1", call("t1"))
    second = script.says("m1", call("t2", name="Task"))
    script.user("inner", isSidechain=True, parentUuid=None)
    script.says("s1", text("inner"), isSidechain=True)
    script.returns("t1", "one", parentUuid=first)
    script.returns("t2", "two", parentUuid=second)
    script.compacts("They fixed it.")
    script.user("And the pier")
    script.says("m3", call("t3"))
    script.user([{"type": "tool_result", "tool_use_id": "t3", "is_error": True,
                  "content": "The user doesn't want to proceed with this tool use."}])  # fmt: skip
    script.user([text("[Request interrupted by user for tool use]")])
    return script.records


def codex() -> list[Json]:
    def item(**payload: Any) -> Json:
        return {"timestamp": T0.format(20), "type": "response_item", "payload": payload}

    def user(*content: Json) -> Json:
        return item(type="message", role="user", content=list(content))

    def words(value: str) -> Json:
        return {"type": "input_text", "text": value}

    return [
        *foreign.codex(),
        user(words("And the pier"), {"type": "input_image", "image_url": PICTURE}),
        item(type="function_call", name="spawn_agent", call_id="c3", arguments="{}"),
        item(type="function_call_output", call_id="c3", output="aborted by user"),
        user(words("<subagent_notification>done</subagent_notification>")),
        user(words("<turn_aborted>by the user</turn_aborted>")),
        {"timestamp": T0.format(30), "type": "compacted", "payload": {"message": "They fixed it."}},
    ]


def copilot_cli() -> list[Json]:
    def event(second: int, kind: str, data: Json, **fields: Any) -> Json:
        return {"type": kind, "data": data, "id": f"x{second}", "timestamp": T0.format(second)} | fields

    requests = [{"toolCallId": name, "name": "view", "arguments": {}} for name in ("c7", "c8")]
    blob = {"type": "blob", "mimeType": "image/png", "data": "QUJD"}
    refused = {"toolCallId": "c8", "success": False, "error": {"message": "no", "code": "denied"}}
    return [
        *foreign.copilot(),
        event(20, "user.message", {"content": "And the pier", "attachments": [blob]}),
        event(21, "assistant.message", {"content": "", "toolRequests": requests}),
        event(22, "assistant.message", {"content": "inner"}, agentId="a1"),
        event(
            23, "tool.execution_complete", {"toolCallId": "c7", "success": True, "result": {"content": "1"}}
        ),
        event(24, "tool.execution_complete", refused),
        event(25, "abort", {"reason": "user"}),
        event(26, "session.compaction_complete", {"success": True, "summaryContent": "They fixed it."}),
    ]


def pi() -> list[Json]:
    def said(second: int, role: str, content: Any, **fields: Any) -> Json:
        message = {"role": role, "content": content} | fields
        entry = {"type": "message", "id": f"e{second}", "parentId": f"e{second - 1}", "message": message}
        return entry | {"timestamp": T0.format(second)}

    image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    calls = [{"type": "toolCall", "id": name, "name": "read", "arguments": {}} for name in ("c2", "c3")]
    return [
        *foreign.pi(),
        said(7, "user", [text("And the pier"), image]),
        said(8, "assistant", calls, stopReason="toolUse"),
        said(9, "toolResult", [text("one")], toolCallId="c2"),
        said(10, "toolResult", [text("two")], toolCallId="c3", isError=True),
        said(11, "assistant", [text("I w")], stopReason="aborted"),
        {"type": "compaction", "id": "e12", "parentId": "e11", "summary": "They fixed it."},
    ]


def opencode() -> Json:
    document = foreign.opencode()
    document["messages"] += [
        {"info": {"role": "user"}, "parts": [{"type": "text", "text": "And the pier"},
                                             {"type": "file", "mime": "image/png", "url": PICTURE}]},
        {"info": {"role": "assistant", "error": {"name": "MessageAbortedError"}},
         "parts": [{"type": "subtask", "agent": "explore"}, {"type": "text", "text": "I w"}]},
        {"info": {"role": "assistant", "summary": True},
         "parts": [{"type": "text", "text": "They fixed it."}]},
    ]  # fmt: skip
    return document


@pytest.mark.parametrize(
    ("name", "made", "calls", "outcomes"),
    [
        ("claude-code", claude_code(), 3, {"success": 2, "denied": 1}),
        ("codex", codex(), 3, {"error": 1, "success": 1, "interrupted": 1}),
        ("copilot-cli", copilot_cli(), 3, {"error": 1, "success": 1, "denied": 1}),
        ("pi", pi(), 3, {"success": 2, "error": 1}),
        ("opencode", opencode(), 2, {"success": 1, "error": 1}),
    ],
)
def test_all_that_an_agent_does(
    tmp_path: Path, name: str, made: Any, calls: int, outcomes: dict[str, int]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(foreign.jsonl(made) if isinstance(made, list) else foreign.jsonl([made]))
    imported = import_file(path)
    strict(imported)
    data = [event.data for event in imported.events]
    prompts = [
        each for each in data if isinstance(each, UserMessage) and not each.text.startswith("[Request")
    ]
    results = [each.outcome for each in data if isinstance(each, ToolResult)]
    assert (imported.format, imported.skipped) == (name, ())
    assert [each.text.partition("\n")[0] for each in prompts] == ["Fix the till", "And the pier"]
    assert [each.attachments for each in prompts if each.attachments] == [("image/png",)]
    assert sum(isinstance(each, ToolCall) for each in data) == calls
    assert {each: results.count(each) for each in results} == outcomes
    assert [each.summary for each in data if isinstance(each, CompactionComplete)] == ["They fixed it."]
    parallel = max(len(each.call_ids) for each in data if isinstance(each, AssistantMessage))
    assert parallel == 2
    assert not any("inner" in (event.message or "") for event in imported.events)
