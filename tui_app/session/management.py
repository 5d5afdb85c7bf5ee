"""Sessions as a whole: finding those over a limit, renaming, deleting, and measuring their size."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tui_app.context.storage_errors import DiskFull, storage_error
from tui_app.events import UserMessage
from tui_app.records import frozen
from tui_app.session.lock import SessionLocked
from tui_app.session.stores.database import Database, open_store
from tui_app.session.stores.sqlite_connection import reserve_of
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionInfo, SessionStore
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import SessionServer
from tui_app.text import count, plain_text

DAY_S = 86_400.0


@frozen(kw_only=True)
class Limits:
    """Limits for keeping sessions; 0 for none."""

    days: float = 0.0
    """Days since a session was last used."""
    max_sessions: int = 0
    max_bytes: int = 0
    """Bytes of all sessions together, logs and files."""

    @property
    def any(self) -> bool:
        return bool(self.days or self.max_sessions or self.max_bytes)


@frozen
class DueSession:
    """One session that is over a limit."""

    info: SessionInfo
    reason: str
    """The limit that it exceeds."""


def due_sessions(
    sessions: Sequence[SessionInfo], limits: Limits, *, now: float, sizes: Mapping[str, int]
) -> list[DueSession]:
    """Return the sessions over a limit, most recently used first.

    If the clock is past the last use of any session, age is counted up to that use: a clock that is wrong by
    years must not make everything old, and after a long absence all sessions are still there.

    Args:
        sessions: All of them.
        limits: The limits.
        now: Seconds since the epoch.
        sizes: Bytes of each session by id; needed if bytes are limited.
    """
    newest_first = sorted(sessions, key=lambda info: info.used, reverse=True)
    latest = min([now, *(info.used for info in newest_first[:1])])
    found: list[DueSession] = []
    total = kept = 0
    for info in newest_first:
        days = (latest - info.used) / DAY_S
        total += sizes.get(info.id, 0)
        if limits.days and days > limits.days:
            reason = f"not used for {days:,.0f} days"
        elif limits.max_sessions and kept >= limits.max_sessions:
            reason = f"more than {count(limits.max_sessions, 'session')}"
        elif limits.max_bytes and total > limits.max_bytes:
            reason = f"more than {limits.max_bytes:,} bytes together"
        else:
            kept += 1
            continue
        found.append(DueSession(info, reason))
    return found


def sizes_of(store: SessionStore, sessions_dir: Path) -> dict[str, int]:
    """Return bytes of each session's log and files here, by id. Reads the whole log, and blocks.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    return {session: size + folder_size(sessions_dir / session) for session, size in store.sizes().items()}


def folder_size(folder: Path) -> int:
    """Return the bytes of the files in a folder; 0 if it is missing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if path.is_file() else 0
        except OSError:  # deleted meanwhile
            continue
    return total


LONGEST_TITLE = 200
"""Maximum characters of a title."""


def rename_session(store: SessionStore, session: str, title: str) -> str:
    """Rename a session, even while it is being written.

    Args:
        store: A writable store.
        session: Full id of the session.
        title: Any text; becomes one line. Empty restores the start of the first prompt.

    Returns:
        The new title; empty if nothing was said yet.

    Raises:
        SessionNotFound: if the session was deleted meanwhile.
        sqlite3.Error: if it cannot be written.
    """
    store.info(session)
    named = " ".join(plain_text(title).split())[:LONGEST_TITLE] or next(
        (head.title for head in store.heads(session) if head.type == UserMessage.TYPE), ""
    )
    store.set_title(session, named)
    return named


def delete_session(
    database: Database, sessions_dir: Path, session: str, *, last_used: float | None = None
) -> None:
    """Delete a session, only ever at the user's request.

    Files that cannot be deleted stay; nothing refers to them any more.

    Args:
        database: The database of the session.
        sessions_dir: Parent of the sessions' folders.
        session: Full id of the session.
        last_used: The last use that the caller knows of; None not to compare.

    Raises:
        SessionLocked: if the session is open for writing, or was used since; nothing is deleted then.
        SessionNotFound: if it is deleted already.
        OSError: if its lock cannot be created.
        sqlite3.DatabaseError: if the log cannot be changed.
    """
    folder = SessionFolder.named(sessions_dir, session)

    def delete(store: SessionStore) -> None:
        with closing(store):
            lock = store.lock(session, folder.lock_file)
            try:
                if last_used is not None and store.info(session).updated != last_used:
                    raise SessionLocked("a window that has been closed again")
                children = store.children(session)
                store.delete(session)
                for each in (session, *children):
                    SessionFolder.named(sessions_dir, each).remove()
            finally:
                lock.release()

    try:
        delete(open_store(database))
    except (sqlite3.Error, OSError) as error:
        if isinstance(database, SessionServer) or not isinstance(storage_error(error, database), DiskFull):
            raise
        reserve_of(database).unlink(missing_ok=True)
        try:
            delete(open_store(database))
        except (sqlite3.Error, OSError):
            try:
                delete(SqliteStore(database, cramped=True))
            except sqlite3.Error:
                raise error from None
