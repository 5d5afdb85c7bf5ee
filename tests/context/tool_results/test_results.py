"""Tool results as text, cut and trimmed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import as_items, messages, retry_prompt
from tests.context.tool_results.kit import (
    applied,
    call,
    check,
    from_json,
    names,
    only,
    result,
    said,
    view,
    words,
)
from tui_app.context.policy import SLIDING_WINDOW_MARKER, Offload, Trim
from tui_app.context.tool_results.archive import digest_message
from tui_app.context.tool_results.cuts import byte_count, count_lines, head_and_tail, shorten
from tui_app.context.tool_results.offload import offload
from tui_app.context.tool_results.results import result_text
from tui_app.context.tool_results.stage_scope import turn_start
from tui_app.context.tool_results.trim import trim
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.tool_pairs import last_messages
from tui_app.context.views.view import Item

# Tool results as text, and what a stage must not treat as text.


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
IMAGE = ImageUrl("https://example.com/a.png")


@given(VALUES | st.datetimes() | st.tuples(st.integers(), st.text()))
def test_the_text_is_what_the_model_reads(content: Any) -> None:
    part = ToolReturnPart("read", content, "a")
    assert result_text(part) == part.model_response_str()


@pytest.mark.parametrize(
    "content",
    [
        IMAGE,
        [IMAGE],
        ["text", IMAGE],
        {"a": IMAGE},
        {"a": [{"b": (1, [IMAGE])}]},
        BinaryContent(b"x", media_type="a/b"),
    ],
    ids=["bare", "list", "mixed", "dict", "deep", "binary"],
)
def test_files_are_found_wherever_they_are(content: Any) -> None:
    assert result_text(ToolReturnPart("read", content, "a")) is None


def test_what_has_no_json_form_is_text_all_the_same() -> None:
    ring: list[Any] = ["in a ring"]
    ring += [ring, ring]
    for content in (ring, [object(), "in a ring"], {1: {"set": {1}}, "in a ring": b"\xff"}):
        assert "in a ring" in str(result_text(ToolReturnPart("read", content, "a")))


def test_errors_and_other_parts() -> None:
    assert result_text(retry_prompt("wrong", tool="read", call_id="a")) == "wrong"
    assert result_text(ToolReturnPart("read", "boom", "a", outcome="failed")) == "boom"
    assert result_text(UserPromptPart("hello")) is None
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    assert result_text(ToolReturnPart("clock", moment, "a")) == "2026-03-01T00:00:00Z"


def test_a_turn_begins_with_the_newest_prompt_of_a_person() -> None:
    assert turn_start(view()) == 0
    assert turn_start(view(words(), call("a"), result("a"))) == 0
    assert turn_start(view(said(), words(), said(), digest_message("x"), call("a"), result("a"))) == 2


def test_counting_messages_as_they_are_sent() -> None:
    items = view(said(), call("a", "b"), result("a"), result("b"), words(), said())
    assert [last_messages(items, count) for count in range(7)] == [6, 5, 4, 2, 1, 0, 0]


# Cutting: lines, characters and bytes, from one end or from the middle.


TEXTS = st.text("ab\né漢🙂\ud83d ", max_size=60)


@pytest.mark.parametrize(
    ("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2), ("a\r\nb\r\n", 2)]
)
def test_counting_lines(text: str, lines: int) -> None:
    assert count_lines(text) == lines


PLENTY = {"lines": 1_000, "chars": 1_000, "size": 1_000}


@given(TEXTS, st.integers(1, 12), st.booleans())
def test_whole_lines_stay(text: str, limit: int, both: bool) -> None:
    head, tail = head_and_tail(text, **PLENTY | {"lines": limit}, both=both)
    if count_lines(text) <= limit:
        assert head + tail == text
        return
    lines = text.splitlines(keepends=True)
    back = limit // 2 if both else 0
    assert head == "".join(lines[: limit - back])
    assert tail == "".join(lines[len(lines) - back :])


@given(TEXTS, st.integers(0, 80), st.booleans())
def test_characters(text: str, limit: int, both: bool) -> None:
    head, tail = head_and_tail(text, **PLENTY | {"chars": limit}, both=both)
    assert len(head) + len(tail) == min(limit, len(text))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert both or not tail


@given(TEXTS, st.integers(0, 200), st.booleans())
def test_bytes(text: str, limit: int, both: bool) -> None:
    head, tail = head_and_tail(text, **PLENTY | {"size": limit}, both=both)
    size = byte_count(head) + byte_count(tail)
    assert size <= limit
    assert text.startswith(head)
    assert text.endswith(tail)
    if byte_count(text) > limit:
        assert size > limit - 8, "less than two characters of four bytes are given away"
    else:
        assert head + tail == text


@given(TEXTS, st.integers(1, 12), st.integers(0, 40), st.integers(0, 80), st.booleans())
def test_all_limits_together(text: str, lines: int, chars: int, size: int, both: bool) -> None:
    head, tail = head_and_tail(text, lines=lines, chars=chars, size=size, both=both)
    assert count_lines(head) + count_lines(tail) <= lines + 1
    assert len(head) + len(tail) <= chars
    assert byte_count(head) + byte_count(tail) <= size
    assert len(head) + len(tail) <= len(text)


@given(st.text("ab\n", max_size=400), st.integers(0, 300))
def test_shortened_text_keeps_to_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit or short == text
    assert (short == text) == (len(text) <= limit) or not text


# Trimming: the head of an old result stays, and nothing of the current turn changes.


LONG = "0123456789" * 300
AT_ONCE = Trim(keep_messages=0, marker=SLIDING_WINDOW_MARKER)
WINDOW = Trim(keep_messages=2, marker=SLIDING_WINDOW_MARKER)


def run(items: list[Item], settings: Trim | None = None) -> Rewrite | None:
    chosen = settings or Trim()
    return check(items, lambda given: trim(given, chosen))


def keys(rewrite: Rewrite | None) -> list[int]:
    return [change.key for change in rewrite.changes] if rewrite is not None else []


def test_everything_in_front_of_the_latest_prompt_is_cut() -> None:
    old = [said(), call("a"), result("a", LONG), words()]
    items = view(*old, said("now"), call("b"), result("b", LONG))
    rewrite = run(items)
    assert keys(rewrite) == [3]
    assert only(rewrite).content == LONG[:2_000] + (
        '\n[… trimmed: 3,000 characters in all; search_history "#3" has all of it …]'
    )
    assert rewrite is not None
    assert rewrite.changes[0].note == "trimmed from 3,000 characters"


def test_a_digest_does_not_begin_a_turn() -> None:
    items = view(said(), call("a"), result("a", LONG), digest_message("x"), call("b"), result("b", LONG))
    assert run(items) is None
    assert keys(run(view(*(item.message for item in items), said("now")))) == [3, 6]


def test_without_a_prompt_all_is_the_present_turn() -> None:
    assert run(view(call("a"), result("a", LONG), words())) is None


def test_the_sliding_window_keeps_its_exact_form() -> None:
    items = view(said(), call("a"), result("a", LONG), call("b"), result("b", LONG))
    rewrite = run(items, WINDOW)
    assert keys(rewrite) == [3]
    assert only(rewrite).content == LONG[:2_000] + "\n[… cut here; 3000 characters in all]"


def test_results_of_one_answer_are_one_message() -> None:
    items = view(said(), call("a"), result("a", LONG), call("b", "c"), result("b", LONG), result("c", LONG))
    assert keys(run(items, WINDOW)) == [3]
    assert keys(run(items, Trim(keep_messages=1))) == [3]
    assert keys(run(items, Trim(keep_messages=0))) == [3, 5, 6]
    assert keys(run(items, Trim(keep_messages=100))) == []


def test_sections_of_one_message_are_one_message() -> None:
    whole = ModelRequest(parts=[*result("b", LONG).parts, *said().parts])
    front = view(said(), call("a"), result("a", LONG), call("b"))
    parts = [Item(5, result("b", LONG), whole=whole), Item(6, said(), whole=whole)]
    assert keys(trim([*front, *parts], Trim(keep_messages=1))) == [3]


def test_structured_content_is_measured_and_cut_as_json() -> None:
    content = {"rows": ["x" * 10] * 300}
    rewrite = run(view(said(), call("a"), result("a", content), words(), said("now")), WINDOW)
    text = only(rewrite).content
    assert text.startswith('{"rows":["xxxxxxxxxx",')
    assert text.endswith("\n[… cut here; 3910 characters in all]")
    assert len(text) == 2_000 + len("\n[… cut here; 3910 characters in all]")


def test_what_would_not_become_smaller_stays() -> None:
    marked = 2_000 + len("\n[… cut here; 2000 characters in all]")
    for size in (1_999, 2_000, marked):
        assert run(view(said(), call("a"), result("a", "x" * size)), AT_ONCE) is None
    rewrite = run(view(said(), call("a"), result("a", "x" * (marked + 1))), AT_ONCE)
    assert len(only(rewrite).content) == marked


def test_zero_trims_nothing() -> None:
    assert run(view(said(), call("a"), result("a", LONG), said("now")), Trim(chars=0)) is None


def test_errors_are_cut_and_stay_errors() -> None:
    legacy = ModelRequest(parts=[retry_prompt(LONG, tool="read", call_id="a")])
    part = only(run(view(said(), call("a", args={"path": "a.py"}), legacy, said("now"))))
    assert (part.outcome, part.tool_name, part.tool_call_id) == ("retried", "read", "a")
    looked = call("a", args={"path": "a.py"})
    failed = only(run(view(said(), looked, result("a", LONG, outcome="failed"), said("now"))))
    assert failed.outcome == "failed"


def test_results_with_files_stay_whole() -> None:
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    assert run(view(said(), call("a"), result("a", [LONG, image]), said("now"))) is None


def test_a_smaller_limit_later_still_tells_the_real_length() -> None:
    items = view(said(), call("a"), result("a", LONG), said("now"))
    first = run(items)
    assert first is not None
    second = run(applied(items, first), Trim(chars=500))
    assert "trimmed: 3,000 characters in all" in only(second).content


def test_the_path_of_an_offloaded_result_survives() -> None:
    items = view(said(), call("a"), result("a", ("y" * 450 + "\n") * 1_000), said("now"))
    moved = offload(items, Offload(), len, names())
    assert moved is not None
    content = only(run(applied(items, moved))).content
    assert moved.files[0].name in content
    assert f"{451_000:,} characters in all" in content


def test_foreign_metadata_and_stored_results_are_not_trimmed_twice() -> None:
    for metadata in (["theirs"], None):
        items = view(said(), call("a"), result("a", LONG * 10, metadata=metadata))
        rewrite = trim(items, AT_ONCE)
        assert rewrite is not None
        after = applied(items, rewrite)
        assert trim(after, AT_ONCE) is None
        bare = ToolReturnPart("read", only(rewrite).content, "a")
        assert trim(view(said(), call("a"), ModelRequest(parts=[bare])), AT_ONCE) is None
        assert trim([Item(item.key, from_json(item.message)) for item in after], AT_ONCE) is None


@pytest.mark.parametrize("marker", ["{size}", "{length", "{}", "{length:zz}", "{length.real}"])
def test_a_marker_is_a_template_of_length_and_key(marker: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Trim(marker=marker)


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed: a whole number"):
        Trim(chars=-1)
    with pytest.raises(ValueError, match="allowed: a whole number"):
        Trim(keep_messages=-1)


@given(
    messages(),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 4)),
    st.sampled_from([Trim().marker, SLIDING_WINDOW_MARKER, "", "{{{length:>9,}}} {key}{key}"]),
)
def test_any_history(history: list[ModelMessage], chars: int, keep: int | None, marker: str) -> None:
    run(as_items(history), Trim(chars=chars, keep_messages=keep, marker=marker))


def test_an_earlier_failure_that_nothing_has_solved_stays_whole() -> None:
    def ran(command: str, text: str) -> list[ModelMessage]:
        args = {"command": command}
        return [call(command, tool="run_command", args=args), result(command, text, tool="run_command")]

    broken = f"{LONG}\nmake: *** [all] Error 1\nExit code 2"
    items = view(said(), *ran("make", broken), *ran("ls", LONG), words(), said(), words())
    assert keys(run(items)) == [5]
    solved = view(*(item.message for item in items), *ran("make", "fine"))
    assert keys(run(solved)) == [3, 5]
    assert keys(run(items, WINDOW)) == [3, 5], "a policy that keeps a number of messages knows no failures"
