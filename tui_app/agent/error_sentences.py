"""The sentences for what can go wrong in a turn: what happened, and what to do next."""

import math
import re
import ssl
import unicodedata
from dataclasses import replace
from urllib.parse import urlsplit

from pydantic_ai.exceptions import (
    ModelHTTPError,
)

from tui_app.agent.addresses import is_loopback
from tui_app.agent.models import ModelNotReady
from tui_app.agent.network import NotHttp, NoWay, named_trust, tls_error
from tui_app.context.secrets import MASK, mask_secrets
from tui_app.context.storage_errors import StorageError
from tui_app.context.window_limits import ContextTooLarge
from tui_app.events import Error, ErrorKind
from tui_app.providers import how_to_start, key_variable
from tui_app.wires.error_text import (
    body_text,
    chain,
    full_text,
    known_pause,
    provider_message,
    status_of,
    url_of,
)

OTHER = ("models",)
"""Where another model is a way on."""
ABOUT_A_FILE = (
    "The cause is a picture or a file: send a smaller one, or a picture with fewer pixels. "
    "If it was sent earlier, compact the conversation."
)
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
    """The text without API keys, not even those a provider shows in part."""
    return _KEY.sub(MASK, mask_secrets(text))


def plain(text: str, limit: int = _SENTENCE) -> str:
    """Foreign text as part of a sentence: one line, masked, without class names or control characters.

    Args:
        text: Text of a provider, a tool or a library.
        limit: Characters it may have.
    """
    return _one_line(_CLASS_NAME.sub("", " ".join(masked(text).split())), limit)


def reason(error: BaseException, limit: int = _SENTENCE) -> str:
    """Name an exception with its own words: one line, masked.

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
    # What a provider says in its headers about its limits: how many requests and tokens, and until when.
    headers: dict[str, str] = {}
    for one in causes:
        if isinstance(one, ModelHTTPError):
            headers.update({name.lower(): value for name, value in (one.headers or {}).items()})
    limits = (name for name in headers if "ratelimit" in name or name == "retry-after")
    text = masked("\n".join([*lines, *(f"{name}: {headers[name]}" for name in limits)]))
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C")
    return text if len(text) <= _DETAIL else text[:_DETAIL] + "…"


def told(
    kind: ErrorKind, message: str, way: str, *, retryable: bool = False, actions: tuple[str, ...] = OTHER
) -> Error:
    """A sentence, and what to do next, where another model is the other way."""
    hint = f"{way}." if way else ""
    return Error(kind=kind, message=_begun(message), hint=hint, actions=actions, retryable=retryable)


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
        hint="Compact it, or use a larger model.",
        actions=("compact", "context", "models"),
        limit=limit,
        requested=requested,
    )


def no_room(model: str, large: ContextTooLarge) -> Error:
    """What every request carries leaves no room: compacting is no help."""
    return Error(
        kind="context_overflow",
        message=f"There is no room for the conversation in {model}: {plain(large.carried, 2 * _SENTENCE)}.",
        hint="Switch off tools (off in [tools]) or servers, or shorten the instructions.",
        actions=OTHER,
        limit=large.limit,
        requested=large.requested,
    )


def too_large_at_once(error: BaseException, model: str, limit: int | None, requested: int | None) -> Error:
    """A limit of the account for a single request, in the provider's own words: waiting is no help."""
    words = next((said for one in chain(error) if (said := provider_message(one))), "")
    return Error(
        kind="context_overflow",
        message=f"The provider refuses single requests of this size for {model}: {plain(words).rstrip('.')}.",
        hint="Waiting does not help: send less at once, or raise the account's limit.",
        actions=("compact", "models"),
        limit=limit,
        requested=requested,
    )


def only_thought(model: str, written: int) -> Error:
    """The answer was cut off at its length limit before a word of it was said.

    Args:
        model: Name of the model.
        written: Tokens of it that were written all the same; 0 where nobody knows.
    """
    tokens = f" ({written:,} tokens)" if written else ""
    return told(
        "provider",
        f"The thinking of {model} used up the room for its answer{tokens}; there is no answer.",
        "Lower the effort, or have its server allow longer answers",
        retryable=True,
        actions=("effort", "models"),
    )


def wrong_key(error: BaseException, model: str) -> Error:
    where = key_variable(model)
    if where is None:
        endpoint, named, _ = model.partition(":")
        own = f"the key that endpoints.{endpoint}.key_env names (or name one there)"
        where = own if named else "the key of this endpoint"
    if isinstance(error, ModelHTTPError) and error.status_code == 403:
        message = f"The provider does not allow this key to use {model}{_reason(error)}."
        hint = f"Check what the account behind {where} may use."
    else:
        message = f"The provider did not accept the API key for {model}."
        hint = f"Check {where}."
    return Error(kind="auth", message=message, hint=hint, actions=OTHER)


def missing_key(variable: str, model: str) -> Error:
    return told(
        "auth", f"There is no API key for {model}: {variable} is not set.", f"Set {variable} and start again"
    )


def unknown_model(error: BaseException, model: str) -> Error:
    suggestions = (one.suggested_model_id for one in chain(error) if isinstance(one, ModelHTTPError))
    named = re.search(r"Did you mean '([^']+)'", str(error))
    suggestion = next((name for name in suggestions if name), named[1] if named else None)
    meant = f"Did you mean {plain(suggestion)}? " if suggestion else ""
    if not suggestion and _may_be_path(error, model):
        return nothing_there(error, model)
    return Error(
        kind="input",
        message=f"The provider has no model named {model}{_reason(error)}.",
        hint=f"{meant}For a server of your own, check its base URL.",
        actions=OTHER,
    )


def _may_be_path(error: BaseException, model: str) -> bool:
    """Whether a 404 does not speak of the model, so that the path may be the wrong one."""
    name = model.partition(":")[2]
    said = any(name in body_text(one) for one in chain(error))
    return status_of(error) == 404 and bool(url_of(error)) and not said


def rate_limited(error: BaseException, model: str) -> Error:
    """Too much at once; the same request may pass a little later."""
    wait = ""
    if seconds := known_pause(error):
        whole = max(1, math.ceil(seconds))
        wait = f"{whole} s" if whole < 120 else f"{math.ceil(whole / 60)} min"
    return told(
        "rate_limit",
        f"The provider is limiting requests to {model}" + (f" and asks to wait {wait}." if wait else "."),
        f"Wait {wait or 'a moment'} and send again",
        retryable=True,
    )


def out_of_credit(_error: BaseException, model: str) -> Error:
    """Quota or credit is used up; waiting does not help."""
    return told(
        "rate_limit",
        f"The account used for {model} has no credit or quota left.",
        "Check the billing page of the provider",
    )


def used_up_today(_error: BaseException, model: str) -> Error:
    """The quota of a day; the next minutes bring nothing."""
    return told(
        "rate_limit",
        f"The daily quota for {model} is used up.",
        "Continue when the provider renews it, or raise it there",
    )


def not_now(error: BaseException, model: str) -> Error:
    """The provider was busy with something else that the request needs."""
    return told(
        "provider",
        f"The provider could not take the request to {model} just now (HTTP {status_of(error)}).",
        "Send again in a moment",
        retryable=True,
    )


def provider_down(error: BaseException, model: str) -> Error:
    status = next((one.status_code for one in chain(error) if isinstance(one, ModelHTTPError)), None)
    busy = status in (503, 529) or "overloaded" in full_text(error).lower()
    code = f" (HTTP {status})" if status else ""
    return told(
        "provider",
        f"The provider of {model} " + ("is overloaded" if busy else "had an internal error") + f"{code}.",
        "Send again in a moment",
        retryable=True,
    )


def refused(error: BaseException, model: str) -> Error:
    """The provider does not want this request, for a reason it may have given."""
    return told(
        "provider",
        f"The provider refused the request to {model}{_reason(error)}.",
        "",
        actions=("details", "models"),
    )


def _reason(error: BaseException) -> str:
    """What the provider says, behind a colon; empty where it says nothing."""
    said = plain(provider_message(error)).rstrip(".。")
    return f": {said}" if said else ""


def page_came(_error: BaseException, model: str) -> Error:
    """A web page with HTTP 200: of a network that wants a sign-in, or of what stands at a wrong address."""
    return Error(
        kind="network",
        message=f"A web page came in place of an answer of {model}.",
        hint="Check the base URL, and whether the network or a proxy wants a sign-in.",
        actions=OTHER,
        retryable=True,
    )


def timed_out(error: BaseException, model: str) -> Error:
    return told("network", f"{_server(error, model)} did not answer in time.", "Send again", retryable=True)


def sent_on(error: BaseException, model: str) -> Error:
    """A redirect that a client of somebody else's has come back with."""
    return Error(
        kind="network",
        message=_begun(f"{_server(error, model)} redirects to another address (HTTP {status_of(error)})."),
        hint="Set the base URL to where its server really is, then send again.",
        actions=OTHER,
    )


def proxy_sign_in(_error: BaseException, _model: str) -> Error:
    return Error(
        kind="network",
        message="The proxy wants a user name and a password (HTTP 407).",
        hint="Name them in the address of the proxy, as http://USER:PASSWORD@HOST:PORT, and start again.",
    )


def nothing_there(error: BaseException, model: str) -> Error:
    """A 404 that does not speak of the model: the path may be the wrong one."""
    path = urlsplit(url_of(error)).path
    return Error(
        kind="input",
        message=_begun(
            f"{_server(error, model)} has nothing at {path}, or no model named {model} (HTTP 404)"
            f"{_reason(error)}."
        ),
        hint="Check the base URL and, in the settings of the endpoint, path_prefix.",
        actions=OTHER,
    )


def unreachable(error: BaseException, model: str) -> Error:
    """The connection could not be made, or broke."""
    text, server = full_text(error), _server(error, model)
    no_way = next((one for one in chain(error) if isinstance(one, NoWay)), None)
    fault = tls_error(error)
    passes = fault is None
    if no_way is not None:
        message, hint, passes = plain(str(no_way), 2 * _SENTENCE), no_way.hint, no_way.passes
    elif isinstance(fault, ssl.SSLCertVerificationError):
        message, hint = _untrusted(fault, server)
    elif any(isinstance(one, NotHttp) for one in chain(error)):
        message, hint, passes = f"What answers at {server} does not speak HTTP.", _CHECK_SCHEME, False
    elif fault is not None and fault.reason in _PLAIN_ANSWERS:
        message, hint = f"{server} does not speak HTTPS.", _CHECK_SCHEME
    elif fault is not None:
        reason = plain((fault.reason or str(fault)).replace("_", " ").lower())
        message = f"No secure connection to {server} could be made: {reason}."
        hint = "Check its address and any proxy"
    elif _UNKNOWN_HOST.search(text):
        message, hint = f"The address of {server} could not be found.", "Check the network and the base URL"
    elif is_absent(error):
        start = how_to_start(model, urlsplit(url_of(error)).port)
        message, hint = f"Nothing answers at {server}.", start or "Start the server, or check its base URL"
    elif _REFUSED.search(text):
        message, hint = f"{server} refused the connection.", "Check that the server runs and its base URL"
    else:
        message, hint = f"The connection to {server} broke.", "Check the network and the base URL"
    return Error(
        kind="network",
        message=_begun(message),
        hint=f"{hint}, then send again.",
        actions=OTHER,
        retryable=passes,
    )


_CHECK_SCHEME = "Check whether its base URL begins with http:// or https://"
_PLAIN_ANSWERS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
"""What OpenSSL makes of an answer that is not encrypted."""
# Results of OpenSSL's check of a certificate (X509_V_ERR_...).
_NOT_YET, _EXPIRED, _OTHER_NAME, _OTHER_NUMBER = 9, 10, 62, 64


def _untrusted(fault: ssl.SSLCertVerificationError, server: str) -> tuple[str, str]:
    if fault.verify_code in (_NOT_YET, _EXPIRED):
        when = "has expired" if fault.verify_code == _EXPIRED else "is not valid yet"
        return f"The certificate of {server} {when}.", "Have it renewed, or check the clock of this machine"
    if fault.verify_code in (_OTHER_NAME, _OTHER_NUMBER):
        return f"The certificate of {server} is for another host.", "Check the host in its base URL"
    reason = plain(fault.verify_message or str(fault))
    message = f"The certificate of {server} is not trusted here: {reason}."
    if named := named_trust():
        return message, f"Add its issuer to the certificates that {named} names, restart"
    return message, "Set SSL_CERT_FILE to a PEM file with its issuer (of your company, say), restart"


def is_absent(error: BaseException) -> bool:
    """Whether nothing listens where a server of this machine is expected: a later try finds the same."""
    return is_loopback(url_of(error)) and _REFUSED.search(full_text(error)) is not None


def disk_trouble(told: StorageError) -> Error:
    """The disk or the sessions file takes nothing more; no model has to do with it."""
    return Error(kind="internal", message=plain(told.message), hint=told.hint)


def misconfigured(error: BaseException, model: str) -> Error:
    text = str(error)
    if text.startswith("Unknown model"):
        return replace(unknown_model(error, model), message=f"There is no model named {model}.")
    variable = _VARIABLE.search(text)
    if variable is None:
        return told(
            "input",
            f"{model} cannot be used as it is configured.",
            "Check the settings",
            actions=("details", "models"),
        )
    if variable[1].endswith(("KEY", "TOKEN")):
        return missing_key(variable[1], model)
    return told(
        "input", f"{model} needs {variable[1]}, which is not set.", f"Set {variable[1]} and start again"
    )


def not_installed(error: BaseException, model: str) -> Error:
    package = _PACKAGE.search(str(error))
    name = package[1] if package else "it"
    return told(
        "input",
        f"A package that {model} needs is not installed.",
        f"Install {name} into the same environment",
    )


def went_in_circles(error: BaseException, model: str) -> Error:
    return told(
        "tool",
        f"{model} kept calling {plain(str(error))} with the same arguments and the same result.",
        "The turn was stopped, nothing is lost. Say what to do instead",
    )


def limit_reached(error: BaseException, _model: str) -> Error:
    limit = _LIMIT.search(str(error))
    which = f" of {limit[2]} ({limit[1].replace('_', ' ')})" if limit else ""
    raised = "max_steps" if limit and limit[1] == "request" else "the limit"
    return Error(
        kind="input",
        message=f"The turn stopped at its limit{which}.",
        hint=f"Nothing was lost: send another prompt to continue, or raise {raised} in the settings.",
        retryable=True,
    )


def filtered(_error: BaseException, model: str) -> Error:
    return Error(
        kind="provider",
        message="The provider's content filter stopped the answer.",
        hint=f"Rephrase the prompt ({model} is in use).",
        actions=OTHER,
    )


def odd_key(model: str) -> Error:
    """The same is told better where the model is made; agents of the user's own make theirs themselves."""
    where = key_variable(model) or "the key"
    return told(
        "auth",
        f"The API key for {model} cannot be sent: it has a character that is not plain ASCII.",
        f"Copy {where} again from the provider and start again",
    )


def garbled(_error: BaseException, model: str) -> Error:
    """What came is none of the protocol's: a proxy's own page, or a stream that was damaged on its way."""
    return told(
        "network",
        f"The answer of {model} arrived damaged and cannot be read.",
        "Send again; if it happens again, check the base URL and any proxy",
        retryable=True,
    )


def cut_off(_error: BaseException, model: str) -> Error:
    return told("network", f"The answer of {model} was cut off.", "Send again", retryable=True)


def endless(_error: BaseException, model: str) -> Error:
    message = f"The answer of {model} was stopped: it did not end, or made too many calls at once."
    return told("provider", message, "Ask for less at a time")


def broke_off(error: BaseException, model: str) -> Error:
    """An error without a status: it stood in the stream of an answer, in the provider's own words."""
    reason = plain(provider_message(error) or str(error)).rstrip(".")
    return told(
        "provider",
        f"The provider broke off the answer of {model}" + (f": {reason}." if reason else "."),
        "Send again",
        retryable=True,
    )


def no_model(error: BaseException, _model: str) -> Error:
    """The sentence was made for the user already."""
    return Error(
        kind="auth" if isinstance(error, ModelNotReady) else "input",
        message=plain(str(error)),
        actions=OTHER,
    )


def server_required(error: BaseException, _model: str) -> Error:
    return Error(
        kind="tool",
        message=plain(str(error)),
        hint="required = false lets turns begin without it.",
        actions=("servers",),
    )


def is_network_text(text: str) -> bool:
    """Whether a text without a known type speaks of a connection that could not be made."""
    return _REFUSED.search(text) is not None or _UNKNOWN_HOST.search(text) is not None


def _begun(message: str) -> str:
    """A sentence that may begin with a server; the name of a host stays as it is."""
    return f"T{message[1:]}" if message.startswith("the ") else message


def _server(error: BaseException, model: str) -> str:
    """Host and port that were called, without any password in the address."""
    parts = urlsplit(url_of(error))
    if not parts.hostname:
        return f"the server of {model}"
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
