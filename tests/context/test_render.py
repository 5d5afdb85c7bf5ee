"""Messages as text."""

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    FilePart,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import as_items, retry_prompt
from tui_app.context.summaries.prompt import clip, message_text, part_text, prompts_of, transcript_lines

PICTURE = BinaryContent(b"x", media_type="image/png")


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (UserPromptPart("hi"), "User: hi"),
        (UserPromptPart(["look", PICTURE]), "User: look\n[BinaryContent]"),
        (SystemPromptPart("be kind"), "System: be kind"),
        (TextPart("sure"), "Assistant: sure"),
        (ThinkingPart("hm"), ""),
        (ToolCallPart("read", {"path": "a"}, "1"), 'Tool call read: {"path":"a"}'),
        (ToolReturnPart("read", "found", "1"), "Tool result read (success): found"),
        (ToolReturnPart("read", ["a", PICTURE], "1"), "Tool result read (success): a\n[BinaryContent]"),
        (CompactionPart("notes"), "Summary of what came before:\nnotes"),
        (CompactionPart(None, id="x", provider_name="openai"), ""),
        (FilePart(PICTURE), "[file]"),
    ],
)
def test_parts(part: ModelRequestPart | ModelResponsePart, text: str) -> None:
    assert part_text(part) == text


def test_errors_of_tools() -> None:
    assert part_text(retry_prompt("wrong type", "read", "1")).startswith("Tool error read: wrong type")


def test_long_results_keep_head_and_tail() -> None:
    text = part_text(ToolReturnPart("read", "a" * 500 + "z" * 500, "1"), 90)
    assert text.startswith("Tool result read (success): " + "a" * 60)
    assert text.endswith("z" * 30)
    assert "910 characters left out" in text
    assert clip("abc", 3) == "abc"
    assert clip("abc", None) == "abc"


def test_a_transcript_has_handles_and_skips_silence() -> None:
    items = as_items(
        [
            ModelRequest(parts=[UserPromptPart("hi")]),
            ModelResponse(parts=[ThinkingPart("hm")]),
            ModelResponse(parts=[ThinkingPart("hm"), TextPart("ho"), ToolCallPart("read", {}, "1")]),
        ]
    )
    assert transcript_lines(items) == ["#1 User: hi", "#3 Assistant: ho\nTool call read: {}"]
    assert message_text(items[1].message) == ""
    assert prompts_of(items) == [(1, "hi")]
