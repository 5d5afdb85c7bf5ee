"""Loading of a session's history from its log, with token counts for a model."""

from collections.abc import Callable

from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ignore
from tui_app.conversation.history.compaction_archive import Archive
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import Record
from tui_app.session.stores.store import SessionStore
from tui_app.session.workspace import SessionFolder

Sink = Callable[[Record], None]
"""Receives every record."""


def load_history(
    opening: Opening, store: SessionStore, session: str, model: str, text: TextCounter, publish: Sink = ignore
) -> SessionHistory:
    """Load the history. ``publish`` receives every record added to it."""
    archive = Archive(SessionFolder.named(opening.paths.sessions_dir, session))
    counter = TokenCounter(text, model=model)
    history = SessionHistory(store, session, archive, counter, publish, model, secrets=opening.secrets())
    history.load()
    return history
