"""Exceptions of a turn as one plain sentence, a hint, and the raw text for details."""

import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from json import JSONDecodeError
from typing import Any

from pydantic_ai.exceptions import (
    ContentFilterError,
    IncompleteToolCall,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import ModelResponse

from tui_app.agent import error_sentences as say
from tui_app.agent.error_sentences import sentence
from tui_app.agent.mcp.status import ServerRequired
from tui_app.agent.models import UnknownModel
from tui_app.agent.step_watch import AnswerCutOff, HalfCall, RepeatedCall
from tui_app.agent.tool_failures import ToolBroke, is_damaged_answer
from tui_app.context.storage_errors import storage_error
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.context.windows.windows import SMALLEST_WINDOW
from tui_app.events import Error
from tui_app.files import toml_beside
from tui_app.providers import key_variable
from tui_app.wires.answer_end import FILTERED, FULL, has_content, incomplete_reason, provider_end_text
from tui_app.wires.error_text import (
    asked_pause,
    chain,
    full_text,
    own_words,
    provider_message,
    status_of,
    values_of,
)
from tui_app.wires.event_streams import PAGE, SIGN_IN, AnswerTooLong
from tui_app.wires.overflow import ONE_FILE, PER_REQUEST, RATE_LIMIT, detect_overflow

_Wording = Callable[[BaseException, str], Error]

_TOOL = re.compile(r"[Tt]ool '([^']+)' exceeded")
_CUT_AT_ONCE = re.compile(r"\bstream\w*( response)? ended without", re.I)
_EMPTY_ANSWER = re.compile(r"\bempty\b|return text or call", re.I)
_NO_ROOM_LEFT = re.compile(r"token limit .{0,60}exceeded before any response", re.I)
_A_DAY = re.compile(r"\bper[ _-]?day\b|\bdaily\b", re.I)
_BAD_KEY = re.compile(
    r"api[ _-]key (?:not valid|is invalid|expired)|(?:invalid|incorrect) api[ _-]key|无效的令牌|身份验证失败",
    re.I,
)
_OPAQUE_WORDS = 4
"""A refusal with at most this many words gives no reason: ``invalid request``, ``Bad Request``."""


def describe_error(error: BaseException, *, model: str, answer: ModelResponse | None = None) -> Error:
    """Describe what went wrong in a turn.

    Args:
        error: What the turn raised.
        model: Name of the model with its provider, as the user chose it.
        answer: The answer that ended the turn, if any.

    Returns:
        The event to log. The sentence has no class names, and keys are masked everywhere.
    """
    model = say.plain(model) or "the model"
    described = _by_reason(error, model) or _by_kind(error, model) or _by_status(error, model)
    if isinstance(error, UnexpectedModelBehavior):
        described = _by_end(answer or ModelResponse(parts=[]), error, model) or described
    described = described or _by_trace(error, model)
    return replace(described, detail=say.raw_detail(error))


def _by_trace(error: BaseException, model: str) -> Error:
    """Classify an exception of no known kind by its causes."""
    if any(isinstance(one, UnicodeEncodeError) and one.encoding == "ascii" for one in chain(error)):
        # Only keys are sent in headers; nothing else has to be ASCII.
        return sentence("odd_key")(error, model, where=key_variable(model) or "the key")
    if is_damaged_answer(error):
        return sentence("garbled")(error, model)
    if say.is_network_text(full_text(error)):
        return say.unreachable(error, model)
    return (say.broke_off if say.cause(error, ModelAPIError) else sentence("unexpected"))(error, model)


def may_be_size(error: BaseException, report: Error) -> bool:
    """Whether a failure gives no reason, so that the size of the request may be it.

    Servers and proxies often refuse large requests with a bare 400, or close the connection.
    """
    if report.kind == "network":
        return not say.is_network_text(full_text(error))
    if say.cause(error, ContentFilterError):
        return True
    opaque = len(provider_message(error).split()) <= _OPAQUE_WORDS
    return report.kind == "provider" and status_of(error) == 400 and opaque


def _by_reason(error: BaseException, model: str) -> Error | None:
    """Classify a refusal by its words, where the status does not tell: relays use different ones."""
    status = status_of(error)
    if status == SIGN_IN or any(PAGE in str(one) for one in chain(error) if isinstance(one, ModelAPIError)):
        return sentence("page_came")(error, model)
    if status is None or not 400 <= status <= 429 or say.cause(error, ToolBroke):
        return None
    words, codes = own_words(error), {str(each) for each in values_of(error, "code", "type")}
    for name, row in _REASONS.items():
        is_said = any(re.search(pattern, words, re.I) for pattern in row.get("words", ()))
        if (is_said or not codes.isdisjoint(row.get("codes", ()))) and status in row.get(
            "statuses", [status]
        ):
            # Google's per-minute limits mention billing too, and name a pause.
            if name == "out_of_credit" and asked_pause(error):
                continue
            return (say.unknown_model if name == "unknown_model" else sentence(name))(error, model)
    return None


_REASONS: Mapping[str, Mapping[str, list[Any]]] = toml_beside(__file__, "error_reasons")


def _by_kind(error: BaseException, model: str) -> Error | None:
    """Classify by the type of the exception or its causes."""
    # An exception of a tool tells nothing about the model or the program, whatever its type.
    if (broke := say.cause(error, ToolBroke)) is not None:
        return sentence("tool_broke")(error, model, said=str(broke).rstrip("."))
    if (failure := storage_error(error)) is not None:
        return say.disk_trouble(failure)
    large, overflow = say.cause(error, ContextTooLarge), detect_overflow(error)
    if overflow is not None and overflow.signal == PER_REQUEST:
        words = next((message for one in chain(error) if (message := provider_message(one))), "")
        report = sentence("too_large_at_once")(error, model, words=say.plain(words).rstrip("."))
        return replace(report, limit=overflow.limit, requested=overflow.requested)
    if large is not None and large.carried:
        report = sentence("no_room")(error, model, carried=say.plain(large.carried, 400))
        return replace(report, limit=large.limit, requested=large.requested)
    if large is not None:
        return say.too_long(model, large.limit, large.requested)
    if overflow is not None:
        named = overflow.limit if overflow.limit and overflow.limit >= SMALLEST_WINDOW else None
        return say.too_long(model, named, overflow.requested)
    found = (
        wording(one, model) for one in chain(error) for kinds, wording in _TYPES if isinstance(one, kinds)
    )
    return next(found, None)


def _by_end(answer: ModelResponse, error: UnexpectedModelBehavior, model: str) -> Error | None:
    """Classify by the finish reason of a useless answer."""
    reason = incomplete_reason(answer)
    if reason == FULL:
        return say.too_long(model, None, None)
    if _NO_ROOM_LEFT.search(str(error)):
        return say.only_thought(model, answer.usage.output_tokens)
    end_text = provider_end_text(answer)
    if not end_text or has_content(answer) or _TOOL.search(str(error)):
        return None
    return sentence("filtered_answer" if reason == FILTERED else "no_answer")(
        error, model, said=say.plain(end_text)
    )


def _by_status(error: BaseException, model: str) -> Error | None:
    status = status_of(error)
    if status is None or status < 300:
        return None
    if status < 400:
        return sentence("sent_on")(error, model)
    return _STATUSES.get(status, say.provider_down if status >= 500 else _refused)(error, model)


def _limited(error: BaseException, model: str) -> Error:
    """Distinguish a rate limit from an exhausted quota, which waiting does not fix."""
    # Google names a pause of a minute also for a daily quota.
    daily = any("perday" in str(quota).lower() for quota in values_of(error, "quotaId", "quota_id"))
    if daily or (not asked_pause(error) and _A_DAY.search(own_words(error))):
        return sentence("used_up_today")(error, model)
    return say.rate_limited(error, model)


def _refused(error: BaseException, model: str) -> Error:
    """Find the reason for a plain 4xx: some providers use it for wrong keys and rate limits."""
    text, status = full_text(error), status_of(error)
    # If the text mentions a length, pydantic-ai classifies even a rate limit as a refusal.
    if status in (407, 409, 425, 429):
        return _STATUSES[status](error, model)
    if _BAD_KEY.search(text):
        return say.wrong_key(error, model)
    if RATE_LIMIT.search(text):
        return _limited(error, model)
    return sentence("refused_file" if ONE_FILE.search(own_words(error)) else "refused")(error, model)


_STATUSES: Mapping[int, _Wording] = {
    401: say.wrong_key,
    402: sentence("out_of_credit"),
    403: say.wrong_key,
    404: say.unknown_model,
    407: sentence("proxy_sign_in"),
    408: sentence("timed_out"),
    # These are not about the request: a resource was in use, or it came too early.
    409: sentence("not_now"),
    425: sentence("not_now"),
    429: _limited,
    504: sentence("timed_out"),
}


def _bad_answer(error: BaseException, model: str) -> Error:
    if say.cause(error, HalfCall, IncompleteToolCall):
        return sentence("half_calls")(error, model)
    if tool := _TOOL.search(str(error)):
        return sentence("wrong_calls")(error, model, tool=say.plain(tool[1]))
    text = full_text(error)
    if _CUT_AT_ONCE.search(text):
        return sentence("cut_at_once")(error, model)
    return sentence("empty" if _EMPTY_ANSWER.search(text) else "unusable")(error, model)


_TYPES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], _Wording], ...] = (
    (ModelQuotaExceededError, sentence("out_of_credit")),
    (ModelRateLimitError, _limited),
    (ModelAuthenticationError, say.wrong_key),
    (ModelNotFoundError, say.unknown_model),
    ((ModelUnavailableError, ModelServerError), say.provider_down),
    (ModelRequestRejectedError, _refused),
    ((ModelTimeoutError, ModelRequestTimeout), sentence("timed_out")),
    (ModelConnectionError, say.unreachable),
    (ServerRequired, sentence("server_required")),
    (AnswerCutOff, sentence("cut_off")),
    (AnswerTooLong, sentence("endless")),
    (RepeatedCall, sentence("went_in_circles")),
    (UsageLimitExceeded, say.limit_reached),
    (ContentFilterError, sentence("filtered")),
    (UnexpectedModelBehavior, _bad_answer),
    (UnknownModel, say.no_model),
    (UserError, say.misconfigured),
    (ImportError, say.not_installed),
    (JSONDecodeError, sentence("garbled")),
    ((ConnectionError, socket.gaierror, ssl.SSLError), say.unreachable),
    (TimeoutError, sentence("timed_out")),
)
"""Wording by exception type, the most specific first; a plain HTTP error is described by its status."""
