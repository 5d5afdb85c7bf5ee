"""Opening sessions where they are kept. The one place that chooses between stores."""

from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.session.location import Database, Server

if TYPE_CHECKING:
    from tui_app.session.port import Follower, SessionStore


def open_store(database: Database, *, read_only: bool = False) -> "SessionStore":
    """Open a store of sessions; one that is to be written is made where it is missing.

    Raises:
        StorageError: if the file or the server cannot be used.
        sqlite3.DatabaseError: if a file comes from a newer version.
        OSError: if a file cannot be created.
    """
    # Neither database is needed for the first frame, and hardly anybody needs the second one.
    if isinstance(database, Server):
        from tui_app.session.postgres.store import PostgresStore

        return PostgresStore(database, read_only=read_only)
    from tui_app.session.store import Store

    return Store(database, read_only=read_only)


def has_begun(database: Database) -> bool:
    """Whether there is a log; an empty file is left when the first start is cut off.

    Raises:
        StorageError: if the server cannot be reached.
    """
    if isinstance(database, Server):
        from tui_app.session.postgres.store import has_log

        return has_log(database)
    return database.exists() and database.stat().st_size > 0


def follow(database: Database, session: str, lock_file: Path) -> "Follower":
    """Follow a session that somebody else writes.

    Args:
        database: Where it is.
        session: Whole id of it.
        lock_file: Its lock, where the database is a file.

    Raises:
        StorageError: if the database cannot be used.
    """
    if isinstance(database, Server):
        from tui_app.session.postgres.store import ServerFollower

        return ServerFollower(database, session)
    from tui_app.session.store import FileFollower

    return FileFollower(database, lock_file)
