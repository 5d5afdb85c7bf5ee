"""The statements about one session's log, whichever database is behind it, and its folds as they are kept.

A snapshot of the folds says nothing that the log does not say: opening a long session folds only its end. One
that is missing, or made by other rules, is made anew.
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
"""Parts of a snapshot; each other part is the messages that the event with its number hides."""
DAMAGED = (ValueError, TypeError, KeyError, IndexError)
"""What comes of reading one that no program has written so."""
IS_HIDDEN = (
    # The head of a first event is empty but for the session whose sub-agent works there.
    "(EXISTS (SELECT 1 FROM events AS first WHERE first.session = sessions.id AND first.seq = 1"
    " AND substr(first.head, 1, 5) = '{\"s\":') AND NOT EXISTS (SELECT 1 FROM events AS later"
    f" WHERE later.session = sessions.id AND later.type = '{SubAgentPromoted.TYPE}'))"
)
"""Whether a row of ``sessions`` is that of a sub-agent, and was not promoted."""


class Rows(Protocol):
    """What a statement has found."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any:
        """The next row; None at the end."""

    def fetchall(self) -> list[Any]: ...


class Db(Protocol):
    """A connection that understands the statements of every store."""

    def execute(self, query: str, values: Sequence[object] = (), /) -> Rows:
        """Run one statement, in which ``?`` stands for a value."""

    def executemany(self, query: str, rows: Sequence[Sequence[object]], /) -> object: ...


@frozen(kw_only=True)
class Dialect:
    """What databases say in different words."""

    text: Callable[[str], str]
    """A text that is only shown, as the database can hold it."""
    last: str
    """Number of the newest event, of a row of ``sessions``."""
    keeps_last: bool
    """Whether that is a column, which has to be written with each event."""
    place: str
    """The rows of ``sessions`` in the order in which they were made."""
    figures: str
    """Figures of an event as JSON, of a row of ``events``."""
    beside: Mapping[str, Callable[[Payload, EventRow], object]]
    """Columns of ``events`` besides those of every database, with what is in them."""


def tokens_after(tokens: int, events: Iterable[Payload]) -> int | None:
    """Tokens of the view once more has happened.

    Args:
        tokens: Tokens before.
        events: What happened, in order.

    Returns:
        None when the view was rewritten and its new size is not said, so that it must be counted anew.
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
    """Count a view, with what the last request carried besides.

    Args:
        view: The messages that are sent.
        last: What was measured with the last request; None before the first.
    """
    known = Known(last, factor=(last.factor if last is not None else None) or 1.0)
    return known.usage(view, "").total


def find_heads(db: Db, session: str, where: str, values: Sequence[object]) -> list[Head]:
    query = f"SELECT seq, type, time, head FROM events WHERE session = ? AND {where}"
    return heads_of_rows(session, db.execute(query, (session, *values)).fetchall())


def heads_of(db: Db, session: str, seqs: Collection[int]) -> list[Head]:
    """Light rows of some log numbers, as far as there are such events."""
    wanted, found = list(seqs), list[Head]()
    for first in range(0, len(wanted), _SEQS_AT_ONCE):
        some = wanted[first : first + _SEQS_AT_ONCE]
        found += find_heads(db, session, f"seq IN ({', '.join('?' * len(some))})", some)
    return found


def all_heads(db: Db, session: str, after: int = 0) -> Iterator[Head]:
    """All light rows after a log number, in order."""
    while part := find_heads(db, session, FORWARD, (after, HEADS_AT_ONCE)):
        yield from part
        after = part[-1].seq


def last_of(db: Db, session: str, kind: str) -> Record | None:
    """The newest event of a type."""
    newest = "WHERE session = ? AND type = ? ORDER BY seq DESC LIMIT 1"
    row = db.execute(f"SELECT seq, type, time, data FROM events {newest}", (session, kind)).fetchone()
    return record_of(session, row) if row else None


def figures(db: Db, dialect: Dialect, session: str, after: int) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Figures of the counted events after a log number; their texts stay in the database."""
    query = (
        f"SELECT seq, type, {dialect.figures} FROM events WHERE session = ? AND seq > ?"
        f" AND type IN ({', '.join('?' * len(COUNTED))}) ORDER BY seq"
    )
    empty: dict[str, Any] = dict.fromkeys(FIGURES)
    rows = db.execute(query, (session, after, *COUNTED)).fetchall()
    return [(seq, kind, {**empty, **json.loads(found or "{}")}) for seq, kind, found in rows]


@dataclass(slots=True)
class Folded:
    """The folds of one session, as far as they have come, and what is stored of them."""

    session: str
    view: AgentView = field(default_factory=AgentView)
    stats: StatsFold = field(default_factory=StatsFold)
    stored: int = 0
    """Log number of the snapshot that is stored; 0 for none."""
    groups: dict[int, HiddenItems] = field(default_factory=dict)
    """The groups of hidden messages that are stored, by the event that hides them."""


def sealed(session: str, part: int, text: str) -> str:
    """A part of a snapshot after its checksum: what is damaged there is made anew."""
    return f"{crc32(f'{session} {part} {text}'.encode()):08x}{text}"


def is_sealed(session: str, part: int, kept: str) -> bool:
    """Whether a part is what was written; those of earlier versions have no checksum, and are not read."""
    return kept.startswith(("{", "[")) or sealed(session, part, kept[8:]) == kept


def unsealed(session: str, part: int, kept: str) -> str:
    """The part again. Raises ``ValueError`` where it is not what was written."""
    if sealed(session, part, kept[8:]) != kept:
        raise ValueError("damaged")
    return kept[8:]


def load_folds(db: Db, session: str, read: Read) -> Folded:
    """Read the folds of a session as they were kept; those that were not begin with its first event.

    Args:
        db: The database.
        session: Whole id of the session.
        read: Reads heads of the session by their numbers.
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
    """Store the folds of a session, within a transaction; only what has changed is written."""
    session, view, groups = folded.session, folded.view, folded.view.groups()
    # Whoever else stores one waits; of a session that was deleted meanwhile nothing is kept.
    if not db.execute("UPDATE sessions SET title = title WHERE id = ?", (session,)).rowcount:
        return
    query = "SELECT seq FROM snapshots WHERE session = ? AND part = ?"
    stored = db.execute(query, (session, _VIEW)).fetchone()
    before = folded.groups if stored == (folded.stored,) else {}
    if not before:
        db.execute("DELETE FROM snapshots WHERE session = ? AND part != ?", (session, LEDGER))
    texts = {by: items.to_text() for by, items in groups.items() if items is not before.get(by)}
    gone = [by for by in before if by not in groups]
    texts |= {_VIEW: view.to_text(), STATS: folded.stats.to_text()}
    put_parts(db, session, texts, seq=view.last, gone=gone)
    folded.stored, folded.groups = view.last, groups


def put_parts(
    db: Db, session: str, texts: Mapping[int, str], *, seq: int = 0, gone: Collection[int] = ()
) -> None:
    """Write parts of a session's snapshot in the place of those there were.

    Args:
        db: The database, within a transaction.
        session: Whole id of the session.
        texts: By its number, what each part holds.
        seq: Number of the event up to which they are folded.
        gone: Parts that there are no longer.
    """
    db.executemany(
        "DELETE FROM snapshots WHERE session = ? AND part = ?", [(session, part) for part in (*gone, *texts)]
    )
    db.executemany(
        "INSERT INTO snapshots (session, part, seq, data) VALUES (?, ?, ?, ?)",
        [(session, part, seq, sealed(session, part, text)) for part, text in texts.items()],
    )


def catch_up(db: Db, folded: Folded) -> None:
    """Fold what the log of a session holds beyond its view."""
    for head in all_heads(db, folded.session, folded.view.last):
        folded.view.apply(head)
