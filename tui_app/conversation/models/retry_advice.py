"""How to try again what has failed, and how large it was: the last sentence of every error of a turn."""

from dataclasses import replace

from tui_app.events import Error
from tui_app.usage import ContextWindow

KEPT = "The partial answer is kept."
"""Where a part of the answer has come, and tools may have run."""
LARGE = 4_000
"""Tokens of a request from which on its size may be why it failed."""


def with_size(error: Error, tokens: int, answered: int) -> Error:
    """The same error with a hint at the size of its request, where that is large.

    Args:
        error: A failure whose reason is not known.
        tokens: Size of the request.
        answered: Size of the largest request that was answered; 0 where none is known.
    """
    if tokens < LARGE:
        return error
    known = f", and the largest that was answered had {answered:,}" if 0 < answered < tokens else ""
    size = f"The request had about {tokens:,} tokens{known}: if this happens again, it may be too large"
    return replace(error, hint=f"{error.hint} {size}.".strip(), actions=(*error.actions, "compact"))


def with_retry_step(error: Error, *, handed_back: bool) -> Error:
    """The same error with how to try again among its steps.

    Args:
        error: What went wrong in a turn.
        handed_back: Whether the turn's end hands the prompt back.
    """
    if handed_back:
        return replace(error, actions=("resend", *error.actions))
    return replace(error, hint=f"{error.hint} {KEPT}".strip(), actions=(*error.actions, "retry"))


def too_large(window: ContextWindow, requested: int) -> Error:
    """The error for a request of so many tokens that cannot fit, with both numbers."""
    kept = f", {window.reserve:,} of them for the answer" if window.reserve else ""
    return Error(
        kind="context_overflow",
        message=f"This needs {requested:,} tokens and the model takes {window.limit:,}{kept}.",
        hint="Shorten the prompt, compact, or choose a larger model.",
        actions=("compact", "models"),
        limit=window.limit,
        requested=requested,
    )
