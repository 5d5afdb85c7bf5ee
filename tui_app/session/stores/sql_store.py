"""The SQL about one session's log, shared by both databases, and saved snapshots of its folds.

A snapshot contains nothing that the log does not: with it, opening a long session folds only the newest
events. One that is missing, damaged or made by other rules is rebuilt.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from zlib import crc32

from tui_app.events import (
    CompactionComplete,
    Payload,
    Record,
    Resized,
    SessionClear,
    SessionRewind,
    SubAgentPromoted,
    UsageInfo,
)
from tui_app.records import frozen
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import CARRYING, EventRow, heads_of_rows, record_of
from tui_app.session.measurement import Known
from tui_app.session.stats import COUNTED, StatsFold
from tui_app.session.stats_rows import FIGURES
from tui_app.session.views.agent_view import AgentView
from tui_app.session.views.view_items import HiddenItems, Read

HEADS_AT_ONCE, _SEQS_AT_ONCE = 4_000, 500
BEHIND_ALL = 2**31 - 1
FORWARD = "seq > ? ORDER BY seq LIMIT ?"
LEDGER, STATS, _VIEW = -2, -1, 0
"""Parts of a snapshot. Every other number is an event, and its part the messages that it hides."""
DAMAGED = (ValueError, TypeError, KeyError, IndexError)
"""Errors of reading a snapshot that no version of the program wrote in this form."""
IS_HIDDEN = (
    # The head of a first event is empty, except for the parent session of a subagent's session.
    "(EXISTS (SELECT 1 FROM events AS first WHERE first.session = sessions.id AND first.seq = 1"
    " AND substr(first.head, 1, 5) = '{\"s\":') AND NOT EXISTS (SELECT 1 FROM events AS later"
    f" WHERE later.session = sessions.id AND later.type = '{SubAgentPromoted.TYPE}'))"
)
"""Whether a row of ``sessions`` belongs to a subagent and was not promoted."""


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any:
        """Return the next row; None at the end."""

    def fetchall(self) -> list[Any]: ...


class Db(Protocol):
    """A connection that accepts the statements of every store."""

    def execute(self, query: str, values: Sequence[object] = (), /) -> Rows:
        """Run one statement; ``?`` is the placeholder for a value."""

    def executemany(self, query: str, rows: Sequence[Sequence[object]], /) -> object: ...


@frozen(kw_only=True)
class Dialect:
    """What differs between the databases."""

    text: Callable[[str], str]
    """Convert a text that is only displayed to one that the database can store."""
    last: str
    """SQL for the log number of the newest event, in a row of ``sessions``."""
    keeps_last: bool
    """Whether that is a column, which has to be written with every event."""
    place: str
    """SQL for the order in which the rows of ``sessions`` were created."""
    figures: str
    """SQL for an event's figures as JSON, in a row of ``events``."""
    beside: Mapping[str, Callable[[Payload, EventRow], object]]
    """Columns of ``events`` that only this database has, each with the function that computes it."""


def tokens_after(tokens: int, events: Iterable[Payload]) -> int | None:
    """Return the tokens of the view after more events.

    Args:
        tokens: Tokens before.
        events: The events, in order.

    Returns:
        None if the view was rewritten without its new size in the event, so that it has to be counted.
    """
    is_known = True
    for data in events:
        match data:
            case UsageInfo(usage=usage):
                tokens, is_known = int(usage["total"]), True
            case _ if data.TYPE in CARRYING:
                tokens += sum(getattr(data, "tokens", {}).values())
            case CompactionComplete() if data.outcome != "success":
                pass
            case Resized():
                tokens, is_known = data.tokens_after, data.tokens_after > 0
            case SessionClear() | SessionRewind():
                is_known = False
    return tokens if is_known else None


def view_tokens(view: AgentView, last: UsageInfo | None) -> int:
    """Count the tokens of a view, including what the last request carried in addition to the messages.

    Args:
        view: The messages that are sent.
        last: The measurement of the last request; None before the first.
    """
    known = Known(last, factor=(last.factor if last is not None else None) or 1.0)
    return known.usage(view, "").total


def find_heads(db: Db, session: str, where: str, values: Sequence[object]) -> list[Head]:
    query = f"SELECT seq, type, time, head FROM events WHERE session = ? AND {where}"
    return heads_of_rows(session, db.execute(query, (session, *values)).fetchall())


def heads_of(db: Db, session: str, seqs: Collection[int]) -> list[Head]:
    """Return the heads with these log numbers; missing ones are left out."""
    numbers, found = list(seqs), list[Head]()
    for first in range(0, len(numbers), _SEQS_AT_ONCE):
        some = numbers[first : first + _SEQS_AT_ONCE]
        found += find_heads(db, session, f"seq IN ({', '.join('?' * len(some))})", some)
    return found


def all_heads(db: Db, session: str, after: int = 0) -> Iterator[Head]:
    """Yield all heads after a log number, in order."""
    while part := find_heads(db, session, FORWARD, (after, HEADS_AT_ONCE)):
        yield from part
        after = part[-1].seq


def last_of(db: Db, session: str, kind: str) -> Record | None:
    newest = "WHERE session = ? AND type = ? ORDER BY seq DESC LIMIT 1"
    row = db.execute(f"SELECT seq, type, time, data FROM events {newest}", (session, kind)).fetchone()
    return record_of(session, row) if row else None


def figures(db: Db, dialect: Dialect, session: str, after: int) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Return the figures of the counted events after a log number; their texts are not read."""
    query = (
        f"SELECT seq, type, {dialect.figures} FROM events WHERE session = ? AND seq > ?"
        f" AND type IN ({', '.join('?' * len(COUNTED))}) ORDER BY seq"
    )
    empty: dict[str, Any] = dict.fromkeys(FIGURES)
    rows = db.execute(query, (session, after, *COUNTED)).fetchall()
    return [(seq, kind, {**empty, **json.loads(found or "{}")}) for seq, kind, found in rows]


@dataclass(slots=True)
class Folded:
    """The folds of one session, and how far they are stored."""

    session: str
    view: AgentView = field(default_factory=AgentView)
    stats: StatsFold = field(default_factory=StatsFold)
    stored: int = 0
    """Log number of the stored snapshot; 0 for none."""
    groups: dict[int, HiddenItems] = field(default_factory=dict)
    """The stored groups of hidden messages, by the event that hides them."""


def sealed(session: str, part: int, text: str) -> str:
    """Prefix a part of a snapshot with a checksum, so that damage is noticed and the part rebuilt."""
    return f"{crc32(f'{session} {part} {text}'.encode()):08x}{text}"


def is_sealed(session: str, part: int, kept: str) -> bool:
    """Return whether a part is undamaged. Parts of earlier versions have no checksum, and are never read."""
    return kept.startswith(("{", "[")) or sealed(session, part, kept[8:]) == kept


def unsealed(session: str, part: int, kept: str) -> str:
    """Return the part without its checksum.

    Raises:
        ValueError: if it is damaged.
    """
    if sealed(session, part, kept[8:]) != kept:
        raise ValueError("damaged")
    return kept[8:]


def load_folds(db: Db, session: str, read: Read) -> Folded:
    """Load the saved folds of a session; without a snapshot they are empty.

    Args:
        db: The database.
        session: Full id of the session.
        read: Reads heads of the session by log number.
    """
    query = "SELECT part, data FROM snapshots WHERE session = ? AND part != ?"
    rows = db.execute(query, (session, LEDGER)).fetchall()
    try:
        parts = {part: unsealed(session, part, kept) for part, kept in rows}
        text, stats = parts.pop(_VIEW, ""), StatsFold.from_text(parts.pop(STATS, ""))
        view = AgentView.from_text(text, parts, read) if text else None
    except DAMAGED:
        return Folded(session)
    if view is None:
        return Folded(session, stats=stats)
    return Folded(session, view, stats, view.last, view.groups())


def save_folds(db: Db, folded: Folded) -> None:
    """Store the folds of a session, within a transaction; writes only what changed."""
    session, view, groups = folded.session, folded.view, folded.view.groups()
    # Locks the row: other writers of a snapshot wait, and nothing is stored for a deleted session.
    if not db.execute("UPDATE sessions SET title = title WHERE id = ?", (session,)).rowcount:
        return
    query = "SELECT seq FROM snapshots WHERE session = ? AND part = ?"
    stored = db.execute(query, (session, _VIEW)).fetchone()
    before = folded.groups if stored == (folded.stored,) else {}
    if not before:
        db.execute("DELETE FROM snapshots WHERE session = ? AND part != ?", (session, LEDGER))
    texts = {by: items.to_text() for by, items in groups.items() if items is not before.get(by)}
    removed = [by for by in before if by not in groups]
    texts |= {_VIEW: view.to_text(), STATS: folded.stats.to_text()}
    put_parts(db, session, texts, seq=view.last, gone=removed)
    folded.stored, folded.groups = view.last, groups


def put_parts(
    db: Db, session: str, texts: Mapping[int, str], *, seq: int = 0, gone: Collection[int] = ()
) -> None:
    """Replace parts of a session's snapshot.

    Args:
        db: The database, within a transaction.
        session: Full id of the session.
        texts: The new content of each part, by number.
        seq: Log number of the last event folded into them.
        gone: Parts to delete.
    """
    db.executemany(
        "DELETE FROM snapshots WHERE session = ? AND part = ?", [(session, part) for part in (*gone, *texts)]
    )
    db.executemany(
        "INSERT INTO snapshots (session, part, seq, data) VALUES (?, ?, ?, ?)",
        [(session, part, seq, sealed(session, part, text)) for part, text in texts.items()],
    )


def catch_up(db: Db, folded: Folded) -> None:
    """Fold the events that are newer than the view."""
    for head in all_heads(db, folded.session, folded.view.last):
        folded.view.apply(head)
