"""Sentences for failures of a turn: what happened, and what to do next."""

import math
import re
import ssl
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic_ai.exceptions import ModelHTTPError

from tui_app.agent.models import ModelNotReady
from tui_app.agent.network.addresses import is_loopback
from tui_app.agent.network.network import NoRoute, NotHttp, named_trust, tls_error
from tui_app.context.storage_errors import StorageError
from tui_app.events import Error, ErrorKind
from tui_app.files import toml_beside
from tui_app.providers import how_to_start, key_variable
from tui_app.records import frozen
from tui_app.system.secrets import MASK, mask_secrets
from tui_app.wires.error_text import (
    body_text,
    chain,
    full_text,
    known_pause,
    provider_message,
    status_of,
    url_of,
)

_E = TypeVar("_E", bound=BaseException)
OTHER = ("models",)
"""Actions for failures that another model may avoid."""
_SENTENCE = 200
_DETAIL = 4_000
_KEY = re.compile(r"\b(sk|pk|rk|xai)-[\w*.-]{6,}|\bgsk_\w{6,}|\bBearer\s+\S+", re.IGNORECASE)
_CLASS_NAME = re.compile(r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exceeded|Timeout)\b:?\s*")
_REFUSED = re.compile(r"connection refused|all connection attempts failed|actively refused", re.IGNORECASE)
_UNKNOWN_HOST = re.compile(
    r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address associated",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)`")
_PACKAGE = re.compile(r"pip install \"?([\w\[\]-]+)")
_LIMIT = re.compile(
    r"(request|tool_calls|input_tokens|output_tokens|total_tokens|cost)_limit of ([\d.,]+\d|\d)"
)


def masked(text: str) -> str:
    """Mask API keys, including those a provider shows in part."""
    return _KEY.sub(MASK, mask_secrets(text))


def plain(text: str, limit: int = _SENTENCE) -> str:
    """Untrusted text as part of a sentence: one line, masked, without class names or control characters.

    Args:
        text: Text of a provider, a tool or a library.
        limit: Maximum characters.
    """
    return _one_line(_CLASS_NAME.sub("", " ".join(masked(text).split())), limit)


def reason(error: BaseException, limit: int = _SENTENCE) -> str:
    """An exception's class and message: one line, masked.

    Args:
        error: The exception; for a group with one member, that one is used.
        limit: Maximum characters.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    try:
        message = str(error)
    except Exception:  # even this may fail
        message = ""
    return _one_line(f"{type(error).__name__}: {masked(message)}", limit).rstrip(" :")


def _one_line(text: str, limit: int) -> str:
    clean = "".join(char for char in " ".join(text.split()) if unicodedata.category(char)[0] != "C").strip()
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def raw_detail(error: BaseException) -> str:
    """The messages of the exception and its causes, for the error's details; masked and bounded."""
    causes = list(chain(error))
    lines = dict.fromkeys(f"{type(one).__name__}: {one}" for one in causes)
    # Headers with the provider's limits on requests and tokens, and when they reset.
    headers: dict[str, str] = {}
    for one in causes:
        if isinstance(one, ModelHTTPError):
            headers.update({name.lower(): value for name, value in (one.headers or {}).items()})
    limits = (name for name in headers if "ratelimit" in name or name == "retry-after")
    text = masked("\n".join([*lines, *(f"{name}: {headers[name]}" for name in limits)]))
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C")
    return text if len(text) <= _DETAIL else text[:_DETAIL] + "…"


@frozen
class Sentence:
    """Wording of one kind of failure; called with an exception and the name of the model."""

    kind: ErrorKind
    message: str
    """May contain ``model``, ``server``, ``status``, ``reason``, ``said`` and the call's own facts."""
    hint: str = ""
    actions: tuple[str, ...] = OTHER
    retryable: bool = False

    def __call__(self, error: BaseException, model: str, **facts: object) -> Error:
        why = plain(provider_message(error)).rstrip(".。")
        known = {"server": _server(error, model), "status": status_of(error), "reason": why and f": {why}"}
        facts = {"model": model, "said": plain(str(error)), **known, **facts}
        message, hint = (text.format(**facts) for text in (self.message, self.hint))
        # It may begin with "the server"; a host name is not capitalised.
        message = f"T{message[1:]}" if message.startswith("the ") else message
        return Error(
            kind=self.kind, message=message, hint=hint, actions=self.actions, retryable=self.retryable
        )


@cache
def _table() -> Mapping[str, Sentence]:
    return {name: Sentence(**row) for name, row in toml_beside(__file__, "error_sentences").items()}


def sentence(name: str) -> Sentence:
    """A row of ``error_sentences.toml``."""
    return _table()[name]


def cause(error: BaseException, *kinds: type[_E]) -> _E | None:
    """The exception, or its nearest cause, of one of some types."""
    return next((one for one in chain(error) if isinstance(one, kinds)), None)


def too_long(model: str, limit: int | None, requested: int | None) -> Error:
    """The request does not fit the model's window. Numbers are given as the reason only if they explain it.

    Args:
        model: Name of the model.
        limit: Tokens it takes, if known.
        requested: Tokens of the request, if known.
    """
    sizes = f" ({requested:,} tokens)" if requested else ""
    window = f"the {limit:,} tokens {model} takes" if limit else f"what {model} takes"
    fits = limit is not None and requested is not None and 0 < requested <= limit
    report = sentence("too_long_by_its_word" if fits else "too_long")(
        Exception(), model, sizes=sizes, window=window, requested=requested or 0, limit=limit or 0
    )
    return replace(report, limit=limit, requested=requested)


def only_thought(model: str, written: int) -> Error:
    """The answer reached its length limit before any text.

    Args:
        model: Name of the model.
        written: Output tokens; 0 if unknown.
    """
    return sentence("only_thought")(Exception(), model, tokens=f" ({written:,} tokens)" if written else "")


def wrong_key(error: BaseException, model: str) -> Error:
    where = key_variable(model)
    if where is None:
        endpoint, named, _ = model.partition(":")
        own = f"the key that endpoints.{endpoint}.key_env names (or name one there)"
        where = own if named else "the key of this endpoint"
    is_known = isinstance(error, ModelHTTPError) and error.status_code == 403
    return sentence("key_not_allowed" if is_known else "wrong_key")(error, model, where=where)


def unknown_model(error: BaseException, model: str, name: str = "unknown_model") -> Error:
    suggestions = (one.suggested_model_id for one in chain(error) if isinstance(one, ModelHTTPError))
    named = re.search(r"Did you mean '([^']+)'", str(error))
    if suggestion := next(filter(None, suggestions), named[1] if named else ""):
        return sentence(name)(error, model, meant=f"Did you mean {plain(suggestion)}? ")
    is_named = any(model.partition(":")[2] in body_text(one) for one in chain(error))
    if status_of(error) == 404 and url_of(error) and not is_named:
        # The body does not mention the model, so the path may be wrong.
        return sentence("nothing_there")(error, model, path=urlsplit(url_of(error)).path)
    return sentence(name)(error, model, meant="")


def rate_limited(error: BaseException, model: str) -> Error:
    """Too many requests or tokens; the same request may succeed later."""
    if not (seconds := known_pause(error)):
        return sentence("rate_limited")(error, model, asked="", wait="a moment")
    whole = max(1, math.ceil(seconds))
    wait = f"{whole} s" if whole < 120 else f"{math.ceil(whole / 60)} min"
    return sentence("rate_limited")(error, model, asked=f" and asks to wait {wait}", wait=wait)


def provider_down(error: BaseException, model: str) -> Error:
    status = next((one.status_code for one in chain(error) if isinstance(one, ModelHTTPError)), None)
    busy = status in (503, 529) or "overloaded" in full_text(error).lower()
    trouble = "is overloaded" if busy else "had an internal error"
    return sentence("provider_down")(
        error, model, trouble=trouble, code=f" (HTTP {status})" if status else ""
    )


def unreachable(error: BaseException, model: str) -> Error:
    """The connection could not be made, or was lost."""
    trouble, way, passes = connection_trouble(error, model)
    return replace(sentence("unreachable"), retryable=passes)(error, model, said=trouble, way=way)


def connection_trouble(
    error: BaseException, model: str = "", address: str = "base URL"
) -> tuple[str, str, bool]:
    """Why there is no connection, and what to do about it.

    Args:
        error: What the client raised.
        model: Name of the model that was called; empty if none was.
        address: Name of the setting with the server's address.

    Returns:
        A sentence, the start of another one, and whether a retry may succeed.
    """
    if (no_way := cause(error, NoRoute)) is not None:
        return plain(str(no_way), 2 * _SENTENCE), no_way.hint, no_way.passes
    text, fault, reason, start = full_text(error), tls_error(error), "", ""
    if isinstance(fault, ssl.SSLCertVerificationError):
        name = _CERTIFICATES.get(fault.verify_code, "untrusted_with" if named_trust() else "untrusted")
        reason = plain(fault.verify_message or str(fault))
    elif cause(error, NotHttp) is not None:
        name = "no_http"
    elif fault is not None:
        name = "no_https" if fault.reason in _PLAIN_ANSWERS else "not_secure"
        reason = plain((fault.reason or str(fault)).replace("_", " ").lower())
    elif _UNKNOWN_HOST.search(text):
        name = "unknown_host"
    elif is_absent(error):
        name, start = "nothing_answers", how_to_start(model, urlsplit(url_of(error)).port)
    else:
        name = "connection_refused" if _REFUSED.search(text) else "connection_broke"
    row, server = sentence(name), _server(error, model)
    facts = {"server": server, "address": address, "reason": reason, "trust": named_trust()}
    return row.message.format(**facts), start or row.hint.format(**facts), row.retryable


_PLAIN_ANSWERS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
"""OpenSSL's reasons for an answer that is not encrypted."""
_CERTIFICATES = {9: "not_yet", 10: "expired", 62: "other_host", 64: "other_host"}
"""Sentences by the result of OpenSSL's certificate check (X509_V_ERR_...)."""


def is_absent(error: BaseException) -> bool:
    """Whether nothing listens at an address on this machine. A retry would find the same."""
    return is_loopback(url_of(error)) and _REFUSED.search(full_text(error)) is not None


def disk_trouble(failure: StorageError) -> Error:
    """The disk is full or the sessions file cannot be written; no model is involved."""
    return Error(kind="internal", message=plain(failure.message), hint=failure.hint)


def misconfigured(error: BaseException, model: str) -> Error:
    text = str(error)
    if text.startswith("Unknown model"):
        return unknown_model(error, model, "no_such_name")
    variable = _VARIABLE.search(text)
    if variable is None:
        return sentence("misconfigured")(error, model)
    is_key = variable[1].endswith(("KEY", "TOKEN"))
    return sentence("missing_key" if is_key else "missing_variable")(error, model, variable=variable[1])


def not_installed(error: BaseException, model: str) -> Error:
    package = _PACKAGE.search(str(error))
    return sentence("not_installed")(error, model, package=package[1] if package else "it")


def limit_reached(error: BaseException, model: str) -> Error:
    limit = _LIMIT.search(str(error))
    which = f" of {limit[2]} ({limit[1].replace('_', ' ')})" if limit else ""
    raised = "max_steps" if limit and limit[1] == "request" else "the limit"
    return sentence("limit_reached")(error, model, which=which, raised=raised)


def broke_off(error: BaseException, model: str) -> Error:
    """An error without a status: the provider sent it within the stream of an answer."""
    reason = plain(provider_message(error) or str(error)).rstrip(".")
    return sentence("broke_off")(error, model, said=f": {reason}" if reason else "")


def no_model(error: BaseException, _model: str) -> Error:
    """The exception's message is already a sentence for the user."""
    kind: ErrorKind = "auth" if isinstance(error, ModelNotReady) else "input"
    return Error(kind=kind, message=plain(str(error)), actions=OTHER)


def is_network_text(text: str) -> bool:
    """Whether a text without a known exception type is about a failed connection."""
    return _REFUSED.search(text) is not None or _UNKNOWN_HOST.search(text) is not None


def _server(error: BaseException, model: str) -> str:
    """Host and port that were called, without any password in the address."""
    parts = urlsplit(url_of(error))
    if not parts.hostname:
        return f"the server of {model}"
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
