"""What is written to the server: a few statements within a transaction of the caller's."""

import json
from collections.abc import Sequence
from typing import Any

from tui_app.events import Payload, Record, UsageInfo, UserMessage, payload_to_json
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.heads import spoken_line
from tui_app.session.info import SessionDeleted
from tui_app.session.ports import Event
from tui_app.session.postgres import queries
from tui_app.session.postgres.wire import Connection
from tui_app.session.postgres.words import said, vector
from tui_app.session.rows import plain, row_of
from tui_app.session.sizes import count_messages, tokens_after, view_tokens
from tui_app.session.stats import COUNTED
from tui_app.session.stats_rows import FIGURES
from tui_app.session.visibility import AFTERWARDS

CHANNEL = "plimsoll"
"""Where news of every session is told; the text is the session's id."""
_INSERT = (
    "INSERT INTO plimsoll.events (session, seq, type, time, head, data, message, figures, words)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, CAST(%s AS tsvector))"
)


def storable(text: str) -> str:
    """What is only shown, as the server can hold it: a NUL becomes an escape, as half characters do."""
    return plain(text).replace("\0", "\\x00")


def insert(db: Connection, session: str, events: Sequence[Event], *, last: int) -> list[Record]:
    """Write events behind a log number, and keep the session's line up to date.

    Args:
        db: Within a transaction that holds the session's row.
        session: Its id.
        events: What to write.
        last: Number of the newest event so far.

    Raises:
        SessionDeleted: if the session is no longer there.
    """
    records = [
        Record(seq=last + offset, time=time, session=session, data=payload)
        for offset, (payload, _, time) in enumerate(events, start=1)
    ]
    rows = [_row(record, event[1]) for record, event in zip(records, events, strict=True)]
    if rows:
        with db.cursor() as cursor:
            cursor.executemany(_INSERT, rows)
        _touch(db, session, records)
        tell(db, session)
    return records


def tell(db: Connection, session: str) -> None:
    """Let everybody who follows a session look at it, once this is committed."""
    db.execute("SELECT pg_notify(%s, %s)", (CHANNEL, session))


def _row(record: Record, message: str | None) -> tuple[object, ...]:
    return (*row_of(record, message), _figures(record.data), vector(said(record.data)))


def _figures(payload: Payload) -> str | None:
    """The numbers by themselves: reading them must not read the texts beside them."""
    if payload.TYPE not in COUNTED:
        return None
    data = payload_to_json(payload)
    return json.dumps({name: data[name] for name in FIGURES if name in data})


def _touch(db: Connection, session: str, records: Sequence[Record]) -> None:
    kinds = [record.data.TYPE for record in records]
    prompts = (record.data.text for record in records if isinstance(record.data, UserMessage))
    row: Any = db.execute("SELECT tokens FROM plimsoll.sessions WHERE id = %s", (session,)).fetchone()
    if row is None:
        raise SessionDeleted(session)
    used = next((record.time for record in reversed(records) if record.data.TYPE not in AFTERWARDS), None)
    db.execute(
        "UPDATE plimsoll.sessions SET last = %s, updated = COALESCE(%s, updated),"
        " messages = messages + %s, tokens = %s,"
        " title = CASE WHEN title = '' THEN %s ELSE title END WHERE id = %s",
        (
            records[-1].seq,
            used,
            count_messages(kinds),
            _tokens(db, session, int(row[0]), [record.data for record in records]),
            storable(spoken_line(next(prompts, ""))),
            session,
        ),
    )


def _tokens(db: Connection, session: str, before: int, events: Sequence[Payload]) -> int:
    """Tokens of the view behind events that have just been written."""
    tokens = tokens_after(before, events)
    if tokens is not None:
        return tokens
    last = queries.last_of(db, session, UsageInfo.TYPE)
    usage = last.data if last is not None and isinstance(last.data, UsageInfo) else None
    return view_tokens(fold_agent_view(queries.all_heads(db, session)), usage)
