"""Wording of a finished compaction and its next steps."""

from collections.abc import Mapping

from tui_app.chat_keys import NO_CHANGES, label_of
from tui_app.events import DECLINED, CompactionComplete
from tui_app.providers import OFFLINE_MODEL
from tui_app.ui.words.text import one_line, tokens

WRITES_CHARS = 600
"""Characters kept of the summary being written, of which the last line is shown."""

REASON_CELLS = 40
"""Maximum width of a reason in the status row, so that its end fits in 80 columns; notices show all of it."""

NOTICE_CELLS = 400

CANCELLED = "Compaction cancelled. Nothing changed."


def outcome_text(
    done: CompactionComplete, cells: int = REASON_CELLS, keymap: Mapping[str, str] = NO_CHANGES
) -> tuple[str, tuple[str, ...]]:
    """Word a finished compaction, with its reason cut to a width, and the next steps."""
    compact, status = label_of("chat.compact", keymap), f"{label_of('chat.notices', keymap)} details"
    reason = _sentence(one_line(done.reason, cells))
    match done.outcome:
        case "success":
            sizes = f"{tokens(done.tokens_before)} → ~{tokens(done.tokens_after)}"
            return f"Compacted {sizes}", (
                "/undo undoes it",
                f"{label_of('chat.details', keymap)} shows the summary",
            )
        case "cancelled" if done.reason:
            return f"Compaction cancelled; {done.reason}", (f"{compact} compacts",)
        case "cancelled":
            return CANCELLED, ()
        case "discarded" if done.reason == DECLINED:
            return "Discarded. Nothing changed.", ()
        case "discarded":
            return f"Compaction discarded: {reason} Nothing changed.", (status,)
        case "vetoed":
            return f"Compaction vetoed: {reason} Nothing changed.", (status, f"{compact} compacts")
        case _:
            text = f"Compaction failed: {reason} Nothing changed."
            instead = "enter keeps the extract instead" if offers_extract(done) else status
            return text, (instead, f"{compact} tries again")


def offers_extract(done: CompactionComplete) -> bool:
    """Return whether a manual compaction failed at its model: extraction needs none."""
    return done.outcome == "failed" and done.trigger == "manual" and done.model != OFFLINE_MODEL


def stand_in_text(done: CompactionComplete) -> str:
    """Explain why a fallback wrote the summary; empty if none did."""
    if done.outcome != "success" or not done.reason:
        return ""
    by = {"heuristic": "without a model", "marker": "as a marker"}.get(done.performed_by, f"by {done.model}")
    return f"Summary written {by}: {_sentence(one_line(done.reason, NOTICE_CELLS))}"


def _sentence(reason: str) -> str:
    return reason if reason.endswith("…") else f"{reason.rstrip('.')}."
