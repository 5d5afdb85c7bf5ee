"""Normalising: limits of tool output, and where the rest goes."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from tests.context.histories import as_items, messages, retry_prompt
from tests.context.tool_results.kit import NOON, applied, call, check, names, only, result, said, view
from tui_app.context.message_marks import OWN, mark_of
from tui_app.context.policy import NormaliseLimits
from tui_app.context.tool_results.normalise import normalise
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item

LIMITS = NormaliseLimits()
FEW_LINES = NormaliseLimits(lines=10)


def run(items: list[Item], limits: NormaliseLimits = LIMITS) -> Rewrite | None:
    return check(items, lambda given: normalise(given, limits, names()))


def cut(content: Any, limits: NormaliseLimits = LIMITS) -> str:
    part = only(run(view(said(), call("a"), result("a", content)), limits))
    assert isinstance(part.content, str)
    return part.content


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_what_is_within_the_limits_stays() -> None:
    for content in ("", "short", "x" * 51_200, "\n" * 2_000, {"a": [1, 2]}, None):
        assert run(view(said(), call("a"), result("a", content))) is None


def test_a_prompt_is_never_touched() -> None:
    assert run(view(said("x" * 1_000_000))) is None


def test_too_many_lines_keep_head_and_tail() -> None:
    lines = cut(numbered(1_000), FEW_LINES).split("\n")
    assert len(lines) == 10
    assert lines[:4] == ["line 1", "line 2", "line 3", "line 4"]
    assert lines[4] == "[… 992 lines, 8,828 characters left out here …]"
    assert lines[5:9] == ["line 997", "line 998", "line 999", "line 1000"]
    assert lines[9] == (
        "[Output cut: kept 8 of 1,000 lines, 65 of 8,893 characters, 65 of 8,893 bytes; "
        'search_history(query="#3", start=5) reads what was left out]'
    )


def test_the_notice_reads_on_in_the_middle_of_a_line() -> None:
    text = cut("one\n" + "a" * 60_000)
    kept = len(text.split("\n")[1])
    assert f'search_history(query="#3", start=2, offset={kept}) reads what was left out]' in text


def test_a_page_that_was_brought_back_in_this_turn_is_not_cut_again() -> None:
    back = [call("a", tool="search_history"), result("a", numbered(100), tool="search_history")]
    read = [call("b", tool="read_file", args={"path": "#12"}), result("b", numbered(100))]
    other = [call("c", tool="read_file", args={"path": "#12.txt"}), result("c", numbered(100))]
    rewrite = run(view(said(), *back, *read, *other), FEW_LINES)
    assert rewrite is not None
    assert [change.key for change in rewrite.changes] == [7]
    huge = run(view(said(), call("a", tool="search_history"), result("a", numbered(9_000))), FEW_LINES)
    assert huge is not None, "another program's tool of that name may return anything"


def test_mode_head_keeps_the_beginning_only() -> None:
    limits = NormaliseLimits(lines=10, mode="head")
    lines = cut(numbered(1_000), limits).split("\n")
    assert lines[:9] == [f"line {number}" for number in range(1, 10)]
    assert lines[9].startswith("[Output cut: kept 9 of 1,000 lines, ")
    assert len(lines) == 10


@pytest.mark.parametrize("mode", ["head", "head_tail"])
def test_one_endless_line_is_cut_by_bytes(mode: Any) -> None:
    text = cut("a" * 60_000 + "z" * 60_000, NormaliseLimits(mode=mode))
    assert 51_000 < len(text) <= 51_200
    assert text.startswith("aaaa")
    assert ("zzzz" in text) == (mode == "head_tail")
    assert "[Output cut: kept 1 of 1 lines, " in text


def test_characters_are_cut_before_bytes_and_never_in_two() -> None:
    limits = NormaliseLimits(chars=3_000, bytes=5_000)
    for char in ("é", "漢", "🙂"):
        text = cut(char * 20_000, limits)
        assert len(text) <= 3_000
        assert len(text.encode()) <= 5_000
        assert text.count(char) > 1_000
        assert "\ufffd" not in text


def test_an_error_is_limited_like_a_result() -> None:
    failed = only(run(view(said(), call("a"), result("a", numbered(500), outcome="failed")), FEW_LINES))
    assert failed.outcome == "failed"
    legacy = ModelRequest(parts=[retry_prompt(numbered(500), tool="read", call_id="a")])
    part = only(run(view(said(), call("a"), legacy), FEW_LINES))
    assert (part.tool_name, part.tool_call_id, part.outcome) == ("read", "a", "retried")
    assert part.content.count("\n") == 9
    assert run(view(ModelRequest(parts=[retry_prompt("x" * 100_000)]))) is None


def test_structured_content_is_cut_as_json() -> None:
    text = cut({"rows": ["x" * 100] * 1_000})
    assert text.startswith('{"rows":["xxx')
    assert len(text) <= 51_200


def test_what_is_far_too_long_goes_to_a_file_whole() -> None:
    text = numbered(40_000)
    rewrite = run(view(said(), call("call_123456789"), result("call_123456789", text, tool="run command")))
    part = only(rewrite)
    assert rewrite is not None
    (file,) = rewrite.files
    assert file.name == "tool_outputs/run_command_20260301_120000_call_123.txt"
    assert file.text == text
    assert file.name in part.content
    assert hashlib.sha256(text.encode()).hexdigest() in part.content
    assert len(part.content) < 400
    assert mark_of(part)["file"] == file.name == rewrite.changes[0].note
    assert mark_of(part)["length"] == len(text)


def test_a_spilled_structure_can_be_read_by_line() -> None:
    content = {"rows": [{"n": number, "text": "ä" * 20} for number in range(10_000)]}
    rewrite = run(view(said(), call("a"), result("a", content)))
    assert rewrite is not None
    assert json.loads(rewrite.files[0].text) == content
    assert rewrite.files[0].text.count("\n") > 10_000
    assert hashlib.sha256(rewrite.files[0].text.encode()).hexdigest() in only(rewrite).content


def test_characters_above_the_limit_for_files_decide_and_not_bytes() -> None:
    limits = NormaliseLimits(spill_chars=1_000)
    assert run(view(said(), call("a"), result("a", "🙂" * 1_000)), limits) is None
    rewrite = run(view(said(), call("a"), result("a", "x" * 1_001)), limits)
    assert rewrite is not None
    assert rewrite.files


def test_what_holds_files_stays_whole() -> None:
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    for content in ([numbered(5_000), image], {"text": numbered(5_000), "deep": [{"image": image}]}):
        assert run(view(said(), call("a"), result("a", content))) is None


def test_results_of_pydantic_ais_own_tools_stay_whole() -> None:
    content = {"discovered_tools": [{"name": f"tool_{number}" * 50} for number in range(1_000)]}
    search = result("a", content, tool="search_tools", tool_kind="tool-search")
    assert run(view(said(), call("a", tool="search_tools"), search)) is None


def test_a_typed_result_of_an_application_keeps_its_kind() -> None:
    part = only(run(view(said(), call("a"), result("a", numbered(5_000), tool_kind="shop.lookup"))))
    assert part.tool_kind == "shop.lookup"


def test_metadata_of_the_application_stays() -> None:
    part = only(run(view(said(), call("a"), result("a", numbered(5_000), metadata={"theirs": [1]}))))
    assert part.metadata["theirs"] == [1]
    foreign = only(run(view(said(), call("a"), result("a", numbered(5_000), metadata=["theirs"]))))
    assert mark_of(foreign)["metadata"] == ["theirs"]


@pytest.mark.parametrize("metadata", [None, "theirs", ["theirs"], {"theirs": 1}, {OWN: "theirs"}])
@pytest.mark.parametrize(
    "text",
    [
        "[Output kept out of the conversation" + "\nx" * 400_000,
        "x\n" * 400_000 + "\n[Output cut: kept 1 of 2 lines]",
        "[Result archived" + "\nx" * 400_000,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_no_words_of_a_result_pass_for_a_mark(text: str, metadata: Any) -> None:
    assert len(only(run(view(said(), call("a"), result("a", text, metadata=metadata)))).content) < 1_000


@pytest.mark.parametrize("size", [900, 300_000])
def test_a_result_with_foreign_metadata_is_cut_once(size: int) -> None:
    limits = NormaliseLimits(lines=4, bytes=200, chars=200)
    items = view(said(), call("a"), result("a", "x" * size, metadata=("theirs",)))
    rewrite = normalise(items, limits, names())
    assert rewrite is not None
    assert normalise(applied(items, rewrite), limits, names()) is None


def test_only_the_long_results_of_a_message_change() -> None:
    both = ModelRequest(
        parts=[
            ToolReturnPart("read", "short", "a"),
            ToolReturnPart("read", numbered(50), "b"),
            UserPromptPart("x" * 100_000),
        ]
    )
    rewrite = run(view(said(), call("a", "b"), both), FEW_LINES)
    assert rewrite is not None
    new = rewrite.changes[0].message.parts
    assert new[0] is both.parts[0]
    assert new[2] is both.parts[2]


def test_without_handles_none_is_named() -> None:
    items = view(said(), call("a"), result("a", numbered(50)))
    assert "search_history" not in only(normalise(items, FEW_LINES, WaysBack(NOON, handles=False))).content


def test_lone_surrogates_do_no_harm() -> None:
    items = view(said(), call("a"), result("a", "\ud83d" * 100_000))
    assert normalise(items, LIMITS, names()) is not None
    items = view(said(), call("a"), result("a", "\ud83d" * 300_000))
    assert normalise(items, LIMITS, names()) is not None


@pytest.mark.parametrize("wrong", [{"lines": 3}, {"lines": 0, "mode": "head"}, {"bytes": 0}, {"chars": -1}])
def test_impossible_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed: a whole number"):
        NormaliseLimits(**wrong)


def test_ten_megabytes_in_one_line_are_read_through_once() -> None:
    items = view(said(), call("a"), result("a", "abcdefghi " * 1_000_000))
    assert normalise(items, LIMITS, names()) is not None
    assert normalise(items, NormaliseLimits(spill_chars=100_000_000), names()) is not None


@given(
    messages(),
    st.integers(4, 12),
    st.integers(1, 600),
    st.integers(1, 600),
    st.integers(1, 3_000),
    st.booleans(),
)
def test_any_history_under_any_limits(
    history: list[ModelMessage], lines: int, size: int, chars: int, spill: int, both: bool
) -> None:
    limits = NormaliseLimits(
        lines=lines, bytes=size, chars=chars, spill_chars=spill, mode="head_tail" if both else "head"
    )
    run(as_items(history), limits)


@given(st.text("ab\n é漢🙂", max_size=300).map(lambda text: text * 20), st.integers(4, 30), st.booleans())
def test_what_is_kept_fits_and_comes_from_both_ends(text: str, lines: int, both: bool) -> None:
    limits = NormaliseLimits(lines=lines, bytes=1_000, chars=700, mode="head_tail" if both else "head")
    items = view(said(), call("a"), result("a", text))
    rewrite = run(items, limits)
    if rewrite is None:
        return
    new = only(rewrite).content
    assert len(new) <= 700
    assert len(new.encode()) <= 1_000
    assert len(new.split("\n")) <= lines
    head, _, rest = new.partition("[")
    assert text.startswith(head.removesuffix("\n"))
    if both:
        tail = rest.partition("left out here …]\n")[2].rpartition("[Output cut")[0]
        assert text.endswith(tail) or text.endswith(tail.removesuffix("\n"))
