"""Sessions in OpenCode's own store, put together as an export has them.

Old versions keep a folder of small JSON files, new ones a SQLite file. ``FILE#SESSION`` names one session of
the latter.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tui_app.session.importers.fields import record_text
from tui_app.session.importers.result import ImportFormatError
from tui_app.session.importers.source import Json, Source, is_database, open_regular, parse_json


def stored_document(source: Source) -> Json | None:
    """The export of the session that a file of the store stands for; None when it is none."""
    if is_database(source.raw):
        return _from_database(source.path, source.part)
    if len(source.raw) > 1_000_000 or not record_text(_object(source.document), "projectID"):
        return None
    return _from_folder(source.path, _object(source.document))


def database_sessions(path: Path) -> list[tuple[str, Json]]:
    """Id and data of every session of a store in SQLite, newest first; empty when it is no such file."""
    try:
        with closing(_open(path)) as database:
            rows = database.execute(
                "SELECT id, title, directory, time_updated FROM session "
                "WHERE parent_id IS NULL ORDER BY time_updated DESC"
            ).fetchall()
    except sqlite3.Error:
        return []
    return [
        (str(row[0]), {"id": row[0], "title": row[1], "directory": row[2], "time": {"updated": row[3]}})
        for row in rows
    ]


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)


def _from_database(path: Path, session: str) -> Json | None:
    sessions = dict(database_sessions(path))
    session = session or next(iter(sessions), "")
    try:
        with closing(_open(path)) as database:
            messages = database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
            ).fetchall()
            parts = database.execute(
                "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)
            ).fetchall()
    except sqlite3.Error:
        return None
    by_message: dict[Any, list[Any]] = {}
    for message, data in parts:
        by_message.setdefault(message, []).append(_parsed(data))
    listed = [{"info": _parsed(data), "parts": by_message.get(number, [])} for number, data in messages]
    return {"info": sessions.get(session, {}), "messages": listed}


def _from_folder(path: Path, info: Json) -> Json | None:
    root, session = path.parents[2], record_text(info, "id")
    # The id becomes part of a path: it must be one name.
    if not session or Path(session).name != session or not (root / "message" / session).is_dir():
        return None
    listed = []
    for file in sorted((root / "message" / session).glob("*.json")):
        parts = [_read(part) for part in sorted((root / "part" / file.stem).glob("*.json"))]
        listed.append({"info": _read(file), "parts": parts})
    return {"info": info, "messages": listed}


def _read(path: Path) -> Any:
    try:
        with open_regular(path) as file:
            return _parsed(file.read().decode("utf-8", "replace"))
    except (OSError, ImportFormatError) as error:
        return f"unreadable: {getattr(error, 'strerror', error)}"


def _parsed(text: Any) -> Any:
    try:
        return parse_json(text) if isinstance(text, str) else json.dumps(str(text))
    except ValueError:
        return "damaged JSON"


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
