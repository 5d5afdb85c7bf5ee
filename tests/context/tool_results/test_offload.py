"""Offloading: what is moved to a file, under which name, and what remains."""

import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ModelMessage

from tests.context.histories import as_items, messages
from tests.context.tool_results.kit import NOON, applied, call, check, names, only, result, said, view, words
from tui_app.context.counting.encodings import TextCounter, estimate
from tui_app.context.message_marks import mark_of
from tui_app.context.policy import NormaliseLimits, Offload
from tui_app.context.tool_results.normalise import normalise
from tui_app.context.tool_results.offload import offload
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item

SMALL = Offload(tokens=100)


def run(items: list[Item], settings: Offload = SMALL) -> Rewrite | None:
    return check(items, lambda given: offload(given, settings, estimate, names()))


def rows(count: int) -> str:
    return "\n".join(f"row {number} of a long table" for number in range(1, count + 1))


def test_twenty_thousand_tokens_are_the_limit() -> None:
    at_limit = view(said(), call("a"), result("a", "word" * 20_000))
    above = view(said(), call("a"), result("a", "word" * 20_001))
    assert run(at_limit, Offload()) is None
    assert run(above, Offload()) is not None


def test_path_size_and_the_first_ten_lines_stay() -> None:
    text = rows(200)
    rewrite = run(view(said(), call("call_abc123"), result("call_abc123", text, tool="grep")))
    assert rewrite is not None
    (file,) = rewrite.files
    assert file.name == "tool_outputs/grep_20260301_120000_call_abc.txt"
    assert file.text == text
    lines = only(rewrite).content.split("\n")
    assert lines[0].startswith(f"[Output moved to a file: {file.name}, {len(text):,} characters, 200 lines.")
    assert "read_file" in lines[0]
    assert 'search_history "#3"' in lines[0]
    assert lines[1] == "First 10 of 200 lines:"
    assert lines[2:12] == text.split("\n")[:10]
    assert lines[12:] == ["[190 more lines]"]
    assert rewrite.changes[0].note == file.name == mark_of(only(rewrite))["file"]


def test_a_line_without_end_is_clipped() -> None:
    text = "x" * 500_000 + "\nsecond"
    content = only(run(view(said(), call("a"), result("a", text)))).content
    assert len(content) < 1_000
    assert "x" * 500 + "… [499,500 more characters in this line]\nsecond" in content


def test_structured_content_is_written_so_that_it_can_be_read_by_line() -> None:
    content = {"rows": [{"n": number, "text": "é"} for number in range(500)]}
    rewrite = run(view(said(), call("a"), result("a", content)))
    assert rewrite is not None
    text = rewrite.files[0].text
    assert json.loads(text) == content
    assert f"First 10 of {len(text.splitlines()):,} lines:\n{{\n" in only(rewrite).content


def test_structures_that_are_odd_are_written_too() -> None:
    rewrite = run(view(said(), call("a"), result("a", {"n": float("nan"), "text": "x" * 1_000})))
    assert rewrite is not None
    assert json.loads(rewrite.files[0].text) == {"n": None, "text": "x" * 1_000}
    deep: Any = "x" * 1_000
    for _ in range(230):
        deep = [deep]
    rewrite = offload(view(said(), call("a"), result("a", deep)), SMALL, estimate, names())
    assert rewrite is not None
    assert "x" * 1_000 in rewrite.files[0].text
    foreign = offload(view(said(), call("a"), result("a", [object(), "x" * 1_000])), SMALL, estimate, names())
    assert foreign is not None
    assert "x" * 1_000 in foreign.files[0].text


def test_what_was_brought_back_in_this_turn_stays_for_this_turn() -> None:
    back = [call("a", tool="search_history"), result("a", rows(200), tool="search_history")]
    read = [call("b", args={"path": "tool_outputs/x.txt"}), result("b", rows(200))]
    listed = [call("c", args={"paths": ["conversation_history/1.md"]}), result("c", rows(200))]
    other = [call("d", args={"path": "src/x.txt"}), result("d", rows(200))]
    items = view(said(), *back, *read, *listed, *other)
    rewrite = run(items)
    assert rewrite is not None
    assert [change.key for change in rewrite.changes] == [9]
    later = run(view(said(), *back, *read, *listed, *other, words(), said("next")))
    assert later is not None
    assert [change.key for change in later.changes] == [3, 5, 7, 9]


def test_files_and_prompts_stay() -> None:
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    assert run(view(said(rows(500)), call("a"), result("a", [rows(500), image]))) is None


def test_what_was_spilled_is_not_moved_again() -> None:
    items = view(said(), call("a"), result("a", "x" * 300_000))
    first = normalise(items, NormaliseLimits(), names())
    assert first is not None
    assert run(applied(items, first), Offload(tokens=5)) is None


def test_a_preview_that_is_no_smaller_is_not_proposed() -> None:
    assert run(view(said(), call("a"), result("a", "one two three")), Offload(tokens=0)) is None


@pytest.mark.parametrize("metadata", [None, "theirs", ["theirs"], {"theirs": 1}])
@pytest.mark.parametrize("opening", ["[Output moved to a file", "[Result archived"])
def test_no_words_of_a_result_pass_for_a_mark(opening: str, metadata: Any) -> None:
    items = view(said(), call("a"), result("a", opening + " y" * 100_000, metadata=metadata))
    assert offload(items, Offload(), estimate, names()) is not None


def test_a_result_with_foreign_metadata_is_moved_once() -> None:
    items = view(said(), call("a"), result("a", "word " * 50_000, metadata=["theirs"]))
    rewrite = offload(items, Offload(tokens=1), estimate, names())
    assert rewrite is not None
    assert mark_of(only(rewrite))["metadata"] == ["theirs"]
    assert offload(applied(items, rewrite), Offload(tokens=1), estimate, names()) is None


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="allowed: a whole number"):
        Offload(tokens=-1)
    assert Offload(preview_lines=0).preview_lines == 0
    items = view(said(), call("a"), result("a", rows(200)))
    assert (
        "First 0 of 200 lines:\n[200 more lines]"
        in only(run(items, Offload(tokens=1, preview_lines=0))).content
    )


@pytest.mark.parametrize(
    "word", ["abcdefghi ", "aaaaaaaaaa", "          "], ids=["words", "letter", "spaces"]
)
def test_ten_megabytes_in_one_line_are_read_through_once(word: str) -> None:
    text = word * 1_000_000
    counter = TextCounter("o200k_base")
    counter.load()
    items = view(said(), call("a"), result("a", text))
    assert offload(items, Offload(), counter.count, names()) is not None


@given(messages(), st.integers(0, 200), st.integers(0, 3))
def test_any_history(history: list[ModelMessage], tokens: int, lines: int) -> None:
    run(as_items(history), Offload(tokens=tokens, preview_lines=lines))


@pytest.mark.parametrize(
    ("tool", "call_id", "name"),
    [
        ("grep", "0123456789", "grep_20260301_120000_01234567"),
        ("mcp:fs/read file", "call|1/..", "mcp_fs_read_file_20260301_120000_call_1_."),
        ("../../etc/passwd", "../..", "______etc_passwd_20260301_120000______"),
        ("-rf", "", "_rf_20260301_120000_call"),
        ("", "é", "tool_20260301_120000__"),
        ("t" * 500, "x", "t" * 60 + "_20260301_120000_x"),
    ],
)
def test_names_are_safe(tool: str, call_id: str, name: str) -> None:
    given = names().new(tool, call_id)
    assert re.fullmatch(r"tool_outputs/[A-Za-z0-9_-][A-Za-z0-9_.-]*\.txt", given)
    assert given == f"tool_outputs/{name}.txt"


def test_no_name_is_given_twice() -> None:
    first = "tool_outputs/grep_20260301_120000_call_abc.txt"
    given = names(first.upper())
    assert given.new("grep", "call_abcdef") == first.replace(".txt", "-2.txt")
    assert given.new("GREP", "call_abcXYZ").casefold() == first.replace(".txt", "-3.txt")


@pytest.mark.parametrize("offset", [timezone(timedelta(hours=5)), None])
def test_names_carry_the_time_of_greenwich(offset: Any) -> None:
    local = NOON.astimezone(offset) if offset else NOON.replace(tzinfo=None)
    assert isinstance(local, datetime)
    assert "_20260301_120000_" in WaysBack(local, ()).new("a", "b")


def test_taken_names_are_looked_at_when_one_is_given_out() -> None:
    taken: list[str] = []
    made = WaysBack(NOON, taken)
    taken.append("TOOL_OUTPUTS/A_20260301_120000_b.txt")
    assert made.new("a", "b") == "tool_outputs/a_20260301_120000_b-2.txt"
    assert made.new("a", "b") == "tool_outputs/a_20260301_120000_b-3.txt"
