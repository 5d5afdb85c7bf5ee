"""Which files were imported before, and into which session."""

from dataclasses import dataclass
from pathlib import Path

from tui_app.events import SessionStart
from tui_app.session.port import SessionStore

_START = 1
"""Log number of a session's first event."""


@dataclass(frozen=True, slots=True)
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
    """The session that a file became; None when it was not imported."""
    return earlier.get(str(path.absolute()))
