"""Whatever is wrong with a file: never an exception, never silence."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.importing.claude_records import call, write_lines
from tests.session.importing.fuzzing import strict, valid_script, values
from tui_app.events import AssistantMessage, ToolCall, ToolResult, UserMessage
from tui_app.session.importers import FORMATS, ImportFormatError, import_file
from tui_app.session.importers.event_builder import NO_RESULT

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


@given(st.lists(st.tuples(st.integers(0, 4), garbage), min_size=1, max_size=8))
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
    assert "1 calls had an id that was used before and got a new one." in imported.notes


def test_a_parent_that_is_its_own_child_ends(tmp_path: Path) -> None:
    script = valid_script()
    script.records[0]["parentUuid"] = script.records[-1]["uuid"]
    assert import_file(script.write(tmp_path)).messages == 4


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
    with pytest.raises(ImportFormatError, match="known are auto, plimsoll, claude-code"):
        import_file(tmp_path / "x", "word")
    with pytest.raises(FileNotFoundError):
        import_file(tmp_path / "x")
