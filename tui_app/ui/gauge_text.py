"""The words of the context gauge: pure functions, one wording for footer, sidebar and context screen."""

from typing import Literal

from tui_app.ui.text import tokens
from tui_app.usage import ContextUsage, ContextWindow, percent_text

Zone = Literal["ok", "near", "full"]
BACKGROUND = 0.8
"""Share of the window at which compaction starts in the background, unless a policy says otherwise."""
BLOCKING = 0.95
"""Share of the window at which sending waits for compaction, unless a policy says otherwise."""


def zone(
    usage: ContextUsage | None,
    background: float = BACKGROUND,
    blocking: float = BLOCKING,
    *,
    pending: int = 0,
) -> Zone:
    """Return the zone of the context usage.

    Args:
        usage: The measured context, or ``None`` when nothing is known yet.
        background: Share of the window from which it is *near*; 0 when the policy has no such mark.
        blocking: Share of the window from which it is *full*; 0 for no such mark.
        pending: Tokens about to be added (typed prompt, streamed answer).

    Returns:
        ``full`` also without marks as soon as the limit itself is passed.
    """
    if usage is None or usage.window.stated <= 0:
        return "ok"
    used, limit = usage.total + pending, usage.window.stated
    if used > limit or (blocking > 0 and used >= int(limit * blocking)):
        return "full"
    return "near" if background > 0 and used >= int(limit * background) else "ok"


def window_text(limit: int) -> str:
    """Write the size of a window in tokens; a round one stays round (``32k``, ``1M``)."""
    return tokens(limit).replace(".0", "")


def amount_text(usage: ContextUsage, pending: int = 0) -> str:
    """Write the tokens in use, with ``~`` unless the provider reported the number."""
    sign = "" if usage.exact and not pending else "~"
    return f"{sign}{tokens(usage.total + pending)}"


def gauge_text(
    usage: ContextUsage | None,
    *,
    window: ContextWindow | None = None,
    window_known: bool = True,
    pending: int = 0,
    background: float = BACKGROUND,
    blocking: float = BLOCKING,
) -> str:
    """Word the context usage.

    Args:
        usage: The measured context, or ``None`` while it is not known.
        window: Used for the limit while ``usage`` is ``None``.
        window_known: Whether the model's limit is known at all.
        pending: Tokens about to be added; they make the figure an estimate.
        background: See :func:`zone`.
        blocking: See :func:`zone`.

    Returns:
        ``71% of 128k · ~91.5k · ok``, ``?% of 128k``, ``~91.5k of ?`` or
        ``over by 3.1k · 131.1k of 128k · full``; ``128k?`` where the limit is assumed.
    """
    known_by = usage.window if usage is not None else window
    limit = known_by.stated if known_by is not None else 0
    known = window_known and limit > 0
    size = window_text(limit) + ("?" if known_by is not None and known_by.source == "default" else "")
    if usage is None:
        return f"?% of {size}" if known else "?% of ?"
    amount = amount_text(usage, pending)
    if not known:
        return f"{amount} of ?"
    used = usage.total + pending
    word = zone(usage, background, blocking, pending=pending)
    if used > limit:
        return f"over by {tokens(used - limit)} · {amount} of {size} · {word}"
    return f"{percent_text(used, limit, (background, blocking))} of {size} · {amount} · {word}"


def threshold_text(background: float) -> str:
    """Word the share of the window where compaction starts: ``compacts at 80%``; empty without one."""
    return f"compacts at {background:.0%}" if 0 < background < 1 else ""


def unmarked_text(background: float, blocking: float) -> str:
    """Word when compaction starts where that is no share of the window."""
    return "compacts by the number of messages" if background <= 0 < blocking else "compacts only when asked"
