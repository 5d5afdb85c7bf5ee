"""Sample data for dialogs: a switch to a smaller model, a summary to review."""

from tui_app.conversation.models.model_switch import SwitchForecast
from tui_app.events import CompactionComplete, CompactionProposed
from tui_app.usage import ContextWindow

SWITCH = SwitchForecast(
    target="openai:gpt-5-nano",
    window=ContextWindow(limit=32_000, source="model"),
    tokens=91_500,
    tokens_now=91_500,
    fits=False,
    can_compact=True,
    after_compaction=6_000,
    summary_model="claude-sonnet-5",
    summary_usd=0.02,
    can_truncate=True,
    drops=61_000,
    keeps_turns=9,
)
"""A switch to a model whose window holds a third of the conversation."""
CURRENT = "claude-sonnet-5"
"""The current model."""


def proposed(done: CompactionComplete) -> CompactionProposed:
    """A proposal that became a compaction, with one fact lost."""
    return CompactionProposed(
        job=done.job,
        summary=done.summary,
        tokens_before=91_500,
        tokens_after=6_200,
        messages_leave=203,
        messages_stay=9,
        in_files=3,
        cost_usd=0.004,
        retention=0.98,
        facts_lost=1,
        facts=done.facts,
    )
