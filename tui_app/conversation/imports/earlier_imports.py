"""Earlier imports: the session that each file was imported into."""

from collections.abc import Container
from pathlib import Path

from tui_app.events import Record, SessionStart
from tui_app.session.stores.store import SessionStore

_START = 1
"""Log number of a session's first event."""


def earlier_imports(store: SessionStore, known: Container[str] = ()) -> dict[str, Record]:
    """By file path, start event of the newest session imported from it; ``known`` sessions are skipped."""
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
    """Id of a session imported from a file in its current state; empty if there is none.

    Args:
        path: The file, with an optional part after ``#``.
        store: Where sessions are.
        known: Ids of sessions to skip.
    """
    before = imported_as(path, earlier_imports(store, known))
    try:
        written = Path(str(path).partition("#")[0]).stat().st_mtime
    except OSError:
        return ""
    return before.session if before is not None and written <= before.time else ""


def imported_as(path: Path, earlier: dict[str, Record]) -> Record | None:
    return earlier.get(str(path.absolute()))
