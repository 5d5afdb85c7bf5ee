"""Context window sizes, and ceilings after refusals."""

from tui_app.records import frozen
from tui_app.usage import ContextWindow

_FLOOR = 0.5
"""Share of the announced size below which no ceiling lasts beyond an answer."""
_RECOVERY = 0.05
"""Share of the announced size by which every further answer raises a ceiling."""
_NEAR = 0.95
"""Share of a ceiling at which an answered request shows that the ceiling is too low."""
SMALLEST_WINDOW = 512
"""Minimum window of any model, in tokens: a smaller one is never believed."""
_SMALLEST = SMALLEST_WINDOW // 2
"""Request, in tokens, that fits even there: no ceiling is lower."""


@frozen
class Ceiling:
    """The largest request worth sending after a refusal. All sizes are estimated input tokens."""

    tokens: int
    """Maximum size of the next request."""
    lasting: int = 0
    """Size that is kept once the retry is answered; 0 if the refusal stated the limit."""
    retrying: bool = True
    """Whether no request has been answered since the refusal."""

    @classmethod
    def refused(cls, target: int, announced: int, *, named: bool) -> "Ceiling":
        """Return the ceiling after a refusal.

        The retry must be smaller than what was refused, however small that was. The lasting ceiling never
        falls below half of the announced size, or a few refusals would cost a model its window.

        Args:
            target: Size worth sending next.
            announced: Size announced for the model.
            named: Whether the refusal stated the limit, which then needs no ceiling.
        """
        lasting = 0 if named else max(_SMALLEST, target, round(announced * _FLOOR))
        return cls(max(_SMALLEST, target), lasting)

    def answered(self, size: int, announced: int) -> "Ceiling | None":
        """Return the ceiling after an answer; None when it ends.

        The first answer after a refusal only proves that the retry fits. Every further one raises the ceiling
        one step, and an answer to a request about as large as the ceiling, or larger, ends it.

        Args:
            size: Tokens of the answered request.
            announced: Size announced for the model.
        """
        if not self.lasting or size > self.lasting:
            return None
        if self.retrying:
            return Ceiling(self.lasting, self.lasting, retrying=False)
        raised = self.lasting + max(1, round(announced * _RECOVERY))
        if size >= self.lasting * _NEAR or raised >= announced:
            return None
        return Ceiling(raised, raised, retrying=False)


DEFAULT_LIMIT = 128_000
"""Tokens assumed for an unknown model: the size most hosted models have or exceed."""
_RESERVE_MAX = 8_192
_RESERVE_MIN = 256


def resolve_window(
    *,
    setting: int | None = None,
    learnt: int | None = None,
    server: int | None = None,
    model: int | None = None,
    reserve: int | None = None,
) -> ContextWindow:
    """Pick the limit from the most trustworthy source that has one.

    The user's setting has priority. A limit that a provider reported with a refusal takes precedence over
    listings, whichever is larger, because it is evidence. All sizes are tokens; None, zero and negative
    values mean unknown.

    Args:
        reserve: Room for the answer reported by an error of this model; used if it is larger than ours.
        setting: From the user's settings.
        learnt: From an earlier overflow of this model.
        server: From the server's own model listing (``max_model_len``, ``n_ctx``).
        model: From the model's profile or price list.
    """
    claims = (("setting", setting), ("learnt", learnt), ("server", server), ("model", model))
    for source, limit in claims:
        if limit is not None and limit > 0:
            kept = max(answer_reserve(limit), min(reserve or 0, limit // 2))
            return ContextWindow(limit=limit, source=source, reserve=kept)
    return ContextWindow(limit=DEFAULT_LIMIT, source="default", reserve=answer_reserve(DEFAULT_LIMIT))


def answer_reserve(limit: int) -> int:
    """Return the tokens to reserve for the answer in a window of ``limit`` tokens.

    A sixteenth of the window, at least 256 and at most 8,192 tokens, but never more than a quarter of it.
    """
    return min(_RESERVE_MAX, max(_RESERVE_MIN, limit // 16), limit // 4)
