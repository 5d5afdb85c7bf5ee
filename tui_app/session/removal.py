"""Deleting a session for good: its log and its files, and only while nobody writes it."""

from pathlib import Path

from tui_app.session.location import Database
from tui_app.session.lock import SessionLocked
from tui_app.session.places import open_store
from tui_app.session.workspace import SessionFolder


def delete_session(
    database: Database, sessions_dir: Path, session: str, *, last_used: float | None = None
) -> None:
    """Delete a session; only ever on a person's own request.

    Files that the disk does not give up are left behind; nothing refers to them any more.

    Args:
        database: Where the log of every session is.
        sessions_dir: Parent of the sessions' folders.
        session: The session's whole id.
        last_used: When it was last used as far as whoever decided knows; None is not to look.

    Raises:
        SessionLocked: if the session is open for writing somewhere, or was used since then; nothing is
            deleted then.
        SessionNotFound: if somebody else has deleted it.
        OSError: if its lock cannot be made.
        sqlite3.DatabaseError: if the log cannot be changed.
    """
    folder = SessionFolder(sessions_dir / session)
    store = open_store(database)
    try:
        lock = store.lock(session, folder.lock_file)
        try:
            if last_used is not None and store.info(session).updated != last_used:
                raise SessionLocked("a window that has been closed again")
            store.delete(session)
            folder.remove()
        finally:
            lock.release()
    finally:
        store.close()
