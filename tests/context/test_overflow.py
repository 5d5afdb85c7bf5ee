"""Every provider's way to say "too long", and everything that only sounds like it."""

import json
from pathlib import Path

import pytest
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from tui_app.context.counting.tally import is_silent_truncation
from tui_app.context.overflow.detection import (
    SIGNALS,
    ContextOverflow,
    detect_overflow,
    overflow_finish_reason,
    overflow_of_answer,
)
from tui_app.context.overflow.error_text import (
    body_text,
    chain,
    full_text,
    provider_message,
    status_of,
    url_of,
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
    found = detect_overflow(ValueError(f"Error code: {status} - {body}"))
    if status == 413 and numbers == (None, None, 0) and "type" not in str(body):
        assert found is None, "the status alone told it"
        return
    assert found is not None
    assert (found.limit, found.requested, found.answer) == numbers


ALARMS = json.loads(Path(__file__).with_name("false_alarms.json").read_text("utf-8"))
CATEGORIES = {
    "413 per minute": ModelRateLimitError,
    "429": ModelRateLimitError,
    "429 spent quota": ModelQuotaExceededError,
    "500": ModelServerError,
    "mistral 3051": ModelContextWindowExceededError,
}


@pytest.mark.parametrize("row", ALARMS, ids=lambda row: row["name"])
def test_what_only_sounds_like_it(row) -> None:
    named = {"provider_error_code": row["code"], "provider_error_type": row["type"]}
    told = {name: value for name, value in named.items() if value}
    error = http(row["status"], row["body"], CATEGORIES.get(row["name"]), **told)
    assert detect_overflow(error) is None
    cause = RuntimeError("the turn failed")
    cause.__cause__ = error
    assert detect_overflow(cause) is None


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("timed out"),
        ValueError("invalid literal"),
        ValueError(),
        KeyboardInterrupt(),
        UnexpectedModelBehavior("Received empty model response"),
    ],
    ids=repr,
)
def test_other_exceptions_are_none(error) -> None:
    assert detect_overflow(error) is None


def test_pydantic_ais_own_name_does_not_count_where_the_request_was_quoted() -> None:
    for name in ("echo vllm printed", "echo google", "echo openai value"):
        (row,) = [row for row in ALARMS if row["name"] == name]
        assert detect_overflow(http(row["status"], row["body"], ModelContextWindowExceededError)) is None


QUESTION = (
    "Why does my server say that this model's maximum context length is 4096 tokens? I never sent so many."
)


def sent(text: str) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[ToolCallPart("look", {"at": text}, "c")]),
        ModelRequest(parts=[ToolReturnPart("look", {"found": text}, "c"), UserPromptPart([text, "more"])]),
        ModelRequest(parts=[UserPromptPart(text)]),
    ]


def test_words_that_an_error_repeats_from_the_request_say_nothing() -> None:
    error = http(400, inner(f"The role of this message is unknown >>> {QUESTION} <<<"))
    assert detect_overflow(error, sent(QUESTION)) is None
    assert detect_overflow(error, sent("Hello")) == ContextOverflow(4_096, None, "openai")
    named = http(400, inner(f"unknown role >>> {QUESTION} <<<"), ModelContextWindowExceededError)
    assert detect_overflow(named, sent(QUESTION)) is None
    both = http(400, inner(f"> {QUESTION}\nprompt is too long: 9000 tokens > 8192 maximum"))
    assert detect_overflow(both, sent(QUESTION)) == ContextOverflow(8_192, 9_000, "anthropic")


@pytest.mark.parametrize(("status", "body", "numbers"), ROWS.values(), ids=ROWS.keys())
def test_an_error_that_a_person_asks_about_is_known_when_it_comes_up_again(status, body, numbers) -> None:
    found = detect_overflow(http(status, body), sent(f"What is this? {provider_message(http(status, body))}"))
    assert found is not None
    assert (found.limit, found.requested, found.answer) == numbers


@pytest.mark.parametrize("quote", ["'", '"'])
def test_what_a_gateway_quotes_of_the_server_behind_it_counts(quote: str) -> None:
    said = f"{quote}prompt is too long: 9000 tokens > 8192 maximum{quote}"
    for text in (f"upstream said: {said}", f"BadRequestError(400, {said})", f"errors: [{said}]"):
        assert detect_overflow(http(400, inner(text))) == ContextOverflow(8_192, 9_000, "anthropic")


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


@pytest.mark.parametrize("first", [0, 1])
def test_each_model_of_a_group_is_judged_by_itself(first: int) -> None:
    limited = http(429, inner("tokens per min"), ModelRateLimitError)
    long = http(*ROWS["anthropic"][:2])
    members = [limited, long] if first == 0 else [long, limited]
    found = ContextOverflow(200_000, 207_791, "anthropic")
    assert detect_overflow(FallbackExceptionGroup("all failed", members)) == found
    turn = RuntimeError("the turn failed")
    turn.__cause__ = FallbackExceptionGroup(
        "all failed", [ValueError("x"), FallbackExceptionGroup("", members)]
    )
    assert detect_overflow(turn) == found
    quoted = http(429, inner("prompt is too long: 3 tokens > 2 maximum"))
    assert detect_overflow(FallbackExceptionGroup("", [http(400, inner("no")), quoted])) is None


@pytest.mark.parametrize("status", [502, 503, 504, 529])
def test_a_gateway_that_is_down_only_counts_when_it_names_a_limit(status: int) -> None:
    named = inner("upstream said: prompt is too long: 207791 tokens > 200000 maximum")
    assert detect_overflow(http(status, named)) == ContextOverflow(200_000, 207_791, "anthropic")
    assert detect_overflow(http(status, inner("prompt is too long"))) is None


def test_every_signal_has_a_report_that_needs_it() -> None:
    """A pattern that no row of the table would miss is a pattern nobody has seen work."""
    texts = [full_text(http(row["status"], row["body"])) for row in REPORTS]
    unseen = [signal for signal in SIGNALS if not any(signal.pattern.search(text) for text in texts)]
    assert unseen == []


def test_an_error_handled_earlier_is_not_a_cause() -> None:
    later = ValueError("something else")
    later.__context__ = http(*ROWS["anthropic"][:2])
    assert detect_overflow(later) is None


def test_a_total_of_which_nobody_tells_the_answer_teaches_no_input() -> None:
    found = detect_overflow(http(*ROWS["cloudflare"][:2]))
    assert found is not None
    assert (found.requested, found.answer, found.input) == (35_000, None, None)


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


def ended(reason: str, finish: str, input_tokens: int, text: str = "Half of") -> ModelResponse:
    return ModelResponse(
        parts=[TextPart(text)],
        usage=RequestUsage(input_tokens=input_tokens, output_tokens=len(text)),
        finish_reason=finish,
        provider_details={"finish_reason": reason} if reason else None,
    )


@pytest.mark.parametrize(
    ("response", "signal"),
    [
        (ended("model_context_window_exceeded", "length", 50), "finish-reason"),
        (ended("MODEL_CONTEXT_WINDOW_EXCEEDED", "length", 50), "finish-reason"),
        (ended("length", "length", 1_000, ""), "no-room-for-an-answer"),
        (ended("", "length", 991), "no-room-for-an-answer"),
        (ended("length", "length", 500, ""), None),
        (ended("length", "length", 989), None),
        (ended("stop", "stop", 1_200), None),
        (ended("max_tokens", "length", 100), None),
        (ModelResponse(parts=[]), None),
    ],
)
def test_answers_that_end_because_the_window_is_full(response, signal) -> None:
    found = overflow_of_answer(response, 1_000)
    assert found == (None if signal is None else ContextOverflow(None, None, signal))


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
