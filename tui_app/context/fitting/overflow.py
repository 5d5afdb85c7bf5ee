"""Recognising that a request was too long for its model, whichever provider says so.

pydantic-ai names the case for about half of the providers; the rest is read from the text of the error, and
where no error comes at all, from how the answer ended.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pydantic_ai.exceptions import ModelAPIError, ModelContextWindowExceededError
from pydantic_ai.messages import ModelMessage, ModelResponse

from tui_app.context.fitting.error_text import chain, full_text, own_words, status_of, url_of
from tui_app.context.fitting.overflow_signals import (
    ANSWER_INCLUDED,
    FINISH_REASONS,
    GATEWAY_STATUSES,
    ONE_FILE,
    OTHER_STATUSES,
    OVERFLOW_CODES,
    RATE_LIMIT,
    SIGNALS,
    SIZE_WORDS,
    Signal,
)
from tui_app.context.fitting.repeated import is_repeated, said_in

_N_CTX = re.compile(r"\bn_ctx\b[\"']?: ?(\d{1,15})\b")
_N_PROMPT = re.compile(r"\bn_prompt_tokens\b[\"']?: ?(\d{1,15})\b")
_ESCAPE = re.compile(r"\\+u00([2-7][0-9a-f])|\\+([\"'])", re.IGNORECASE)
_MISTRAL_INVALID = "3051"
_UNITS = {"k": 1_000, "m": 1_000_000}
_MOST = 1_000_000_000
"""A size above it, in tokens, is no size of any model."""
_FULL = 0.99
"""Share of the window from which on input has left no room for an answer."""


@dataclass(frozen=True)
class ContextOverflow:
    """A request was longer than its model accepts."""

    limit: int | None
    """Tokens the provider says it accepts, if it says."""
    requested: int | None
    """Tokens the request had by the provider's count, room for the answer included where it counts that."""
    signal: str
    """What gave it away: the provider whose wording it is, ``http-413``, ``code`` or ``pydantic-ai``."""
    answer: int | None = 0
    """Tokens of ``requested`` that are room for the answer, the rest was input; None when nobody knows."""

    @property
    def input(self) -> int | None:
        """Tokens of input by the provider's own count: what a tokenizer factor can be learnt from."""
        if self.requested is None or self.answer is None:
            return None
        return max(0, self.requested - self.answer)


def detect_overflow(error: BaseException, request: Sequence[ModelMessage] = ()) -> ContextOverflow | None:
    """Tell whether an error means that the request was too long for the model.

    Limits over time (429, tokens per minute, throttling) are none, even where their text speaks of too many
    tokens; nor are errors that merely quote such words from the conversation.

    Args:
        error: Of pydantic-ai, of a vendor's SDK, or any other; its causes are searched too. Each member of a
            group is judged by itself: one model's rate limit does not hide that another's window is full.
        request: What was sent, as far as it is known: words that an error repeats from there say nothing.
    """
    return next((found for one in _judged(error) if (found := _detect(one, request)) is not None), None)


def overflow_finish_reason(reason: str | None) -> bool:
    """Whether an answer ended because the window was full, by the provider's own finish reason."""
    return reason is not None and reason.lower() in FINISH_REASONS


def overflow_of_answer(response: ModelResponse, limit: int) -> ContextOverflow | None:
    """Tell whether an answer was cut off or kept back because the window was full, though no error came.

    Args:
        response: The complete answer.
        limit: Tokens the model is known to accept.
    """
    details = response.provider_details or {}
    reason = details.get("finish_reason")
    if isinstance(reason, str) and overflow_finish_reason(reason):
        return ContextOverflow(None, None, "finish-reason")
    if response.finish_reason == "length" and response.usage.input_tokens >= limit * _FULL:
        return ContextOverflow(None, None, "no-room-for-an-answer")
    return None


def _judged(error: BaseException) -> Iterator[BaseException]:
    groups = [one for one in chain(error) if isinstance(one, BaseExceptionGroup)]
    members = [one for group in groups for one in group.exceptions if not isinstance(one, BaseExceptionGroup)]
    yield from members or (error,)


def _detect(error: BaseException, request: Sequence[ModelMessage]) -> ContextOverflow | None:
    status = status_of(error)
    if status in OTHER_STATUSES:
        return None
    spoken = own_words(error)
    text = _ESCAPE.sub(_unescaped, spoken)
    if _has_code(error):
        return _from_wording(text, request) or ContextOverflow(None, None, "code")
    if RATE_LIMIT.search(text):
        return None
    found = _from_wording(text, request)
    if status in GATEWAY_STATUSES:
        return found if found is not None and found.limit else None
    echoes = spoken != full_text(error) or (found is None and _from_wording(text, ()) is not None)
    return found or _unworded(error, status, text, echoes=echoes)


def _unworded(error: BaseException, status: int | None, text: str, *, echoes: bool) -> ContextOverflow | None:
    """What is known by other signs than a wording, without any numbers.

    Args:
        error: The error.
        status: Its HTTP status.
        text: Its own words.
        echoes: Whether there was more, taken from the request: pydantic-ai goes by all of it.
    """
    if not echoes and _named_by_pydantic_ai(error, text):
        return ContextOverflow(None, None, "pydantic-ai")
    if status == 413 and not ONE_FILE.search(text):
        return ContextOverflow(None, None, "http-413")
    if status == 400 and _is_bare_cerebras(error):
        return ContextOverflow(None, None, "cerebras")
    return None


def _has_code(error: BaseException) -> bool:
    return any(
        one.provider_error_code in OVERFLOW_CODES or one.provider_error_type in OVERFLOW_CODES
        for one in chain(error)
        if isinstance(one, ModelAPIError)
    )


def _named_by_pydantic_ai(error: BaseException, text: str) -> bool:
    """Whether pydantic-ai calls it so, unless it went by Mistral's code for any invalid request."""
    return any(
        isinstance(one, ModelContextWindowExceededError)
        and (one.provider_error_code != _MISTRAL_INVALID or SIZE_WORDS.search(text) is not None)
        for one in chain(error)
    )


def _is_bare_cerebras(error: BaseException) -> bool:
    """Cerebras refuses long requests with a 400 without any body."""
    body_less = all(one.body in (None, "", {}) for one in chain(error) if isinstance(one, ModelAPIError))
    return body_less and "cerebras" in url_of(error)


def _from_wording(text: str, request: Sequence[ModelMessage]) -> ContextOverflow | None:
    matches = [(signal, match) for signal in SIGNALS if (match := signal.pattern.search(text))]
    if matches and request:
        said = said_in(request)
        matches = [each for signal, _ in matches for each in _not_repeated(signal, text, said)]
    if not matches:
        return None
    name, limit = matches[0][0].name, _first(matches, "limit") or _field(_N_CTX, text)
    if requested := _first(matches, "requested") or _field(_N_PROMPT, text):
        apart = _first(matches, "answer") or 0
        return ContextOverflow(limit, requested + apart, name, apart)
    if total := _first(matches, "total"):
        return ContextOverflow(limit, total, name, _included(text))
    return ContextOverflow(limit, None, name)


def _not_repeated(signal: Signal, text: str, said: str) -> list[tuple[Signal, re.Match[str]]]:
    """The first place of a signal that is not taken from the request, if there is one."""
    found = (match for match in signal.pattern.finditer(text) if not is_repeated(text, *match.span(), said))
    return [(signal, match) for match in islice(found, 1)]


def _included(text: str) -> int | None:
    """Room for the answer where a provider tells it beside a total; 0 is told too."""
    match = ANSWER_INCLUDED.search(text)
    return None if match is None else _tokens(match["answer"]) or 0


def _first(matches: Sequence[tuple[Signal, re.Match[str]]], group: str) -> int | None:
    """The number in a named group, from the first signal that has one worth the name."""
    numbers = (_tokens(digits) for _, match in matches if (digits := match.groupdict().get(group)))
    return next(filter(None, numbers), None)


def _field(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return _tokens(match[1]) if match else None


def _tokens(written: str) -> int | None:
    """The number of tokens that is written there; None for nothing, and for more than any model has."""
    digits = re.sub(r"\D", "", written)
    if not digits or len(digits) > len(str(_MOST)):
        return None
    tokens = int(digits) * _UNITS.get(written[-1].lower(), 1)
    return tokens if 0 < tokens <= _MOST else None


def _unescaped(match: re.Match[str]) -> str:
    """A character that JSON inside of JSON has written as an escape."""
    return chr(int(match[1], 16)) if match[1] else match[2]
