"""Every exception of a turn as one plain sentence, a hint, and the raw text behind it."""

import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from json import JSONDecodeError

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
from tui_app.agent.mcp.status import ServerRequired
from tui_app.agent.models import UnknownModel
from tui_app.agent.tool_failures import AnswerCutOff, GoesInCircles, HalfCall, ToolBroke, came_damaged
from tui_app.context.storage_errors import storage_error
from tui_app.context.window_limits import ContextTooLarge
from tui_app.context.windows import SMALLEST_WINDOW
from tui_app.events import Error
from tui_app.wires.answer_end import FILTERED, FULL, says_something, told_end, why_not_whole
from tui_app.wires.error_text import (
    BAD_KEY,
    FILTERED_CODES,
    LACKING,
    NO_CREDIT,
    NO_CREDIT_CODES,
    NO_MODEL,
    NO_MODEL_CODES,
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
_SAID_NOTHING = re.compile(r"\bempty\b|return text or call", re.I)
_NO_ROOM_LEFT = re.compile(r"token limit .{0,60}exceeded before any response", re.I)
_A_DAY = re.compile(r"\bper[ _-]?day\b|\bdaily\b", re.I)
_OPAQUE_WORDS = 4
"""Words of a refusal that are too few to name a reason: ``invalid request``, ``Bad Request``."""


def describe_error(error: BaseException, *, model: str, answer: ModelResponse | None = None) -> Error:
    """Word what went wrong in a turn.

    Args:
        error: What the turn raised.
        model: Name of the model with its provider, as the user chose it.
        answer: The one that ended the turn, if there is any.

    Returns:
        The event to record: the sentence names no class of any library, and keys are masked throughout.
    """
    model = say.plain(model) or "the model"
    described = _by_reason(error, model) or _by_kind(error, model) or _by_status(error, model)
    if isinstance(error, UnexpectedModelBehavior):
        described = _by_end(answer or ModelResponse(parts=[]), error, model) or described
    if described is None and any(
        isinstance(one, UnicodeEncodeError) and one.encoding == "ascii" for one in chain(error)
    ):
        # Only keys are put into headers, and nothing else has to be plain ASCII.
        described = say.odd_key(model)
    if described is None and came_damaged(error):
        described = say.garbled(error, model)
    if described is None and say.is_network_text(full_text(error)):
        described = say.unreachable(error, model)
    if described is None and any(isinstance(one, ModelAPIError) for one in chain(error)):
        described = say.broke_off(error, model)
    if described is None:
        described = Error(
            kind="internal",
            message="Something unexpected stopped this turn.",
            hint="Nothing was lost. Send again.",
            actions=("details",),
        )
    return replace(described, detail=say.raw_detail(error))


def may_be_size(error: BaseException, told: Error) -> bool:
    """Whether a failure gives no reason, so that the size of the request may be it.

    Servers and what stands in front of them refuse what is too large with a bare 400, or hang up.
    """
    if told.kind == "network":
        return not say.is_network_text(full_text(error))
    if any(isinstance(one, ContentFilterError) for one in chain(error)):
        return True
    opaque = len(provider_message(error).split()) <= _OPAQUE_WORDS
    return told.kind == "provider" and status_of(error) == 400 and opaque


def _by_reason(error: BaseException, model: str) -> Error | None:
    """Find a refusal whose reason its status does not tell: each relay has other ones for the same."""
    status = status_of(error)
    if status == SIGN_IN or any(PAGE in str(one) for one in chain(error) if isinstance(one, ModelAPIError)):
        return say.page_came(error, model)
    if status == 407:
        return say.proxy_sign_in(error, model)
    if status is None or not 400 <= status <= 429 or any(isinstance(one, ToolBroke) for one in chain(error)):
        return None
    words, codes = own_words(error), {str(each) for each in values_of(error, "code", "type")}
    # Google's limits of a minute speak of billing, too, and name a pause.
    if (codes & NO_CREDIT_CODES or NO_CREDIT.search(words)) and not asked_pause(error):
        return say.out_of_credit(error, model)
    if codes & FILTERED_CODES:
        return say.filtered(error, model)
    if status == 404 and LACKING.search(words):
        return say.refused(error, model)
    gone = codes & NO_MODEL_CODES or NO_MODEL.search(words)
    return say.unknown_model(error, model) if gone and status in (400, 403, 404, 410) else None


def _by_kind(error: BaseException, model: str) -> Error | None:
    """Find what is known of an exception or its causes."""
    # What a tool has raised says nothing about the model or the program, whatever its type.
    if (broke := next((one for one in chain(error) if isinstance(one, ToolBroke)), None)) is not None:
        return Error(
            kind="tool",
            message=f"{str(broke).rstrip('.')}.",
            hint="Nothing was lost. See plimsoll.log for details (plimsoll config path shows where it is), "
            "fix the agent, then start again.",
        )
    if (told := storage_error(error)) is not None:
        return say.disk_trouble(told)
    large = next((one for one in chain(error) if isinstance(one, ContextTooLarge)), None)
    overflow = detect_overflow(error)
    if overflow is not None and overflow.signal == PER_REQUEST:
        return say.too_large_at_once(error, model, overflow.limit, overflow.requested)
    if large is not None and large.carried:
        return say.no_room(model, large)
    if large is not None:
        return say.too_long(model, large.limit, large.requested)
    if overflow is not None:
        named = overflow.limit if overflow.limit and overflow.limit >= SMALLEST_WINDOW else None
        return say.too_long(model, named, overflow.requested)
    for one in chain(error):
        for kinds, wording in _TYPES:
            if isinstance(one, kinds):
                return wording(one, model)
    return None


def _by_end(answer: ModelResponse, error: UnexpectedModelBehavior, model: str) -> Error | None:
    """Find what the end of an answer says that is of no use."""
    reason = why_not_whole(answer)
    if reason == FULL:
        return say.too_long(model, None, None)
    if _NO_ROOM_LEFT.search(str(error)):
        return say.only_thought(model, answer.usage.output_tokens)
    said = told_end(answer)
    if not said or says_something(answer) or _TOOL.search(str(error)):
        return None
    filtered = reason == FILTERED
    way_on = "Rephrase the prompt" if filtered else "Send again"
    return say.told(
        "provider", f"{model} gave no answer: {say.plain(said)}.", f"{way_on}", retryable=not filtered
    )


def _by_status(error: BaseException, model: str) -> Error | None:
    status = status_of(error)
    if status is None or status < 300:
        return None
    if status < 400:
        return say.sent_on(error, model)
    if status in (401, 403):
        return say.wrong_key(error, model)
    if status == 402:
        return say.out_of_credit(error, model)
    if status == 404:
        return say.unknown_model(error, model)
    if status in (408, 504):
        return say.timed_out(error, model)
    if status == 429:
        return _limited(error, model)
    return say.provider_down(error, model) if status >= 500 else _refused(error, model)


_NOT_NOW = frozenset({409, 425})
"""Refusals that say nothing of the request: something else held what it needs, or it came too early."""


def _limited(error: BaseException, model: str) -> Error:
    """Tell a limit that passes from a quota that is used up: waiting does not mend that."""
    # Google names the pause of a minute beside the quota of a day, too.
    daily = any("perday" in str(quota).lower() for quota in values_of(error, "quotaId", "quota_id"))
    if daily or (not asked_pause(error) and _A_DAY.search(own_words(error))):
        return say.used_up_today(error, model)
    return say.rate_limited(error, model)


def _refused(error: BaseException, model: str) -> Error:
    """Find the reason behind a plain 4xx: some providers send wrong keys and rate limits as one."""
    if status_of(error) == 429:
        # Its text may speak of a length, by which pydantic-ai takes it for a refusal.
        return _limited(error, model)
    if status_of(error) in _NOT_NOW:
        return say.not_now(error, model)
    text = full_text(error)
    if BAD_KEY.search(text):
        return say.wrong_key(error, model)
    if RATE_LIMIT.search(text):
        return _limited(error, model)
    told = say.refused(error, model)
    if not ONE_FILE.search(own_words(error)):
        return told
    return replace(told, hint=say.ABOUT_A_FILE, actions=("compact", "models"))


def _bad_answer(error: BaseException, model: str) -> Error:
    if any(isinstance(one, HalfCall | IncompleteToolCall) for one in chain(error)):
        return say.told(
            "provider",
            f"The answers of {model} were cut off within a tool call too many times.",
            "Ask for smaller steps, or have its server allow longer answers",
            retryable=True,
        )
    tool = _TOOL.search(str(error))
    if tool:
        return say.told(
            "tool",
            f"{model} called the tool {say.plain(tool[1])} wrongly too many times.",
            "Send again, or say what the tool should do",
            retryable=True,
        )
    if _CUT_AT_ONCE.search(full_text(error)):
        return say.told(
            "network",
            f"The answer of {model} was cut off before its first word.",
            "Send again",
            retryable=True,
        )
    empty = _SAID_NOTHING.search(full_text(error)) is not None
    return say.told(
        "provider",
        f"{model} gave " + ("an empty answer." if empty else "an answer that cannot be used."),
        "Send again",
        retryable=True,
    )


_TYPES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], _Wording], ...] = (
    (ModelQuotaExceededError, say.out_of_credit),
    (ModelRateLimitError, _limited),
    (ModelAuthenticationError, say.wrong_key),
    (ModelNotFoundError, say.unknown_model),
    ((ModelUnavailableError, ModelServerError), say.provider_down),
    (ModelRequestRejectedError, _refused),
    ((ModelTimeoutError, ModelRequestTimeout), say.timed_out),
    (ModelConnectionError, say.unreachable),
    (ServerRequired, say.server_required),
    (AnswerCutOff, say.cut_off),
    (AnswerTooLong, say.endless),
    (GoesInCircles, say.went_in_circles),
    (UsageLimitExceeded, say.limit_reached),
    (ContentFilterError, say.filtered),
    (UnexpectedModelBehavior, _bad_answer),
    (UnknownModel, say.no_model),
    (UserError, say.misconfigured),
    (ImportError, say.not_installed),
    (JSONDecodeError, say.garbled),
    ((ConnectionError, socket.gaierror, ssl.SSLError), say.unreachable),
    (TimeoutError, say.timed_out),
)
"""What to say by kind of exception, most telling first; a plain HTTP error is told by its status."""
