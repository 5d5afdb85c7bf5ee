"""What a session is called: a label on it, and no part of what was said."""

from tui_app.events import UserMessage
from tui_app.session.exports.plain_text import plain_text
from tui_app.session.ports import SessionStore

LONGEST_TITLE = 200
"""Characters of a title that are kept."""


def rename_session(store: SessionStore, session: str, title: str) -> str:
    """Give a session another title, also while somebody writes it.

    Args:
        store: Where it is, open for writing.
        session: The session's whole id.
        title: Any text; it becomes one line. Empty for the beginning of the first prompt again.

    Returns:
        The title that it has now; empty where nothing was said yet.

    Raises:
        SessionNotFound: if it was deleted meanwhile.
        sqlite3.Error: if it cannot be written.
    """
    store.info(session)
    named = " ".join(plain_text(title).split())[:LONGEST_TITLE] or _first_prompt(store, session)
    store.set_title(session, named)
    return named


def _first_prompt(store: SessionStore, session: str) -> str:
    return next((head.title for head in store.heads(session) if head.type == UserMessage.TYPE), "")
