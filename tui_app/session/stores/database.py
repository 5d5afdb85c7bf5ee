"""Opening the database of sessions: a file on this machine, or a server that several machines share."""

from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.context.storage_errors import StorageError
from tui_app.extras import install_command
from tui_app.settings.spec import SessionServer

if TYPE_CHECKING:
    from tui_app.session.stores.store import Follower, SessionStore

Database = Path | SessionServer


def database_of(store: str, file: Path) -> Database:
    """Choose the database.

    Args:
        store: The setting ``store``; empty for the file on this machine.
        file: That file.
    """
    return SessionServer(store) if store else file


def open_store(database: Database, *, read_only: bool = False) -> "SessionStore":
    """Open the store of sessions; a writable one is created if missing.

    Raises:
        StorageError: if the file or the server cannot be used.
        sqlite3.DatabaseError: if a newer version wrote the file.
        OSError: if a file cannot be created.
    """
    # Imported here: the first frame needs neither database, and few users need the second one.
    if isinstance(database, SessionServer):
        need_driver()
        from tui_app.session.stores.postgres_store import PostgresStore

        return PostgresStore(database, read_only=read_only)
    from tui_app.session.stores.sqlite_store import SqliteStore

    return SqliteStore(database, read_only=read_only)


def log_exists(database: Database) -> bool:
    """Return whether there is a log. Interrupting the very first start leaves an empty file.

    Raises:
        StorageError: if the server cannot be reached, or its driver is not installed.
    """
    if isinstance(database, SessionServer):
        need_driver()
        from tui_app.session.stores.postgres_store import has_log

        return has_log(database)
    from tui_app.session.stores.sqlite_connection import has_events

    return has_events(database) or has_events(database.with_name(f"{database.name}-wal"))


def follow(database: Database, session: str, lock_file: Path) -> "Follower":
    """Follow a session that another process writes.

    Args:
        database: Its database.
        session: Its full id.
        lock_file: Its lock, if the database is a file.

    Raises:
        StorageError: if the database cannot be used.
    """
    if isinstance(database, SessionServer):
        need_driver()
        from tui_app.session.stores.postgres_follower import PostgresFollower

        return PostgresFollower(database, session)
    from tui_app.session.stores.sqlite_follower import SqliteFollower

    return SqliteFollower(database, lock_file)


def need_driver() -> None:
    """Check that the driver of the server is installed.

    Raises:
        StorageError: if it is not.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise StorageError(
            "Sessions are set to be kept on a PostgreSQL server, but its driver is not installed.",
            f"Remove the setting store, or install it with: {install_command('postgres')}",
        ) from error
