"""Prompts to which a conversation can be rewound, and what each rewind would remove."""

from collections.abc import Sequence

from tui_app.events import SessionRewind, UserMessage
from tui_app.records import frozen
from tui_app.session.event_heads import LATER, Head
from tui_app.session.event_rows import MESSAGES
from tui_app.session.views.agent_view import AgentView
from tui_app.session.views.entries import Entry
from tui_app.session.views.user_view import is_interruption
from tui_app.usage import ContextUsage


@frozen(kw_only=True)
class RewindPoint:
    """A prompt to which the conversation can be rewound."""

    seq: int
    """Log number of the prompt."""
    time: float
    """Seconds since the epoch."""
    title: str
    """First line of the prompt."""
    messages: int
    """Messages that a rewind would remove, including the prompt; for a fork, the rows that it would have."""
    compactions: int = 0
    """Compactions that a rewind would undo."""
    restored: int = 0
    """Earlier messages archived, offloaded or shortened since the prompt; a rewind restores them."""


def rewind_points(view: AgentView) -> list[RewindPoint]:
    """List the prompts in a view, including summarized ones, newest first."""
    points: list[RewindPoint] = []
    messages = 0
    rewritten = [
        (head.seq, head.form[0]) for head in view.visible() if head.type in MESSAGES and head.form[0]
    ]
    for head in sorted(view.held_originals(), key=lambda head: head.seq, reverse=True):
        messages += head.type in MESSAGES
        if head.type == UserMessage.TYPE and not is_interruption(head.title):
            points.append(
                RewindPoint(
                    seq=head.seq,
                    time=head.time,
                    title=head.title,
                    messages=messages,
                    compactions=sum(compaction >= head.seq for compaction in view.compactions),
                    restored=sum(seq < head.seq <= rewrite for seq, rewrite in rewritten),
                )
            )
    return points


def fork_points(entries: Sequence[Entry]) -> list[RewindPoint]:
    """List every prompt ever sent, newest first, including compacted and rewound ones."""
    points: list[RewindPoint] = []
    messages = 0
    for entry in entries:
        if entry.kind == "user" and entry.state != "failed":
            points.append(RewindPoint(seq=entry.seq, time=entry.time, title=entry.title, messages=messages))
        messages += entry.kind in ("user", "assistant", "tool")
    return points[::-1]


def tokens_after_rewind(view: AgentView, to: int, usage: ContextUsage) -> int:
    """Estimate the next request after a rewind.

    Args:
        view: The present view.
        to: Log number of the prompt.
        usage: The measured usage of the view, which also gives the ratio of actual to counted tokens.
    """
    trial = view.copy()
    trial.apply(Head(seq=LATER, type=SessionRewind.TYPE, ref=to))
    fixed = usage.parts.system + usage.parts.tools
    share = (usage.total - fixed) / max(1, _counted(view))
    return fixed + max(0, round(share * _counted(trial)))


def _counted(view: AgentView) -> int:
    """Return the counted tokens of what is sent, without system prompts, which a rewind does not remove."""
    return sum(sum(head.tokens.values()) - head.tokens.get("system", 0) for head in view.visible())
