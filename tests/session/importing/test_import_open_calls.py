"""Calls without a result in a transcript: each gets one that says so, in the right place."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from tests.session.importing.foreign import Script, call, messages_of, result, text
from tui_app.agent.turn import open_calls
from tui_app.context.requests.builder import repair
from tui_app.conversation.imports.imports import import_session
from tui_app.events import CompactionComplete, ToolCall, ToolResult
from tui_app.session.exports.export import agent_messages
from tui_app.session.importers.books import NO_RESULT
from tui_app.session.importers.formats import Imported, import_file
from tui_app.session.stores.sqlite_store import SqliteStore

NOTE = "{} without a result in the file got one that says so."


def loaded(imported: Imported) -> list[ModelMessage]:
    texts = [event.message for event in imported.events if event.message]
    return ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")


def kinds(imported: Imported) -> list[str]:
    return [event.data.TYPE for event in imported.events]


def answers(imported: Imported) -> list[tuple[str, str, str]]:
    results = [event.data for event in imported.events if isinstance(event.data, ToolResult)]
    return [(result.tool_call_id, result.outcome, result.text) for result in results]


def chat(folder: Path, *messages: dict[str, Any]) -> Path:
    path = folder / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Look"}, *messages]))
    return path


def asks(*ids: str) -> dict[str, Any]:
    calls = [{"id": name, "function": {"name": "look", "arguments": "{}"}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_a_call_at_the_end_is_answered(tmp_path: Path) -> None:
    script = Script()
    script.user("Look")
    script.says("m1", text("I will."), call("t1"))
    imported = import_file(script.write(tmp_path))
    assert answers(imported) == [("t1", "interrupted", NO_RESULT)]
    assert kinds(imported)[-2:] == ["tool.call", "tool.result"]
    assert imported.events[-1].time == imported.events[-2].time
    (part,) = loaded(imported)[-1].parts
    assert isinstance(part, ToolReturnPart)
    assert (part.content, part.outcome, part.tool_name) == (NO_RESULT, "interrupted", "Read")
    assert open_calls(loaded(imported)) == [], "opening the session has nothing left to close"


def test_the_report_counts_what_the_session_holds_and_the_results_of_the_file(tmp_path: Path) -> None:
    whole = import_file(chat(tmp_path, asks("a", "b"), {"role": "tool", "tool_call_id": "a", "content": "1"}))
    assert (messages_of(whole), whole.tool_calls, whole.tool_results) == (3, 2, 1)
    assert NOTE.format("1 tool call") in whole.notes
    bare = import_file(chat(tmp_path, asks("a", "b")))
    assert (messages_of(bare), bare.tool_calls, bare.tool_results) == (3, 2, 0)
    assert NOTE.format("2 tool calls") in bare.notes


def test_nothing_is_added_where_nothing_is_missing(tmp_path: Path) -> None:
    imported = import_file(chat(tmp_path, asks("a"), {"role": "tool", "tool_call_id": "a", "content": "1"}))
    assert answers(imported) == [("a", "success", "1")]
    assert not any("without a result" in note for note in imported.notes)


def test_an_open_call_in_the_middle_is_answered_behind_the_results_beside_it(tmp_path: Path) -> None:
    imported = import_file(
        chat(
            tmp_path,
            asks("a", "b", "c"),
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "user", "content": "Never mind"},
            {"role": "assistant", "content": "Fine."},
        )
    )
    assert [(name, outcome) for name, outcome, _ in answers(imported)] == [
        ("b", "success"), ("a", "interrupted"), ("c", "interrupted"),
    ]  # fmt: skip
    assert kinds(imported)[-2:] == ["user.message", "assistant.message"]
    parts = [[part.part_kind for part in message.parts] for message in repair(loaded(imported))]
    assert parts[-3] == ["tool-return"] * 3


def test_a_late_result_is_no_missing_one(tmp_path: Path) -> None:
    imported = import_file(
        chat(
            tmp_path,
            asks("a"),
            {"role": "user", "content": "Are you there?"},
            {"role": "tool", "tool_call_id": "a", "content": "late"},
        )
    )
    assert answers(imported) == [("a", "success", "late")]


def test_an_id_that_is_used_twice_leaves_only_the_second_call_open(tmp_path: Path) -> None:
    imported = import_file(
        chat(tmp_path, asks("a"), {"role": "tool", "tool_call_id": "a", "content": "1"}, asks("a"))
    )
    calls = [event.data.tool_call_id for event in imported.events if isinstance(event.data, ToolCall)]
    assert [(name, outcome) for name, outcome, _ in answers(imported)] == [
        (calls[0], "success"),
        (calls[1], "interrupted"),
    ]


def test_the_response_of_a_request_log_may_end_in_a_call(tmp_path: Path) -> None:
    response = {"choices": [{"message": asks("a")}]}
    log = {"messages": [{"role": "user", "content": "Look"}], "response": response}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    assert [outcome for _, outcome, _ in answers(import_file(path))] == ["interrupted"]


def test_a_history_of_pydantic_ai_is_closed_too(tmp_path: Path) -> None:
    response = {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "a"}
    history = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]},
        {"kind": "response", "parts": [response]},
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history))
    assert answers(import_file(path)) == [("a", "interrupted", NO_RESULT)]
    assert import_file(path) == import_file(path), "the same bytes at every import"


@pytest.mark.parametrize("late", [False, True])
def test_a_compaction_hides_the_added_result_as_well(tmp_path: Path, late: bool) -> None:
    script = Script()
    script.user("Old")
    script.says("m1", call("t1"), call("t2"))
    script.returns("t1", "one")
    script.compacts("They looked.")
    if late:
        script.user([result("t2", "two"), text("Go on")])
    script.user("New")
    script.says("m2", text("new"))
    imported = import_file(script.write(tmp_path))
    place = kinds(imported).index("session.compaction_complete")
    event = imported.events[place].data
    assert isinstance(event, CompactionComplete)
    assert event.removed == ((2, place + 1),)
    assert event.job == f"imported-{place + 2}"
    assert event.messages_before == event.messages_removed == 4
    assert kinds(imported)[place - 1] == "tool.result"
    assert [outcome for _, outcome, _ in answers(imported)] == (
        ["success", "success"] if late else ["success", "interrupted"]
    )


def test_a_result_that_came_late_stands_behind_its_call(tmp_path: Path) -> None:
    returned = [{"role": "tool", "tool_call_id": name, "content": name} for name in ("b", "c", "a")]
    path = chat(
        tmp_path,
        asks("a", "b"),
        returned[0],
        asks("c", "d"),
        *returned[1:],
        {"role": "user", "content": "So?"},
    )
    imported = import_file(path)
    assert [call_id for call_id, _, _ in answers(imported)] == ["b", "a", "c", "d"]
    assert (imported.tool_calls, imported.tool_results, messages_of(imported)) == (4, 3, 6)
    messages = loaded(imported)
    assert len(repair(messages)) == messages_of(imported)
    assert open_calls(messages) == []


def test_a_result_that_comes_late_is_exported_behind_its_call(tmp_path: Path) -> None:
    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-03-01T10:00:00.000Z", "type": "response_item", "payload": payload}

    def called(name: str) -> dict[str, Any]:
        return item(type="function_call", name="shell", call_id=name, arguments="{}")

    def returned(name: str) -> dict[str, Any]:
        return item(type="function_call_output", call_id=name, output=f"of {name}")

    def said(role: str, words: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        return item(type="message", role=role, content=[{"type": kind, "text": words}])

    meta = {
        "timestamp": "2026-03-01T10:00:00.000Z",
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/w"},
    }
    talk = [called("slow"), called("quick"), returned("quick"), called("next"), returned("next")]
    path = tmp_path / "rollout.jsonl"
    lines = [
        meta,
        said("user", "Run both."),
        *talk,
        returned("slow"),
        said("assistant", " "),
        said("user", "On."),
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    store = SqliteStore(tmp_path / "sessions.db")
    try:
        report = import_session(path, store=store, cwd=tmp_path, now=1.0)
        exported = f"[{','.join(agent_messages(store, report.session))}]"
    finally:
        store.close()
    waiting = set[str]()
    for message in ModelMessagesTypeAdapter.validate_json(exported):
        returns = {part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)}
        assert returns <= waiting
        waiting -= returns
        assert not waiting or returns, "nothing stands between a call and its result"
        waiting |= {part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)}
        assert all(part.content.strip() for part in message.parts if isinstance(part, TextPart))
    assert "of slow" in exported
