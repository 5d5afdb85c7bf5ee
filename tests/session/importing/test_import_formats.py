"""Imports of each format of other programs."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryImage,
    CompactionPart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.session.importing import foreign
from tests.session.importing.foreign import Script, messages_of, strict, text
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Error,
    Payload,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.importers.formats import (
    FORMATS,
    Imported,
    ImportFormatError,
    formats_of,
    import_file,
)
from tui_app.session.importers.source import closed, read_source


def read(folder: Path, content: bytes, format: str = "auto") -> Imported:
    path = folder / "conversation.data"
    path.write_bytes(content)
    imported = import_file(path, format)
    strict(imported)
    return imported


def read_lines(folder: Path, records: list[foreign.Json]) -> Imported:
    return read(folder, foreign.jsonl(records))


def read_document(folder: Path, document: Any) -> Imported:
    return read(folder, json.dumps(document).encode())


def of(imported: Imported, kind: type[Payload]) -> list[Any]:
    return [event.data for event in imported.events if isinstance(event.data, kind)]


def said(imported: Imported) -> list[str]:
    return [event.data.text for event in imported.events if isinstance(event.data, UserMessage)]


@pytest.mark.parametrize(("name", "content"), foreign.FILES, ids=[name for name, _ in foreign.FILES])
def test_a_format_is_told_by_its_content_alone(tmp_path: Path, name: str, content: bytes) -> None:
    imported = read(tmp_path, content)
    assert imported.format == name
    assert said(imported)[0].startswith("Fix the till")
    assert [each.data for each in read(tmp_path, content, name).events] == [e.data for e in imported.events]
    assert of(imported, AssistantMessage)[-1].text in ("Fixed.", "Done", "")


def test_a_name_promises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rollout-2026.jsonl"
    path.write_bytes(foreign.jsonl(foreign.pi()))
    assert import_file(path).format == "pi"


SAID = {"type": "text", "text": "Fix the till"}
USED = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "print()"}
CONTEXT = {"type": "text", "text": "<environment_details>\n# Time\n10:00\n</environment_details>"}
OTHERS: list[tuple[str, Any]] = [
    (
        "Codex's exec",
        [
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Fixed."}},
        ],
    ),
    (
        "OpenCode's run",
        [
            {"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}},
            {"type": "text", "sessionID": "s", "part": {"type": "text", "text": "Fixed."}},
        ],
    ),
    (
        "Amazon Q",
        {"conversation_id": "c", "history": [{"user": {"content": {}}, "assistant": {"Response": {}}}]},
    ),
    (
        "Responses API",
        [{"role": "user", "content": "Fix"}, {"type": "function_call", "call_id": "c", "name": "x"}],
    ),
    (
        "Responses API",
        {
            "model": "gpt-5",
            "input": [
                {"role": "user", "content": "Fix the till"},
                {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "1"},
            ],
        },
    ),
    (
        "Open Interpreter",
        [
            {"role": "user", "type": "message", "content": "Fix the till"},
            {"role": "assistant", "type": "code", "format": "python", "content": "print(1)"},
            {"role": "computer", "type": "console", "format": "output", "content": "1"},
        ],
    ),
    (
        "Amazon Bedrock",
        {"messages": [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "x"}}]}]},
    ),
    (
        "Assistants",
        [
            {
                "object": "thread.message",
                "role": "user",
                "content": [{"type": "text", "text": {"value": "Fix"}}],
            }
        ],
    ),
    ("Assistants", {"object": "list", "data": [{"object": "thread.message", "thread_id": "t"}]}),
    (
        "Langfuse",
        {"input": {"messages": [{"role": "user", "content": "Fix"}]}, "output": {}, "observations": []},
    ),
    ("LM Studio", {"name": "Chat", "messages": [{"versions": [{"role": "user"}], "currentlySelected": 0}]}),
    ("AI Studio", {"chunkedPrompt": {"chunks": [{"text": "Fix", "role": "user"}]}}),
    ("SillyTavern", [{"user_name": "Ada"}, {"name": "Ada", "is_user": True, "mes": "Fix the till"}]),
    ("Chatbox", {"messages": [{"role": "user", "contentParts": [SAID]}]}),
    ("smolagents", [{"task": "Fix"}, {"step_number": 1, "model_output": "Thought"}]),
    ("ShareGPT", [{"id": "x", "conversations": [{"from": "human", "value": "Fix the till"}]}]),
]
SIGNED: list[tuple[str, Any]] = [
    ("ai-sdk", {"id": "c", "messages": [{"id": "m", "role": "user", "parts": [SAID]}]}),
    ("anthropic-api", {"body": {"messages": [{"role": "user", "content": [RESULT]}]}}),
    ("anthropic-api", {"model": "claude", "messages": [{"role": "assistant", "content": [USED]}]}),
    ("ai-sdk", {"messages": [{"role": "assistant", "content": "x", "toolInvocations": []}]}),
    ("ai-sdk", [{"id": "m", "role": "user", "parts": [SAID]}]),
    ("ai-sdk", [{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1"}]}]),
    ("copilot-chat", {"responderUsername": "GitHub Copilot", "requests": [{"message": {"text": "Fix"}}]}),
    ("amp", [{"role": "user", "messageId": 0, "content": [SAID]}]),
    ("atif", {"schema_version": "ATIF-v1.0", "steps": [{"source": "user", "message": "Fix the till"}]}),
    ("chatgpt", {"mapping": {"a": {"message": None}}, "current_node": "a"}),
    ("claude-ai", [{"uuid": "c", "chat_messages": [{"sender": "human", "text": "Fix the till"}]}]),
    ("cline", [{"role": "user", "content": [SAID, CONTEXT]}, {"role": "assistant", "content": [USED]}]),
    ("cline", [{"role": "user", "content": "Fix"}, {"role": "assistant", "content": "x", "modelInfo": {}}]),
    ("cline", [{"ts": 1, "type": "say", "say": "text", "text": "Fix the till"}]),
    ("cline", [{"role": "user", "content": f"Fix the till {CONTEXT['text']}", "ts": 1}]),
    ("goose", {"id": "1", "working_dir": "/s", "conversation": [{"role": "user", "content": [SAID]}]}),
    (
        "goose",
        [{"role": "user", "content": [SAID]}, {"role": "assistant", "content": [{"type": "toolRequest"}]}],
    ),
    ("gemini-api", {"history": [{"role": "user", "parts": [{"text": "Fix the till"}]}]}),
    ("zed", {"version": "0.2.0", "messages": [{"id": 0, "role": "user", "segments": [SAID]}]}),
]
SIGNED_LINES: list[tuple[str, list[foreign.Json]]] = [
    ("cursor", [
        {"type": "user", "message": {"role": "user", "content": [SAID]}, "session_id": "s"},
        {"type": "tool_call", "subtype": "started", "call_id": "c1", "tool_call": {"readToolCall": {}}},
    ]),
    ("factory", [{"type": "message", "id": "m", "message": {"role": "assistant", "content": [USED]}}]),
    ("grok", [{"type": "user", "content": [SAID]}, {"type": "assistant", "content": "Fixed."}]),
    ("kimi", [{"timestamp": 1.0, "message": {"type": "TurnBegin", "payload": {"user_input": "Fix"}}}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, json.dumps(document, indent=1).encode()) for name, document in SIGNED),
        *((name, foreign.jsonl(each)) for name, each in SIGNED if isinstance(each, list)),
        *((name, foreign.jsonl(records)) for name, records in SIGNED_LINES),
    ],
)
def test_a_file_with_a_sign_is_of_nobody_else(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert name in [shape.name for shape in formats_of(read_source(path))[0]]


@pytest.mark.parametrize(
    ("program", "content"),
    [
        *((program, json.dumps(document, indent=1).encode()) for program, document in OTHERS),
        *(
            (program, foreign.jsonl(each))
            for program, each in OTHERS
            if isinstance(each, list) and program != "Responses API"
        ),
    ],
)
def test_a_file_of_another_program_is_refused_by_name(tmp_path: Path, program: str, content: bytes) -> None:
    with pytest.raises(ImportFormatError, match=f"is of .*{re.escape(program)}"):
        read(tmp_path, content)


def test_items_on_lines_of_their_own_need_no_type_where_they_have_a_role(tmp_path: Path) -> None:
    items = [
        {"role": "user", "content": "Fix the till"},
        {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "till.py"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Fixed."}]},
    ]
    imported = read(tmp_path, foreign.jsonl(items))
    assert (imported.format, said(imported), imported.skipped) == ("codex", ["Fix the till"], ())
    assert [each.text for each in of(imported, AssistantMessage)] == ["", "Fixed."]


@pytest.mark.parametrize(
    ("program", "tables"),
    [("Goose", "sessions messages schema_version"), ("Crush", "sessions goose_db_version"),
     ("Cursor", "ItemTable cursorDiskKV"), ("LangGraph", "checkpoints writes"), ("another program", "notes")],
)  # fmt: skip
def test_a_database_of_another_program_is_refused_by_name(tmp_path: Path, program: str, tables: str) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as database:
        for name in tables.split():
            database.execute(f"CREATE TABLE {name} (id TEXT)")
    with pytest.raises(ImportFormatError, match=f"is of {program}"):
        import_file(path)


def test_a_format_that_is_asked_for_reads_a_file_of_another_program(tmp_path: Path) -> None:
    content = json.dumps({"messages": [{"role": "user", "content": [SAID, RESULT]}]}).encode()
    assert messages_of(read(tmp_path, content, "openai-chat")) == 1


def test_every_format_has_an_example() -> None:
    assert {name for name, _ in foreign.FILES} | {"claude-code", "pydantic-ai", "plimsoll"} == set(FORMATS)


def test_codex(tmp_path: Path) -> None:
    imported = read_lines(tmp_path, foreign.codex())
    assert said(imported) == ["Fix the till"]
    first, last = of(imported, AssistantMessage)
    assert (first.thinking, first.call_ids, first.model) == ("Look first", ("c1", "c2"), "gpt-5.2-codex")
    assert last.text == "Fixed."
    shell, patch = of(imported, ToolCall)
    assert json.loads(patch.args) == {"input": "*** Begin Patch"}
    assert (shell.name, json.loads(shell.args)) == ("shell", {"command": ["ls"]})
    assert [(each.outcome, each.tool_call_id) for each in of(imported, ToolResult)] == [
        ("error", "c1"),
        ("success", "c2"),
    ]
    assert (imported.cwd, imported.model, imported.skipped) == ("/home/ann/shop", "gpt-5.2-codex", ())
    assert "2 notes the program wrote into the conversation were left out." in imported.notes


def test_codex_pictures_that_it_made_and_words_of_other_agents(tmp_path: Path) -> None:
    records = foreign.codex()
    told = {"author": "worker", "content": [{"type": "input_text", "text": "Done here"}]}
    made = {"type": "image_generation_call", "id": "i1", "revised_prompt": "a till", "result": "QUJD"}
    items = [{"type": "agent_message"} | told, made, {"type": "context_compaction", "encrypted_content": "x"}]
    records[-1:-1] = [{"type": "response_item", "payload": each} for each in items]
    records[-1:-1] = [{"type": "inter_agent_communication", "payload": told}]
    imported = read_lines(tmp_path, records)
    assert said(imported) == said(read_lines(tmp_path, foreign.codex()))
    assert imported.skipped == ()
    (call,) = [each for each in of(imported, ToolCall) if each.name == "image_generation"]
    assert json.loads(call.args) == {"input": "a till"}
    results = [each.text for each in of(imported, ToolResult) if each.tool_call_id == call.tool_call_id]
    assert results == ["[image/png]"]


def test_codex_turns_that_were_taken_back(tmp_path: Path) -> None:
    records = foreign.codex()
    wrong = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A wrong way"}]}
    records.append({"type": "response_item", "payload": wrong})
    records.append({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}})
    imported = read_lines(tmp_path, records)
    assert said(imported) == ["Fix the till"]
    assert "1 records of turns that were undone (rewinds) were left out." in imported.notes


def test_codex_compaction(tmp_path: Path) -> None:
    records = foreign.codex()
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "They fixed it."}]}
    records.append({"type": "compacted", "payload": {"message": "", "replacement_history": [kept]}})
    records.append({"type": "compacted", "payload": {"message": ""}})
    imported = read_lines(tmp_path, records)
    (compaction,) = of(imported, CompactionComplete)
    assert compaction.summary == "They fixed it."
    assert [each.reason for each in imported.skipped] == ["compaction without a summary, not applied"]


LONG = "Mend the pier and then paint the bench beside it, but leave the till as it is."


@pytest.mark.parametrize(
    "kept",
    [
        [{"text": "Fix the till"}],
        [{"text": "Fix the till"}, {"text": LONG}],
        [{"text": f"{LONG[:50]}…12 tokens truncated…as it is."}],
        [{"text": "They fixed it."}, {"type": "compaction", "encrypted_content": "b3BhcXVl"}],
        [{"text": "<environment_context>linux</environment_context>"}],
    ],
)
def test_codex_compaction_that_only_its_vendor_can_read(tmp_path: Path, kept: list[foreign.Json]) -> None:
    def prompt(text: str) -> foreign.Json:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    history = [each if "type" in each else prompt(each["text"]) for each in kept]
    records = [
        *foreign.codex(),
        {"type": "response_item", "payload": prompt(LONG)},
        {"type": "compacted", "payload": {"message": "", "replacement_history": history}},
    ]
    imported = read_lines(tmp_path, records)
    assert of(imported, CompactionComplete) == []
    assert len(imported.skipped) == 1
    assert said(imported) == ["Fix the till", LONG]


def test_codex_rollout_of_an_old_version(tmp_path: Path) -> None:
    records = [each["payload"] for each in foreign.codex() if each["type"] == "response_item"]
    head = {"id": "s1", "timestamp": foreign.T0.format(0), "instructions": None}
    imported = read_lines(tmp_path, [head, {"record_type": "state"}, *records])
    assert (imported.format, messages_of(imported), imported.tool_calls) == ("codex", 4, 2)
    assert imported.skipped == ()


def test_copilot(tmp_path: Path) -> None:
    imported = read_lines(tmp_path, foreign.copilot())
    assert said(imported) == ["Fix the till"]
    assert [each.text for each in of(imported, AssistantMessage)] == ["Looking", "Fixed."]
    (result,) = of(imported, ToolResult)
    assert (result.text, result.outcome, imported.tool_calls) == ("no such file", "error", 1)
    assert imported.cwd == "/home/ann/shop"
    assert {note.split(" ", 1)[1] for note in imported.notes} == {
        "events that are not messages were left out.",
        "events that repeat a tool call were left out.",
        "notes the program wrote into the conversation were left out.",
        "records of sub-agents were left out.",
        "system prompts of the other program were left out.",
    }


def test_copilot_sub_agents_are_told_by_their_id(tmp_path: Path) -> None:
    records = foreign.copilot()
    request = {"toolCallId": "c7", "name": "grep", "arguments": {}}
    talk = {"content": "I look", "model": "small", "toolRequests": [request]}
    found = {"toolCallId": "c7", "success": True, "result": {"content": "till.py:1"}}
    records[-1:-1] = [
        {"type": "assistant.message", "data": talk, "agentId": "a1", "id": "s1"},
        {"type": "tool.execution_start", "data": request | {"toolName": "grep"}, "agentId": "a1", "id": "s2"},
        {"type": "tool.execution_complete", "data": found, "agentId": "a1", "id": "s3"},
    ]
    imported = read_lines(tmp_path, records)
    assert [each.text for each in of(imported, AssistantMessage)] == ["Looking", "Fixed."]
    assert (imported.tool_calls, imported.model, imported.skipped) == (1, "gpt-5.2", ())
    assert "4 records of sub-agents were left out." in imported.notes


def test_copilot_attachments(tmp_path: Path) -> None:
    records = foreign.copilot()
    records[3]["data"]["attachments"] = [
        {"type": "selection", "displayName": "pier.py", "text": "print('pier')"},
        {"type": "blob", "mimeType": "image/png", "data": "QUJD"},
    ]
    imported = read_lines(tmp_path, records)
    assert said(imported) == ["Fix the till\n\n[image/png]"]
    assert of(imported, UserMessage)[0].attachments == ("image/png",)
    assert "print('pier')" in "".join(event.message or "" for event in imported.events)


def test_copilot_compaction(tmp_path: Path) -> None:
    records = foreign.copilot()
    done = {"success": True, "preCompactionTokens": 90_000, "summaryContent": "They fixed it."}
    records.append({"type": "session.compaction_complete", "data": done})
    records.append({"type": "session.compaction_complete", "data": {"success": False}})
    (compaction,) = of(read_lines(tmp_path, records), CompactionComplete)
    assert (compaction.summary, compaction.tokens_before) == ("They fixed it.", 90_000)


def test_pi(tmp_path: Path) -> None:
    imported = read_lines(tmp_path, foreign.pi())
    assert said(imported) == ["Fix the till"]
    answer = of(imported, AssistantMessage)[0]
    assert (answer.thinking, answer.input_tokens, answer.cache_read_tokens) == ("hm", 112, 100)
    assert "1 messages on abandoned branches were left out." in imported.notes
    assert (imported.tool_calls, imported.tool_results, imported.skipped) == (1, 1, ())


def test_pi_session_without_ids_is_a_list(tmp_path: Path) -> None:
    records = [{k: v for k, v in each.items() if k not in ("id", "parentId")} for each in foreign.pi()]
    assert said(read_lines(tmp_path, records)) == ["Fix the till", "A wrong way"]


def test_pi_compaction_keeps_the_messages_it_names(tmp_path: Path) -> None:
    records = foreign.pi()
    records.append({"type": "compaction", "id": "e7", "parentId": "e6", "summary": "They fixed it.",
                    "firstKeptEntryId": "e4", "tokensBefore": 50_000})  # fmt: skip
    imported = read_lines(tmp_path, records)
    (compaction,) = of(imported, CompactionComplete)
    # Number 2 is the prompt; what follows it was kept.
    assert compaction.removed == ((2, 2),)
    assert (compaction.messages_before, compaction.messages_after, compaction.messages_removed) == (4, 4, 1)


def _costs(answer: Any) -> tuple[Any, ...]:
    tokens = (answer.input_tokens, answer.cache_read_tokens, answer.cache_write_tokens, answer.output_tokens)
    return (answer.cost_usd, *tokens)


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        (
            [{"type": "message", "id": "e1", "message": {
                "role": "assistant", "content": "Yes.", "usage": {
                    "input": 1, "output": 2, "cost": {"input": 0.1, "total": 0.25}}}}],
            (0.25, 1, 0, 0, 2),
        ),
        (
            [{"type": "assistant", "uuid": "u1", "parentUuid": None, "costUSD": 0.5, "message": {
                "role": "assistant", "id": "m1", "content": "Yes.", "usage": {
                    "input_tokens": 1, "cache_creation_input_tokens": 4, "output_tokens": 2}}}],
            (0.5, 5, 0, 4, 2),
        ),
        (
            [{"role": "assistant", "content": "Yes.", "modelInfo": {"modelId": "m"}, "metrics": {
                "cost": 0.125, "tokens": {"prompt": 9, "completion": 2, "cached": 3}}}],
            (0.125, 9, 3, 0, 2),
        ),
        (
            {"schema_version": "ATIF-v1.4", "steps": [{"source": "agent", "message": "Yes.", "metrics": {
                "prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 3, "cost_usd": 0.75}}]},
            (0.75, 9, 3, 0, 2),
        ),
        (
            {"messages": [{"role": "assistant", "content": "Yes.", "usage": {
                "prompt_tokens": 9, "completion_tokens": 2, "cost": 0.0625}}]},
            (0.0625, 9, 0, 0, 2),
        ),
        (
            {"v": 120, "id": "T-1", "messages": [{"role": "assistant", "messageId": 1, "content": [
                {"type": "text", "text": "Yes."}], "usage": {"inputTokens": 3, "outputTokens": 2,
                    "cacheCreationInputTokens": 4, "cacheReadInputTokens": 5}}]},
            (None, 12, 5, 4, 2),
        ),
        (
            [{"type": "human", "data": {"content": "Well?"}}, {"type": "ai", "data": {
                "content": "Yes.", "tool_calls": [], "usage_metadata": {
                "input_tokens": 9, "output_tokens": 2,
                "input_token_details": {"cache_read": 3, "cache_creation": 4}}}}],
            (None, 9, 3, 4, 2),
        ),
    ],
    ids=["pi", "claude-code", "cline", "atif", "openai-chat", "amp", "langchain"],
)  # fmt: skip
def test_what_an_answer_cost(tmp_path: Path, records: Any, wanted: tuple[Any, ...]) -> None:
    imported = (
        read_lines(tmp_path, records) if isinstance(records, list) else read_document(tmp_path, records)
    )
    [answer] = of(imported, AssistantMessage)
    assert _costs(answer) == wanted


def test_pi_answers_that_failed_or_were_stopped(tmp_path: Path) -> None:
    records = foreign.pi()
    failed = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded"}
    stopped = {"role": "assistant", "content": [], "stopReason": "aborted"}
    records.append({"type": "message", "id": "e7", "parentId": "e6", "message": failed})
    records.append({"type": "message", "id": "e8", "parentId": "e7", "message": stopped})
    imported = read_lines(tmp_path, records)
    assert [each.message for each in of(imported, Error)] == ["overloaded"]
    assert "2 answers without any content were left out." in imported.notes


@pytest.mark.parametrize("log", [False, True])
def test_gemini(tmp_path: Path, log: bool) -> None:
    if log:
        imported = read_lines(tmp_path, foreign.gemini_log())
    else:
        imported = read_document(tmp_path, foreign.gemini())
    assert said(imported) == ["Fix the till"]
    first, last = of(imported, AssistantMessage)
    assert (first.thinking, first.text, first.model) == ("**Look**\nfirst", "Looking", "gemini-3-pro")
    assert (first.input_tokens, first.cache_read_tokens, last.text) == (100, 40, "Fixed.")
    assert [(each.text, each.outcome) for each in of(imported, ToolResult)] == [("print()", "success")]
    assert imported.skipped == ()
    if log:
        assert imported.title == "The till"
        assert "1 messages that were undone (rewinds) were left out." in imported.notes


def test_gemini_log_whose_first_line_is_damaged(tmp_path: Path) -> None:
    content = b'{"sessionId": "s1", "proj\n' + foreign.jsonl(foreign.gemini_log()[1:])
    imported = read(tmp_path, content)
    assert (imported.format, messages_of(imported)) == ("gemini-cli", 4)
    assert [each.line for each in imported.skipped] == [1]


def test_gemini_compression_is_a_compaction(tmp_path: Path) -> None:
    records = foreign.gemini_log()
    snapshot = {"id": "z1", "type": "user", "content": [{"text": "<state_snapshot>They fixed it."}]}
    records.append({"$set": {"messages": [snapshot, foreign.gemini()["messages"][3]]}})
    imported = read_lines(tmp_path, records)
    (compaction,) = of(imported, CompactionComplete)
    assert compaction.summary == "<state_snapshot>They fixed it."
    assert said(imported) == ["Fix the till"]


def test_opencode(tmp_path: Path) -> None:
    imported = read_document(tmp_path, foreign.opencode())
    assert said(imported) == ["Fix the till\n\n[file: till.py]"]
    first, last = of(imported, AssistantMessage)
    assert (first.call_ids, first.thinking, last.text) == (("c1", "c2"), "hm", "Fixed.")
    assert (last.input_tokens, last.model) == (112, "mimo")
    assert [(each.text, each.outcome) for each in of(imported, ToolResult)] == [
        ("print()", "success"),
        ("no such file", "error"),
    ]
    assert (imported.title, imported.cwd) == ("The till", "/home/ann/shop")


def test_opencode_compaction(tmp_path: Path) -> None:
    document = foreign.opencode()
    document["messages"] += [
        {"info": {"role": "user"}, "parts": [{"type": "compaction", "auto": True}]},
        {
            "info": {"role": "assistant", "summary": True},
            "parts": [{"type": "text", "text": "They fixed it."}],
        },
    ]
    imported = read_document(tmp_path, document)
    (compaction,) = of(imported, CompactionComplete)
    assert compaction.summary == "They fixed it."
    assert len(said(imported)) == 1


def test_opencode_answers_and_tools_that_were_stopped_and_a_picture_that_a_tool_showed(
    tmp_path: Path,
) -> None:
    shown = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,QUJD"}
    states: list[foreign.Json] = [
        {"status": "completed", "input": {}, "output": "Seen", "attachments": [shown]},
        {"status": "error", "input": {}, "error": "Tool execution aborted"},
    ]
    parts = [
        {"type": "tool", "callID": f"t{at}", "tool": "look", "state": each} for at, each in enumerate(states)
    ]
    document = foreign.opencode()
    error = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    info = {"id": "m9", "role": "assistant", "error": error}
    document["messages"].append({"info": info, "parts": [*parts, {"type": "text", "text": "I w"}]})
    imported = read_document(tmp_path, document)
    results = of(imported, ToolResult)[-2:]
    assert [(each.text, each.outcome) for each in results] == [
        ("Seen\n\n[image/png]", "success"), ("Tool execution aborted", "interrupted"),
    ]  # fmt: skip
    answer = of(imported, AssistantMessage)[-1]
    assert (answer.text, answer.interrupted, of(imported, Error)) == ("I w", True, [])


def test_opencode_image_whose_base64_is_sloppy_is_kept(tmp_path: Path) -> None:
    document = foreign.opencode()
    image = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,QUJD/x=="}
    document["messages"][0]["parts"].append(image)
    (prompt,) = of(read_document(tmp_path, document), UserMessage)
    assert prompt.attachments == ("image/png",)


def test_swe_agent_actions_in_plain_text_are_calls_and_what_follows_their_results(tmp_path: Path) -> None:
    imported = read_document(tmp_path, foreign.swe_agent())
    assert said(imported) == ["Fix the till"]
    assert [json.loads(each.args) for each in of(imported, ToolCall)] == [
        {"command": "ls"},
        {"command": "submit"},
    ]
    assert [each.text for each in of(imported, ToolResult)] == ["till.py\n(Open file: n/a)", "ok"]
    assert [each.text for each in of(imported, AssistantMessage)] == ["Look", "Done"]
    assert len(of(imported, SystemMessage)) == 1


def test_swe_agent_with_ids(tmp_path: Path) -> None:
    document = foreign.swe_agent()
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    document["history"][2] |= {"tool_calls": [call]}
    document["history"][3] |= {"role": "tool", "tool_call_ids": ["c1"]}
    imported = read_document(tmp_path, document)
    assert [each.name for each in of(imported, ToolCall)] == ["bash", "action"]
    assert of(imported, ToolResult)[0].tool_call_id == "c1"


def test_swe_agent_hears_what_its_last_action_answered(tmp_path: Path) -> None:
    document = foreign.swe_agent()
    call = {"id": "c9", "type": "function", "function": {"name": "submit", "arguments": "{}"}}
    act = {
        "role": "assistant",
        "content": "Now.",
        "thought": "Now.",
        "action": "submit",
        "tool_calls": [call],
    }
    document["history"] += [{"role": "user", "content": "ok"}, act]
    document["trajectory"].append({"action": "submit", "observation": "diff --git"})
    imported = read_document(tmp_path, document)
    result = of(imported, ToolResult)[-1]
    assert (result.name, result.text, result.outcome) == ("submit", "diff --git", "success")
    assert imported.skipped == ()


def test_openhands(tmp_path: Path) -> None:
    imported = read_document(tmp_path, foreign.openhands())
    assert said(imported) == ["Fix the till"]
    assert [each.name for each in of(imported, ToolCall)] == ["execute_bash", "finish"]
    assert of(imported, ToolResult)[0].text == "till.py"
    answer = of(imported, AssistantMessage)[0]
    assert (answer.text, answer.model, answer.input_tokens) == ("Look", "llama", 50)
    assert (imported.tool_calls, imported.tool_results) == (2, 1)


def test_openhands_condensation_and_several_histories(tmp_path: Path) -> None:
    document = foreign.openhands()
    forgotten = {"forgotten_event_ids": [1, 5, 6], "summary": "They fixed it."}
    document["history"].append({"id": 8, "source": "agent", "action": "condensation", "args": forgotten})
    imported = read(tmp_path, foreign.jsonl([document, foreign.openhands()]))
    (compaction,) = of(imported, CompactionComplete)
    # 2 is the system prompt, 3 the prompt, 4 to 6 the first call; the last call was kept.
    assert compaction.removed == ((3, 6),)
    assert "1 further conversations in the file were left out." in imported.notes


def test_openhands_actions_of_one_response_are_one_answer(tmp_path: Path) -> None:
    document = foreign.openhands()
    twin = json.loads(json.dumps(document["history"][4])) | {"id": 9}
    twin["tool_call_metadata"]["tool_call_id"] = "c9"
    document["history"].insert(5, twin)
    imported = read_document(tmp_path, document)
    assert of(imported, AssistantMessage)[0].call_ids == ("c5", "c9")


def check_events(imported: Imported) -> None:
    assert (imported.format, imported.model, imported.skipped) == ("openhands", "llama", ())
    assert said(imported) == ["Fix the till"]
    answers = of(imported, AssistantMessage)
    assert [(each.text, each.thinking, each.call_ids) for each in answers] == [
        ("Look", "hm", ("c3", "c4")),
        ("Fixed.", "", ()),
    ]
    assert [(each.text, each.outcome) for each in of(imported, ToolResult)] == [
        ("till.py", "success"),
        ("no such file", "error"),
    ]
    assert "1 notes the program wrote into the conversation were left out." in imported.notes


def test_openhands_events_of_version_1(tmp_path: Path) -> None:
    check_events(read_lines(tmp_path, foreign.openhands_events()))
    check_events(read_document(tmp_path, foreign.openhands_events()))
    check_events(read_document(tmp_path, {"items": foreign.openhands_events(), "next_page_id": None}))


def test_openhands_events_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "conversation" / "events"
    folder.mkdir(parents=True)
    (folder.parent / "base_state.json").write_text('{"agent": {"llm": {"model": "llama"}}}')
    for number, event in enumerate(foreign.openhands_events()):
        if event["kind"] != "ConversationStateUpdateEvent":
            (folder / f"event-{number:05}-x.json").write_text(json.dumps(event, indent=2))
    check_events(import_file(folder))
    check_events(import_file(folder.parent))
    with pytest.raises(ImportFormatError, match="Import their folder"):
        import_file(folder / "event-00001-x.json")


def test_openhands_refusal_condensation_and_error_of_version_1(tmp_path: Path) -> None:
    refused = {
        "kind": "UserRejectObservation",
        "source": "environment",
        "tool_call_id": "c4",
        "rejection_reason": "No",
    }
    records = [each for each in foreign.openhands_events() if each["kind"] != "AgentErrorEvent"]
    records.insert(6, refused | {"id": "e6"})
    records += [
        {"id": "e9", "kind": "Condensation", "source": "environment", "summary": "They fixed it.",
         "forgotten_event_ids": ["e1", "e3"]},
        {"id": "e10", "kind": "ConversationErrorEvent", "source": "environment", "detail": "overloaded"},
    ]  # fmt: skip
    imported = read_lines(tmp_path, records)
    assert [each.outcome for each in of(imported, ToolResult)] == ["success", "denied"]
    (compaction,) = of(imported, CompactionComplete)
    # 2 is the system prompt, 3 the prompt, 4 to 6 a response with its two calls.
    assert compaction.removed == ((3, 6),)
    assert [each.message for each in of(imported, Error)] == ["overloaded"]


def test_langchain_counts_a_call_once(tmp_path: Path) -> None:
    imported = read_document(tmp_path, {"messages": foreign.langchain()})
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (4, 1, 1)
    answer = of(imported, AssistantMessage)[0]
    assert (answer.text, answer.model, answer.input_tokens) == ("Looking", "claude-opus-4-6", 12)
    assert of(imported, ToolResult)[0].outcome == "error"


def test_langchain_dicts(tmp_path: Path) -> None:
    dicts = [
        {"type": "human", "data": {"content": "Fix the till"}},
        {"type": "ai", "data": {"content": "Fixed.", "tool_calls": []}},
    ]
    assert read_document(tmp_path, dicts).format == "langchain"


HUMAN = {"type": "human", "content": "Fix the till", "additional_kwargs": {}, "id": "h1"}
AI = {"type": "ai", "content": "", "response_metadata": {"model_name": "gpt-5"},
      "tool_calls": [{"name": "read", "args": {"path": "till.py"}, "id": "c1"}]}  # fmt: skip
TOOL = {"type": "tool", "content": "print()", "tool_call_id": "c1", "name": "read"}
DONE = {"type": "ai", "content": "Fixed.", "tool_calls": []}
STATE = [HUMAN, AI, TOOL, DONE]


def serialized(message: foreign.Json) -> foreign.Json:
    return {"type": message["type"], "data": message}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"messages": STATE}),
        json.dumps({"values": {"messages": STATE}, "next": [], "metadata": {"step": 3}}),
        json.dumps({"checkpoint": {"channel_values": {"messages": STATE}}}),
        json.dumps({"run_type": "chain", "inputs": {"messages": STATE[:1]}, "outputs": {"messages": STATE}}),
        json.dumps(
            {
                "run_type": "llm",
                "inputs": {"messages": [STATE[:3]]},
                "outputs": {"generations": [[{"text": "Fixed.", "message": serialized(DONE)}]]},
            }
        ),
        "\n".join(json.dumps(serialized(message)) for message in STATE),
        "\n".join(map(json.dumps, STATE)),
    ],
    ids=["state", "thread", "checkpoint", "run", "call of a model", "dicts a line", "messages a line"],
)
def test_langchain_in_the_shapes_of_its_family(tmp_path: Path, content: str) -> None:
    imported = read(tmp_path, content.encode())
    assert (imported.format, messages_of(imported), imported.tool_results) == ("langchain", 4, 1)
    assert (imported.model, said(imported), imported.skipped) == ("gpt-5", ["Fix the till"], ())
    assert [each.text for each in of(imported, AssistantMessage)] == ["", "Fixed."]


def test_a_traced_run_names_its_model_beside_the_messages(tmp_path: Path) -> None:
    run = {"run_type": "llm", "extra": {"metadata": {"ls_model_name": "gpt-5"}}}
    run |= {"inputs": {"messages": [HUMAN]}, "outputs": {"messages": [DONE]}}
    imported = read_document(tmp_path, run)
    assert (imported.model, messages_of(imported)) == ("gpt-5", 2)


def test_a_message_a_line_and_damage_in_between(tmp_path: Path) -> None:
    lines = [json.dumps(each).encode() for each in foreign.openai()]
    lines[3:3] = [b"", b"{broken", b"[]", b'{"role": "martian", "content": ""}']
    imported = read(tmp_path, b"\n".join(lines))
    assert (imported.format, messages_of(imported), imported.tool_results) == ("openai-chat", 5, 1)
    assert sorted(each.line for each in imported.skipped) == [5, 6, 7]


def test_a_conversation_a_line_is_the_first_and_the_others_are_counted(tmp_path: Path) -> None:
    lines = [{"messages": [{"role": "user", "content": f"Fix till {number}"}]} for number in range(3)]
    imported = read_lines(tmp_path, lines)
    assert said(imported) == ["Fix till 0"]
    assert "2 further conversations in the file were left out." in imported.notes


def test_what_stands_around_messages_gives_title_model_and_answer(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "Fixed."}
    log = {"title": "The till", "request": {"model": "gpt-5", "messages": foreign.openai()[:2]},
           "response": {"choices": [{"message": message}]}}  # fmt: skip
    imported = read_document(tmp_path, log)
    assert (imported.title, imported.model, messages_of(imported)) == ("The till", "gpt-5", 3)


def run_of(prompt: str, *answers: str, system: bool = False) -> list[foreign.Json]:
    parts = [{"part_kind": "user-prompt", "content": prompt, "timestamp": foreign.T0.format(1)}]
    first = [{"part_kind": "system-prompt", "content": "Be brief."}] if system else []
    return [
        {"kind": "request", "parts": first + parts, "timestamp": foreign.T0.format(1)},
        *({"kind": "response", "parts": [{"part_kind": "text", "content": text}], "model_name": "gpt-5",
           "timestamp": foreign.T0.format(2)} for text in answers),
    ]  # fmt: skip


def test_pydantic_ai_runs_a_line_are_one_conversation(tmp_path: Path) -> None:
    first, second = run_of("Fix the till", "Fixed.", system=True), run_of("Thanks", "Done")
    other = run_of("Another till", "No.", system=True)
    for runs in ([first, second, other], [first, [*first, *second], other]):
        imported = read(tmp_path, "\n".join(map(json.dumps, runs)).encode())
        assert (imported.format, imported.model) == ("pydantic-ai", "gpt-5")
        assert said(imported) == ["Fix the till", "Thanks"]
        assert "1 further conversations in the file were left out." in imported.notes
        assert imported.skipped == ()


def test_models_stand_in_several_places(tmp_path: Path) -> None:
    codex = [each for each in foreign.codex() if each["type"] != "turn_context"]
    codex[0]["payload"]["model"] = "gpt-5"
    copilot = [each for each in foreign.copilot() if each["type"] != "session.model_change"]
    for each in copilot:
        each["data"].pop("model", None)
    next(each for each in copilot if each["type"] == "tool.execution_complete")["data"]["model"] = "gpt-5"
    for records in (codex, copilot):
        assert read_lines(tmp_path, records).model == "gpt-5"
    opencode = foreign.opencode()
    opencode["messages"][1]["info"] |= {"modelID": None, "model": {"modelID": "gpt-5"}}
    openhands = foreign.openhands() | {"metadata": {"llm_config": {"model": "gpt-5"}}}
    for event in openhands["history"]:
        event.pop("tool_call_metadata", None)
    inspect = foreign.inspect_ai()
    inspect["eval"]["model"] = "gpt-5"
    inspect["samples"][0]["messages"][3].pop("model")
    mini = {"info": {"config": {"model": {"model_name": "gpt-5"}}}, "messages": foreign.openai()}
    for document in (opencode, openhands, inspect, mini):
        assert read_document(tmp_path, document).model == "gpt-5"


def test_swe_agent_names_its_model_in_the_settings_of_the_run(tmp_path: Path) -> None:
    for settings in ({"agent": {"model": {"name": "gpt-5"}}}, '{"agent": {"model": {"name": "gpt-5"}}}'):
        assert read_document(tmp_path, foreign.swe_agent() | {"replay_config": settings}).model == "gpt-5"
    assert read_document(tmp_path, foreign.swe_agent() | {"replay_config": "{"}).model == ""


def test_inspect_puts_attachments_back(tmp_path: Path) -> None:
    imported = read_document(tmp_path, foreign.inspect_ai())
    assert of(imported, ToolResult)[0].text == "a long page"
    assert of(imported, AssistantMessage)[0].thinking == "hm"
    assert "1 further conversations in the file were left out." in imported.notes


def test_inspect_archive(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps(foreign.inspect_ai()["samples"][0]))
        archive.writestr("samples/2_epoch_1.json", "{damaged")
    imported = import_file(path)
    assert (imported.format, messages_of(imported)) == ("inspect-ai", 4)
    assert any("could not be read" in each.reason for each in imported.skipped)


def test_a_small_archive_cannot_hold_a_million_messages(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("samples/1.json", json.dumps(foreign.inspect_ai()["samples"][0]))
        messages = ",".join(['{"role":"user","content":"x"}'] * 200_000)
        archive.writestr("samples/2.json", f'{{"messages":[{messages}]}}')
    assert path.stat().st_size < 5_000
    imported = import_file(path)
    assert messages_of(imported) == 4
    assert any("could not be read" in each.reason for each in imported.skipped)


def test_aider(tmp_path: Path) -> None:
    imported = read(tmp_path, foreign.AIDER.encode())
    assert said(imported) == ["Fix the till\nand test it", "Thanks"]
    first, last = of(imported, AssistantMessage)
    assert "a quotation of the model's own" in first.text
    assert "#### A heading of the model's own" in first.text
    assert last.text == "Fixed."
    assert imported.model == "gpt-4o"
    assert "3 lines that the program printed were left out." in imported.notes


def test_a_document_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = json.dumps(foreign.openai(), indent=1)
    at = whole.index('"Fixed."') + 4
    imported = read(tmp_path, whole[:at].encode())
    assert (imported.format, imported.tool_calls) == ("openai-chat", 1)
    (cut,) = [each for each in imported.skipped if "cut off" in each.reason]
    assert cut.line == whole[: whole.index('"role": "assistant"', whole.index("print()"))].count("\n") + 1


@pytest.mark.parametrize("noise", ["\0" * 512, '"', "\\"])
def test_a_document_that_is_damaged_in_the_middle_is_read_up_to_there(tmp_path: Path, noise: str) -> None:
    whole = json.dumps(foreign.openai(), indent=1)
    at = whole.index('"Fixed."') + 4
    imported = read(tmp_path, (whole[:at] + noise + whole[at:]).encode())
    assert (imported.format, imported.tool_calls) == ("openai-chat", 1)
    assert ["damaged here" in each.reason for each in imported.skipped] == [True]


@pytest.mark.parametrize("ending", ["", "]" * 100_000 + "}]}"])
def test_a_document_that_is_nested_too_deeply_is_read_up_to_there(tmp_path: Path, ending: str) -> None:
    """In linear time: closing it at every bracket once took quadratic time."""
    begun = json.dumps({"messages": [{"role": "user", "content": "Fix the till"}]})[:-2]
    imported = read(tmp_path, f'{begun}, {{"role": "user", "content": {"[" * 100_000}{ending}'.encode())
    assert said(imported)[0] == "Fix the till"
    (cut,) = [each for each in imported.skipped if "the file is" in each.reason]
    assert "nested too deeply here" in cut.reason


def test_a_document_is_closed_where_its_last_whole_value_ends() -> None:
    deep = "[" * 100_000
    assert closed(deep, 200_000) == (deep + "]" * 100_000, 100_000, False)
    assert closed('{"a": [1, {"b": 2, "c', 9) == ('{"a": [1, {"b": 2}]}', 17, False)
    assert closed("[1, [2, [3", 2) == ("[1, [2]]", 6, True)
    for other in ("", "word", "[1]", "[1}", "]", '"[1'):
        assert closed(other, 9)[0] == ""


def test_claude_transcripts_are_still_told_apart(tmp_path: Path) -> None:
    script = Script()
    script.user("Fix the till")
    script.says("m1", text("Fixed."))
    assert import_file(script.write(tmp_path)).format == "claude-code"


# OpenAI chat conversations and pydantic-ai histories.


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I should look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"q":"Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "w", "content": "rain"},
    {"role": "assistant", "content": "Rain."},
]


def save(folder: Path, value: Any) -> Path:
    path = folder / "data"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def messages(imported: Imported) -> list[Any]:
    texts = [event.message for event in imported.events if event.message]
    return ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")


@pytest.mark.parametrize(
    "shape",
    [
        CHAT,
        {"messages": CHAT, "model": "m"},
        {"task_id": 3, "traj": CHAT},
        {"request": {"messages": CHAT}},
        {"request": {"body": {"input": CHAT}}},
        [{"traj": CHAT}],
    ],
)
def test_a_chat_is_found_wherever_exports_put_it(tmp_path: Path, shape: Any) -> None:
    imported = import_file(save(tmp_path, shape))
    assert imported.format == "openai-chat"
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (5, 1, 1)
    data = [event.data for event in imported.events]
    assert data[0] == SystemMessage(text="Be brief.")
    assert data[1] == UserMessage(text="Weather in Oslo?")
    assert isinstance(data[2], AssistantMessage)
    assert (data[2].thinking, data[2].call_ids) == ("I should look.", ("c1",))
    assert data[3] == ToolCall(tool_call_id="c1", name="w", args='{"q":"Oslo"}')
    assert data[4] == ToolResult(tool_call_id="c1", name="w", text="rain")
    assert imported.title == "Weather in Oslo?"
    assert len(messages(imported)) == 5


def test_the_response_of_a_request_log_is_the_last_message(tmp_path: Path) -> None:
    response = {
        "model": "gpt-x",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Bye"}}],
        "usage": {
            "prompt_tokens": 90,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    }
    log = {"messages": CHAT[:2], "response": response, "cost": 0.02, "timestamp": 1_700_000_000.5}
    imported = import_file(save(tmp_path, log))
    answer = imported.events[-1].data
    assert isinstance(answer, AssistantMessage)
    assert (answer.text, answer.model, answer.finish_reason) == ("Bye", "gpt-x", "stop")
    assert (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens) == (90, 7, 40)
    assert (answer.cost_usd, imported.events[-1].time) == (0.02, 1_700_000_000.5)
    assert imported.model == "gpt-x"


def test_bad_items_of_a_chat_are_named_by_place(tmp_path: Path) -> None:
    chat = [
        *CHAT[:2],
        "text",
        {"role": "wizard", "content": "x"},
        {"role": "tool", "tool_call_id": "zz", "content": "lost"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "q"}]},
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "video", "x": 1}]},
    ]
    imported = import_file(save(tmp_path, chat))
    assert [s.line for s in imported.skipped] == [3, 4, 5, 6, 7, 8]
    assert imported.skipped[0].reason.startswith("message 3 of the list: ")
    assert imported.events[-1].data == UserMessage(
        text="[video, not imported: content block of unknown type 'video']"
    )


def test_legacy_functions_and_results_without_ids_are_paired_by_order(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{broken"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"role": "function", "name": "f", "content": "2"},
    ]
    imported = import_file(save(tmp_path, chat))
    calls = [event.data for event in imported.events if isinstance(event.data, ToolCall)]
    results = [event.data for event in imported.events if isinstance(event.data, ToolResult)]
    assert [c.tool_call_id for c in calls] == [r.tool_call_id for r in results]
    assert [(c.args, r.text) for c, r in zip(calls, results, strict=True)] == [("{broken", "1"), ("{}", "2")]
    assert len({c.tool_call_id for c in calls}) == 2


def test_images_of_a_chat(tmp_path: Path) -> None:
    inline = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    remote = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    imported = import_file(save(tmp_path, [{"role": "user", "content": [inline, remote]}]))
    part = messages(imported)[0].parts[0]
    assert part.content == [BinaryImage(b"hi", media_type="image/png"), "[image: https://example.org/a.png]"]


HISTORY = [
    ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("hi")], instructions="stay calm"),
    ModelResponse([TextPart("ok"), ToolCallPart("w", {"q": 1}, "c1"), ToolCallPart("w", {"q": 2}, "c2")]),
    ModelRequest([
        ToolReturnPart("w", {"t": 3}, "c1"),
        ToolReturnPart("w", "no", "c2", outcome="failed"),
        UserPromptPart("and?"),
    ]),
    ModelResponse([TextPart("bye")], model_name="m-1", finish_reason="stop"),
]  # fmt: skip


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"messages": value}])
def test_a_pydantic_ai_history_is_taken_apart(tmp_path: Path, wrap: Any) -> None:
    dumped = json.loads(ModelMessagesTypeAdapter.dump_json(HISTORY))
    imported = import_file(save(tmp_path, wrap(dumped)))
    assert imported.format == "pydantic-ai"
    assert [event.data.TYPE for event in imported.events] == [
        "system.message", "user.message", "assistant.message", "tool.call", "tool.call", "tool.result",
        "tool.result", "user.message", "assistant.message",
    ]  # fmt: skip
    results = [event.data for event in imported.events if isinstance(event.data, ToolResult)]
    assert [(r.name, r.text, r.outcome) for r in results] == [
        ("w", '{"t": 3}', "success"), ("w", "no", "error"),
    ]  # fmt: skip
    read = messages(imported)
    assert [part for message in read for part in message.parts] == [p for m in HISTORY for p in m.parts]
    assert read[1].instructions == "stay calm"
    assert (imported.model, messages_of(imported)) == ("m-1", 6)


def test_a_summary_in_a_history_hides_all_but_system_prompts(tmp_path: Path) -> None:
    history = [*HISTORY, ModelRequest([CompactionPart("summary"), UserPromptPart("next")])]
    imported = import_file(save(tmp_path, json.loads(ModelMessagesTypeAdapter.dump_json(history))))
    event = next(event.data for event in imported.events if isinstance(event.data, CompactionComplete))
    assert event.removed == ((3, 10),)
    assert imported.events[-1].data == UserMessage(text="next")


def test_messages_that_pydantic_ai_refuses_are_reported(tmp_path: Path) -> None:
    history = json.loads(ModelMessagesTypeAdapter.dump_json(HISTORY))
    history[1:1] = ["x", {"kind": "response", "parts": 5}, {"kind": "request", "parts": [{"part_kind": "?"}]}]
    imported = import_file(save(tmp_path, history))
    assert [s.line for s in imported.skipped] == [2, 3, 4]
    assert imported.tool_results == 2


def test_old_messages_without_times_and_ids_give_the_same_bytes_twice(tmp_path: Path) -> None:
    history = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]},
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": "{}"}]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "f", "content": 1}]},
        {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "again"}]},
        {"kind": "request", "parts": []},
    ]
    path = save(tmp_path, history)
    first = import_file(path)
    assert first == import_file(path)
    assert first.tool_results == 1
    assert "1 requests without any content were left out." in first.notes


def codex_turns(*totals: tuple[int, int, int], turns: int = 2) -> list[foreign.Json]:
    """Turns with one response each, followed by totals of input, cached input and output tokens."""
    records: list[foreign.Json] = [
        {"type": "turn_context", "payload": {"model": f"gpt-5.{number}"}} for number in range(turns)
    ]
    told: list[foreign.Json] = []
    for number, turn in enumerate(records):
        prompt = [{"type": "input_text", "text": f"Count {number}"}]
        answer = [{"type": "output_text", "text": f"It is {number}"}]
        told += [
            turn,
            {"type": "response_item", "payload": {"type": "message", "role": "user", "content": prompt}},
            {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": answer}},
        ]
        for read, cached, wrote in totals[number :: len(records)]:
            total = {"input_tokens": read, "cached_input_tokens": cached, "output_tokens": wrote,
                     "reasoning_output_tokens": 1}  # fmt: skip
            payload = {"type": "token_count", "info": {"total_token_usage": total, "last_token_usage": total}}
            told += [{"type": "event_msg", "payload": payload}] * 2
    return told


def test_codex_tells_the_tokens_of_each_answer_as_a_sum(tmp_path: Path) -> None:
    answers = of(read_lines(tmp_path, codex_turns((1_200, 600, 40), (2_500, 1_250, 70))), AssistantMessage)
    used = [(each.input_tokens, each.cache_read_tokens, each.output_tokens) for each in answers]
    assert used == [(1_200, 600, 40), (1_300, 650, 30)], "one that is told twice counts once"
    assert [each.model for each in answers] == ["gpt-5.0", "gpt-5.1"]


def test_codex_may_begin_its_sum_anew(tmp_path: Path) -> None:
    answers = of(read_lines(tmp_path, codex_turns((1_200, 600, 40), (500, 100, 10))), AssistantMessage)
    assert [each.input_tokens for each in answers] == [1_200, 500]


def test_gemini_stream(tmp_path: Path) -> None:
    imported = read_lines(tmp_path, foreign.gemini_stream())
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (4, 1, 1)
    answer = of(imported, AssistantMessage)[-1]
    assert (answer.text, answer.input_tokens, answer.cache_read_tokens) == ("Fixed.", 100, 40)
    assert of(imported, ToolResult)[0] == ToolResult(
        tool_call_id="c1", name="read_file", text="no such file", outcome="error"
    )


def test_chunks_of_langchain_are_one_answer(tmp_path: Path) -> None:
    chunks = [{"type": "AIMessageChunk", "content": piece, "id": "r1"} for piece in ("Fix", "ed", ".")]
    assert [each.text for each in of(read_document(tmp_path, [HUMAN, *chunks]), AssistantMessage)] == [
        "Fixed."
    ]


def test_a_call_in_the_content_is_not_doubled_and_blocks_with_text_are_text(tmp_path: Path) -> None:
    when = {"timestamp": "2026-03-02T09:00:01.000Z"}
    call = {"type": "tool_call", "tool_call_id": "c1", "name": "ls", "arguments": "{}"}
    chat = [
        {"role": "user", "content": "List"},
        {"role": "assistant", "content": [call], "_metadata": when,
         "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "tool_output", "text": "till.py"}]},
        {"role": "assistant", "content": [{"type": "audio_note", "seconds": 3}]},
    ]  # fmt: skip
    imported = read_document(tmp_path, chat)
    first, last = of(imported, AssistantMessage)
    assert (first.text, first.call_ids, imported.events[1].time) == ("", ("c1",), 1772442001.0)
    assert of(imported, ToolResult)[0].text == "till.py"
    assert last.text == "[audio_note, not imported: content block of unknown type 'audio_note']"
    assert [each.line for each in imported.skipped] == [4]


def test_tools_that_run_elsewhere_are_called_and_answer(tmp_path: Path) -> None:
    page = [{"type": "web_search_result", "url": "https://example.org", "title": "Tills"}]
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "till"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": page},
        text("Found."),
        {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "a", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": True, "content": [text("no")]},
    ]
    messages = [{"role": "user", "content": "Look"}, {"role": "assistant", "content": blocks}]
    imported = read_document(tmp_path, {"model": "m", "messages": messages})
    assert [each.name for each in of(imported, ToolCall)] == ["web_search", "echo"]
    results = of(imported, ToolResult)
    assert json.loads(results[0].text) == page[0]
    assert [(each.name, each.outcome) for each in results] == [("web_search", "success"), ("echo", "error")]
    assert "".join(each.text for each in of(imported, AssistantMessage)) == "Found."
    assert imported.skipped == ()


def test_a_file_of_which_little_is_understood_is_refused_with_what_it_looks_like(tmp_path: Path) -> None:
    lines = [{"kind": "ping"}] * 5 + foreign.openai()[:3]
    with pytest.raises(ImportFormatError, match="looks like OpenAI chat, but 5 of its 8 records do not"):
        read_lines(tmp_path, lines)
    assert messages_of(read(tmp_path, foreign.jsonl(lines), "openai-chat")) == 4


def test_a_line_of_another_program_does_not_name_the_file(tmp_path: Path) -> None:
    script = Script()
    script.user("A line of another program")
    imported = read_lines(tmp_path, [*script.records, *foreign.openai()])
    assert (imported.format, messages_of(imported)) == ("openai-chat", 5)
    assert [each.line for each in imported.skipped] == [1]


def test_the_format_that_understands_most_reads_the_file(tmp_path: Path) -> None:
    odd = {"type": "assistant", "content": "As another program would write it"}
    script = Script()
    script.user("Fix the till")
    script.says("m1", text("Fixed."))
    script.records.insert(0, odd)
    assert import_file(script.write(tmp_path)).format == "claude-code"
