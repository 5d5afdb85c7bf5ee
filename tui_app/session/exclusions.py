"""Messages that the user excluded from the context, read from the log."""

from collections.abc import Mapping
from dataclasses import field

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    MessageExcluded,
    Payload,
    RewriteUndone,
    ShellCommand,
    ShellResult,
    ToolCall,
    data_of,
)
from tui_app.records import frozen
from tui_app.session.stores.store import SessionStore


@frozen
class Excluded:
    """The excluded messages of a session."""

    since: Mapping[int, int] = field(default_factory=dict)
    """Log number of the event that excluded a message, by the message's log number."""
    calls: frozenset[str] = frozenset()
    """Ids of the calls made by excluded answers."""

    def covers(self, seq: int, payload: Payload) -> bool:
        """Return whether an event belongs to an excluded message, or may reveal it."""
        match payload:
            case ToolCall(tool_call_id=id):
                return id in self.calls
            case ShellCommand(private=True) | ShellResult(private=True):
                return True
            case CompactionComplete(removed=removed):
                # Its summary may reveal them, if it was undone or written before they were excluded.
                return any(low <= each <= high for low, high in removed for each in self.since)
            case _:
                return seq in self.since


def excluded_in(store: SessionStore, session: str) -> Excluded:
    """Find the excluded messages of a session. Neither a rewind nor a clear changes them.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    exclusions: dict[int, tuple[int, tuple[int, ...]]] = {}
    for head in reversed(list(store.newest(session, (MessageExcluded.TYPE, RewriteUndone.TYPE)))):
        if head.type == MessageExcluded.TYPE:
            exclusions[head.ref or head.seq] = head.seq, tuple(seq for seq, _ in head.removed)
        else:
            exclusions.pop(head.ref, None)
    since = {seq: by for by, seqs in exclusions.values() for seq in seqs}
    answers = (data_of(store.record(session, seq), AssistantMessage) for seq in since)
    return Excluded(since, frozenset(id for answer in answers if answer for id in answer.call_ids))
