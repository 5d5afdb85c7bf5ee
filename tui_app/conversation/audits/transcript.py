"""A recorded conversation with its compactions, from a transcript file or a session."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tui_app.context.views.view import Item
from tui_app.conversation.history.view_messages import ViewMessages, original_heads
from tui_app.conversation.imports.imports import count_events
from tui_app.events import Payload, SessionStart, data_of
from tui_app.records import frozen, like
from tui_app.session.event_heads import Head, head_of
from tui_app.session.importers.formats import FIRST_SEQ, SkippedLine, import_file
from tui_app.session.stores.store import SessionStore


@frozen(kw_only=True)
class Recorded:
    """One conversation to audit or replay."""

    name: str
    """Path of the file, or id of the session."""
    format: str
    """Format of the file; ``session`` for one of our own."""
    title: str
    model: str
    """Name of the model that answered, if known; a file has it without its provider."""
    heads: tuple[Head, ...]
    messages: ViewMessages
    event: Callable[[int], Payload | None]
    """Returns an event by its log number."""
    beside: tuple[str, ...] = ()
    """What the model was told outside of the messages."""
    skipped: tuple[SkippedLine, ...] = ()
    notes: tuple[str, ...] = ()

    def original_items(self) -> list[Item]:
        """All messages in their original form, without compactions."""
        heads = original_heads(self.heads)
        self.messages.load(heads)
        return [Item(head.seq, self.messages.of(head)) for head in heads]


def recorded_file(path: Path, name: str = "", *, summary: str = "") -> Recorded:
    """Read a transcript file as an import does, and count its tokens.

    Args:
        path: The file.
        name: Name to show instead of the path.
        summary: The summary of a compaction at its end that replaces everything; empty for none.

    Raises:
        ImportFormatError: if the file has no readable conversation.
        OSError: if the file cannot be read.
    """
    imported = import_file(path, summary=summary)
    if imported.is_own:
        events = [(each.data, each.message, each.time) for each in imported.events]
    else:
        events = count_events(imported.events, model=imported.model)
    return like(
        Recorded,
        imported,
        name=name or str(path),
        title=imported.title or path.stem,
        heads=tuple(head_of(seq, time, data) for seq, (data, _, time) in enumerate(events, FIRST_SEQ)),
        messages=ViewMessages(lambda seq: events[seq - FIRST_SEQ][1]),
        event=lambda seq: events[seq - FIRST_SEQ][0],
        beside=(imported.cwd, imported.branch),
    )


def recorded_session(store: SessionStore, session: str) -> Recorded:
    """Read a session. The store must stay open while the result is used.

    Raises:
        SessionNotFound: if the id fits no session.
    """
    info = store.info(session)
    start = data_of(store.record(info.id, 1), SessionStart)
    branch, imported_from = (start.branch, start.imported_from) if start else ("", "")
    return like(
        Recorded,
        info,
        name=info.id,
        format=imported_from or "session",
        heads=tuple(store.heads(info.id)),
        messages=ViewMessages(partial(store.message, info.id)),
        event=lambda seq: data_of(store.record(info.id, seq), Payload),
        beside=(info.cwd, branch),
    )
