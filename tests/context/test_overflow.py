"""Each provider's "too long" error, as received over the wire, and repeated forever."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
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
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage, UsageLimits

from tests.context.governor_kit import Provider, Rig, agent, rig, run, too_long
from tests.context.histories import as_bytes, complaints, long_conversation, prompts
from tui_app.context.counting.tally import is_silent_truncation
from tui_app.context.governor import ContextGovernor
from tui_app.context.policy import OFF, PLIMSOLL, Policy
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.wires.answer_end import CUT_OFF, as_known, incomplete_reason
from tui_app.wires.error_text import body_text, chain, full_text, provider_message, status_of, url_of
from tui_app.wires.overflow import (
    PER_REQUEST,
    SIGNALS,
    ContextOverflow,
    detect_overflow,
    overflow_by_numbers,
    overflow_of_answer,
    tokens_a_minute,
)

# Every provider's "too long" error, and errors that only resemble one.


def http(
    status: int, body: object, category: type[ModelAPIError] | None = None, **extra: str
) -> ModelHTTPError:
    return ModelHTTPError.for_category(category, status_code=status, model_name="m", body=body, **extra)


def inner(message: str, **more: object) -> dict[str, object]:
    """Return the error object as OpenAI-compatible clients keep it."""
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
    """Errors inside a 200 response, and those of other libraries, have only their text and no status."""
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


PER_MINUTE = "Request too large for the model `m` on tokens per minute (TPM): Limit {0}, Requested {1}."


@pytest.mark.parametrize(
    ("status", "message", "numbers"),
    [
        (429, PER_MINUTE.format(30_000, 45_213), (30_000, 45_213)),
        (413, PER_MINUTE.format(12_000, 21_893), (12_000, 21_893)),
        (429, "Rate limit reached (TPM): Limit 30000, Used 900, Requested 31000.", (30_000, 31_000)),
        (429, "Extra usage is required for long context requests.", (None, None)),
        (400, "Usage credits required for 1M context", (None, None)),
        (400, "The long context beta is not yet available for this subscription.", (None, None)),
        (
            400,
            "Invalid 'input[3].output': string too long. Expected a string with maximum length 900000.",
            (None, None),
        ),
        (
            400,
            "Invalid 'messages': array too long. Expected an array with maximum length 2048.",
            (None, None),
        ),
        (400, "messages: too many total text bytes: 9500000 > 9000000", (None, None)),
    ],
)
def test_a_limit_for_one_request_is_not_waited_for(status, message, numbers) -> None:
    category = ModelRateLimitError if status in (413, 429) else None
    found = detect_overflow(http(status, {"message": message, "code": "rate_limit_exceeded"}, category))
    assert found is not None
    assert (found.signal, (found.limit, found.requested)) == (PER_REQUEST, numbers)


@pytest.mark.parametrize(
    "message",
    [
        PER_MINUTE.format(30_000, 12_000),
        "Rate limit reached (TPM): Limit 30000, Used 29000, Requested 1500. Try again in 1s.",
        "Invalid 'tools[3].function.name': string too long. Expected a string with maximum length 64.",
        "Invalid 'tools': array too long. Expected an array with maximum length 128.",
    ],
)
def test_what_fits_by_itself_came_too_early_only(message: str) -> None:
    assert detect_overflow(http(429, {"message": message}, ModelRateLimitError)) is None


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("prompt length 40000 exceeds maximum length of 32768", (32_768, 40_000)),
        (
            "too many tokens: the number of tokens in the prompt exceeds the limit of 128000. Try again",
            (128_000, None),
        ),
        ("Prompt token count too large", (None, None)),
        (
            "Requested generation length 1 is not possible! The provided prompt is 9000 tokens long, so one"
            " requires a sequence length of 9001, but the maximum supported sequence length is just 8192!",
            (8_192, 9_000),
        ),
        ("Input validation error: inputs must have less than 4096 tokens. Given: 5000", (4_096, 5_000)),
        ("input is too large for this model (max 16384 tokens)", (16_384, None)),
        ("messages too long: context of 131072 tokens exceeded by 2000", (131_072, None)),
        ("Prompt contains 70000 tokens, which is over the limit of 65536", (65_536, 70_000)),
        ("Your conversation is too long for this model. Please shorten it.", (None, None)),
        ("The conversation has become too long. Please begin a new one.", (None, None)),
        ("Token limit exceeded: requested 50000 tokens but the model allows 32768", (32_768, 50_000)),
        ("La entrada supera la longitud máxima de contexto del modelo (8192 tokens)", (8_192, None)),
        (
            "Die Eingabe ist mit 40000 Tokens zu lang, das Modell nimmt höchstens 32768 Tokens.",
            (32_768, 40_000),
        ),
        ("入力が長すぎます。このモデルの最大コンテキスト長は8192トークンです。", (8_192, None)),
        ("Запрос слишком длинный: 40000 токенов при максимуме 32768", (32_768, 40_000)),
        ("입력 토큰 수가 모델의 최대 컨텍스트 길이를 초과했습니다.", (None, None)),
        ("Your prompt is 9,000 tokens, which is over the 8,192-token context window.", (8_192, 9_000)),
        ("the prompt (9000) doesn't fit into the context (n_ctx = 8192)", (8_192, 9_000)),
    ],
)
def test_a_server_that_nobody_knows(message: str, numbers: tuple[int | None, int | None]) -> None:
    """Any refusal stating that the input is too long for a context or a model."""
    for status in (400, 422):
        found = detect_overflow(http(status, {"message": message}))
        assert found is not None
        assert (found.limit, found.requested) == numbers
    assert detect_overflow(http(500, {"message": message})) is None, "no refusal of what was sent"


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (
            "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
            30_000,
        ),
        ("Rate limit reached on tokens per min (TPM): Limit 40000, Used 100, Requested 200.", 40_000),
        ("Your limit is 8,000 output tokens per minute.", None),
        ("Your limit is 50 requests per minute.", None),
        ("You have used 1,000,000 tokens per day.", None),
        (
            {
                "violations": [
                    {"quotaId": "GenerateContentInputTokensPerModelPerMinute-FreeTier", "quotaValue": "25"}
                ]
            },
            25,
        ),
        ({"violations": [{"quotaId": "GenerateContentInputTokensPerModelPerDay", "quotaValue": "25"}]}, None),
        ({"violations": [{"quotaId": "InputTokensPerMinute", "quotaValue": None}, "odd"]}, None),
    ],
)
def test_tokens_that_a_minute_may_have(body: object, limit: int | None) -> None:
    """A request larger than the limit per minute never passes, however long it waits."""
    told = {"message": body} if isinstance(body, str) else {"error": {"details": [body]}}
    assert tokens_a_minute(http(429, told, ModelRateLimitError)) == limit
    assert tokens_a_minute(http(400, told)) is None
    assert detect_overflow(http(429, told, ModelRateLimitError)) is None


@pytest.mark.parametrize("whose", ["the model's", "this model's", "the", "its maximum"])
def test_whose_window_it_is_does_not_matter(whose: str) -> None:
    assert detect_overflow(http(400, {"message": f"Your input exceeds {whose} context window."})) is not None


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
    """Every pattern must be needed by at least one reported error."""
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
    """An SDK's error with its request."""

    def __init__(self, url: str) -> None:
        super().__init__("400")
        self.request = Request(url)


class NoRequestError(Exception):
    """A transport error without its request."""

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


@pytest.mark.parametrize("provider", ["anthropic", "google", "openai"])
def test_a_stream_without_its_end_is_no_whole_answer_on_any_wire(provider: str) -> None:
    cut = ModelResponse(
        parts=[TextPart("The ferry")],
        usage=RequestUsage(input_tokens=9, output_tokens=1),
        provider_name=provider,
        provider_response_id="id",
    )
    assert incomplete_reason(cut) == CUT_OFF
    assert (
        incomplete_reason(replace(cut, finish_reason="stop", provider_details={"finish_reason": "end"})) == ""
    )
    assert incomplete_reason(replace(cut, provider_details={"finish_reason": "a word of its own"})) == ""


@pytest.mark.parametrize(
    ("told", "taken"), [(900.5, 900), (-3, 0), (10**30, 0), (float("nan"), 0), (None, 0), (True, 1), (7, 7)]
)
def test_a_usage_report_of_no_whole_numbers_is_none(told: Any, taken: int) -> None:
    usage = RequestUsage(input_tokens=told, output_tokens=5, cache_read_tokens=40, details={"own": 1})
    plain = as_known(ModelResponse(parts=[], usage=usage)).usage
    assert (plain.input_tokens, plain.output_tokens, plain.cache_read_tokens) == (taken, 5, 40)
    assert type(plain.input_tokens) is int
    assert plain.details == {"own": 1}


# Refusals as received through the vendors' SDKs, before a stream and within one.


Json = dict[str, Any]
Reply = tuple[int, str, str]
"""Status, content type and body."""


def client(reply: Reply) -> httpx2.AsyncClient:
    status, kind, body = reply

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": kind}, text=body)

    return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


def chat(reply: Reply) -> Model:
    sdk = AsyncOpenAI(api_key="none", base_url="http://x", http_client=client(reply), max_retries=0)
    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=sdk))


def responses(reply: Reply) -> Model:
    sdk = AsyncOpenAI(api_key="none", base_url="http://x", http_client=client(reply), max_retries=0)
    return OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=sdk))


def messages(reply: Reply) -> Model:
    sdk = AsyncAnthropic(api_key="none", base_url="http://x", http_client=client(reply), max_retries=0)
    return AnthropicModel("m", provider=AnthropicProvider(anthropic_client=sdk))


def refused(status: int, body: Json) -> Reply:
    return status, "application/json", json.dumps(body)


def streamed(*events: Mapping[str, Any]) -> Reply:
    """Return server-sent events; Anthropic and Responses name each after its type."""
    lines = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    frames = [f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True)]
    return 200, "text/event-stream", "".join(frames)


async def stream(model: Model) -> None:
    async with Agent(model).run_stream_events("Hello") as events:
        async for _event in events:
            pass


async def error_of(model: Model) -> Exception:
    with pytest.raises(Exception, match=r".") as caught:
        await stream(model)
    return caught.value


CHAT_CHUNK: Json = {
    "id": "c",
    "object": "chat.completion.chunk",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well"}, "finish_reason": None}],
}
STARTED: Json = {
    "type": "message_start",
    "message": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    },
}
FAILED: Json = {
    "type": "response.failed",
    "sequence_number": 1,
    "response": {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "status": "failed",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": {
            "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model.",
        },
    },
}
LLAMA = "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"
LLAMA_ERROR: Json = {
    "error": {
        "code": 400,
        "message": LLAMA,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 4_390,
        "n_ctx": 4_096,
    }
}
ANTHROPIC = "prompt is too long: 207791 tokens > 200000 maximum"
ANTHROPIC_ERROR: Json = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": ANTHROPIC},
}
INPUT = "Your input exceeds the context window of this model. Please adjust your input and try again."
SLOW: Json = {"type": "rate_limit_error", "message": "Too many tokens per minute"}

Case = tuple[Callable[[Reply], Model], Reply, tuple[int | None, int | None] | None]
CASES: dict[str, Case] = {
    "chat before the stream": (chat, refused(400, LLAMA_ERROR), (4_096, 4_390)),
    "chat in a 200": (chat, streamed(LLAMA_ERROR), (4_096, 4_390)),
    "chat in the middle": (chat, streamed(CHAT_CHUNK, LLAMA_ERROR), (4_096, 4_390)),
    "chat in the middle without a status": (
        chat,
        streamed(CHAT_CHUNK, {"error": {"message": "Context size has been exceeded.", "type": "other"}}),
        (None, None),
    ),
    "responses before the stream": (
        responses,
        refused(400, {"error": {"code": "context_length_exceeded", "message": INPUT, "param": "input"}}),
        (None, None),
    ),
    "responses error event": (
        responses,
        streamed(
            {
                "type": "error",
                "sequence_number": 0,
                "code": "context_length_exceeded",
                "message": INPUT,
                "param": "input",
            }
        ),
        (None, None),
    ),
    "responses failed event": (responses, streamed(FAILED), (None, None)),
    "messages before the stream": (messages, refused(400, ANTHROPIC_ERROR), (200_000, 207_791)),
    "messages error event": (messages, streamed(ANTHROPIC_ERROR), (200_000, 207_791)),
    "messages in the middle": (messages, streamed(STARTED, ANTHROPIC_ERROR), (200_000, 207_791)),
    "messages too many bytes": (
        messages,
        refused(413, {"type": "error", "error": {"type": "request_too_large", "message": "Too large"}}),
        (None, None),
    ),
    "messages by llama.cpp": (messages, refused(400, LLAMA_ERROR), (4_096, 4_390)),
    "chat slowed down": (chat, streamed(CHAT_CHUNK, {"error": SLOW}), None),
    "messages slowed down": (messages, streamed({"type": "error", "error": SLOW}), None),
    "messages overloaded": (
        messages,
        streamed({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        None,
    ),
    "chat image": (chat, refused(413, {"error": {"message": "Image too large"}}), None),
}


@pytest.mark.parametrize(("protocol", "reply", "numbers"), CASES.values(), ids=CASES.keys())
async def test_refusals_through_the_sdks(protocol, reply, numbers) -> None:
    found = detect_overflow(await error_of(protocol(reply)))
    if numbers is None:
        assert found is None
        return
    assert isinstance(found, ContextOverflow)
    assert (found.limit, found.requested) == numbers


async def answer_of(model: Model) -> ModelResponse:
    result = await Agent(model).run("Hello")
    response = result.all_messages()[-1]
    assert isinstance(response, ModelResponse)
    return response


ENDINGS: Sequence[tuple[Callable[[Reply], Model], Reply]] = (
    (
        chat,
        refused(
            200,
            {
                **CHAT_CHUNK,
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "Half"},
                        "finish_reason": "model_context_window_exceeded",
                    }
                ],
            },
        ),
    ),
    (
        messages,
        refused(
            200,
            {
                **STARTED["message"],
                "content": [{"type": "text", "text": "Half"}],
                "stop_reason": "model_context_window_exceeded",
            },
        ),
    ),
)


@pytest.mark.parametrize(("protocol", "reply"), ENDINGS, ids=["chat", "messages"])
async def test_endings_through_the_sdks(protocol, reply) -> None:
    found = overflow_of_answer(await answer_of(protocol(reply)), 200_000)
    assert found == ContextOverflow(None, None, "finish-reason")


# A provider that says "too long" forever, whatever it is sent: every turn ends soon and properly.


ANNOUNCED = 40_000
TURNS = 3
REFUSED_SUMMARIES = 16
"""Summary requests that one turn may waste: two compactions, in ever smaller parts."""
PARTS = 100
"""Summary requests that may be answered: at most one per 200 tokens, however small the window."""

VAIN = "refused"

Refusal = Callable[[int, int], Exception | None]
"""The error for a request, by its number from 0 and its real size in tokens; None lets it pass."""


def endless_errors_http(status: int, message: str) -> ModelHTTPError:
    body = {"message": message}
    return ModelHTTPError.for_category(None, status_code=status, model_name="scripted", body=body)


def limits(*named: int) -> Refusal:
    """Refuse with the limits in rotation; each request is said to be slightly longer than the limit."""
    return lambda number, _real: too_long(named[number % len(named)], named[number % len(named)] + 100)


REFUSALS: dict[str, Refusal] = {
    "no limit": lambda _number, _real: endless_errors_http(400, "Input is too long for requested model."),
    "bare 413": lambda _number, _real: endless_errors_http(413, ""),
    "no limit, server error": lambda _number, _real: endless_errors_http(
        500, "Context size has been exceeded."
    ),
    "its own limit": lambda _number, real: too_long(ANNOUNCED, real),
    "always a token less": lambda _number, real: too_long(real - 1, real),
    "half of the request": lambda _number, real: too_long(real // 2, real),
    "one limit": limits(12_000),
    "changing limits": limits(12_000, 9_000, 128_000, 7_500, 16_000),
    "shrinking limits": lambda number, real: too_long(max(4_000, 12_000 >> number), real),
    "limit 0": limits(0),
    "limit -1": limits(-1),
    "limit 1": limits(1),
    "limit 10**12": limits(10**12),
    "absurd request": lambda _number, _real: too_long(12_000, 10**9),
    "fits by its own numbers": lambda _number, real: too_long(128_000, real),
    "all absurd limits": limits(0, -1, 10**12, 10**8, 1),
}


class Stubborn(Provider):
    """A provider that refuses until it is healed, with or without refusing summary requests."""

    def __init__(self, refusal: Refusal, *, summaries: bool) -> None:
        super().__init__(ANNOUNCED, real_window=10**9)
        self.refusal: Refusal = refusal
        self.summaries = summaries
        self.numbers = 0

    def healed(self) -> None:
        self.refusal, self.summaries = (lambda _number, _real: None), False

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert complaints(messages) == []
        number, self.numbers = self.numbers, self.numbers + 1
        refusal = self.refusal(number, self.real(messages, info.instructions))
        if refusal is None:
            return super().answer(messages, info)
        self.sent.append(list(messages))
        raise refusal

    def _measured(self, messages: Sequence[ModelMessage], info: AgentInfo) -> int:
        real = super()._measured(messages, info)
        if info.instructions and self.summaries and (refusal := self.refusal(0, real)) is not None:
            self.summary_requests.append(VAIN)
            raise refusal
        return real


async def failed(made: Rig, history: Sequence[ModelMessage], prompt: str) -> ContextTooLarge:
    """Run a turn that must fail, and check the requests it cost."""
    sent, asked = len(made.provider.sent), len(made.provider.summary_requests)
    with pytest.raises(ContextTooLarge) as caught:
        await run(made, history, prompt)
    assert 1 <= len(made.provider.sent) - sent <= 2, "one retry"
    summaries = made.provider.summary_requests[asked:]
    assert summaries.count(VAIN) <= REFUSED_SUMMARIES
    assert len(summaries) <= PARTS
    assert all(prompts(each)[-1] == prompt for each in made.provider.sent[sent:])
    return caught.value


WITHOUT_POLICY = (
    "no limit", "its own limit", "always a token less", "changing limits", "absurd request",
    "fits by its own numbers", "all absurd limits",
)  # fmt: skip
"""Without compaction, a refusal only tells something about the window.

Each of these tells something different. The other refusals differ in how they are recognised, or are among
the absurd and changing ones.
"""
STUBBORN = {
    **{f"{name}-turns": (name, PLIMSOLL, False, TURNS) for name in REFUSALS},
    **{f"{name}-summaries too": (name, PLIMSOLL, True, 2) for name in REFUSALS},
    **{f"{name}-policy off": (name, OFF, False, 2) for name in WITHOUT_POLICY},
}


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize(("name", "policy", "summaries", "turns"), STUBBORN.values(), ids=STUBBORN)
async def test_every_turn_ends_and_the_first_answer_ends_the_trouble(
    name: str, policy: Policy, summaries: bool, turns: int
) -> None:
    provider = Stubborn(REFUSALS[name], summaries=summaries)
    made = rig(provider, policy)
    history = long_conversation(8, 3_000)
    before = as_bytes(history)
    for number in range(turns):
        error_ = await failed(made, history, f"Question {number}?")
        assert error_.limit > 0
        assert error_.requested > 0
    assert as_bytes(history) == before, "nothing that was said is lost"
    provider.healed()
    after = await run(made, history, "And now?")
    assert isinstance(after[-1], ModelResponse)
    assert prompts(made.provider.sent[-1])[-1] == "And now?"


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_short_conversation_is_not_locked(refusal: Refusal) -> None:
    """Nothing can be left out, so the retry and the next turn are as long as the request."""
    provider = Stubborn(refusal, summaries=False)
    made = rig(provider)
    for number in range(TURNS):
        await failed(made, [], f"Question {number}? " + "word " * 100)
    provider.healed()
    after = await run(made, [], "And now? " + "word " * 100)
    assert isinstance(after[-1], ModelResponse)
    assert made.limits.factor(provider) <= 8


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", ["limit 0", "limit -1", "limit 1", "limit 10**12", "all absurd limits"])
async def test_an_absurd_limit_costs_the_model_no_window(name: str) -> None:
    provider = Stubborn(REFUSALS[name], summaries=True)
    made = rig(provider)
    announced = made.limits.window(provider).effective
    history = long_conversation(8, 3_000)
    for number in range(TURNS):
        await failed(made, history, f"Question {number}?")
    assert made.limits.window(provider).stated == ANNOUNCED
    assert made.limits.window(provider).effective >= announced // 2
    provider.healed()
    for number in range(20):
        await run(made, history[:8], f"Question {number}?")
    assert made.limits.window(provider).effective == announced


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", ["no limit", "one limit", "limit 10**12", "always a token less"])
async def test_a_provider_that_refuses_every_other_request(name: str) -> None:
    refusal = REFUSALS[name]
    provider = Stubborn(lambda n, real: None if n % 2 else refusal(n, real), summaries=False)
    made = rig(provider)
    history: list[ModelMessage] = list(long_conversation(8, 3_000))
    for number in range(8):
        history = await run(made, history, f"Question {number}?")
        await made.compactor.settled()
        assert len(provider.sent) == 2 * (number + 1)
    assert prompts(history)[-1] == "Question 7?"
    assert made.limits.window(provider).effective >= 5_000, "half of the smallest believable limit"


@pytest.mark.usefixtures("no_job_left")
async def test_every_request_of_a_turn_with_tools_has_a_retry_of_its_own() -> None:
    refusal = REFUSALS["no limit"]
    provider = Stubborn(lambda n, real: None if n % 2 else refusal(n, real), summaries=False)
    steps = 5
    provider.reply = lambda number: ModelResponse(
        [ToolCallPart("read", {}, f"call-{number}")] if number < 2 * steps else [TextPart("done")]
    )
    made = rig(provider)
    reader = agent(made)
    reader.tool_plain(lambda: "line " * 200, name="read")
    result = await reader.run("Read on.", usage_limits=UsageLimits(request_limit=20))
    assert result.output == "done"
    assert len(provider.sent) == 2 * steps


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", ["no limit", "bare 413", "all absurd limits"])
async def test_a_governor_of_one_line(name: str) -> None:
    provider = Stubborn(REFUSALS[name], summaries=True)
    governor = ContextGovernor()
    governed = Agent(provider, capabilities=[governor])
    history = long_conversation(8, 3_000)
    for number in range(TURNS):
        with pytest.raises(ContextTooLarge):
            await governed.run(f"Question {number}?", message_history=history)
    assert TURNS <= len(provider.sent) <= 2 * TURNS
    assert len(provider.summary_requests) <= REFUSED_SUMMARIES * TURNS
    provider.healed()
    result = await governed.run("And now?", message_history=history)
    assert result.output.startswith("answer")
    await governor.aclose()


@pytest.mark.usefixtures("no_job_left")
async def test_with_a_summary_by_extraction_the_turn_ends_as_well() -> None:
    provider = Stubborn(REFUSALS["bare 413"], summaries=True)
    made = rig(provider, fallback=ExtractiveSummariser(lambda text: len(text) // 4 + 1))
    history = long_conversation(8, 3_000)
    for number in range(TURNS):
        await failed(made, history, f"Question {number}?")
    assert "success" in made.heard.outcomes


@pytest.mark.parametrize(
    ("status", "words", "limit", "requested"),
    [
        (400, "total message size 480000 exceeds limit 200000", None, None),
        (400, "input_tokens: 140000, max: 131072", 131_072, 140_000),
        (422, "140,000/131,072", 131_072, 140_000),
        (413, "La suma (120k) no cabe en 100k", 100_000, 120_000),
    ],
)
def test_a_refusal_that_names_the_size_of_its_request_is_one_whatever_the_words(
    status: int, words: str, limit: int | None, requested: int | None
) -> None:
    error = ModelHTTPError(status, "m", {"message": words})
    request: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("tide " * 100_000)])]
    found = overflow_by_numbers(error, 130_000, request)
    assert found is not None
    assert (found.limit, found.requested) == (limit, requested)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "max_tokens must be 8192 at most, not 16384"),
        (400, "image of 9000 x 8000 pixels"),
        (400, "130000 is no known model"),
        (500, "140000 > 131072"),
        (429, "140000 > 131072"),
    ],
)
def test_other_numbers_say_nothing_of_the_size(status: int, words: str) -> None:
    error = ModelHTTPError(status, "m", {"message": words})
    assert overflow_by_numbers(error, 130_000, [ModelRequest(parts=[UserPromptPart("tide")])]) is None
