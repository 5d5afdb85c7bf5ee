"""Rules for automatic retries of a failed turn, and their pauses."""

from pydantic_ai.exceptions import ModelAPIError

from tui_app.agent.error_sentences import is_absent
from tui_app.events import Error
from tui_app.records import frozen
from tui_app.wires.error_text import chain, known_pause, status_of

RETRIES = 4
"""Default number of retries after the first try."""

FIRST_S = 1.0

GROWTH = 2.0

LONGEST_S = 30.0
"""Longest pause in seconds that we choose ourselves."""

PATIENCE_S = 120.0
"""If a provider asks for a longer pause in seconds, there is no retry: the user decides."""

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529, 530})
"""HTTP statuses that may pass by the next try. 501 and 505 are permanent.

520 to 524 and 530 come from networks between us and a provider that did not answer them.
"""


@frozen(kw_only=True)
class RetryRules:
    """Number of retries, and their pauses."""

    retries: int = RETRIES
    """Retries after the first try; 0 for none."""
    first_s: float = FIRST_S
    """Seconds before the first retry; each further pause is twice as long."""


def pause_before(
    error: BaseException, report: Error, *, attempt: int, rules: RetryRules, jitter: float
) -> float | None:
    """The pause before a failed request is retried.

    Args:
        error: What the turn raised.
        report: The same as described to the user.
        attempt: Number of failed tries in a row, from 1.
        rules: Number of retries, and their pauses.
        jitter: 0 to 1; spreads the clients of one server by up to a quarter of the pause.

    Returns:
        Seconds, at least as long as the provider asks for; None if there should be no retry, or only after a
        pause that is too long without the user.
    """
    if attempt > rules.retries or not passes(error, report):
        return None
    asked = known_pause(error)
    if asked > PATIENCE_S:
        return None
    own: float = min(LONGEST_S, rules.first_s * GROWTH ** (attempt - 1))
    return float(max(asked, own) + own * jitter / 4)


def passes(error: BaseException, report: Error) -> bool:
    """Whether the same request may succeed later: rate limits, overload, a lost connection."""
    if not report.retryable or report.kind not in ("rate_limit", "network", "provider") or is_absent(error):
        return False
    status = status_of(error)
    # A 400 may be a rate limit by its words. An error within a stream often has no status.
    in_stream = status is None and any(isinstance(one, ModelAPIError) for one in chain(error))
    return status in _PASSING or in_stream or report.kind != "provider"
