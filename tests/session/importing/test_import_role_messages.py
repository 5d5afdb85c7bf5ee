"""OpenAI chat conversations and pydantic-ai histories."""

import json
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

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.importers import Imported, import_file

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
    assert (imported.messages, imported.tool_calls, imported.tool_results) == (5, 1, 1)
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
    assert [s.line for s in imported.skipped] == [3, 4, 5, 6, 6, 7, 8]
    assert imported.skipped[0].reason.startswith("message 3 of the list: ")
    assert imported.events[-1].data == UserMessage(text='{"type": "video", "x": 1}')


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
    assert (imported.model, imported.messages) == ("m-1", 6)


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
