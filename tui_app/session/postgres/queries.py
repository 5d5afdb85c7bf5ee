"""What is read from the server, each as a function of a connection: also in the middle of a transaction."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tui_app.events import Payload, Record, UserMessage
from tui_app.session.heads import Head
from tui_app.session.info import SessionInfo, SessionNotFound
from tui_app.session.postgres.wire import Connection
from tui_app.session.postgres.words import query as words_query
from tui_app.session.rows import payload_of, record_of
from tui_app.session.stats import COUNTED
from tui_app.session.stats_rows import FIGURES

_INFO = "id, title, cwd, model, created, updated, last, messages, tokens"
_HEADS_AT_ONCE, _RECORDS_AT_ONCE = 4_000, 200
_BEHIND_ALL = 2**31 - 1


def sessions(db: Connection) -> list[SessionInfo]:
    """All sessions, the one used last first."""
    query = f"SELECT {_INFO} FROM plimsoll.sessions ORDER BY updated DESC, place DESC"
    return [_info(row) for row in db.execute(query.encode())]


def info(db: Connection, session: str) -> SessionInfo:
    """One session, by its id or an unambiguous beginning of it. Raises ``SessionNotFound``."""
    query = f"SELECT {_INFO} FROM plimsoll.sessions WHERE starts_with(id, %s) ORDER BY length(id), id LIMIT 2"
    # No database holds a NUL, so no id does.
    rows = db.execute(query.encode(), (session,)).fetchall() if session and "\0" not in session else []
    fitting = [_info(row) for row in rows]
    exact = [found for found in fitting if found.id == session]
    if len(exact or fitting) != 1:
        found = "no session" if not fitting else "more than one session"
        raise SessionNotFound(f"There is {found} with the id {session!r}. See: plimsoll sessions")
    return (exact or fitting)[0]


def heads(db: Connection, session: str, after: int) -> list[Head]:
    """The next light rows behind a log number; none at the end."""
    query = (
        "SELECT seq, type, time, head FROM plimsoll.events WHERE session = %s AND seq > %s"
        " ORDER BY seq LIMIT %s"
    )
    rows = db.execute(query, (session, min(after, _BEHIND_ALL), _HEADS_AT_ONCE)).fetchall()
    return [Head.from_text(*_typed_head(row)) for row in rows]


def all_heads(db: Connection, session: str) -> Iterator[Head]:
    """All light rows, in order."""
    after = 0
    while part := heads(db, session, after):
        yield from part
        after = part[-1].seq


def records(db: Connection, session: str, after: int) -> list[tuple[Record, str | None]]:
    """The next whole events behind a log number with their messages; none at the end."""
    query = (
        "SELECT seq, type, time, data, message FROM plimsoll.events WHERE session = %s AND seq > %s"
        " ORDER BY seq LIMIT %s"
    )
    rows = db.execute(query, (session, after, _RECORDS_AT_ONCE)).fetchall()
    return [(record_of(session, row[:4]), _text(row[4])) for row in rows]


def record(db: Connection, session: str, seq: int) -> Record | None:
    """One whole event."""
    query = "SELECT seq, type, time, data FROM plimsoll.events WHERE session = %s AND seq = %s"
    row = db.execute(query, (session, min(seq, _BEHIND_ALL))).fetchone()
    return record_of(session, row) if row else None


def message(db: Connection, session: str, seq: int) -> str | None:
    """The message an event carries."""
    query = "SELECT message FROM plimsoll.events WHERE session = %s AND seq = %s"
    row = db.execute(query, (session, min(seq, _BEHIND_ALL))).fetchone()
    return _text(row[0]) if row else None


def last_of(db: Connection, session: str, kind: str) -> Record | None:
    """The newest event of a type."""
    query = (
        "SELECT seq, type, time, data FROM plimsoll.events WHERE session = %s AND type = %s"
        " ORDER BY seq DESC LIMIT 1"
    )
    row = db.execute(query, (session, kind)).fetchone()
    return record_of(session, row) if row else None


def found(db: Connection, wanted: str, limit: int) -> list[tuple[str, int, str, float, str, str, Payload]]:
    """Messages and summaries of any session that a ``tsquery`` fits, the best first.

    Each with its session, number, type, time, and the title and folder of the session.
    """
    query = (
        "SELECT session, seq, type, time, title, cwd, data FROM plimsoll.events"
        " JOIN plimsoll.sessions ON plimsoll.sessions.id = session, CAST(%s AS tsquery) AS wanted"
        " WHERE words @@ wanted ORDER BY ts_rank(words, wanted, 1) DESC, time DESC, seq DESC LIMIT %s"
    )
    return [
        (str(session), int(str(seq)), str(kind), float(str(time)), str(title), str(cwd),
         payload_of(str(session), seq, kind, data))
        for session, seq, kind, time, title, cwd, data in db.execute(query, (wanted, limit))
    ]  # fmt: skip


def matching(db: Connection, session: str, words: Iterable[str], limit: int) -> list[tuple[int, Payload]]:
    """Messages and summaries that hold a word; long ones must hold it more often to rank as high."""
    wanted = words_query(words)
    if not wanted:
        return []
    query = (
        "SELECT seq, type, data FROM plimsoll.events, CAST(%s AS tsquery) AS wanted"
        " WHERE session = %s AND words @@ wanted ORDER BY ts_rank(words, wanted, 1) DESC, seq DESC LIMIT %s"
    )
    rows = db.execute(query, (wanted, session, limit)).fetchall()
    return [(int(str(seq)), payload_of(session, seq, kind, data)) for seq, kind, data in rows]


def figures(db: Connection, session: str, after: int) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Figures of the counted events behind a log number."""
    query = (
        "SELECT seq, type, figures FROM plimsoll.events WHERE session = %s AND seq > %s AND type = ANY(%s)"
        " ORDER BY seq"
    )
    rows = db.execute(query, (session, after, list(COUNTED))).fetchall()
    empty: dict[str, Any] = dict.fromkeys(FIGURES)
    return [
        (int(str(seq)), str(kind), {**empty, **json.loads(str(text or "{}"))}) for seq, kind, text in rows
    ]


def prompts(db: Connection, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
    """Beginnings of the newest prompts of a folder."""
    query = (
        "SELECT events.session, seq, time, data FROM plimsoll.events"
        " JOIN plimsoll.sessions ON sessions.id = events.session"
        " WHERE cwd = %s AND type = %s ORDER BY time DESC, seq DESC LIMIT %s"
    )
    rows = db.execute(query, (cwd, UserMessage.TYPE, most)).fetchall()
    return [
        (str(session), int(str(seq)), float(str(time)), json.loads(str(data)).get("text", "")[:chars])
        for session, seq, time, data in rows
    ]


def sizes(db: Connection) -> dict[str, int]:
    """Bytes of each session's log, by id."""
    query = (
        "SELECT session, SUM(octet_length(head) + octet_length(data) + COALESCE(octet_length(message), 0))"
        " FROM plimsoll.events GROUP BY session"
    )
    return {str(session): int(str(size)) for session, size in db.execute(query)}


def _info(row: Sequence[Any]) -> SessionInfo:
    """The columns stand in the order of the fields."""
    return SessionInfo(**dict(zip(SessionInfo.__dataclass_fields__, row, strict=True)))


def _typed_head(row: Sequence[Any]) -> tuple[int, str, float, str]:
    return row[0], row[1], row[2], row[3]


def _text(value: object) -> str | None:
    return None if value is None else str(value)
