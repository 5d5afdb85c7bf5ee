"""What may go wrong for anyone with a session or a file, as sentences for a person."""

import sqlite3
from pathlib import Path

from tui_app.context.storage_errors import storage_error
from tui_app.session.lock import SessionLocked
from tui_app.session.port import SessionNotFound


def explained(error: BaseException, database: Path | None) -> str:
    """Say why something was not possible.

    Args:
        error: What was raised.
        database: The sessions file, where it is known.

    Returns:
        The reason in words; empty for an error that should never happen, whose words are for a log.
    """
    match error:
        case SessionNotFound():
            return str(error.args[0])
        case SessionLocked():
            return f"The session is open in {error}, and only one may write it. Close it there first."
        case sqlite3.Error() | OSError() if told := storage_error(error, database):
            return str(told)
        case sqlite3.Error():
            return f"The sessions file {database or ''}".rstrip() + f" cannot be used: {error}."
        case OSError() if error.strerror:
            return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
        case _:
            return ""
