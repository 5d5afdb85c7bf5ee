"""Which context window a model has, and who says so."""

from tui_app.context.counting.usage import ContextWindow

DEFAULT_LIMIT = 128_000
"""Tokens assumed when nobody knows: the size most hosted models have or exceed."""
_RESERVE_MAX = 8_192
_RESERVE_MIN = 256


def resolve_window(
    *,
    setting: int | None = None,
    learnt: int | None = None,
    server: int | None = None,
    model: int | None = None,
) -> ContextWindow:
    """Pick the limit from the most trustworthy source that knows one.

    A person's setting beats everything. A limit that a provider named while refusing a request beats what
    listings claim, whichever is larger: it is what really happened. All sizes are tokens; None, zero and
    negative values mean unknown.

    Args:
        setting: From the user's settings.
        learnt: From an earlier overflow of this model.
        server: From the server's own model listing (``max_model_len``, ``n_ctx``).
        model: From the model's profile or price list.
    """
    claims = (("setting", setting), ("learnt", learnt), ("server", server), ("model", model))
    for source, limit in claims:
        if limit is not None and limit > 0:
            return ContextWindow(limit=limit, source=source, reserve=answer_reserve(limit))
    return ContextWindow(limit=DEFAULT_LIMIT, source="default", reserve=answer_reserve(DEFAULT_LIMIT))


def answer_reserve(limit: int) -> int:
    """Tokens to keep free for the answer in a window of ``limit`` tokens.

    A sixteenth of the window, at least 256 and at most 8,192 tokens, but never more than a quarter of it.
    """
    return min(_RESERVE_MAX, max(_RESERVE_MIN, limit // 16), limit // 4)
