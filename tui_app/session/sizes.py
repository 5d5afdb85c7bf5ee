"""How big a session is, as the list shows it: kept up to date with every event that is written."""

from collections.abc import Iterable

from tui_app.events import (
    AssistantMessage,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    MemoryInbox,
    Payload,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SystemMessage,
    ToolResult,
    UsageInfo,
    UserMessage,
    ViewRewrite,
)
from tui_app.session.agent_view import AgentView
from tui_app.session.known import Known
from tui_app.session.visibility import CARRYING


def count_messages(kinds: Iterable[str]) -> int:
    """Count messages among events: what is an item of the model's view, each tool result by itself.

    Args:
        kinds: Types of events.
    """
    return sum(kind in CARRYING for kind in kinds)


def tokens_after(tokens: int, events: Iterable[Payload]) -> int | None:
    """Tokens of the view once more has happened.

    Args:
        tokens: Tokens before.
        events: What happened, in order.

    Returns:
        None when the view was rewritten, so that it must be counted anew.
    """
    rewritten = False
    for data in events:
        match data:
            case UsageInfo(usage=usage):
                tokens, rewritten = int(usage["total"]), False
            case UserMessage() | AssistantMessage() | ToolResult() | SystemMessage() | MemoryInbox():
                tokens += sum(data.tokens.values())
            case CompactionUndone() | CompactionRedone() | SessionClear() | SessionRewind() | ViewRewrite():
                rewritten = True
            case RewriteUndone() | SessionRestored() | CompactionAcknowledged() | CompactionEdited():
                rewritten = True
            case CompactionComplete(outcome="success"):
                rewritten = True
            case _:
                pass
    return None if rewritten else tokens


def view_tokens(view: AgentView, last: UsageInfo | None) -> int:
    """Count a view, with what the last request carried besides.

    Args:
        view: The messages that are sent.
        last: What was measured with the last request; None before the first.
    """
    known = Known(last, factor=(last.factor if last is not None else None) or 1.0)
    return known.usage(view, "").total
