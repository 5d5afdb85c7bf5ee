"""Errors as shown to users: one sentence, what to do next, and never an API key."""

import json
import re
import socket
import sqlite3
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.models import infer_model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tui_app import agent
from tui_app.agent.error_sentences import sentence
from tui_app.agent.errors import describe_error, may_be_size
from tui_app.agent.retry_rules import passes
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.conversation.models.retry_advice import with_size
from tui_app.events import Error, ErrorKind
from tui_app.next_steps import screen_text
from tui_app.providers import key_variable
from tui_app.system.secrets import MASK
from tui_app.wires.error_text import asked_pause, known_pause

MODEL = "openai:gpt-5"
LIBRARY_WORDS = re.compile(
    r"\w+(Error|Exception|Behavior|Exceeded)\b|pydantic|httpx|litellm|Traceback|status_code"
)


def http(
    status: int, body: object = None, category: type[ModelAPIError] | None = None, **extra
) -> ModelHTTPError:
    return ModelHTTPError.for_category(category, status_code=status, model_name="gpt-5", body=body, **extra)


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def full_log() -> sqlite3.Error:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


class Request:
    url = "http://127.0.0.1:11434/v1/chat/completions"


class SdkConnectionError(Exception):
    request = Request()


def google(*details: object) -> dict[str, object]:
    return {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": list(details)}}


PAUSE = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}
A_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}],
}
A_MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}


OVERFLOW = {"message": "request (12608 tokens) exceeds the available context size (2048 tokens)"}
NO_KEY = "Set the `OPENAI_API_KEY` environment variable or pass it via `OpenAIProvider(api_key=...)`."
# error, kind, retryable, part of the message, part of the hint
CASES = {
    "overflow": (
        http(400, OVERFLOW),
        "context_overflow",
        False,
        "12,608 tokens.*2,048",
        "ctrl\\+g.*ctrl\\+l",
    ),
    "too large": (ContextTooLarge(1_000, 2_000), "context_overflow", False, "2,000.*1,000", "ctrl\\+g"),
    "413": (http(413), "context_overflow", False, "longer than", "ctrl\\+g"),
    "401": (
        http(401, {"message": "no"}),
        "auth",
        False,
        "did not accept the API key",
        "OPENAI_API_KEY.*ctrl\\+l",
    ),
    "401 typed": (
        http(401, None, ModelAuthenticationError),
        "auth",
        False,
        "did not accept",
        "OPENAI_API_KEY",
    ),
    "403": (http(403), "auth", False, "does not allow", "OPENAI_API_KEY"),
    "403 typed": (
        http(403, None, ModelAuthenticationError),
        "auth",
        False,
        "does not allow",
        "OPENAI_API_KEY",
    ),
    "400 bad key": (
        http(
            400,
            {"error": {"message": "API key not valid. Please pass a valid API key."}},
            ModelRequestRejectedError,
        ),
        "auth",
        False,
        "did not accept",
        "OPENAI_API_KEY",
    ),
    "404": (http(404), "input", False, "no model named openai:gpt-5", "base URL.*ctrl\\+l"),
    "404 suggestion": (
        http(404, None, ModelNotFoundError, suggested_model_id="gpt-5-mini"),
        "input",
        False,
        "no model",
        "Did you mean gpt-5-mini\\?",
    ),
    "429": (http(429), "rate_limit", True, "limiting requests", "Wait a moment"),
    "429 wait": (http(429, headers={"Retry-After": "12"}), "rate_limit", True, "wait 12 s", "Wait 12 s"),
    "google wait": (
        http(429, google(A_MINUTE, PAUSE), ModelRateLimitError),
        "rate_limit",
        True,
        "wait 35 s",
        "Wait 35 s",
    ),
    "google, in a list": (http(429, [google(PAUSE)]), "rate_limit", True, "wait 35 s", "Wait 35 s"),
    "google behind a gateway": (
        http(429, {"message": "Provider returned error", "metadata": {"raw": json.dumps(google(PAUSE))}}),
        "rate_limit",
        True,
        "wait 35 s",
        "Wait 35 s",
    ),
    "google, a day": (
        http(429, google(A_DAY, PAUSE), ModelRateLimitError),
        "rate_limit",
        False,
        "daily quota",
        "ctrl\\+l",
    ),
    "a day in words": (
        http(429, {"message": "You exceeded your quota of 50 requests per day."}, ModelRateLimitError),
        "rate_limit",
        False,
        "daily quota",
        "ctrl\\+l",
    ),
    "a day that rolls": (
        http(429, {"message": "Limit on tokens per day reached"}, headers={"retry-after": "20"}),
        "rate_limit",
        True,
        "wait 20 s",
        "Wait 20 s",
    ),
    "quota by code": (
        http(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
        "rate_limit",
        False,
        "no credit or quota",
        "billing",
    ),
    **{
        f"no credit, {status} {code or 'in words'}": (
            http(status, {"error": {"message": text, "code": code, "type": "api_error"}}),
            "rate_limit",
            False,
            "no credit or quota",
            "billing",
        )
        for status, code, text in (
            (403, "insufficient_user_quota", "用户额度不足, 剩余额度: -0.000002"),
            (403, "", "user quota is not enough (request id: 2025)"),
            (429, "1113", "余额不足或无可用资源包,请充值。"),
            (429, "exceeded_current_quota_error", "Your account is suspended"),
            (400, "Arrearage", "Access denied, please make sure your account is in good standing."),
            (400, "", "Your credit balance is too low to access the API."),
        )
    },
    **{
        f"no model, {status}": (
            http(status, {"error": {"message": text}}),
            "input",
            False,
            f"no model named openai:gpt-5: {text}",
            "ctrl\\+l",
        )
        for status, text in (
            (400, "The model llama-3.1-70b has been decommissioned and is no longer supported"),
            (410, "The model gpt-4-32k has been deprecated"),
            (404, "This model is no longer available to new users"),
        )
    },
    "400 about a parameter of a model": (
        http(400, {"message": "model gpt-5: temperature is deprecated"}),
        "provider",
        False,
        "refused the request",
        "ctrl\\+o",
    ),
    "404 that knows the model": (
        http(404, {"error": {"message": "No endpoints found that support tool use.", "code": 404}}),
        "provider",
        False,
        "support tool use",
        "ctrl\\+o",
    ),
    "400 key in Chinese": (
        http(400, {"message": "无效的令牌"}),
        "auth",
        False,
        "did not accept",
        "OPENAI_API_KEY",
    ),
    "400 filter in Chinese": (
        http(400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
        "provider",
        False,
        "content filter",
        "Rephrase",
    ),
    "403 of a place": (
        http(403, {"error": {"message": "Country, region, or territory not supported"}}),
        "auth",
        False,
        "does not allow.*: Country, region, or territory not supported",
        "OPENAI_API_KEY",
    ),
    "a page": (http(511, None, ModelServerError), "network", True, "web page came", "base URL"),
    "429 that speaks of a length": (
        http(
            429,
            {"message": "This model's maximum context length is 4096 tokens"},
            ModelContextWindowExceededError,
        ),
        "rate_limit",
        True,
        "limiting requests",
        "Wait a moment",
    ),
    "429 long": (
        http(429, None, ModelRateLimitError, headers={"retry-after": "600"}),
        "rate_limit",
        True,
        "10 min",
        "Wait 10 min",
    ),
    "413 tpm": (
        http(413, {"message": "Request too large on tokens per minute (TPM): Limit 6000, Requested 9000"}),
        "context_overflow",
        False,
        "Request too large on tokens per minute",
        "Waiting does not help",
    ),
    "quota": (http(429, None, ModelQuotaExceededError), "rate_limit", False, "no credit or quota", "billing"),
    "402": (http(402), "rate_limit", False, "no credit", "billing"),
    "500": (
        http(500, None, ModelServerError),
        "provider",
        True,
        "internal error \\(HTTP 500\\)",
        "Send again",
    ),
    "502 page": (http(502, "<html>Bad gateway</html>"), "provider", True, "HTTP 502", "Send again"),
    "503": (http(503), "provider", True, "overloaded \\(HTTP 503\\)", "Send again"),
    "529": (http(529, None, ModelOverloadedError), "provider", True, "overloaded \\(HTTP 529\\)", "ctrl\\+l"),
    "400": (
        http(
            400,
            {"message": "litellm.BadRequestError: Unsupported parameter: 'top_k'."},
            ModelRequestRejectedError,
        ),
        "provider",
        False,
        "refused the request to openai:gpt-5: Unsupported parameter: 'top_k'\\.$",
        "ctrl\\+o",
    ),
    "400 pixels": (
        http(400, {"message": "image.source: At least one of the image dimensions exceed max allowed size"}),
        "provider",
        False,
        "image dimensions exceed",
        "picture.*ctrl\\+g",
    ),
    "too many pictures": (
        http(400, {"message": "messages: too many images and documents: 150 + 0 > 100"}),
        "provider",
        False,
        "too many images",
        "picture.*ctrl\\+g",
    ),
    "400 bytes": (
        http(
            400,
            {"message": "messages.0.content.1: image exceeds 5 MB maximum: 6291456 bytes"},
            ModelRequestRejectedError,
        ),
        "provider",
        False,
        "image exceeds 5 MB",
        "picture.*smaller",
    ),
    "413 picture": (http(413, {"message": "Image too large"}), "provider", False, "too large", "picture"),
    "400 bare": (http(400), "provider", False, "refused the request to openai:gpt-5\\.$", "ctrl\\+o"),
    "refused": (
        caused(
            ModelConnectionError("gpt-5", "Connection error."),
            caused(SdkConnectionError("x"), ConnectionRefusedError(111, "Connection refused")),
        ),
        "network",
        True,
        "^Nothing answers at 127.0.0.1:11434.$",
        r"^Start Ollama \(ollama serve\), then send again.*ctrl\+l",
    ),
    "refused plain": (ConnectionRefusedError(111, "Connection refused"), "network", True, "refused", "runs"),
    "dns": (
        caused(
            ModelConnectionError("m", "Connection error."), socket.gaierror(-2, "Name or service not known")
        ),
        "network",
        True,
        "address of .* could not be found",
        "base URL",
    ),
    "dns text": (
        RuntimeError("[Errno -3] Temporary failure in name resolution"),
        "network",
        True,
        "address",
        "network",
    ),
    "broken": (ModelConnectionError("m", "peer closed", phase="read"), "network", True, "broke", "network"),
    "timeout": (
        ModelTimeoutError("m", "Request timed out."),
        "network",
        True,
        "did not answer in time",
        "again",
    ),
    "deadline": (ModelRequestTimeout("m", 30.0), "network", True, "did not answer in time", "again"),
    "plain timeout": (TimeoutError(), "network", True, "did not answer in time", "again"),
    "504": (http(504), "network", True, "did not answer in time", "again"),
    "no key": (UserError(NO_KEY), "auth", False, "OPENAI_API_KEY is not set", "Set OPENAI_API_KEY.*ctrl\\+l"),
    "no address": (
        UserError("Set the `VLLM_BASE_URL` environment variable or pass it"),
        "input",
        False,
        "needs VLLM_BASE_URL",
        "Set VLLM_BASE_URL",
    ),
    "unknown model": (
        UserError("Unknown model: gpt-5.2. Did you mean 'openai-chat:gpt-5.2'?"),
        "input",
        False,
        "There is no model named",
        "Did you mean openai-chat:gpt-5.2\\?",
    ),
    "misconfigured": (UserError("Something about `x`"), "input", False, "cannot be used", "settings"),
    "package": (
        ImportError('Please install the `groq` package — `pip install "pydantic-ai-slim[groq]"`'),
        "input",
        False,
        "package .* not installed",
        "groq",
    ),
    "redirects": (
        ModelHTTPError(307, "m", None),
        "network",
        False,
        "redirects to another address.*HTTP 307",
        "base URL",
    ),
    "usage limit": (
        UsageLimitExceeded("The next request would exceed the request_limit of 50"),
        "input",
        True,
        "limit of 50 \\(request\\)",
        "continue",
    ),
    "empty": (
        UnexpectedModelBehavior("Received empty model response"),
        "provider",
        True,
        "empty answer",
        "again",
    ),
    "nothing": (
        UnexpectedModelBehavior("Streamed response ended without content or tool calls"),
        "network",
        True,
        "cut off before its first word",
        "again",
    ),
    "strange": (
        UnexpectedModelBehavior("Invalid response", '{"a": 1}'),
        "provider",
        True,
        "cannot be used",
        "again",
    ),
    "tool": (
        UnexpectedModelBehavior("Tool 'edit_file' exceeded max retries count of 1"),
        "tool",
        True,
        "edit_file",
        "again",
    ),
    "filter": (
        ContentFilterError("Content filter triggered"),
        "provider",
        False,
        "content filter",
        "Rephrase",
    ),
    "group": (
        FallbackExceptionGroup("All failed", [http(429, None, ModelRateLimitError), ValueError("x")]),
        "rate_limit",
        True,
        "limiting",
        "Wait",
    ),
    "wrapped": (caused(RuntimeError("turn"), http(401)), "auth", False, "did not accept", "OPENAI_API_KEY"),
    "bug": (KeyError("parts"), "internal", False, "unexpected", "ctrl\\+o"),
    "silent bug": (ValueError(), "internal", False, "unexpected", "ctrl\\+o"),
    "disk": (OSError(28, "No space left on device"), "internal", False, "disk is full", "kept.*try again"),
    "disk, log": (
        caused(OSError("full"), full_log()),
        "internal",
        False,
        "disk is full: the sessions file",
        "Free some disk space",
    ),
    "file is read-only": (
        OSError(30, "Read-only file system"),
        "internal",
        False,
        "cannot be used: Read-only",
        "kept",
    ),
}


@pytest.mark.parametrize(("error", "kind", "retryable", "message", "hint"), CASES.values(), ids=CASES.keys())
def test_cases(error, kind, retryable, message, hint) -> None:
    said = describe_error(error, model=MODEL)
    assert isinstance(said, Error)
    assert (said.kind, said.retryable) == (kind, retryable)
    assert re.search(message, said.message), said.message
    way = screen_text(said.hint, said.actions, {})
    assert re.search(hint, way), way
    assert not LIBRARY_WORDS.search(said.message), said.message
    assert said.message.endswith(".")
    assert "\n" not in said.message
    assert type(error).__name__ in said.detail


def test_overflow_carries_its_numbers() -> None:
    said = describe_error(http(400, OVERFLOW), model="vllm:tiny")
    assert (said.limit, said.requested) == (2_048, 12_608)
    said = describe_error(ContextTooLarge(100, 900), model="vllm:tiny")
    assert (said.limit, said.requested) == (100, 900)


# Keys: a missing one is named, but no value is shown, nor control characters for the terminal.


SECRET = "sk-proj-" + "abCD1234" * 6


class ErrorMaskingRequest:
    url = "http://user:hunter2secret@127.0.0.1:11434/v1/chat/completions"


class AddressedError(Exception):
    request = ErrorMaskingRequest()


def rejected(status: int, body: object) -> ModelHTTPError:
    return ModelHTTPError(status, "gpt-5", body)


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {SECRET}. You can find your key",
        "Incorrect API key provided: sk-abcde***************************wxyz.",
        f"headers: Authorization: Bearer {SECRET}",
        "Authorization: Bearer abcdef.ghijkl",
        "x-api-key: gsk_abcdefghijklmnopqrstuvwxyz012345",
        "https://example.com/v1?key=AIzaSyA1234567890abcdefghijklmnopqrstuvw",
    ],
)
@pytest.mark.parametrize("status", [400, 401, 500])
def test_keys_are_masked_everywhere(text, status) -> None:
    said = describe_error(rejected(status, {"message": text}), model=MODEL)
    everything = " ".join((said.message, said.hint, said.detail))
    for secret in (SECRET, SECRET[8:], "abcde***", "abcdef.ghijkl", "gsk_abc", "AIzaSy"):
        assert secret not in everything
    assert MASK in said.detail


def test_passwords_in_addresses_are_not_shown() -> None:
    error = ModelConnectionError("m", "Connection error.")
    error.__cause__ = AddressedError("Connection refused")
    said = describe_error(error, model=MODEL)
    assert "127.0.0.1:11434" in said.message
    assert "hunter2" not in said.message + said.hint + said.detail


def test_foreign_text_is_tamed() -> None:
    hostile = "bad \x1b[31mred\x1b[0m \u202eevil\nsecond [bold]line[/]\x00 " + "long " * 500
    said = describe_error(rejected(400, {"message": hostile}), model="openai:\x1b[2Jgpt")
    assert not any(char in said.message + said.detail for char in "\x1b\x00\u202e")
    assert "\n" not in said.message
    assert len(said.message) < 320
    assert len(describe_error(ValueError("x" * 50_000), model=MODEL).detail) < 4_100


@pytest.mark.parametrize(
    "model", ["openai:gpt-5", "anthropic:claude-sonnet-4-5", "google:gemini-3-pro", "openrouter:x/y"]
)
def test_real_missing_keys(model, monkeypatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError) as caught:
        infer_model(model)
    said = describe_error(caught.value, model=model)
    assert said.kind == "auth"
    assert key_variable(model) in said.message


def test_endpoints_without_a_known_key() -> None:
    assert key_variable("mybox:llama") is None
    said = describe_error(rejected(401, None), model="mybox:llama")
    assert "the key that endpoints.mybox.key_env names (or name one there)" in said.hint


# A provider's statement about its limits is in the error's details.


def test_rate_limit_headers_are_in_the_details_and_no_others() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "anthropic-ratelimit-tokens-reset": "2026-11-22T16:00:00Z",
        "Retry-After": "7",
        "set-cookie": "session=secret",
    }
    told = describe_error(
        ModelHTTPError(429, "gpt-5", {"error": "slow"}, headers=headers), model="openai:gpt-5"
    )
    assert "x-ratelimit-remaining-requests: 0" in told.detail
    assert "anthropic-ratelimit-tokens-reset: 2026-11-22T16:00:00Z" in told.detail
    assert "retry-after: 7" in told.detail
    assert "secret" not in told.detail


# Requests that are too long: the message never claims that a number does not fit a larger one.


def test_both_numbers_where_they_explain_it() -> None:
    said = describe_error(ContextTooLarge(2_048, 12_608), model=MODEL)
    assert said.message == (
        "The conversation (12,608 tokens) is longer than the 2,048 tokens openai:gpt-5 takes."
    )


@pytest.mark.parametrize("requested", [1_900, 2_048])
def test_numbers_that_explain_nothing_are_not_made_a_reason(requested: int) -> None:
    said = describe_error(ContextTooLarge(2_048, requested), model=MODEL)
    assert said.message == (
        "The provider says the conversation is too long for openai:gpt-5, "
        f"although {requested:,} of 2,048 tokens would fit by the numbers known here."
    )
    assert "compact" in said.actions
    assert (said.kind, said.limit, said.requested) == ("context_overflow", 2_048, requested)


@pytest.mark.parametrize(
    ("error", "suspect"),
    [
        (http(400, {"message": "invalid request"}), True),
        (http(400, None), True),
        (ConnectionResetError("peer"), True),
        (http(400, {"message": "Request is missing the header x-session and cannot be routed."}), False),
        (ConnectionRefusedError("connection refused"), False),
        (http(401), False),
    ],
)
def test_where_no_reason_is_given_the_size_is_hinted_at(error: Exception, suspect: bool) -> None:
    told = describe_error(error, model=MODEL)
    assert may_be_size(error, told) is suspect
    assert with_size(told, 900, 0) == told
    assert "9,000 tokens, and the largest that was answered had 8,000" in with_size(told, 9_000, 8_000).hint


def test_what_fills_the_window_before_a_word_is_said_is_named() -> None:
    carried = "tools and instructions take 31,000 of 33,000 tokens: server harbour (44 tools) 30,500"
    said = describe_error(ContextTooLarge(33_000, 33_600, carried), model=MODEL)
    assert "server harbour (44 tools) 30,500" in said.message
    assert "ompact" not in said.hint


def test_a_limit_that_no_model_has_is_not_told() -> None:
    body = {"message": "This model's maximum context length is 1 tokens. However, you requested 900 tokens."}
    said = describe_error(ModelHTTPError(400, "m", body), model=MODEL)
    assert said.message == "The conversation (900 tokens) is longer than what openai:gpt-5 takes."
    assert (said.kind, said.limit) == ("context_overflow", None)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Limit 30000, Used 29000, Requested 2000. Please try again in 20s. Visit https://a.b/c.", 20.0),
        ("Please try again in 1m26.4s.", 86.4),
        ("Please try again in 250ms.", 0.25),
        ("You exceeded your current quota. Please retry in 41.820516331s.", 41.820516331),
        ("Requests have exceeded the call rate limit. Please retry after 30 seconds.", 30.0),
        ("Rate limit is exceeded. Try again in 2 minutes and 5 seconds.", 125.0),
        ("Try again in 2h0m1s.", 7201.0),
        ("Retry after 7 milliseconds", 0.007),
        ("Try again in 3 months.", 0.0),
        ("Invalid value: 'please try again in 20 seconds, my friend'.", 0.0),
        ("Slow down, and try again in a moment.", 0.0),
    ],
)
def test_the_pause_that_words_ask_for(words: str, seconds: float) -> None:
    assert asked_pause(http(429, {"error": {"message": words}})) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "2s"}, 2.0),
        ({"retry-after": "1500ms"}, 1.5),
        ({"retry-after": "250 ms"}, 0.25),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "-4"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_pause_that_a_header_asks_for(header: dict[str, str], seconds: float) -> None:
    assert asked_pause(http(429, "<html>Slow down</html>", headers=header)) == seconds


NOW = {"date": "Sun, 01 Mar 2026 12:00:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360.0),
        ({"x-ratelimit-reset-tokens": "2m59.56s", "x-ratelimit-remaining-tokens": "0"}, 179.56),
        ({"x-ratelimit-reset-requests": "12ms", "x-ratelimit-remaining-requests": "0"}, 0.012),
        ({"x-ratelimit-reset-requests": "1h2m3s"}, 3723.0),
        ({"anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:20Z"}, 20.0),
        ({"anthropic-ratelimit-unified-reset": "1772366430"}, 30.0),
        ({"x-ratelimit-reset": "1772366405000"}, 5.0),
        ({"x-rate-limit-reset": "Sun, 01 Mar 2026 12:00:09 GMT"}, 9.0),
        ({"ratelimit-reset": "17"}, 17.0),
        ({"ratelimitbysize-reset": "28"}, 28.0),
        ({"ratelimit-reset": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"ratelimit-reset": "soon"}, 0.0),
        ({"ratelimit-reset": "17", "retry-after": "4"}, 4.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-03-01T12:00:05Z",
                "anthropic-ratelimit-requests-remaining": "3",
                "anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:50Z",
                "anthropic-ratelimit-tokens-remaining": "0",
            },
            50.0,
        ),
        ({"x-ratelimit-reset-requests": "9s", "x-ratelimit-reset-tokens": "6m0s"}, 0.0),
    ],
)
def test_when_a_limit_is_renewed(headers: dict[str, str], seconds: float) -> None:
    assert known_pause(http(429, None, headers=headers | NOW)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("url", "said", "is_final"),
    [
        ("http://127.0.0.1:1234/v1", "Connection refused", True),
        ("http://localhost:9999/v1", "All connection attempts failed", True),
        ("http://[::1]:8080/v1", "Connection refused", True),
        ("http://192.0.2.7:11434/v1", "Connection refused", False),
        ("http://127.0.0.1:1234/v1", "Server disconnected", False),
    ],
)
def test_a_server_of_this_machine_that_is_not_there_is_not_asked_again(
    url: str, said: str, is_final: bool
) -> None:
    cause = SdkConnectionError(said)
    cause.request = Request()
    cause.request.url = url
    error = caused(ModelConnectionError("m", "Connection error."), cause)
    told = describe_error(error, model="lmstudio:m")
    assert told.retryable, "another model may take over"
    assert passes(error, told) is not is_final
    assert told.message.startswith("Nothing answers at ") is is_final
    assert ("Start" in told.hint) is is_final


async def test_a_key_that_no_header_can_hold_is_told_as_one_in_an_agent_of_ones_own() -> None:
    url, key = "http://127.0.0.1:9", "sk-b\u00e9ta"
    models = [
        OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key=key)),
        GoogleModel("m", provider=GoogleProvider(base_url=url, api_key=key)),
    ]
    for model in models:
        with pytest.raises(UnicodeEncodeError) as raised:
            await Agent(model).run("Hello")
        told = describe_error(raised.value, model=MODEL)
        assert told.kind == "auth"
        assert told.message.startswith("The API key for openai:gpt-5 cannot be sent: it has a character")
        assert "OPENAI_API_KEY" in told.hint
        assert key not in told.detail


def test_every_sentence_of_the_table_is_told_somewhere() -> None:
    sources = [path.read_text("utf-8") for path in Path(agent.__file__).parent.glob("error*.py")]
    told = {name for text in sources for name in re.findall(r'"([a-z_]+)"', text)}
    rows = tomllib.loads(Path(agent.__file__).with_name("error_sentences.toml").read_text("utf-8"))
    assert rows.keys() <= told
    assert {name for text in sources for name in re.findall(r'sentence\("([a-z_]+)"', text)} <= rows.keys()
    assert all(sentence(name).kind in get_args(ErrorKind) for name in rows)
