"""Advice at the end of every error of a turn: how to retry, and how large the request was."""

from dataclasses import replace

from tui_app.events import Error
from tui_app.usage import ContextWindow

KEPT = "The partial answer is kept."
"""Used if part of the answer has arrived and tools may have run."""
LARGE = 4_000
"""A request with at least this many tokens may have failed because of its size."""


def with_size(error: Error, tokens: int, answered: int) -> Error:
    """The same error, with a hint at the size of its request if that is large.

    Args:
        error: A failure for an unknown reason.
        tokens: Size of the request.
        answered: Size of the largest answered request; 0 if unknown.
    """
    if tokens < LARGE:
        return error
    known = f", and the largest that was answered had {answered:,}" if 0 < answered < tokens else ""
    size = f"The request had about {tokens:,} tokens{known}: if this happens again, it may be too large"
    return replace(error, hint=f"{error.hint} {size}.".strip(), actions=(*error.actions, "compact"))


def with_retry_step(error: Error, *, handed_back: bool) -> Error:
    """The same error, with how to retry among its actions.

    Args:
        error: What went wrong in a turn.
        handed_back: Whether the end of the turn returns the prompt to the editor.
    """
    if handed_back:
        return replace(error, actions=("resend", *error.actions))
    return replace(error, hint=f"{error.hint} {KEPT}".strip(), actions=(*error.actions, "retry"))


def too_large(window: ContextWindow, requested: int) -> Error:
    """The error for a request of this size that cannot fit, with both numbers."""
    kept = f", {window.reserve:,} of them for the answer" if window.reserve else ""
    return Error(
        kind="context_overflow",
        message=f"This needs {requested:,} tokens and the model takes {window.limit:,}{kept}.",
        hint="Shorten the prompt, compact, or choose a larger model.",
        actions=("compact", "models"),
        limit=window.limit,
        requested=requested,
    )
