"""Deleting a session for good: its log and its files, and only while nobody writes it."""

from pathlib import Path

from tui_app.session.lock import WriterLock
from tui_app.session.store import Store
from tui_app.session.workspace import SessionFolder


def delete_session(database: Path, sessions_dir: Path, session: str) -> None:
    """Delete a session; only ever on a person's own request.

    Files that the disk does not give up are left behind; nothing refers to them any more.

    Args:
        database: The file with the log of every session.
        sessions_dir: Parent of the sessions' folders.
        session: The session's whole id.

    Raises:
        SessionLocked: if the session is open for writing somewhere; nothing is deleted then.
        OSError: if its lock cannot be made.
        sqlite3.DatabaseError: if the log cannot be changed.
    """
    folder = SessionFolder(sessions_dir / session)
    with WriterLock(folder.lock_file):
        store = Store(database)
        try:
            store.delete(session)
        finally:
            store.close()
        folder.remove()
