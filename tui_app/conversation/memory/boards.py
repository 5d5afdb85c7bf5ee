"""Storage of boards, for the screen and commands. Does not load what reads sessions for them."""

from functools import partial
from pathlib import Path

from tui_app.memory.entries import DueSession
from tui_app.memory.scope import Scope
from tui_app.memory.store import BoardStore, PostgresBoardStore, SqliteBoardStore
from tui_app.paths import Paths
from tui_app.session.stores.database import Database, need_driver
from tui_app.session.stores.sqlite_connection import connect
from tui_app.session.stores.store import SessionInfo
from tui_app.settings.spec import SessionServer

PATIENCE_S = 3.0
"""Timeout in seconds for operations on boards on a server."""


def boards_in(database: Database) -> BoardStore:
    """The boards stored with the sessions. A file is created on first use.

    Raises:
        StorageError: if the driver of a server is not installed.
    """
    if isinstance(database, SessionServer):
        need_driver()
        from tui_app.session.stores.postgres_server import SideLine, this_machine

        return PostgresBoardStore(SideLine(database, PATIENCE_S), this_machine())
    return SqliteBoardStore(partial(connect, database, read_only=False))


def lock_of(paths: Paths) -> Path:
    """Lock file of the one program on this machine that reads sessions for memory."""
    return paths.data / "memory.lock"


def own_scope(
    boards: BoardStore, database: Database, info: SessionInfo, here: Path, due: DueSession | None = None
) -> Scope | None:
    """Find the board that a session is read for.

    Args:
        boards: Knows the names of repositories.
        database: Where sessions are kept.
        info: The session.
        here: The folder it continues in, or is read in.
        due: The note of the request to read it.

    Returns:
        The scope of its own folder; None if sessions are shared, that folder is on another machine, and its
        repository is not known here.
    """
    folder = Path(info.cwd)
    if folder.is_dir():
        return boards.scope(folder)
    if due is not None:
        return Scope(repository=due.repository, branch=due.branch)
    return None if isinstance(database, SessionServer) else boards.scope(here)


def session_scope(boards: BoardStore, database: Database, info: SessionInfo, here: Path) -> Scope:
    """Find the one board of an open session: read for, shown, edited and given to the model.

    Args:
        boards: Knows the names of repositories.
        database: Where sessions are kept.
        info: The session.
        here: The folder it continues in.
    """
    at, own = boards.scope(here), own_scope(boards, database, info, here)
    # In the same repository, the current branch counts, in a worktree too.
    return at if own is None or own.repository == at.repository else own
