"""Damaged files of any kind: never an exception, and never silence."""

import gzip
import json
import os
import random
import re
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.importing import foreign
from tests.session.importing.foreign import (
    call,
    messages_of,
    result,
    strict,
    text,
    valid_script,
    values,
    write_lines,
    zstd,
)
from tui_app.events import AssistantMessage, ToolCall, ToolResult, UserMessage
from tui_app.session.importers.books import NO_RESULT
from tui_app.session.importers.discovery import find_transcripts
from tui_app.session.importers.formats import FORMATS, Imported, ImportFormatError, import_file
from tui_app.session.importers.source import read_source

bad_json = st.binary(max_size=60).map(lambda b: b"!" + b.replace(b"\n", b""))
no_object = st.one_of(
    st.none(), st.integers(), st.text(max_size=20), st.lists(st.integers(), max_size=3)
).map(lambda value: json.dumps(value).encode())
unknown = st.dictionaries(st.text(max_size=8), values, max_size=4).map(
    lambda fields: json.dumps(fields | {"type": "martian"}).encode()
)
hollow = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant"])}, optional={"message": values, "parentUuid": values}
).map(lambda record: json.dumps(record).encode())
garbage = st.one_of(bad_json, no_object, unknown, hollow)


@given(st.lists(st.tuples(st.integers(0, 4), garbage), min_size=1, max_size=4))
def test_garbage_between_the_lines_is_reported_line_by_line(pieces: list[tuple[int, bytes]]) -> None:
    lines = valid_script().lines()
    clean = [line for line in lines]
    for place, piece in sorted(pieces, key=lambda item: item[0], reverse=True):
        lines.insert(place, piece)
    with TemporaryDirectory() as folder:
        imported = import_file(write_lines(Path(folder), lines))
        expected = import_file(write_lines(Path(folder), clean))
    wrong = [number for number, line in enumerate(lines, 1) if line not in clean]
    assert [skipped.line for skipped in imported.skipped] == wrong
    assert [event.data for event in imported.events] == [event.data for event in expected.events]
    strict(imported)


@given(st.data())
def test_a_file_cut_anywhere_still_gives_what_is_whole(data: st.DataObject) -> None:
    script = valid_script()
    whole = b"\n".join(script.lines())
    first = len(script.lines()[0])
    cut = data.draw(st.integers(first, len(whole)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cut"
        path.write_bytes(whole)
        everything = import_file(path).events
        path.write_bytes(whole[:cut])
        imported = import_file(path)
    assert imported.events[0].data == UserMessage(text="Start")
    partial = whole[:cut].rpartition(b"\n")[2] not in (b"", *script.lines())
    assert [s.reason for s in imported.skipped] == (["the last line is cut off"] if partial else [])
    kept = [event for event in imported.events if getattr(event.data, "text", "") != NO_RESULT]
    assert kept == list(everything[: len(kept)])
    lines = whole[:cut].count(b"\n") + (not partial and cut > 0 and whole[cut - 1 : cut] != b"\n")
    assert len([event for event in kept if event.message]) == lines


def test_nul_lone_surrogates_and_a_line_of_a_megabyte_survive(tmp_path: Path) -> None:
    script = valid_script()
    script.user("nul \x00 half \ud83d whole \U0001f600 \u2028 end")
    script.user("x" * 1_000_000)
    imported = import_file(script.write(tmp_path))
    texts = [event.data.text for event in imported.events if isinstance(event.data, UserMessage)]
    assert texts[1] == "nul \x00 half \ufffd whole \U0001f600 \u2028 end"
    assert len(texts[2]) == 1_000_000
    assert imported.skipped == ()
    strict(imported)


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_as_its_mark_says(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "session"
    text = b"\n".join(foreign.valid_script().lines()).decode().replace("Start", "Stärt")
    path.write_bytes(f"\ufeff{text}\r\n".encode(mark))
    imported = import_file(path)
    assert (imported.events[0].data, len(imported.events)) == (UserMessage(text="Stärt"), 5)
    assert imported.skipped == ()


@pytest.mark.parametrize("pack", [zstd, gzip.compress])
def test_a_compressed_file_is_read_as_far_as_it_goes(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "session"
    lines = foreign.valid_script().lines()
    path.write_bytes(b"\n".join(lines))
    whole = import_file(path)
    path.write_bytes(pack(lines[0] + b"\n") + pack(b"\n".join(lines[1:])))
    packed = import_file(path)
    assert [each.data for each in packed.events] == [each.data for each in whole.events]
    assert packed.skipped == ()
    noise = random.Random(1).randbytes(400_000).hex().encode()
    path.write_bytes(pack(b"\n".join([*lines, noise]))[:-1_000])
    cut = import_file(path)
    assert [each.data for each in cut.events] == [each.data for each in whole.events]
    assert cut.skipped[-1].reason == "the last line is cut off"


def test_a_small_file_cannot_claim_to_be_endless(tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_bytes(zstd(foreign.valid_script().lines()[0] + b"\n" * 50_000_000))
    assert len(read_source(path).raw) < 2_000_000


def test_bytes_that_are_no_utf8_are_replaced_and_counted(tmp_path: Path) -> None:
    lines = valid_script().lines()
    lines[0] = lines[0].replace(b"Start", b"St\xffrt")
    imported = import_file(write_lines(tmp_path, lines))
    assert imported.events[0].data == UserMessage(text="St\ufffdrt")
    assert any("UTF-8" in note for note in imported.notes)


def test_numbers_and_nesting_that_json_readers_choke_on(tmp_path: Path) -> None:
    lines = valid_script().lines()
    lines[1] = lines[1].replace(b'"path": "a"', b'"path": NaN, "big": 1e999')
    lines.append(b"[" * 100_000)
    lines.append(b'{"type":"user","n":' + b"9" * 10_000 + b"}")
    lines.append(b'{"type":"user","deep":' + b'{"a":' * 400 + b"1" + b"}" * 401)
    imported = import_file(write_lines(tmp_path, lines))
    args = next(event.data.args for event in imported.events if isinstance(event.data, ToolCall))
    assert json.loads(args) == {"path": "NaN", "big": "1e999"}
    assert [s.line for s in imported.skipped] == [5, 6, 7]
    assert "deep" in imported.skipped[2].reason
    strict(imported)


def test_orphans_duplicates_and_repeated_ids_are_named(tmp_path: Path) -> None:
    script = valid_script()
    script.returns("nobody", "orphan")
    script.returns("t1", "again")
    script.user("copy", uuid="u0", parentUuid="u1")
    script.records.append(script.records[5] | {"uuid": "u9"})
    script.says("m7", call("dup"), call("dup"), parentUuid="u5", uuid="u10")
    imported = import_file(script.write(tmp_path))
    reasons = {s.line: s.reason for s in imported.skipped}
    assert reasons[5].startswith("tool result without its call")
    assert reasons[6].startswith("second result of a tool call")
    assert "already used" in reasons[7]
    assert "twice in one response" in reasons[9]
    results = [event.data.text for event in imported.events if isinstance(event.data, ToolResult)]
    assert results == ["content", NO_RESULT], "the call that stood twice has no result"


def test_a_call_id_that_comes_back_later_stands_for_another_call(tmp_path: Path) -> None:
    script = valid_script()
    script.says("m3", call("t1", path="b"))
    script.returns("t1", "second")
    imported = import_file(script.write(tmp_path))
    calls = [event.data.call_ids for event in imported.events if isinstance(event.data, AssistantMessage)]
    assert calls == [("t1",), (), ("t1-2",)]
    results = [event.data for event in imported.events if isinstance(event.data, ToolResult)]
    assert [(r.tool_call_id, r.text) for r in results] == [("t1", "content"), ("t1-2", "second")]
    assert "1 calls reused an id and got a new one." in imported.notes


def test_a_parent_that_is_its_own_child_ends(tmp_path: Path) -> None:
    script = valid_script()
    script.records[0]["parentUuid"] = script.records[-1]["uuid"]
    assert messages_of(import_file(script.write(tmp_path))) == 4


@pytest.mark.parametrize(
    "content", [b"", b" \n ", b"hello", b"\x00\xff\xfe", b"{}", b"[]", b'{"messages": []}']
)
def test_a_file_of_no_known_format_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(ImportFormatError, match=r"odd\.jsonl"):
        import_file(path)
    for name in FORMATS:
        with pytest.raises(ImportFormatError, match=name):
            import_file(path, name)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="known are auto, aider, amp"):
        import_file(tmp_path / "x", "word")
    with pytest.raises(FileNotFoundError):
        import_file(tmp_path / "x")


# Pipes, sockets and devices instead of a transcript: refused at once, as reading them may never end.


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(path))


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
@pytest.mark.parametrize(("make", "what"), [(pipe, "a pipe"), (listening, "a socket"), (zeros, "a device")])
def test_what_is_no_file_is_refused(
    make: Callable[[Path], None], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # A socket's path must be short.
    make(Path("chat"))
    with pytest.raises(ImportFormatError, match=rf"^chat is {what}, and only files are read\. Write"):
        import_file(Path("chat"))


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match=r"is a folder\. Name the transcripts in it"):
        import_file(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    file = valid_script().write(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(file)
    assert import_file(link).events == import_file(file).events


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
def test_a_pipe_among_the_transcripts_of_this_machine_is_passed_by(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "waits.jsonl")
    write_lines(folder, valid_script().lines()).rename(folder / "whole.jsonl")
    found = find_transcripts({}, home=tmp_path, cwd=tmp_path)
    assert [each.path.name for each in found] == ["whole.jsonl"]


# Any content in any format: the importer's own error, or an account of every line.


LINE_FILES = {name: foreign.jsonl(records) for name, records in foreign.LINES.items()}
LINE_FILES["aider"] = foreign.AIDER.encode()
FILES = [*foreign.FILES, ("claude-code", b"\n".join(valid_script().lines()))]

line_formats = st.sampled_from(sorted(LINE_FILES))


def attempt(content: bytes, format: str = "auto") -> Imported | None:
    """Import a file; None if the importer refused it with its own error."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        try:
            imported = import_file(path, format)
        except ImportFormatError:
            return None
    strict(imported)
    return imported


def unaccounted(imported: Imported, content: bytes) -> set[int]:
    """Return the lines that left no event, no count and no report."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    numbers = {number for number, line in enumerate(lines, 1) if line.strip()}
    return numbers - imported.places - {each.line for each in imported.skipped}


@given(st.binary(max_size=200), st.sampled_from(["auto", *FORMATS]))
def test_any_bytes(content: bytes, format: str) -> None:
    attempt(content, format)


@given(st.sampled_from(FILES), st.data())
def test_any_file_cut_anywhere_and_with_bytes_changed(file: tuple[str, bytes], data: st.DataObject) -> None:
    name, content = file
    cut = content[: data.draw(st.integers(0, len(content)))]
    attempt(cut)
    attempt(cut, name)
    place = data.draw(st.integers(0, max(0, len(cut) - 1)))
    attempt(cut[:place] + data.draw(st.binary(min_size=1, max_size=3)) + cut[place + 1 :], name)


@given(line_formats, st.randoms(use_true_random=False), st.data())
def test_lines_in_any_order_doubled_cut_and_mixed_with_noise_are_all_accounted_for(
    name: str, order: random.Random, data: st.DataObject
) -> None:
    lines = [line for line in LINE_FILES[name].split(b"\n") if line.strip()]
    noise = data.draw(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=3))
    records = data.draw(st.lists(values.map(lambda value: json.dumps(value).encode()), max_size=3))
    halves = [line[: len(line) // 2] for line in order.sample(lines, 2)]
    mixed = [*lines, *order.sample(lines, 2), *halves, *noise, *records]
    order.shuffle(mixed)
    content = b"\n".join(mixed)
    if imported := attempt(content, name):
        assert unaccounted(imported, content) == set()


@given(line_formats, st.data())
def test_any_value_in_any_field_is_accounted_for(name: str, data: st.DataObject) -> None:
    if name == "aider":
        return
    records = json.loads(json.dumps(foreign.LINES[name]))
    for _ in range(data.draw(st.integers(1, 4))):
        _spoil(records[data.draw(st.integers(0, len(records) - 1))], data)
    content = foreign.jsonl(records)
    if imported := attempt(content, name):
        assert unaccounted(imported, content) == set()


@pytest.mark.parametrize("name", sorted(foreign.LINES))
def test_any_field_may_be_missing(name: str) -> None:
    whole = foreign.jsonl(foreign.LINES[name])
    for key in re.finditer(rb'"\w+"(?=: )', whole):
        content = whole[: key.end() - 1] + b"_" + whole[key.end() - 1 :]
        if imported := attempt(content, name):
            assert unaccounted(imported, content) == set()


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("grok", {"type": "assistant", "content": "Fixed.", "cost": "much"}),
        ("gemini-stream", {"type": "error", "message": "No.", "kind": "mood"}),
    ],
)
def test_values_of_another_type_are_not_taken_over(name: str, record: dict[str, Any]) -> None:
    imported = attempt(foreign.jsonl([*foreign.LINES[name], record]), name)
    assert imported is not None
    assert imported.events[-1].data.headline() in ("Fixed.", "No. ")


@given(st.sampled_from(sorted(foreign.DOCUMENTS)), st.data())
def test_any_value_in_any_field_of_a_document(name: str, data: st.DataObject) -> None:
    document = json.loads(json.dumps(foreign.DOCUMENTS[name]))
    for _ in range(data.draw(st.integers(1, 6))):
        _spoil(document, data)
    attempt(json.dumps(document).encode(), name)
    attempt(json.dumps(document).encode())


def _spoil(value: object, data: st.DataObject) -> None:
    """Replace a random nested field by anything."""
    while True:
        keys = (
            list(value)
            if isinstance(value, dict)
            else list(range(len(value)))
            if isinstance(value, list)
            else []
        )
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        inner = value[key]  # type: ignore[index]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            value[key] = data.draw(values)  # type: ignore[index]
            return
        value = inner


@pytest.mark.parametrize(("name", "content"), FILES, ids=[name for name, _ in FILES])
def test_the_same_file_gives_the_same_bytes(name: str, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        assert import_file(path) == import_file(path)


# Any value anywhere in a file: each line is imported, reported by its number, or counted.


def lost(imported: Imported, times: dict[int, float]) -> list[int]:
    """Return the lines that left neither an event nor a reason; each line has its own time."""
    kept = {event.time for event in imported.events}
    told = imported.places.union(skipped.line for skipped in imported.skipped)
    return [line for line, moment in times.items() if moment not in kept and line not in told]


def assert_calls_are_answered(imported: Imported) -> None:
    calls = [event.data.tool_call_id for event in imported.events if isinstance(event.data, ToolCall)]
    results = [event.data.tool_call_id for event in imported.events if isinstance(event.data, ToolResult)]
    assert sorted(calls) == sorted(results), "every call once, and none that nobody made"


def counts(imported: Imported) -> tuple[int, int]:
    """Count calls, and results from the file itself."""
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
    for line, types in ((5, PROMPT_TYPES), (6, BLOCK_TYPES), (7, PROMPT_TYPES)):
        worded = [block for block in blocks if isinstance(block.get("text"), str)]
        strange = sum(block["type"] not in types and block not in worded for block in blocks)
        assert sum("of unknown type" in reason for reason in reasons[line]) == strange
        mute = sum(block["type"] == "text" and block not in worded for block in blocks)
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
    rewound = [note for note in imported.notes if "on abandoned branches" in note]
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
        imported = import_file(write_lines(Path(folder), [json.dumps(dated).encode()]), "pydantic-ai")
    assert imported.format == "pydantic-ai"
    assert imported.events[0].data == UserMessage(text="hi")
    assert lost(imported, times_of(history)) == []
    read = [item for line, item in enumerate(history, 1) if line in imported.places]
    empty = sum(item["kind"] == "request" and item["parts"] == [] for item in read)
    notes = [note for note in imported.notes if "without any content" in note]
    assert notes == ([f"{empty} requests without any content were left out."] if empty else [])
    assert (imported.tool_calls, imported.tool_results) == counts(imported)
    assert_calls_are_answered(imported)
    strict(imported)


# A small file remains a small import.


def test_numbers_that_are_missing_add_few_events(tmp_path: Path) -> None:
    def event(seq: int) -> foreign.Json:
        return {"seq": seq, "session": "s", "type": "user.message", "data": {"text": "Fix the till"}}

    path = tmp_path / "events.jsonl"
    path.write_bytes(
        foreign.jsonl([event(2), event(900), *(event(90_000 * number) for number in range(1, 9))])
    )
    imported = import_file(path)
    assert len(imported.events) == 899
    assert len(imported.skipped) == 8


def test_an_attachment_is_not_put_back_without_end(tmp_path: Path) -> None:
    document = foreign.inspect_ai()
    sample = document["samples"][0]
    sample["attachments"]["a1"] = "long " * 1_000
    sample["messages"] = [{"role": "user", "content": ["attachment://a1"] * 500}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    assert sum(len(event.message or "") for event in import_file(path).events) < 1_000_000


def test_ids_that_are_used_again_and_again_take_no_time(tmp_path: Path) -> None:
    call = {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}
    calls = [{**call, "function": {"name": "ls", "arguments": str(number)}} for number in range(2_000)]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "assistant", "tool_calls": calls}]))
    began = time.perf_counter()
    assert import_file(path).tool_calls == 2_000
    assert time.perf_counter() - began < 3
