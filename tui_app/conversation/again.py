"""Sending the last prompt once more, in place of what came of it."""

from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.work import Prompt
from tui_app.events import SessionRewind, UserMessage


def last_prompt(history: SessionHistory) -> int:
    """Log number of the newest prompt that the context holds, or that failed without an answer; else 0."""
    failed: set[int] = set()
    for head in reversed(list(history.store.heads(history.session))):
        if head.type == SessionRewind.TYPE and head.state == "failed":
            failed.add(head.ref)
        if head.type == UserMessage.TYPE and (head.seq in failed or history.view.can_rewind(head.seq)):
            return head.seq
    return 0


def prompt_at(history: SessionHistory, seq: int) -> Prompt | None:
    """A prompt as it was sent, with the files that went along; None where there is none."""
    record = history.store.record(history.session, seq) if seq else None
    if record is None or not isinstance(record.data, UserMessage):
        return None
    return Prompt(record.data.text, record.data.attachments)
