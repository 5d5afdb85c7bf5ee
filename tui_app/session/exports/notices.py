"""Events that are a heading and no more in a conversation written for reading."""

from tui_app.events import (
    CheckpointCreated,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    Error,
    MessagePinned,
    ModelChange,
    Payload,
    PolicyChange,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    SubAgentEnd,
    Truncation,
    ViewRewrite,
)
from tui_app.session.exports.markdown import code, inline
from tui_app.session.head_titles import edit_title, rewrite_title, sub_agent_title


def notice(data: Payload) -> str:
    """The heading of an event that says nothing else; empty for one that is not shown."""
    return _of_session(data) or _of_context(data)


def _of_session(data: Payload) -> str:
    match data:
        case SessionStart():
            origin = f", imported from {inline(data.imported_from)}" if data.imported_from else ""
            return f"Session began{origin}"
        case ModelChange():
            return f"Model changed: {code(data.old)} → {code(data.new)}"
        case PolicyChange():
            return f"Policy changed: {code(data.old)} → {code(data.new)}"
        case SubAgentEnd():
            return f"Sub-agent: {inline(sub_agent_title(data))}"
        case SessionRestored():
            return f"Taken back: #{data.cut}"
        case SessionClear() | SessionRewind():
            return "Context cleared" if isinstance(data, SessionClear) else "Conversation rewound"
        case _:
            return f"Error: {inline(data.message)}" if isinstance(data, Error) else ""


def _of_context(data: Payload) -> str:
    match data:
        case CompactionUndone() | CompactionRedone():
            done = "undone" if isinstance(data, CompactionUndone) else "redone"
            return f"Compaction #{data.compaction} {done}"
        case CompactionEdited():
            return f"Compaction #{data.compaction}: {inline(edit_title(data))}"
        case MessagePinned():
            return f"{'Pinned' if data.pinned else 'Unpinned'}: #{data.seq}"
        case ViewRewrite():
            return f"In the model's context: {rewrite_title(data)}"
        case RewriteUndone():
            return f"Taken back: #{data.rewrite}"
        case Truncation():
            return f"Request cut to fit: {data.tokens_before:,} → {data.tokens_after:,} tokens"
        case CheckpointCreated():
            return f"Checkpoint {data.number}: {inline(data.title)}"
        case _:
            return ""
