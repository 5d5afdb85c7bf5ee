"""Where boards are kept, without what reads sessions for them: for the screen and for commands."""

from functools import partial
from pathlib import Path

from tui_app.memory.sqlite_store import SqliteBoardStore
from tui_app.memory.store import BoardStore
from tui_app.paths import Paths
from tui_app.session.location import Database, Server
from tui_app.session.store import connect

PATIENCE_S = 3.0
"""Seconds that anything about boards may take on a server."""


def boards_in(database: Database) -> BoardStore:
    """The boards beside the sessions; a file is made when it is first used.

    Raises:
        StorageError: if the driver of a server is not installed.
    """
    if isinstance(database, Server):
        from tui_app.memory.postgres_store import PostgresBoardStore
        from tui_app.session.postgres.schema import SideLine
        from tui_app.session.postgres.wire import this_machine

        return PostgresBoardStore(SideLine(database, PATIENCE_S), this_machine())
    return SqliteBoardStore(partial(connect, database, read_only=False))


def lock_of(paths: Paths) -> Path:
    """Held by the one program of this machine that reads sessions for their boards."""
    return paths.data / "memory.lock"
