"""Where boards are kept, without what reads sessions for them: for the screen and for commands."""

from functools import partial
from pathlib import Path

from tui_app.memory.sqlite_store import SqliteBoardStore
from tui_app.paths import Paths
from tui_app.session.database import connect


def boards_in(database: Path) -> SqliteBoardStore:
    """The boards that stand in a sessions file; it is made when it is first used."""
    return SqliteBoardStore(partial(connect, database, read_only=False))


def lock_of(paths: Paths) -> Path:
    """Held by the one program that reads sessions for their boards."""
    return paths.data / "memory.lock"
