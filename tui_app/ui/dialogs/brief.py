"""A brief in its review: what stands above it, and its text."""

from typing import TYPE_CHECKING

from tui_app.events import CompactionProposed
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.text import cost, one_line, tokens

if TYPE_CHECKING:
    from tui_app.context.compaction.handoff import Brief

JOB = "handoff"
"""Names its writing where a compaction has the name of its job."""


def show_brief(screen: ReviewScreen, brief: "Brief") -> None:
    """Show the brief: enter applies it, unless a line of it is flagged."""
    by = f"written by {brief.model}" if brief.performed_by == "model" else "by extraction"
    parts = [f"about {tokens(brief.tokens)} tokens", by]
    parts += [f"{brief.left_out} had no room"] if brief.left_out else []
    parts += [cost(brief.cost_usd)] if brief.cost_usd is not None else []
    screen.figures = parts
    screen.trouble = f"No model wrote notes: {one_line(brief.reason, 200)}." if brief.reason else ""
    screen.propose(CompactionProposed(job=JOB, summary=brief.text, claims_marked=brief.marked))
