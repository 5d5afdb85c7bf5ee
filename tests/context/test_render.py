"""Messages as text, with every type of part under its heading."""

import io
import warnings
from dataclasses import dataclass

import pytest
from PIL import Image
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    InstructionBaselinePart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    RetryPromptPart,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)

from tests.context.governor_kit import WordCounter
from tests.context.histories import as_items, retry_prompt
from tui_app.context.counting.attachments import AUDIO_TOKENS_PER_SECOND, PAGE_TOKENS, attachment_tokens
from tui_app.context.counting.image_tokens import IMAGE_TOKENS
from tui_app.context.counting.tokens import (
    CALL_OVERHEAD,
    MESSAGE_OVERHEAD,
    SUMMARY_OVERHEAD,
    TokenCounter,
    part_costs,
)
from tui_app.context.message_marks import inbox_message, inbox_text
from tui_app.context.summaries.prompt import clip, message_text, part_text, transcript_lines
from tui_app.context.tool_results.archive import digest_message
from tui_app.usage import CATEGORIES, Breakdown

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


# Parts and attachments.


@pytest.fixture
def words() -> WordCounter:
    return WordCounter()


@pytest.fixture
def counter(words) -> TokenCounter:
    return TokenCounter(words)


def nonzero(breakdown: Breakdown) -> dict[str, int]:
    return {name: getattr(breakdown, name) for name in CATEGORIES if getattr(breakdown, name)}


def parts_retry_prompt(tool: str | None) -> RetryPromptPart:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RetryPromptPart(content="no good", tool_name=tool)


FRAME = MESSAGE_OVERHEAD
REQUEST_PARTS = [
    (SystemPromptPart("be brief please"), {"system": 3 + FRAME}),
    (UserPromptPart("one two three"), {"user": 3 + FRAME}),
    (
        UserPromptPart(["one two", TextContent("three", metadata={"a": "b"}), CachePoint()]),
        {"user": 3 + FRAME},
    ),
    (
        UserPromptPart(["look here", ImageUrl("https://example.com/a.png")]),
        {"user": 2 + FRAME, "attachments": IMAGE_TOKENS},
    ),
    (CompactionPart("what happened before"), {"summary": 3 + SUMMARY_OVERHEAD + FRAME}),
    (ToolReturnPart("grep", "three little words", tool_call_id="1"), {"tool_results": 3 + FRAME}),
    (ToolReturnPart("grep", None, tool_call_id="1"), {"tool_results": FRAME}),
    (
        ToolReturnPart(
            "shot", [{"x": 1}, BinaryContent(b"\x89PNG" * 900, media_type="image/png")], tool_call_id="1"
        ),
        {"tool_results": 1 + FRAME, "attachments": IMAGE_TOKENS},
    ),
    (parts_retry_prompt("grep"), {"tool_results": 8 + FRAME}),
    (SpeechPart(speaker="user", transcript="good morning"), {"user": 2 + FRAME}),
    (InstructionBaselinePart(instructions=[]), {}),
]


@pytest.mark.parametrize(("part", "expected"), REQUEST_PARTS, ids=lambda value: type(value).__name__)
def test_request_parts(part, expected, counter) -> None:
    assert nonzero(counter.message(ModelRequest(parts=[part]))) == expected


RESPONSE_PARTS = [
    (TextPart("well then"), {"assistant": 2 + FRAME}),
    (ThinkingPart("let me see"), {"thinking": 3 + FRAME}),
    (ThinkingPart("", signature="A" * 160, provider_name="x"), {"thinking": 30 + FRAME}),
    (ToolCallPart("grep", '{"a": 1}'), {"tool_calls": 1 + 2 + CALL_OVERHEAD + FRAME}),
    (ToolCallPart("grep", {"a": 1}), {"tool_calls": 1 + 1 + CALL_OVERHEAD + FRAME}),
    (ToolCallPart("grep", None), {"tool_calls": 1 + 1 + CALL_OVERHEAD + FRAME}),
    (NativeToolCallPart("web", '{"q":"x"}'), {"tool_calls": 1 + 1 + CALL_OVERHEAD + FRAME}),
    (NativeToolReturnPart("web", "one two", "1"), {"tool_results": 2 + FRAME}),
    (CompactionPart("so far so good"), {"summary": 4 + SUMMARY_OVERHEAD + FRAME}),
    (FilePart(BinaryContent(b"x" * 9_000, media_type="image/png")), {"attachments": IMAGE_TOKENS + FRAME}),
    (SpeechPart(speaker="assistant", transcript="good morning"), {"assistant": 2 + FRAME}),
]


@pytest.mark.parametrize(("part", "expected"), RESPONSE_PARTS, ids=lambda value: type(value).__name__)
def test_response_parts(part, expected, counter) -> None:
    assert nonzero(counter.message(ModelResponse(parts=[part]))) == expected


def test_what_goes_out_in_the_users_place_is_not_counted_as_theirs(counter) -> None:
    feedback = RetryFeedbackPart("no good", retry=RetryInfo("model_retry"))
    for part in (parts_retry_prompt(None), feedback):
        counted = counter.message(ModelRequest(parts=[part]))
        assert counted.tool_results == counted.total > FRAME
    digest = counter.message(digest_message("ls found three files"))
    assert digest.tool_results == digest.total > FRAME
    board = counter.message(inbox_message(inbox_text("sea", "It is salty.")))
    assert board.memory == board.total > FRAME
    assert counter.message(ModelRequest(parts=[UserPromptPart("ls found three files")])).user == 4 + FRAME


@dataclass
class FutureParts:
    """A kind of part that does not exist yet."""

    content: str = "some words of it"
    part_kind: str = "hologram"


class Hostile:
    """An object whose ``repr`` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_unknown_parts_are_counted_and_never_fail(words) -> None:
    loop: list[object] = []
    loop.append(loop)
    for part in (
        FutureParts(),
        FutureParts(content=None),
        Hostile(),
        TextPart(content=None),
        ThinkingPart(content=7),
    ):
        [(category, tokens)] = part_costs(part, words, unknown="assistant")
        assert category == "assistant"
        assert tokens > 0
    for content in (loop, {"x": Hostile()}, {"x": b"\xff\xfe", "n": float("nan")}, object()):
        costs = part_costs(ToolReturnPart("t", content, tool_call_id="1"), words, unknown="user")
        assert costs[0][0] == "tool_results"
        assert costs[0][1] > 0


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"deep": [{"er": x}]}])
def test_files_are_never_counted_as_base64(wrap, words) -> None:
    image = BinaryContent(bytes(range(256)) * 4_000, media_type="image/png")
    part = ToolReturnPart("shot", wrap(image), tool_call_id="1")
    assert dict(part_costs(part, words, unknown="user"))["pictured"] == IMAGE_TOKENS
    assert max(map(len, words.asked), default=0) < 200
    [again] = ModelMessagesTypeAdapter.validate_json(
        ModelMessagesTypeAdapter.dump_json([ModelRequest(parts=[part])])
    )
    assert TokenCounter(words).message(again).attachments == IMAGE_TOKENS


def test_text_documents_are_counted_as_text(counter) -> None:
    note = BinaryContent(b"# three little words", media_type="text/markdown")
    assert counter.message(ModelRequest(parts=[UserPromptPart([note])])).attachments == 4


def picture(width: int, height: int, kind: str = "PNG") -> BinaryContent:
    out = io.BytesIO()
    Image.new("1", (width, height)).convert("L").save(out, kind)
    return BinaryContent(out.getvalue(), media_type=f"image/{kind.lower()}")


@pytest.mark.parametrize(
    ("model", "sizes"),
    [
        # Examples from the vendors' documentation, and for Google the sizes at the limits of its rule.
        ("claude-sonnet-4-6", {(200, 200): 64, (1_000, 1_000): 1_296, (1_092, 1_092): 1_521}),
        ("claude-haiku-4-5-20251001", {(1_920, 1_080): 1_560, (2_000, 1_500): 1_564, (3_840, 2_160): 1_560}),
        ("anthropic/claude-3.5-sonnet:beta", {(1_075, 1_520): 33 * 47}),
        ("us.anthropic.claude-opus-4-7-v1:0", {(1_920, 1_080): 2_691, (2_000, 1_500): 3_888}),
        ("claude-opus-4-8", {(3_840, 2_160): 4_784}),
        ("claude-sonnet-4-20250514", {(3_840, 2_160): 1_560}),
        ("claude-fable-5", {(1_075, 1_520): 2_145}),
        ("gpt-5.4", {(1_024, 1_024): 1_229, (2_048, 2_048): 3_000}),
        ("openai:gpt-6", {(1_920, 1_080): 2_448, (3_840, 2_160): 9_792}),
        ("gpt-4o", {(1_024, 1_024): 765, (2_048, 4_096): 1_105, (512, 512): 255}),
        ("gpt-4o-mini", {(512, 512): 8_500}),
        ("gpt-5", {(1_024, 1_024): 630}),
        ("gemini-2.5-flash", {(384, 384): 258, (960, 540): 6 * 258}),
        ("google/gemini-3-pro-preview", {(384, 384): 1_120, (3_000, 2_000): 1_120}),
        ("pixtral-12b", {(64, 64): 20}),
        ("gpt-oss:20b", {(1_024, 1_024): IMAGE_TOKENS}),
        ("llava", {(32, 32): IMAGE_TOKENS}),
    ],
)
def test_pictures_cost_what_their_models_vendor_says(model: str, sizes, words) -> None:
    for size, tokens in sizes.items():
        assert attachment_tokens(picture(*size), model) == tokens, size
    # Images without a size, or with an invalid one, are still counted.
    for odd in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff" * 9, b"", b"GIF89a" + bytes(20)):
        assert attachment_tokens(BinaryContent(odd, media_type="image/png"), model) == IMAGE_TOKENS
    for thin in ((1, 1), (3_000, 1), (1, 3_000)):
        assert attachment_tokens(picture(*thin), model) > 0
    assert attachment_tokens(ImageUrl("https://example.com/a.png"), model) == IMAGE_TOKENS


def test_a_counted_picture_is_counted_anew_for_another_model(words) -> None:
    counter, message = TokenCounter(words), ModelRequest(parts=[UserPromptPart(["See:", picture(900, 600)])])
    counted = []
    for model in ("", "claude-opus-5", "gemini-3-pro"):
        counter.count_as(None, model)
        counted.append(counter.message(message).attachments)
    assert counted == [IMAGE_TOKENS, 33 * 22, 1_120]


def test_attachments_by_kind_and_size() -> None:
    pdf = b"%PDF /Type /Pages /Kids [] " + b"/Type /Page /X " * 3
    assert attachment_tokens(BinaryContent(pdf, media_type="application/pdf")) == 3 * PAGE_TOKENS
    assert (
        attachment_tokens(BinaryContent(b"x" * 120_000, media_type="application/msword")) == 3 * PAGE_TOKENS
    )
    assert (
        attachment_tokens(BinaryContent(b"x" * 160_000, media_type="audio/mpeg"))
        == 10 * AUDIO_TOKENS_PER_SECOND
    )
    assert attachment_tokens(BinaryContent(b"", media_type="audio/wav")) == AUDIO_TOKENS_PER_SECOND
    assert attachment_tokens(UploadedFile("file-1", "openai", media_type="image/png")) == IMAGE_TOKENS
    for item in (
        AudioUrl("https://example.com/a.mp3"),
        VideoUrl("https://example.com/a.mp4"),
        DocumentUrl("https://example.com/a"),
        UploadedFile("file-2", "openai"),
        BinaryContent(b"x" * 999_999, media_type="video/mp4"),
        BinaryContent(b"x", media_type="application/x-strange"),
    ):
        assert attachment_tokens(item) > 100
