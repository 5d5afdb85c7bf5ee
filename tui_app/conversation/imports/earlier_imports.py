"""Which files were imported before, and into which session."""

from collections.abc import Container
from pathlib import Path

from tui_app.events import Record, SessionStart
from tui_app.session.stores.store import SessionStore

_START = 1
"""Log number of a session's first event."""


def earlier_imports(store: SessionStore, known: Container[str] = ()) -> dict[str, Record]:
    """By path of the file: how the newest session began that was imported from it, less the known ones."""
    found: dict[str, Record] = {}
    for info in store.sessions():
        record = None if info.id in known else store.record(info.id, _START)
        if record is None or not isinstance(record.data, SessionStart) or not record.data.imported_file:
            continue
        newest = found.get(record.data.imported_file)
        if newest is None or newest.time < record.time:
            found[record.data.imported_file] = record
    return found


def same_import(path: Path, store: SessionStore, known: Container[str] = ()) -> str:
    """Id of the session that holds a file as it is; empty where none does, or the file was written to since.

    Args:
        path: The file; a part of it may be named after ``#``.
        store: Where sessions are.
        known: Ids of sessions that do not count.
    """
    before = imported_as(path, earlier_imports(store, known))
    try:
        written = Path(str(path).partition("#")[0]).stat().st_mtime
    except OSError:
        return ""
    return before.session if before is not None and written <= before.time else ""


def imported_as(path: Path, earlier: dict[str, Record]) -> Record | None:
    return earlier.get(str(path.absolute()))
