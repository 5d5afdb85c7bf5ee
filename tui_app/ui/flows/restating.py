"""Compacting what was said, and taking back what was done to it: from a command, a key or a row."""

from tui_app.context.compaction_range import Span
from tui_app.conversation.work import Compact, Restate, Restore, RestoreFiles, asked_compaction
from tui_app.session.entries import Entry
from tui_app.ui.chat_session import ChatSession


def compact(session: ChatSession, argument: str = "") -> None:
    """Compact now, or after the running turn.

    Args:
        session: The open session.
        argument: What stands behind ``/compact``: see :func:`asked_compaction`.
    """
    asked = asked_compaction(argument)
    if isinstance(asked, str):
        session.say(asked)
    else:
        session.submit(asked)


def compact_part(session: ChatSession, entry: Entry, *, up_to: bool) -> None:
    """Compact what was said up to a row, or from it on."""
    session.submit(Compact(span=part_of(entry, up_to=up_to)))


def part_of(entry: Entry, *, up_to: bool) -> Span:
    """What was said up to a row, or from it on."""
    return Span(last=entry.result_seq or entry.seq) if up_to else Span(first=entry.seq)


def undo(session: ChatSession, entry: Entry) -> None:
    """Take back what a row stands for: a compaction, a rewrite, a rewind, or files that went back."""
    if entry.kind == "files":
        session.submit(RestoreFiles(entry.seq))
    elif entry.kind in ("rewrite", "clear"):
        session.submit(Restore(entry.seq))
    else:
        session.submit(Restate(undo=True, compaction=entry.seq))
