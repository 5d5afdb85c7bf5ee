"""Which files were imported before, and into which session."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tui_app.events import SessionStart
from tui_app.records import frozen
from tui_app.session.store import SessionStore

_START = 1
"""Log number of a session's first event."""


@frozen
class EarlierImport:
    """The session that a file became."""

    session: str
    time: float
    """When it was imported, in seconds since the epoch."""


def earlier_imports(store: SessionStore) -> dict[str, EarlierImport]:
    """By path of the file: the newest session that was imported from it."""
    found: dict[str, EarlierImport] = {}
    for info in store.sessions():
        record = store.record(info.id, _START)
        if record is None or not isinstance(record.data, SessionStart) or not record.data.imported_file:
            continue
        known = found.get(record.data.imported_file)
        if known is None or known.time < record.time:
            found[record.data.imported_file] = EarlierImport(info.id, record.time)
    return found


def same_import(path: Path, store: SessionStore) -> str:
    """Id of the session that holds a file as it is; empty where none does, or the file was written to since.

    Args:
        path: The file; a part of it may be named behind ``#``.
        store: Where sessions are.
    """
    before = imported_as(path, earlier_imports(store))
    try:
        written = Path(str(path).partition("#")[0]).stat().st_mtime
    except OSError:
        return ""
    return before.session if before is not None and written <= before.time else ""


def imported_as(path: Path, earlier: dict[str, EarlierImport]) -> EarlierImport | None:
    return earlier.get(str(path.absolute()))


# Watching an import from outside: how far it is, and stopping it while that is still possible.


class ImportStopped(Exception):
    """The user stopped the import; nothing of it was written."""


@frozen
class ImportProgress:
    """How far an import is."""

    doing: Literal["reading", "counting", "writing"]
    done: int = 0
    """Events that are counted."""
    total: int = 0
    """Events altogether; 0 while the file is read."""


Watch = Callable[[ImportProgress], None]
"""Told of progress; it may raise :class:`ImportStopped` until the writing begins."""


def unwatched(_progress: ImportProgress) -> None:
    """Nobody watches."""


class Stoppable:
    """Stops an import that runs in another thread, if it has not begun to write."""

    def __init__(self, told: Watch) -> None:
        """Pass progress on.

        Args:
            told: Told of progress, in the thread of the import.
        """
        self._told = told
        self._lock = threading.Lock()
        self._stopped = False
        self._writing = False

    def watch(self, progress: ImportProgress) -> None:
        """Take note of progress.

        Raises:
            ImportStopped: if it was stopped meanwhile.
        """
        with self._lock:
            if self._stopped:
                raise ImportStopped
            self._writing = progress.doing == "writing"
        self._told(progress)

    def stop(self) -> bool:
        """Stop it. Return whether that was possible: what is being written is written to its end."""
        with self._lock:
            self._stopped = not self._writing
            return self._stopped
