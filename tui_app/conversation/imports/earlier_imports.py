"""Which files were imported before, and into which session."""

from collections.abc import Container
from pathlib import Path

from tui_app.events import SessionStart
from tui_app.records import frozen
from tui_app.session.stores.store import SessionStore

_START = 1
"""Log number of a session's first event."""


@frozen
class EarlierImport:
    """The session that a file became."""

    session: str
    time: float
    """When it was imported, in seconds since the epoch."""


def earlier_imports(store: SessionStore, known: Container[str] = ()) -> dict[str, EarlierImport]:
    """By path of the file: the newest session that was imported from it, less the known ones."""
    found: dict[str, EarlierImport] = {}
    for info in store.sessions():
        record = None if info.id in known else store.record(info.id, _START)
        if record is None or not isinstance(record.data, SessionStart) or not record.data.imported_file:
            continue
        newest = found.get(record.data.imported_file)
        if newest is None or newest.time < record.time:
            found[record.data.imported_file] = EarlierImport(info.id, record.time)
    return found


def same_import(path: Path, store: SessionStore, known: Container[str] = ()) -> str:
    """Id of the session that holds a file as it is; empty where none does, or the file was written to since.

    Args:
        path: The file; a part of it may be named behind ``#``.
        store: Where sessions are.
        known: Ids of sessions that do not count.
    """
    before = imported_as(path, earlier_imports(store, known))
    try:
        written = Path(str(path).partition("#")[0]).stat().st_mtime
    except OSError:
        return ""
    return before.session if before is not None and written <= before.time else ""


def imported_as(path: Path, earlier: dict[str, EarlierImport]) -> EarlierImport | None:
    return earlier.get(str(path.absolute()))
