"""Whether a failed turn is tried again by itself, and after how long."""

from dataclasses import dataclass

from pydantic_ai.exceptions import ModelAPIError

from tui_app.context.overflow.error_text import chain, status_of
from tui_app.events import Error

RETRIES = 4
"""Tries after the first, where nothing is set."""
FIRST_S = 1.0
GROWTH = 2.0
LONGEST_S = 30.0
"""No pause of our own is longer."""
PATIENCE_S = 120.0
"""A provider that asks for a longer pause is not waited for: a person decides."""
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that may be gone at the next try. 501 and 505 say what will not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How often and how soon."""

    retries: int = RETRIES
    """Tries after the first; 0 switches them off."""
    first_s: float = FIRST_S
    """Seconds before the second try; each further pause is twice as long."""


def pause_before(
    error: BaseException, told: Error, *, attempt: int, rules: RetryRules, jitter: float
) -> float | None:
    """Say how long to wait before a failed request is sent once more.

    Args:
        error: What the turn raised.
        told: The same as a person is told it.
        attempt: How many tries have failed in a row, from 1.
        rules: How often and how soon.
        jitter: 0 to 1; spreads the clients of one server by up to a quarter of the pause.

    Returns:
        Seconds, at least as long as the provider asks for; None where trying again is not worth it, or asks
        for more patience than is had without a person.
    """
    if attempt > rules.retries or not passes(error, told):
        return None
    asked = asked_pause(error)
    if asked > PATIENCE_S:
        return None
    own: float = min(LONGEST_S, rules.first_s * GROWTH ** (attempt - 1))
    return float(max(asked, own) + own * jitter / 4)


def passes(error: BaseException, told: Error) -> bool:
    """Whether the same request may succeed a little later: rate limits, overload, a broken connection."""
    if not told.retryable or told.kind not in ("rate_limit", "network", "provider"):
        return False
    status = status_of(error)
    # A 400 may be a rate limit by its words. Without a status, only connections and limits pass.
    return status in _PASSING or told.kind != "provider"


def asked_pause(error: BaseException) -> float:
    """Seconds the provider asks to wait; 0 where it asks for nothing."""
    waits = (one.retry_after for one in chain(error) if isinstance(one, ModelAPIError))
    return max(0.0, next((float(seconds) for seconds in waits if seconds), 0.0))
