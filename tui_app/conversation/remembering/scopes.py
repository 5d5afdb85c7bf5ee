"""Whose board a session fills: that of the folder it was begun in, wherever it goes on."""

from pathlib import Path

from tui_app.memory.entries import Due
from tui_app.memory.scope import Scope
from tui_app.memory.store import BoardStore
from tui_app.session.info import SessionInfo
from tui_app.session.places import Database, Server


def own_scope(
    boards: BoardStore, database: Database, info: SessionInfo, due: Due | None = None
) -> Scope | None:
    """Find whose board a session fills.

    Args:
        boards: Knows by what name a repository goes.
        database: Where sessions are kept.
        info: The session.
        due: What was noted when it was asked to be read.

    Returns:
        The scope of its own folder; None where that is on another machine and nobody here knows whose it is.
    """
    folder = Path(info.cwd)
    if isinstance(database, Server) and not folder.is_dir():
        return Scope(repository=due.repository, branch=due.branch) if due is not None else None
    return boards.scope(folder)
