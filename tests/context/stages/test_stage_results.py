"""Tool results as text, and what a stage may not take for text."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ImageUrl, ToolReturnPart, UserPromptPart

from tests.context.histories import retry_prompt
from tests.context.stages.stage_kit import call, result, said, view, words
from tui_app.context.tool_results.archive import digest_message
from tui_app.context.tool_results.results import result_text, turn_start
from tui_app.context.view import last_messages

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
