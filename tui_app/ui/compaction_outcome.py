"""What is said of a compaction that has ended, and what can be done next."""

from tui_app.events import CompactionComplete
from tui_app.ui.format import tokens
from tui_app.ui.safe_text import one_line

REASON_CELLS = 40
"""A longer reason is cut in the row, so that its end is seen at 80 columns; the notices have it whole."""
NOTICE_CELLS = 400
CANCELLED = "Compaction cancelled. Nothing changed."


def outcome_text(done: CompactionComplete, cells: int = REASON_CELLS) -> tuple[str, tuple[str, ...]]:
    """What is said of an ended compaction, its reason in at most so many cells, and what can be done next."""
    reason = _sentence(one_line(done.reason, cells))
    match done.outcome:
        case "success":
            sizes = f"{tokens(done.tokens_before)} → ~{tokens(done.tokens_after)}"
            return f"Compacted {sizes}", ("/undo takes it back", "ctrl+o shows the summary")
        case "cancelled" if done.reason:
            return f"Compaction cancelled; {done.reason}", ("ctrl+g compacts",)
        case "cancelled":
            return CANCELLED, ()
        case "discarded":
            return f"Compaction discarded: {reason} Nothing changed.", ("f2 details",)
        case "vetoed":
            return f"Compaction vetoed: {reason} Nothing changed.", ("f2 details", "ctrl+g compacts")
        case _:
            text = f"Compaction failed: {reason} Nothing changed."
            return text, ("f2 details", "ctrl+g tries again")


def stand_in_text(done: CompactionComplete) -> str:
    """Why a summary was written by somebody else than it was meant to be; empty where it was not."""
    if done.outcome != "success" or not done.reason:
        return ""
    by = {"heuristic": "by extraction", "marker": "as a marker"}.get(done.performed_by, f"by {done.model}")
    return f"The summary was written {by}: {_sentence(one_line(done.reason, NOTICE_CELLS))}"


def _sentence(reason: str) -> str:
    """A reason with one full stop, and none behind one that was cut."""
    return reason if reason.endswith("…") else f"{reason.rstrip('.')}."
