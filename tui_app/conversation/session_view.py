"""The history of a session as its log has it now, counted for a model."""

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
"""Called with every record."""


def load_history(
    opening: Opening, store: SessionStore, session: str, model: str, text: TextCounter, publish: Sink = ignore
) -> SessionHistory:
    """Read it; whoever wants to hear of what is added to it says so with ``publish``."""
    archive = Archive(SessionFolder.named(opening.paths.sessions_dir, session))
    counter = TokenCounter(text, model=model)
    history = SessionHistory(store, session, archive, counter, publish, model, secrets=opening.secrets())
    history.load()
    return history
