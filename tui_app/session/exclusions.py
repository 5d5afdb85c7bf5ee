"""What a user keeps out of the model's sight, as the log says it."""

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
    """By the log number of a message, that of the event that excluded it."""
    calls: frozenset[str] = frozenset()
    """Ids of the calls that excluded answers make."""

    def covers(self, seq: int, payload: Payload) -> bool:
        """Whether an event is of an excluded message, or may tell of one."""
        match payload:
            case ToolCall(tool_call_id=id):
                return id in self.calls
            case ShellCommand(private=True) | ShellResult(private=True):
                return True
            case CompactionComplete(removed=removed):
                # Its summary may tell of them, where it was undone or stood before they were excluded.
                return any(low <= each <= high for low, high in removed for each in self.since)
            case _:
                return seq in self.since


def excluded_in(store: SessionStore, session: str) -> Excluded:
    """Find what is excluded in a session; neither a rewind nor a clear changes that.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    standing: dict[int, tuple[int, tuple[int, ...]]] = {}
    for head in reversed(list(store.newest(session, (MessageExcluded.TYPE, RewriteUndone.TYPE)))):
        if head.type == MessageExcluded.TYPE:
            standing[head.ref or head.seq] = head.seq, tuple(seq for seq, _ in head.removed)
        else:
            standing.pop(head.ref, None)
    since = {seq: by for by, seqs in standing.values() for seq in seqs}
    answers = (data_of(store.record(session, seq), AssistantMessage) for seq in since)
    return Excluded(since, frozenset(id for answer in answers if answer for id in answer.call_ids))
