"""What is read from the sessions file besides the log itself, each event's part of it alone."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from tui_app.events import UserMessage
from tui_app.session.rows import plain
from tui_app.session.stats import COUNTED
from tui_app.session.stats_rows import FIGURES

_PATHS = ", ".join(f"'$.{name}'" for name in FIGURES)


def figures(db: sqlite3.Connection, session: str, after: int) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Figures of the counted events behind a log number; their texts stay in the database."""
    query = (
        f"SELECT seq, type, json_extract(data, {_PATHS}) FROM events"
        f" WHERE session = ? AND seq > ? AND type IN ({', '.join('?' * len(COUNTED))}) ORDER BY seq"
    )
    for seq, kind, found in db.execute(query, (session, after, *COUNTED)):
        yield seq, kind, dict(zip(FIGURES, json.loads(found), strict=True))


def prompts(db: sqlite3.Connection, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
    """Session, number, time and beginning of the prompts of a folder, newest first."""
    query = (
        "SELECT events.session, seq, time, substr(json_extract(data, '$.text'), 1, ?)"
        " FROM events JOIN sessions ON sessions.id = events.session"
        " WHERE cwd = ? AND type = ? ORDER BY time DESC, seq DESC LIMIT ?"
    )
    return db.execute(query, (chars, plain(cwd), UserMessage.TYPE, most)).fetchall()


def sizes(db: sqlite3.Connection) -> dict[str, int]:
    """Bytes of each session's log, by id; ``LENGTH`` of a text would count characters."""
    size = " + ".join(
        f"COALESCE(LENGTH(CAST({column} AS BLOB)), 0)" for column in ("head", "data", "message")
    )
    return dict(db.execute(f"SELECT session, SUM({size}) FROM events GROUP BY session").fetchall())
