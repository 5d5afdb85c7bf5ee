"""Where boards are kept, without what reads sessions for them: for the screen and for commands."""

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
"""Seconds that anything about boards may take on a server."""


def boards_in(database: Database) -> BoardStore:
    """The boards beside the sessions; a file is made when it is first used.

    Raises:
        StorageError: if the driver of a server is not installed.
    """
    if isinstance(database, SessionServer):
        need_driver()
        from tui_app.session.stores.postgres_server import SideLine, this_machine

        return PostgresBoardStore(SideLine(database, PATIENCE_S), this_machine())
    return SqliteBoardStore(partial(connect, database, read_only=False))


def lock_of(paths: Paths) -> Path:
    """Held by the one program of this machine that reads sessions for their boards."""
    return paths.data / "memory.lock"


def own_scope(
    boards: BoardStore, database: Database, info: SessionInfo, here: Path, due: DueSession | None = None
) -> Scope | None:
    """Find whose board a session fills.

    Args:
        boards: Knows by what name a repository goes.
        database: Where sessions are kept.
        info: The session.
        here: The folder it goes on in, or is read in.
        due: What was noted when it was asked to be read.

    Returns:
        The scope of its own folder; None where sessions are shared, that folder is on another machine, and
        nobody here knows whose it is.
    """
    folder = Path(info.cwd)
    if folder.is_dir():
        return boards.scope(folder)
    if due is not None:
        return Scope(repository=due.repository, branch=due.branch)
    return None if isinstance(database, SessionServer) else boards.scope(here)


def session_scope(boards: BoardStore, database: Database, info: SessionInfo, here: Path) -> Scope:
    """Find the one board of an open session: it is filled, shown, changed by hand, and told to the model.

    Args:
        boards: Knows by what name a repository goes.
        database: Where sessions are kept.
        info: The session.
        here: The folder it goes on in.
    """
    at, own = boards.scope(here), own_scope(boards, database, info, here)
    # In the same repository it is the present branch that counts, in a worktree too.
    return at if own is None or own.repository == at.repository else own
