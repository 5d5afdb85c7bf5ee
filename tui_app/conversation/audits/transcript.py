"""A conversation with the compactions in it: a transcript as its import would be, or a session."""

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
    """One conversation to audit or to replay."""

    name: str
    """The file, or the id of the session."""
    format: str
    """Format of the file; ``session`` for a session that began here."""
    title: str
    model: str
    """Name of the model that answered, as far as it is known; a file has it without its provider."""
    heads: tuple[Head, ...]
    messages: ViewMessages
    event: Callable[[int], Payload | None]
    """An event by its log number."""
    beside: tuple[str, ...] = ()
    """What the model was told outside of the messages."""
    skipped: tuple[SkippedLine, ...] = ()
    notes: tuple[str, ...] = ()

    def original_items(self) -> list[Item]:
        """What was said, in the form it was said in; compactions are left out."""
        heads = original_heads(self.heads)
        self.messages.load(heads)
        return [Item(head.seq, self.messages.of(head)) for head in heads]


def recorded_file(path: Path, name: str = "", *, summary: str = "") -> Recorded:
    """Read a file as an import does, and count it.

    Args:
        path: The file.
        name: What it is called, if not by its path.
        summary: What a compaction at its end puts in the place of all of it; empty for none.

    Raises:
        ImportFormatError: if the file holds no conversation that can be read.
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
    """Read a session; the store must stay open while it is read.

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
