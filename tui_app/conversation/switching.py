"""Changing the model of a conversation: what a smaller window means, in numbers."""

from dataclasses import dataclass

from tui_app.context.items import is_prompt
from tui_app.context.truncator import truncate
from tui_app.context.usage import ContextUsage, ContextWindow
from tui_app.conversation.session_history import SessionHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchForecast:
    """What a change to another model would do to the present conversation. Sizes in tokens."""

    target: str
    window: ContextWindow
    tokens: int
    """Size of the conversation now."""
    fits: bool
    after_compaction: int
    """Rough size after a compaction."""
    summary_model: str
    can_truncate: bool
    """Whether cutting each request could make it fit."""
    drops: int
    """Tokens left out of each request when it is cut."""
    keeps_turns: int
    """Prompts still in a request that is cut."""


def forecast(
    history: SessionHistory, window: ContextWindow, *, target: str, summary_model: str
) -> SwitchForecast:
    """Compare the conversation with another window; nothing is changed."""
    usage = history.usage()
    carried = usage.parts.system + usage.parts.tools + usage.parts.memory
    items = history.items()
    cut = truncate(items, int(window.effective * 0.95) - carried, lambda m: history.counter.message(m).total)
    recent = min(int(window.limit * 0.2), usage.total)
    return SwitchForecast(
        target=target,
        window=window,
        tokens=usage.total,
        fits=fits(usage, window),
        after_compaction=min(usage.total, carried + recent + int(window.limit * 0.1)),
        summary_model=summary_model,
        can_truncate=cut.fits,
        drops=max(0, usage.total - cut.tokens - carried),
        keeps_turns=sum(is_prompt(item.message) for item in cut.items),
    )


def fits(usage: ContextUsage, window: ContextWindow) -> bool:
    """Whether the whole conversation fits another window."""
    return usage.total <= window.effective

