"""Any value anywhere in a file: each line is kept, named with its number, or counted; never an exception."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.session.importing.claude_records import result, text, write_lines
from tests.session.importing.fuzzing import strict, valid_script, values
from tui_app.events import ToolCall, ToolResult, UserMessage
from tui_app.session.importers import Imported, import_file
from tui_app.session.importers.event_builder import NO_RESULT


def lost(imported: Imported, times: dict[int, float]) -> list[int]:
    """Numbers of the lines that left neither an event nor a reason; each line has a time of its own."""
    kept = {event.time for event in imported.events}
    named = {skipped.line for skipped in imported.skipped}
    return [line for line, moment in times.items() if moment not in kept and line not in named]


def assert_calls_are_answered(imported: Imported) -> None:
    calls = [event.data.tool_call_id for event in imported.events if isinstance(event.data, ToolCall)]
    results = [event.data.tool_call_id for event in imported.events if isinstance(event.data, ToolResult)]
    assert sorted(calls) == sorted(results), "every call once, and none that nobody made"


def counts(imported: Imported) -> tuple[int, int]:
    """Calls, and results that are the file's own."""
    data = [event.data for event in imported.events]
    results = [one for one in data if isinstance(one, ToolResult) and one.text != NO_RESULT]
    return len([one for one in data if isinstance(one, ToolCall)]), len(results)


BLOCK_TYPES = ("text", "thinking", "image", "document", "tool_use", "tool_result")
blocks_of_any_kind = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(BLOCK_TYPES) | values, "tool_use_id": st.just("nobody")},
        optional={name: values for name in ("text", "thinking", "id", "name", "input", "source", "content")},
    ),
    max_size=5,
)


PROMPT_TYPES = ("text", "image", "document", "tool_result")
ANSWER_TYPES = ("text", "thinking", "tool_use")


@given(blocks_of_any_kind)
def test_any_blocks_in_a_message_are_kept_or_named(blocks: list[dict[str, Any]]) -> None:
    script = valid_script()
    with TemporaryDirectory() as folder:
        before = import_file(script.write(Path(folder)))
        script.user(blocks)
        script.says("m3", *blocks)
        script.user([result("t1", blocks), text("end"), *blocks])
        imported = import_file(script.write(Path(folder)))
    assert imported.events[: len(before.events)] == before.events, "what was whole is as before"
    start = before.events[0].time
    assert lost(imported, {number: start + number - 1 for number in range(1, 8)}) == []
    reasons = {line: [s.reason for s in imported.skipped if s.line == line] for line in range(1, 8)}
    assert not any(reasons[line] for line in range(1, 5))
    for line, types in ((5, PROMPT_TYPES), (6, ANSWER_TYPES), (7, PROMPT_TYPES)):
        strange = sum(block["type"] not in types for block in blocks)
        assert sum("of unknown type" in reason for reason in reasons[line]) == strange
        worded = [
            block for block in blocks if block["type"] in ("text", "thinking") and block["type"] in types
        ]
        mute = sum(not isinstance(block.get(block["type"]), str) for block in worded)
        assert sum("block without text" in reason for reason in reasons[line]) == mute
    orphans = sum(block["type"] == "tool_result" for block in blocks)
    assert sum("without its call" in reason for reason in reasons[5]) == orphans
    assert sum("already has one" in reason for reason in reasons[7]) == 1
    said = [event.data.text for event in imported.events if isinstance(event.data, UserMessage)]
    assert "end" in said[-1]
    assert (imported.tool_calls, imported.tool_results) == counts(imported)
    assert_calls_are_answered(imported)
    strict(imported)


@given(
    st.integers(0, 3), st.sampled_from(["message", "uuid", "parentUuid", "timestamp", "cwd", "type"]), values
)
def test_any_value_in_any_field_leaves_each_line_kept_named_or_counted(
    index: int, name: str, value: Any
) -> None:
    script = valid_script()
    script.records[index][name] = value
    with TemporaryDirectory() as folder:
        imported = import_file(script.write(Path(folder)), "claude-code")
    kept = [
        event
        for event in imported.events
        if event.message and not (isinstance(event.data, ToolResult) and event.data.text == NO_RESULT)
    ]
    named = {skipped.line for skipped in imported.skipped}
    rewound = [note for note in imported.notes if "on branches that were given up" in note]
    given_up = sum(int(note.split()[0]) for note in rewound)
    assert len(kept) + len(named) + given_up == 4, "each line is kept, named or counted"
    if name in ("timestamp", "cwd"):
        assert (len(kept), imported.skipped, given_up) == (4, (), 0)
    if name in ("message", "type"):
        assert index + 1 in named
    assert_calls_are_answered(imported)
    strict(imported)


def moment(number: int) -> str:
    return f"2026-03-01T10:{number // 60:02}:{number % 60:02}Z"


def times_of(items: Sequence[object]) -> dict[int, float]:
    start = datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp()
    return {number: start + number for number in range(1, len(items) + 1)}


ROLES = ("system", "user", "assistant", "tool")
ids = st.sampled_from(["a", "b", "c"])
chat_calls = st.lists(
    st.fixed_dictionaries(
        {"id": ids, "function": st.fixed_dictionaries({"name": ids, "arguments": st.just("{}") | values})}
    ),
    min_size=1,
    max_size=3,
)
chat_items = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(ROLES) | values},
        optional={
            "content": st.just("said") | values,
            "tool_calls": chat_calls | values,
            "tool_call_id": ids | values,
        },
    ),
    max_size=8,
)


@given(chat_items)
def test_any_items_in_a_chat_are_kept_or_named(items: list[dict[str, Any]]) -> None:
    chat = [{"role": "user", "content": "hi"}, *items]
    dated = [{**item, "timestamp": moment(number)} for number, item in enumerate(chat, 1)]
    with TemporaryDirectory() as folder:
        imported = import_file(write_lines(Path(folder), [json.dumps(dated).encode()]), "openai-chat")
    assert imported.events[0].data == UserMessage(text="hi")
    assert lost(imported, times_of(chat)) == []
    strange = [number for number, item in enumerate(chat, 1) if item["role"] not in ROLES]
    assert [s.line for s in imported.skipped if "unknown role" in s.reason] == strange
    assert (imported.tool_calls, imported.tool_results) == counts(imported)
    assert_calls_are_answered(imported)
    strict(imported)


PARTS = ("system-prompt", "user-prompt", "tool-return", "retry-prompt", "text", "thinking", "tool-call")
history_parts = st.lists(
    st.fixed_dictionaries(
        {"part_kind": st.sampled_from(PARTS) | values},
        optional={
            "content": st.just("said") | values,
            "tool_name": ids | values,
            "tool_call_id": ids | values,
            "args": st.just("{}") | values,
        },
    ),
    max_size=3,
)
history_items = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["request", "response"]) | values, "parts": history_parts | values},
        optional={"instructions": values},
    ),
    max_size=8,
)


@given(history_items)
def test_any_items_in_a_history_are_kept_or_named(items: list[dict[str, Any]]) -> None:
    prompt = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}
    history = [prompt, *items]
    dated = [{**item, "timestamp": moment(number)} for number, item in enumerate(history, 1)]
    with TemporaryDirectory() as folder:
        imported = import_file(write_lines(Path(folder), [json.dumps(dated).encode()]))
    assert imported.format == "pydantic-ai"
    assert imported.events[0].data == UserMessage(text="hi")
    silent = lost(imported, times_of(history))
    assert all(history[line - 1]["parts"] == [] for line in silent)
    notes = [note for note in imported.notes if "without any content" in note]
    assert notes == ([f"{len(silent)} requests without any content were left out."] if silent else [])
    assert (imported.tool_calls, imported.tool_results) == counts(imported)
    assert_calls_are_answered(imported)
    strict(imported)
