"""Detection of requests that were too long for the model, for every provider.

pydantic-ai identifies about half of the cases. The others are detected from the error's text, or without an
error from how the answer ended.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai.exceptions import ModelAPIError, ModelContextWindowExceededError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from tui_app.files import toml_beside
from tui_app.records import frozen
from tui_app.wires.answer_end import FULL, incomplete_reason
from tui_app.wires.error_text import chain, full_text, own_words, status_of, url_of, values_of

NUMBER = r"\d[\d,_]*(?:[km]\b)?"
"""A token count as providers write it: ``8192``, ``8,192``, ``8k``."""


@frozen
class Signal:
    """A known wording of a refusal."""

    name: str
    pattern: re.Pattern[str]


PER_REQUEST = "per-request"
"""Signal for a limit on a single request, independent of other requests."""

_TABLE: Mapping[str, Any] = toml_beside(__file__, "overflow")
_PLACE = re.compile(r"<(\w+)>")


def _signals(rows: Iterable[Sequence[str]]) -> tuple[Signal, ...]:
    return tuple(Signal(name, re.compile(_filled(text), re.I | re.S)) for name, text in rows)


def _filled(text: str) -> str:
    """Return a pattern of the table with its placeholders replaced by groups for numbers and words."""
    words: Mapping[str, Sequence[str]] = _TABLE["words"]
    return _PLACE.sub(
        lambda place: (
            f"(?:{_filled('|'.join(words[place[1]]))})" if place[1] in words else f"(?P{place[0]}{NUMBER})"
        ),
        text,
    )


SIGNALS = _signals([*_TABLE["numbered"], *_TABLE["worded"]])
"""Known wordings. The first match gives the signal, the first with a limit gives the numbers."""
_OF_NOBODY_KNOWN = _signals(("no-name", text) for text in _TABLE["of_nobody_known"])
_OF_ONE_REQUEST = _signals(_TABLE["one_request"])

ANSWER_INCLUDED = re.compile(
    rf"(?P<answer>{NUMBER})(?: tokens)? (?:in|for) the (?:completion|output)", re.IGNORECASE
)
"""The part of the requested tokens reserved for the answer, if named (OpenAI's format)."""

RATE_LIMIT = re.compile(
    r"(?:tokens?|requests?)[ _]per[ _](?:sec|second|min|minute|hour|day)(?:\b|_)|\b[TR]P[MD]\b"
    r"|too many requests|\brate[ _-]?limit|throttl|too many tokens, please wait|insufficient_quota",
    re.IGNORECASE,
)
"""Words of a rate limit: the same request may succeed a minute later, so it is not too long."""

SIZE_WORDS = re.compile(
    r"too (?:large|long)|context (?:length|window|size)|maximum (?:prompt|context)|token (?:count|limit)",
    re.IGNORECASE,
)
"""Words that an ambiguous error code needs in addition: Mistral's 3051 has other meanings, too."""

_FILE = r"\b(?:image|picture|photo|file|audio|video|document|attachment|pdf)s?\b"
_SIZE = r"(?:too (?:large|big|many)|exceed|maximum|larger than)"
ONE_FILE = re.compile(rf"{_FILE}.{{0,80}}?{_SIZE}|{_SIZE}.{{0,80}}?{_FILE}", re.IGNORECASE)
"""Words for a single file that is too large, which a shorter conversation does not fix."""

_A_MINUTE = re.compile(
    rf"({NUMBER}) (?:input |prompt )?tokens per min|tokens per min(?:ute)?(?: \(TPM\))?:? limit:? ({NUMBER})",
    re.IGNORECASE,
)
"""Number of tokens that an account may send per minute."""

OVERFLOW_CODES = frozenset({
    "context_length_exceeded", "exceed_context_size_error", "max_prompt_tokens_exceeded",
    "model_context_window_exceeded", "model_max_prompt_tokens_exceeded", "request_too_large",
    "tokens_limit_reached", "tokens_too_long",
})  # fmt: skip
"""Error codes that mean only this."""

OTHER_STATUSES = frozenset({401, 402, 403, 404, 405, 408, 409, 429})
"""HTTP statuses that are clear by themselves; their text is not searched."""

_TOO_EARLY = 429
_REFUSED = frozenset({400, 413, 422})
"""HTTP statuses of a request that is refused because of its content."""

GATEWAY_STATUSES = frozenset({502, 503, 504, 529})
"""HTTP statuses of a failed server. Gateways also use them for a refusal, which then names the limit."""

_MORE = 8
"""Characters next to a quotation that must match too."""


def request_text(messages: Sequence[ModelMessage]) -> str:
    """Return all text of a request, to find what an error quotes of it."""
    texts: list[str] = []
    for part in (part for message in messages for part in message.parts):
        content = getattr(part, "content", None)
        if isinstance(part, ToolCallPart):
            texts.append(part.args_as_json_str())
        elif isinstance(content, Sequence) and not isinstance(content, str):
            texts.extend(piece for piece in content if isinstance(piece, str))
        elif content is not None:
            texts.append(str(content))
    return "\n".join(texts)


def is_repeated(text: str, start: int, end: int, source: str) -> bool:
    """Return whether a part of an error's text was quoted from the request.

    It was if a longer part matches too, but not the whole line: a line that is in the request as a whole may
    be an earlier error that the user asks about, and has now occurred again.
    """
    if not source or text[start:end] not in source:
        return False
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    line = text[first : last if last >= 0 else len(text)]
    if line.partition(": ")[2].strip() in source or line.strip() in source:
        return False
    before, after = text[max(0, start - _MORE) : end], text[start : end + _MORE]
    return any(len(wider) >= end - start + _MORE and wider in source for wider in (before, after))


_N_CTX = re.compile(r"\bn_ctx\b[\"']?: ?(\d{1,15})\b")
_N_PROMPT = re.compile(r"\bn_prompt_tokens\b[\"']?: ?(\d{1,15})\b")
_ESCAPE = re.compile(r"\\+u00([2-7][0-9a-f])|\\+([\"'])", re.IGNORECASE)
_MISTRAL_INVALID = "3051"
_UNITS = {"k": 1_000, "m": 1_000_000}
_MOST = 1_000_000_000
"""Maximum plausible size in tokens."""
_LEAST, _MOST_OF_ELSE = 0.65, 1_000
"""Minimum ratio of a server's count to ours; minimum of numbers taken for sizes."""
_FULL = 0.99
"""Share of the window from which on the input leaves no room for an answer."""


@frozen
class ContextOverflow:
    """A request that was longer than its model accepts."""

    limit: int | None
    """Tokens the provider accepts, if it says so."""
    requested: int | None
    """Tokens of the request as counted by the provider, with room for the answer if it counts that."""
    signal: str
    """How it was detected: the provider with this wording, or for example ``http-413``, ``code``."""
    answer: int | None = 0
    """Tokens of ``requested`` reserved for the answer; the rest was input. None if unknown."""

    @property
    def input(self) -> int | None:
        """Tokens of input as counted by the provider, from which a tokenizer factor can be learned."""
        if self.requested is None or self.answer is None:
            return None
        return max(0, self.requested - self.answer)


def detect_overflow(error: BaseException, request: Sequence[ModelMessage] = ()) -> ContextOverflow | None:
    """Detect whether an error means that the request was too long for the model.

    Rate limits (429, tokens per minute, throttling) do not count, even if their text mentions too many
    tokens, nor do errors that only quote such words from the conversation.

    Args:
        error: Any error, whose causes are searched too. Members of a group are examined one by one: the rate
            limit of
            one model does not hide another's full window.
        request: The messages sent, as far as known: words quoted from them are ignored.
    """
    groups = [one for one in chain(error) if isinstance(one, BaseExceptionGroup)]
    members = [one for group in groups for one in group.exceptions if not isinstance(one, BaseExceptionGroup)]
    judged = (_detect(one, request) for one in members or (error,))
    return next((found for found in judged if found is not None), None)


def tokens_a_minute(error: BaseException) -> int | None:
    """Return the maximum input tokens per minute, if a rate limit names it.

    A single larger request can never succeed. Google names its limits in separate fields.
    """
    if status_of(error) != _TOO_EARLY:
        return None
    if (named := _A_MINUTE.search(own_words(error))) is not None:
        return _tokens(named[1] or named[2])
    for violations in values_of(error, "violations"):
        for each in violations if isinstance(violations, list) else ():
            quota = str(each.get("quotaId", "")).lower() if isinstance(each, dict) else ""
            if "inputtokens" in quota and "perminute" in quota:
                return _tokens(str(each.get("quotaValue", "")) or "0")
    return None


def overflow_by_numbers(
    error: BaseException, size: int, request: Sequence[ModelMessage]
) -> ContextOverflow | None:
    """Detect a refusal in any language by the request's size next to a smaller number.

    Args:
        error: An error that matches no wording.
        size: Estimated tokens of the request.
        request: Its messages: some servers count characters.
    """
    if status_of(error) not in _REFUSED:
        return None
    found = (_tokens(digits) for digits in re.findall(NUMBER, own_words(error)))
    numbers = {number for number in found if number is not None and number >= _MOST_OF_ELSE}
    for measured, is_tokens in ((size, True), (len(request_text(request)), False)):
        need = max((each for each in numbers if measured * _LEAST <= each <= measured / _LEAST), default=0)
        if limit := max((each for each in numbers if each < need), default=0):
            return ContextOverflow(limit if is_tokens else None, need if is_tokens else None, "numbers", None)
    return None


def overflow_of_answer(response: ModelResponse, limit: int) -> ContextOverflow | None:
    """Detect whether a full window cut off or prevented an answer without an error.

    Args:
        response: The complete answer.
        limit: Tokens the model is known to accept.
    """
    if incomplete_reason(response) == FULL:
        return ContextOverflow(None, None, "finish-reason")
    if response.finish_reason == "length" and response.usage.input_tokens >= limit * _FULL:
        return ContextOverflow(None, None, "no-room-for-an-answer")
    return None


def _detect(error: BaseException, request: Sequence[ModelMessage]) -> ContextOverflow | None:
    status = status_of(error)
    words = own_words(error)
    # Characters escaped in nested JSON.
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], words)
    alone = _from_wording(text, request, _OF_ONE_REQUEST)
    # A request within the limit was only sent too early.
    if alone is not None and (alone.requested is None or alone.requested > (alone.limit or 0)):
        return alone
    if status in OTHER_STATUSES:
        return None
    answers = [one for one in chain(error) if isinstance(one, ModelAPIError)]
    if any(OVERFLOW_CODES & {one.provider_error_code, one.provider_error_type} for one in answers):
        return _from_wording(text, request) or ContextOverflow(None, None, "code")
    if RATE_LIMIT.search(text):
        return None
    found = _from_wording(text, request)
    if found is None and status in _REFUSED:
        found = _from_wording(text, request, _OF_NOBODY_KNOWN)
    if status in GATEWAY_STATUSES:
        return found if found is not None and found.limit else None
    echoes = words != full_text(error) or (found is None and _from_wording(text, ()) is not None)
    return found or _unworded(error, status, text, echoes=echoes)


def _unworded(error: BaseException, status: int | None, text: str, *, echoes: bool) -> ContextOverflow | None:
    """Detect an overflow without a known wording or numbers.

    Args:
        error: The error.
        status: Its HTTP status.
        text: Its own words.
        echoes: Whether it also quoted the request: pydantic-ai examines all of its text.
    """
    # pydantic-ai also uses this class for Mistral's code for any invalid request.
    named = any(
        isinstance(one, ModelContextWindowExceededError)
        and (one.provider_error_code != _MISTRAL_INVALID or SIZE_WORDS.search(text) is not None)
        for one in chain(error)
    )
    if named and not echoes:
        return ContextOverflow(None, None, "pydantic-ai")
    if status == 413 and not ONE_FILE.search(text):
        return ContextOverflow(None, None, "http-413")
    # Cerebras refuses long requests with status 400 without a body.
    body_less = all(one.body in (None, "", {}) for one in chain(error) if isinstance(one, ModelAPIError))
    if status == 400 and body_less and "cerebras" in url_of(error):
        return ContextOverflow(None, None, "cerebras")
    return None


def _from_wording(
    text: str, request: Sequence[ModelMessage], signals: Sequence[Signal] = SIGNALS
) -> ContextOverflow | None:
    matches = [(signal, match) for signal in signals if (match := signal.pattern.search(text))]
    if matches and request:
        source = request_text(request)
        # The first place of each signal that is not quoted from the request.
        places = ((signal, signal.pattern.finditer(text)) for signal, _ in matches)
        matches = [
            (signal, match)
            for signal, found in places
            if (match := next((one for one in found if not is_repeated(text, *one.span(), source)), None))
        ]
    if not matches:
        return None
    name, limit = matches[0][0].name, _first(matches, "limit") or _field(_N_CTX, text)
    if requested := _first(matches, "requested") or _field(_N_PROMPT, text):
        apart = _first(matches, "answer") or 0
        return ContextOverflow(limit, requested + apart, name, apart)
    if total := _first(matches, "total"):
        # Room for the answer, if named together with a total; it may be 0.
        match = ANSWER_INCLUDED.search(text)
        return ContextOverflow(limit, total, name, None if match is None else _tokens(match["answer"]) or 0)
    return ContextOverflow(limit, None, name)


def _first(matches: Sequence[tuple[Signal, re.Match[str]]], group: str) -> int | None:
    """Return the number in a named group, from the first signal with a valid one."""
    numbers = (_tokens(digits) for _, match in matches if (digits := match.groupdict().get(group)))
    return next(filter(None, numbers), None)


def _field(pattern: re.Pattern[str], text: str) -> int | None:
    return _tokens(match[1]) if (match := pattern.search(text)) else None


def _tokens(written: str) -> int | None:
    """Parse a number of tokens; None for an empty or implausible one."""
    digits = re.sub(r"\D", "", written)
    if not digits or len(digits) > len(str(_MOST)):
        return None
    tokens = int(digits) * _UNITS.get(written[-1].lower(), 1)
    return tokens if 0 < tokens <= _MOST else None
