"""Whether a failed turn is tried again by itself, and after how many seconds."""

from pydantic_ai.exceptions import ModelAPIError

from tui_app.agent.error_sentences import is_absent
from tui_app.events import Error
from tui_app.records import frozen
from tui_app.wires.error_text import chain, known_pause, status_of

RETRIES = 4
"""Tries after the first, where nothing is set."""

FIRST_S = 1.0

GROWTH = 2.0

LONGEST_S = 30.0
"""No pause of our own is longer."""

PATIENCE_S = 120.0
"""A provider that asks for a longer pause is not waited for: the user decides."""

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529, 530})
"""HTTP statuses that may be gone at the next try. 501 and 505 say what will not change.

520 to 524 and 530 come from networks in front of a provider that did not get its answer.
"""


@frozen(kw_only=True)
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
        told: The same as the user is told it.
        attempt: How many tries have failed in a row, from 1.
        rules: How often and how soon.
        jitter: 0 to 1; spreads the clients of one server by up to a quarter of the pause.

    Returns:
        Seconds, at least as long as the provider asks for; None where trying again is not worth it, or asks
        for more patience than is had without the user.
    """
    if attempt > rules.retries or not passes(error, told):
        return None
    asked = known_pause(error)
    if asked > PATIENCE_S:
        return None
    own: float = min(LONGEST_S, rules.first_s * GROWTH ** (attempt - 1))
    return float(max(asked, own) + own * jitter / 4)


def passes(error: BaseException, told: Error) -> bool:
    """Whether the same request may succeed a little later: rate limits, overload, a broken connection."""
    if not told.retryable or told.kind not in ("rate_limit", "network", "provider") or is_absent(error):
        return False
    status = status_of(error)
    # A 400 may be a rate limit by its words. An error that stands in a stream often has no status.
    in_stream = status is None and any(isinstance(one, ModelAPIError) for one in chain(error))
    return status in _PASSING or in_stream or told.kind != "provider"
