"""Every provider's way to say "too long", and everything that only sounds like it."""

import json
from pathlib import Path

import pytest
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    UnexpectedModelBehavior,
)

from tui_app.context.error_text import body_text, chain, full_text, provider_message, status_of, url_of
from tui_app.context.measure import is_silent_truncation
from tui_app.context.overflow import (
    ContextOverflow,
    detect_overflow,
    overflow_finish_reason,
)


def http(
    status: int, body: object, category: type[ModelAPIError] | None = None, **extra: str
) -> ModelHTTPError:
    return ModelHTTPError.for_category(category, status_code=status, model_name="m", body=body, **extra)


def inner(message: str, **more: object) -> dict[str, object]:
    """The error object as OpenAI-compatible clients keep it."""
    return {"message": message, **more}


REPORTS = json.loads(Path(__file__).with_name("provider_errors.json").read_text("utf-8"))
ROWS = {
    row["provider"]: (row["status"], row["body"], (row["limit"], row["requested"], row["answer"]))
    for row in REPORTS
}


@pytest.mark.parametrize(("status", "body", "numbers"), ROWS.values(), ids=ROWS.keys())
@pytest.mark.parametrize("category", [None, ModelRequestRejectedError])
def test_every_provider(status, body, numbers, category) -> None:
    found = detect_overflow(http(status, body, category))
    assert found is not None
    assert (found.limit, found.requested, found.answer) == numbers
    assert found.signal


@pytest.mark.parametrize(("status", "body", "numbers"), ROWS.values(), ids=ROWS.keys())
def test_the_same_as_a_plain_exception(status, body, numbers) -> None:
    """Errors inside a 200 answer, and those of other libraries, have no status: only their text."""
    if status == 413 and numbers == (None, None, 0):
        return
    found = detect_overflow(ValueError(f"Error code: {status} - {body}"))
    assert found is not None
    if numbers[0] and not (isinstance(body, dict) and "n_ctx" in body):
        assert (found.limit, found.requested, found.answer) == numbers


FALSE_ALARMS = {
    "429": http(429, inner("Rate limit reached", code="rate_limit_exceeded"), ModelRateLimitError),
    "429-size-words": http(
        429,
        inner("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 39448."),
        ModelRateLimitError,
    ),
    "429-long-context": http(429, inner("prompt is too long: 3 tokens > 2 maximum")),
    "413-tpm": http(
        413,
        inner(
            "Request too large for model `llama` in organization `o` on tokens per minute (TPM): Limit"
            " 6000, Requested 10713, please reduce your message size and try again.",
            code="rate_limit_exceeded",
        ),
    ),
    "bedrock-throttling": http(400, inner("Too many tokens, please wait before trying again.")),
    "bedrock-throttling-code": http(
        400, {"Error": {"Code": "ThrottlingException", "Message": "Too many tokens"}}
    ),
    "mistral-3051": http(
        400,
        {"object": "error", "code": "3051", "message": "reasoning_effort is not supported by this model"},
        ModelContextWindowExceededError,
        provider_error_code="3051",
    ),
    "bad-parameter": http(400, inner("Unsupported parameter: 'max_tokens'.", code="unsupported_parameter")),
    "answer-limit": http(
        400, inner("max_tokens is too large: 50000. This model supports at most 16384 completion tokens.")
    ),
    "image": http(400, inner("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes")),
    "tool-name": http(400, inner("tools.0.name: String should have at most 64 characters")),
    "empty-400": http(400, None),
    "500": http(500, inner("The server had an error"), ModelServerError),
    "503": http(503, inner("prompt is too long to wait for")),
    "401": http(401, inner("Incorrect API key provided: sk-abc. context_length_exceeded")),
    "404": http(404, inner("model not found: maximum context length is 10 tokens")),
    "echoed-request": http(
        422,
        {
            "detail": [
                {"msg": "Field required", "loc": ["body", "model"], "input": "why: prompt is too long?"}
            ]
        },
    ),
    "timeout": TimeoutError("timed out"),
    "value": ValueError("invalid literal"),
    "empty": ValueError(),
    "cancelled": KeyboardInterrupt(),
    "answer": UnexpectedModelBehavior("Received empty model response"),
}


@pytest.mark.parametrize("error", FALSE_ALARMS.values(), ids=FALSE_ALARMS.keys())
def test_what_only_sounds_like_it(error) -> None:
    assert detect_overflow(error) is None


def test_what_pydantic_ai_names_counts_without_any_wording() -> None:
    assert detect_overflow(ModelContextWindowExceededError("m", "no text")) == ContextOverflow(
        None, None, "pydantic-ai"
    )
    real = http(
        400,
        inner("Too large for this context"),
        ModelContextWindowExceededError,
        provider_error_code="3051",
    )
    assert detect_overflow(real) is not None


def test_a_code_needs_no_wording() -> None:
    error = http(400, inner("nope"), provider_error_code="context_length_exceeded")
    assert detect_overflow(error) == ContextOverflow(None, None, "code")
    error = http(400, inner("nope"), provider_error_type="exceed_context_size_error")
    assert detect_overflow(error) is not None


def test_causes_and_groups_are_searched() -> None:
    outer = RuntimeError("the turn failed")
    outer.__cause__ = http(*ROWS["llama.cpp"][:2])
    assert detect_overflow(outer) == ContextOverflow(2_048, 12_608, "llama.cpp")
    group = FallbackExceptionGroup("all failed", [ValueError("x"), http(*ROWS["anthropic"][:2])])
    assert detect_overflow(group) == ContextOverflow(200_000, 207_791, "anthropic")


def test_an_error_handled_earlier_is_not_a_cause() -> None:
    later = ValueError("something else")
    later.__context__ = http(*ROWS["anthropic"][:2])
    assert detect_overflow(later) is None


def test_input_is_what_was_requested_without_the_answer() -> None:
    found = detect_overflow(http(*ROWS["anthropic-with-answer"][:2]))
    assert found is not None
    assert found.input == 178_959
    assert ContextOverflow(None, None, "x").input is None


class Request:
    """An HTTP request of any client library."""

    def __init__(self, url: str) -> None:
        self.url = url


class SdkError(Exception):
    """An SDK's error that knows its request."""

    def __init__(self, url: str) -> None:
        super().__init__("400")
        self.request = Request(url)


class NoRequestError(Exception):
    """A transport error made without its request."""

    @property
    def request(self) -> Request:
        raise RuntimeError("not set")


@pytest.mark.parametrize(
    ("host", "overflow"),
    [("https://api.cerebras.ai/v1/chat", True), ("https://api.openai.com/v1/chat", False)],
)
def test_cerebras_refuses_without_a_body(host, overflow) -> None:
    error = http(400, None)
    error.__cause__ = SdkError(host)
    assert url_of(error) == host
    assert (detect_overflow(error) is not None) is overflow
    with_body = http(400, inner("bad parameter"))
    with_body.__cause__ = SdkError(host)
    assert detect_overflow(with_body) is None


def test_text_of_strange_errors() -> None:
    looped = ValueError("a")
    looped.__cause__ = looped
    assert chain(looped) == [looped]
    assert url_of(NoRequestError()) == ""
    assert status_of(ValueError()) is None
    deep: dict[str, object] = {}
    deep["error"] = deep
    assert body_text(http(400, deep))
    assert provider_message(http(400, deep)) == ""
    assert provider_message(http(400, {"error": {"message": "why"}})) == "why"
    assert provider_message(http(502, "<html>bad gateway</html>")) == ""
    assert full_text(http(400, {})) == "status_code: 400, model_name: m, body: {}"


@pytest.mark.parametrize(
    ("reason", "overflow"),
    [
        ("model_context_window_exceeded", True),
        ("MODEL_CONTEXT_WINDOW_EXCEEDED", True),
        ("length", False),
        ("", False),
        (None, False),
    ],
)
def test_finish_reasons(reason, overflow) -> None:
    assert overflow_finish_reason(reason) is overflow


@pytest.mark.parametrize(
    ("counted", "reported", "silent"),
    [
        (13_055, 2_050, True),
        (4_200, 2_050, True),
        (10_000, 7_000, False),
        (10_000, 10_400, False),
        (10_000, 0, False),
        (10_000, -1, False),
        (1_500, 100, False),
        (0, 0, False),
    ],
)
def test_silent_truncation(counted, reported, silent) -> None:
    assert is_silent_truncation(counted, reported) is silent
