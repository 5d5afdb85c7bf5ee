"""Prompts that a conversation can go back to, and what would be removed with each."""

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
    """A prompt that can be gone back to."""

    seq: int
    """Its log number."""
    time: float
    """When it was said, in seconds since the epoch."""
    title: str
    """Its first line."""
    messages: int
    """Messages that would leave with a rewind, the prompt included; rows that a fork would hold."""
    compactions: int = 0
    """Compactions that a rewind would take back."""
    restored: int = 0
    """Messages before it that were archived, put in files or shortened since: they come back in full."""


def rewind_points(view: AgentView) -> list[RewindPoint]:
    """List the prompts a view holds, or holds in a summary, the newest first."""
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
    """List every prompt that was ever sent, the newest first: also what was compacted or left behind."""
    points: list[RewindPoint] = []
    said = 0
    for entry in entries:
        if entry.kind == "user" and entry.state != "failed":
            points.append(RewindPoint(seq=entry.seq, time=entry.time, title=entry.title, messages=said))
        said += entry.kind in ("user", "assistant", "tool")
    return points[::-1]


def tokens_after_rewind(view: AgentView, to: int, usage: ContextUsage) -> int:
    """Estimate the next request once a view ends before a prompt.

    Args:
        view: As it is now.
        to: Log number of the prompt.
        usage: What was measured of it; it also says how counted tokens relate to those of the model.
    """
    trial = view.copy()
    trial.apply(Head(seq=LATER, type=SessionRewind.TYPE, ref=to))
    fixed = usage.parts.system + usage.parts.tools
    share = (usage.total - fixed) / max(1, _counted(view))
    return fixed + max(0, round(share * _counted(trial)))


def _counted(view: AgentView) -> int:
    """Counted tokens of what is sent, less the system prompts, which stay."""
    return sum(sum(head.tokens.values()) - head.tokens.get("system", 0) for head in view.visible())
