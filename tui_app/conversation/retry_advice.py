"""How to try again what has failed: the last sentence of every error of a turn."""

from dataclasses import replace

from tui_app.events import Error

BACK = "The prompt went back into the editor, to be sent again."
"""Where nothing was answered, or the prompt was never sent."""
KEPT = "What came so far is kept: /retry asks the same again."
"""Where a part of the answer has come, and tools may have run."""


def with_way_back(error: Error, *, handed_back: bool) -> Error:
    """The same error with how to try again behind its advice.

    Args:
        error: What went wrong in a turn.
        handed_back: Whether the turn's end hands the prompt back.
    """
    return replace(error, hint=f"{error.hint} {BACK if handed_back else KEPT}".strip())
