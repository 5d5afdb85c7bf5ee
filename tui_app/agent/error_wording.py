"""The sentences for what can go wrong in a turn: what happened, and what to do next."""

import math
import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import urlsplit

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

from tui_app.agent.key_names import key_variable
from tui_app.context.overflow.error_text import chain, full_text, provider_message, url_of
from tui_app.context.secrets import MASK, mask_secrets
from tui_app.context.storage_errors import StorageError
from tui_app.events import Error

OTHER_MODEL = "choose another model with /model"
_SENTENCE = 200
_DETAIL = 4_000
_KEY = re.compile(r"\b(sk|pk|rk|xai)-[\w*.-]{6,}|\bgsk_\w{6,}|\bBearer\s+\S+", re.IGNORECASE)
_CLASS_NAME = re.compile(r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exceeded|Timeout)\b:?\s*")
_REFUSED = re.compile(r"connection refused|all connection attempts failed|actively refused", re.IGNORECASE)
_UNKNOWN_HOST = re.compile(
    r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address associated",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(r"certificate|\bssl\b|\btls\b", re.IGNORECASE)


def masked(text: str) -> str:
    """The text without API keys, not even those a provider shows in part."""
    return _KEY.sub(MASK, mask_secrets(text))


def plain(text: str, limit: int = _SENTENCE) -> str:
    """Foreign text as part of a sentence: one line, masked, without class names or control characters.

    Args:
        text: What somebody else has said.
        limit: Characters it may have.
    """
    return _one_line(_CLASS_NAME.sub("", " ".join(masked(text).split())), limit)


def reason(error: BaseException, limit: int = _SENTENCE) -> str:
    """What somebody else's code has raised, by name and in its own words: one line, masked.

    Args:
        error: What was raised; of a group with one member, that one.
        limit: Characters it may have.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    try:
        said = str(error)
    except Exception:  # it may fail at that too
        said = ""
    return _one_line(f"{type(error).__name__}: {masked(said)}", limit).rstrip(" :")


def _one_line(text: str, limit: int) -> str:
    clean = "".join(char for char in " ".join(text.split()) if unicodedata.category(char)[0] != "C").strip()
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def raw_detail(error: BaseException) -> str:
    """What the exception and its causes say, for whoever asks for details; masked and bounded."""
    causes = list(chain(error))
    lines = dict.fromkeys(f"{type(one).__name__}: {one}" for one in causes)
    text = masked("\n".join([*lines, *_limits(causes)]))
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C")
    return text if len(text) <= _DETAIL else text[:_DETAIL] + "…"


def _limits(causes: Sequence[BaseException]) -> list[str]:
    """What a provider said in its headers about its limits: how many requests and tokens, and until when."""
    found: dict[str, str] = {}
    for one in causes:
        if isinstance(one, ModelHTTPError):
            found.update({name.lower(): value for name, value in (one.headers or {}).items()})
    return [
        f"{name}: {value}" for name, value in found.items() if "ratelimit" in name or name == "retry-after"
    ]


def too_long(model: str, limit: int | None, requested: int | None) -> Error:
    """The request does not fit the model's window; numbers are its reason only where they explain it.

    Args:
        model: Name of the model.
        limit: Tokens it takes, as far as known.
        requested: Tokens of the request, as far as known.
    """
    sizes = f" ({requested:,} tokens)" if requested else ""
    window = f"the {limit:,} tokens {model} takes" if limit else f"what {model} takes"
    message = f"The conversation{sizes} is longer than {window}."
    if limit and requested and requested <= limit:
        fits = f"{requested:,} of {limit:,} tokens would fit by the numbers known here"
        message = f"The provider says the conversation is too long for {model}, although {fits}."
    return Error(
        kind="context_overflow",
        message=message,
        hint="Press ctrl+g to compact it, see /context for what is big, or take a larger model with /model.",
        limit=limit,
        requested=requested,
    )


def wrong_key(error: BaseException, model: str) -> Error:
    """The provider does not accept the key, or does not let it use the model."""
    where = key_variable(model) or _endpoint_key(model)
    if isinstance(error, ModelHTTPError) and error.status_code == 403:
        message = f"The provider does not allow this key to use {model}."
        hint = f"Check what the account behind {where} may use, or {OTHER_MODEL}."
    else:
        message = f"The provider did not accept the API key for {model}."
        hint = f"Check {where}, or {OTHER_MODEL}."
    return Error(kind="auth", message=message, hint=hint)


def _endpoint_key(model: str) -> str:
    endpoint, named, _ = model.partition(":")
    own = f"the key that endpoints.{endpoint}.key_env names (or name one there)"
    return own if named else "the key of this endpoint"


def missing_key(variable: str, model: str) -> Error:
    """No key is set at all."""
    return Error(
        kind="auth",
        message=f"There is no API key for {model}: {variable} is not set.",
        hint=f"Set {variable} and start again, or {OTHER_MODEL}.",
    )


def unknown_model(error: BaseException, model: str) -> Error:
    """Nobody knows a model of that name."""
    suggestions = (one.suggested_model_id for one in chain(error) if isinstance(one, ModelHTTPError))
    named = re.search(r"Did you mean '([^']+)'", str(error))
    suggestion = next((name for name in suggestions if name), named[1] if named else None)
    meant = f"Did you mean {plain(suggestion)}? " if suggestion else ""
    return Error(
        kind="input",
        message=f"The provider has no model named {model}.",
        hint=f"{meant}Choose a model with /model; for a server of your own also check its base URL.",
    )


def rate_limited(error: BaseException, model: str) -> Error:
    """Too much at once; the same request may pass a little later."""
    waits = (one.retry_after for one in chain(error) if isinstance(one, ModelAPIError))
    wait = next((_duration(seconds) for seconds in waits if seconds), None)
    return Error(
        kind="rate_limit",
        message=f"The provider is limiting requests to {model}"
        + (f" and asks to wait {wait}." if wait else "."),
        hint=f"Wait {wait or 'a moment'} and send again, or {OTHER_MODEL}.",
        retryable=True,
    )


def out_of_credit(_error: BaseException, model: str) -> Error:
    """Quota or credit is used up; waiting does not help."""
    return Error(
        kind="rate_limit",
        message=f"The account used for {model} has no credit or quota left.",
        hint=f"Check the billing page of the provider, or {OTHER_MODEL}.",
    )


def provider_down(error: BaseException, model: str) -> Error:
    """The provider failed."""
    status = next((one.status_code for one in chain(error) if isinstance(one, ModelHTTPError)), None)
    busy = status in (503, 529) or "overloaded" in full_text(error).lower()
    code = f" (HTTP {status})" if status else ""
    return Error(
        kind="provider",
        message=f"The provider of {model} "
        + ("is overloaded" if busy else "had an internal error")
        + f"{code}.",
        hint=f"Send again in a moment, or {OTHER_MODEL}.",
        retryable=True,
    )


def refused(error: BaseException, model: str) -> Error:
    """The provider does not want this request, for a reason it may have given."""
    reason = plain(provider_message(error)).rstrip(".")
    return Error(
        kind="provider",
        message=f"The provider refused the request to {model}" + (f": {reason}." if reason else "."),
        hint=f"The details (ctrl+o) hold its full answer; you can also {OTHER_MODEL}.",
    )


def timed_out(error: BaseException, model: str) -> Error:
    """No answer in time."""
    return Error(
        kind="network",
        message=f"{_server(error, model)} did not answer in time.",
        hint=f"Send again, or {OTHER_MODEL}.",
        retryable=True,
    )


def unreachable(error: BaseException, model: str) -> Error:
    """The connection could not be made, or broke."""
    text, server = full_text(error), _server(error, model)
    if _UNKNOWN_HOST.search(text):
        message, hint = f"The address of {server} could not be found.", "Check the network and the base URL"
    elif _REFUSED.search(text):
        message, hint = f"{server} refused the connection.", "Check that the server runs and its base URL"
    elif _CERTIFICATE.search(text):
        message, hint = f"The connection to {server} is not secure.", "Check its certificate and any proxy"
    else:
        message, hint = f"The connection to {server} broke.", "Check the network"
    return Error(
        kind="network",
        message=message[0].upper() + message[1:],
        hint=f"{hint}, then send again; or {OTHER_MODEL}.",
        retryable=True,
    )


def disk_trouble(told: StorageError) -> Error:
    """The disk or the sessions file takes nothing more; no model has to do with it."""
    return Error(kind="internal", message=plain(told.message), hint=told.hint)


def is_network_text(text: str) -> bool:
    """Whether a text without a known type speaks of a connection that could not be made."""
    return _REFUSED.search(text) is not None or _UNKNOWN_HOST.search(text) is not None


def _server(error: BaseException, model: str) -> str:
    """Host and port that were called, without any password in the address."""
    parts = urlsplit(url_of(error))
    if not parts.hostname:
        return f"The server of {model}"
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


def _duration(seconds: float) -> str:
    whole = max(1, math.ceil(seconds))
    return f"{whole} s" if whole < 120 else f"{math.ceil(whole / 60)} min"
