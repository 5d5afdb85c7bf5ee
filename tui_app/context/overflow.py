"""Recognising that a request was too long for its model, whichever provider says so.

pydantic-ai names the case for about half of the providers; the rest is read from the text of the error.
"""

import re
from dataclasses import dataclass

from pydantic_ai.exceptions import ModelAPIError, ModelContextWindowExceededError

from tui_app.context.error_text import chain, full_text, status_of, url_of
from tui_app.context.overflow_signals import (
    ANSWER_INCLUDED,
    FINISH_REASONS,
    OTHER_STATUSES,
    OVERFLOW_CODES,
    RATE_LIMIT,
    SIGNALS,
    SIZE_WORDS,
    Signal,
)

_N_CTX = re.compile(r"^n_ctx: (\d+)$", re.MULTILINE)
_N_PROMPT = re.compile(r"^n_prompt_tokens: (\d+)$", re.MULTILINE)
_MISTRAL_INVALID = "3051"


@dataclass(frozen=True)
class ContextOverflow:
    """A request was longer than its model accepts."""

    limit: int | None
    """Tokens the provider says it accepts, if it says."""
    requested: int | None
    """Tokens the request had by the provider's count, room for the answer included where it counts that."""
    signal: str
    """What gave it away: the provider whose wording it is, ``http-413``, ``code`` or ``pydantic-ai``."""
    answer: int = 0
    """Tokens of ``requested`` that are room for the answer; the rest was input."""

    @property
    def input(self) -> int | None:
        """Tokens of input by the provider's own count: what a tokenizer factor can be learnt from."""
        return None if self.requested is None else max(0, self.requested - self.answer)


def detect_overflow(error: BaseException) -> ContextOverflow | None:
    """Tell whether an error means that the request was too long for the model.

    Limits over time (429, tokens per minute, throttling) are none, even where their text speaks of too many
    tokens; nor are errors that merely quote such words from the conversation.

    Args:
        error: Of pydantic-ai, of a vendor's SDK, or any other; its causes are searched too.
    """
    status = status_of(error)
    if status in OTHER_STATUSES:
        return None
    text = full_text(error)
    if _has_code(error):
        return _from_wording(text) or ContextOverflow(None, None, "code")
    if RATE_LIMIT.search(text):
        return None
    found = _from_wording(text)
    if found is not None:
        return found
    if _named_by_pydantic_ai(error, text):
        return ContextOverflow(None, None, "pydantic-ai")
    if status == 413:
        return ContextOverflow(None, None, "http-413")
    if status == 400 and _is_bare_cerebras(error):
        return ContextOverflow(None, None, "cerebras")
    return None


def overflow_finish_reason(reason: str | None) -> bool:
    """Whether an answer ended because the window was full, by the provider's own finish reason."""
    return reason is not None and reason.lower() in FINISH_REASONS


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


def _from_wording(text: str) -> ContextOverflow | None:
    matches = [(signal, match) for signal in SIGNALS if (match := signal.pattern.search(text))]
    if not matches:
        return None
    limit = _first(matches, "limit") or _field(_N_CTX, text)
    requested = _first(matches, "requested") or _field(_N_PROMPT, text)
    apart = _first(matches, "answer") or 0
    included = ANSWER_INCLUDED.search(text) if not apart else None
    return ContextOverflow(
        limit=limit,
        requested=requested + apart if requested else None,
        signal=matches[0][0].name,
        answer=_integer(included["answer"]) if included else apart,
    )


def _first(matches: list[tuple[Signal, re.Match[str]]], group: str) -> int | None:
    """The number in a named group, from the first signal that has it."""
    for _, match in matches:
        digits = match.groupdict().get(group)
        if digits is not None:
            return _integer(digits)
    return None


def _field(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _integer(digits: str) -> int:
    return int(digits.replace(",", "").replace("_", ""))
