"""The log of all sessions in SQL: one set of statements, whichever database is behind it."""

import json
import logging
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from tui_app.events import (
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    Payload,
    Record,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    SubAgentPromoted,
    UsageInfo,
    UserMessage,
    ViewRewrite,
    data_of,
)
from tui_app.records import frozen
from tui_app.session.agent_view import AgentView
from tui_app.session.event_heads import (
    AFTERWARDS,
    CARRYING,
    DamagedEvent,
    EventRow,
    Head,
    heads_of_rows,
    payload_of,
    record_of,
    row_of,
    spoken_line,
)
from tui_app.session.model_state import Known
from tui_app.session.stats import COUNTED, FIGURES, StatsFold
from tui_app.session.store import Event, SessionDeleted, SessionInfo, SessionNotFound
from tui_app.session.view_items import HiddenItems, Read
from tui_app.session.workspace import is_session_id

_log = logging.getLogger(__name__)
T = TypeVar("T")
Row = tuple[Any, ...]
_FEW, _HEADS_AT_ONCE, _RECORDS_AT_ONCE, _SEQS_AT_ONCE = 64, 4_000, 200, 500
_BEHIND_ALL = 2**31 - 1


class Rows(Protocol):
    """What a statement has found."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any:
        """The next row; None at the end."""

    def fetchall(self) -> list[Any]: ...


class Db(Protocol):
    """A connection that understands the statements of this module."""

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


# How big a session is, as the list shows it: kept up to date with every event that is written.


def count_messages(kinds: Iterable[str]) -> int:
    """Count messages among events: what is an item of the model's view, each tool result by itself.

    Args:
        kinds: Types of events.
    """
    return sum(kind in CARRYING for kind in kinds)


_REWRITING = (
    ViewRewrite, RewriteUndone, CompactionUndone, CompactionRedone, CompactionAcknowledged, CompactionEdited,
    SessionClear, SessionRewind, SessionRestored,
)  # fmt: skip


def tokens_after(tokens: int, events: Iterable[Payload]) -> int | None:
    """Tokens of the view once more has happened.

    Args:
        tokens: Tokens before.
        events: What happened, in order.

    Returns:
        None when the view was rewritten, so that it must be counted anew.
    """
    rewritten = False
    for data in events:
        match data:
            case UsageInfo(usage=usage):
                tokens, rewritten = int(usage["total"]), False
            case _ if data.TYPE in CARRYING:
                tokens += sum(getattr(data, "tokens", {}).values())
            case CompactionComplete():
                rewritten = rewritten or data.outcome == "success"
            case _ if isinstance(data, _REWRITING):
                rewritten = True
    return None if rewritten else tokens


def view_tokens(view: AgentView, last: UsageInfo | None) -> int:
    """Count a view, with what the last request carried besides.

    Args:
        view: The messages that are sent.
        last: What was measured with the last request; None before the first.
    """
    known = Known(last, factor=(last.factor if last is not None else None) or 1.0)
    return known.usage(view, "").total


_BEGIN = (
    "INSERT INTO sessions (id, title, cwd, model, created, updated) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)


IS_HIDDEN = (
    # The head of a first event is empty but for the session whose sub-agent works there.
    "(EXISTS (SELECT 1 FROM events AS first WHERE first.session = sessions.id AND first.seq = 1"
    " AND substr(first.head, 1, 5) = '{\"s\":') AND NOT EXISTS (SELECT 1 FROM events AS later"
    f" WHERE later.session = sessions.id AND later.type = '{SubAgentPromoted.TYPE}'))"
)
"""Whether a row of ``sessions`` is that of a sub-agent, and was not promoted."""


# What is read, each as a function of a connection: also in the middle of a transaction.


def _children(db: Db, session: str) -> list[str]:
    head = json.dumps({"s": session}, separators=(",", ":"))
    query = (
        "SELECT sessions.id FROM sessions JOIN events ON events.session = sessions.id AND events.seq = 1"
        f" WHERE events.head = ? AND {IS_HIDDEN}"
    )
    return [row[0] for row in db.execute(query, (head,)).fetchall() if is_session_id(row[0])]


def _found(db: Db, session: str, where: str, *values: object) -> list[Head]:
    query = f"SELECT seq, type, time, head FROM events WHERE session = ? AND {where}"
    return heads_of_rows(session, db.execute(query, (session, *values)).fetchall())


def heads(db: Db, session: str, at: int, most: int = _HEADS_AT_ONCE) -> list[Head]:
    """The next light rows behind a log number; none at the end."""
    return _found(db, session, "seq > ? ORDER BY seq LIMIT ?", min(at, _BEHIND_ALL), most)


def heads_of_type(db: Db, session: str, kind: str, at: int, most: int) -> list[Head]:
    """The newest light rows of a type in front of a log number, the newest first."""
    return _found(db, session, "type = ? AND seq < ? ORDER BY seq DESC LIMIT ?", kind, at, most)


def all_heads(db: Db, session: str, after: int = 0) -> Iterator[Head]:
    """All light rows behind a log number, in order."""
    while part := heads(db, session, after):
        yield from part
        after = part[-1].seq


def heads_of(db: Db, session: str, seqs: Collection[int]) -> list[Head]:
    """Light rows of some log numbers, as far as there are such events."""
    wanted, found = list(seqs), list[Head]()
    for first in range(0, len(wanted), _SEQS_AT_ONCE):
        some = wanted[first : first + _SEQS_AT_ONCE]
        found += _found(db, session, f"seq IN ({', '.join('?' * len(some))})", *some)
    return found


def records(db: Db, session: str, after: int) -> list[tuple[Record, str | None]]:
    """The next whole events behind a log number with their messages; none at the end."""
    query = (
        "SELECT seq, type, time, data, message FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
    )
    rows = db.execute(query, (session, after, _RECORDS_AT_ONCE)).fetchall()
    return [(record_of(session, row[:4]), row[4]) for row in rows]


def last_of(db: Db, session: str, kind: str) -> Record | None:
    """The newest event of a type."""
    query = (
        "SELECT seq, type, time, data FROM events WHERE session = ? AND type = ? ORDER BY seq DESC LIMIT 1"
    )
    row = db.execute(query, (session, kind)).fetchone()
    return record_of(session, row) if row else None


# What the folds of a session have come to, kept beside its log: opening a long one folds only its end.
#
# A snapshot says nothing that the log does not say. One that is missing, or made by other rules, is made
# anew.

EVERY = 256
"""Events between two snapshots, about."""
_LEDGER, _STATS, _VIEW = -2, -1, 0
"""Parts of a snapshot; each other part is the messages that the event with its number hides."""
_DAMAGED = (ValueError, TypeError, KeyError, IndexError)
"""What comes of reading one that no program has written so."""


def figures(db: Db, dialect: Dialect, session: str, after: int) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Figures of the counted events behind a log number; their texts stay in the database."""
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
    view: AgentView
    stats: StatsFold
    stored: int = 0
    """Log number of the snapshot that is stored; 0 for none."""
    groups: dict[int, HiddenItems] = field(default_factory=dict)
    """The groups of hidden messages that are stored, by the event that hides them."""


def load_folds(db: Db, session: str, read: Read) -> Folded:
    """Read the folds of a session as they were kept; those that were not begin with its first event.

    Args:
        db: The database.
        session: Whole id of the session.
        read: Reads heads of the session by their numbers.
    """
    try:
        return _kept_folds(db, session, read)
    except _DAMAGED:
        return Folded(session, AgentView(), StatsFold())


def _kept_folds(db: Db, session: str, read: Read) -> Folded:
    query = "SELECT part, data FROM snapshots WHERE session = ?"
    parts: dict[int, str] = dict(db.execute(query, (session,)).fetchall())
    text, figures, _ = parts.pop(_VIEW, ""), parts.pop(_STATS, ""), parts.pop(_LEDGER, "")
    stats = (StatsFold.from_text(figures) if figures else None) or StatsFold()
    view = AgentView.from_text(text, parts, read) if text else None
    if view is None:
        return Folded(session, AgentView(), stats)
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
        db.execute("DELETE FROM snapshots WHERE session = ? AND part != ?", (session, _LEDGER))
    texts = {by: items.to_text() for by, items in groups.items() if items is not before.get(by)}
    gone = [by for by in before if by not in groups]
    texts |= {_VIEW: view.to_text(), _STATS: folded.stats.to_text()}
    db.executemany(
        "DELETE FROM snapshots WHERE session = ? AND part = ?", [(session, part) for part in (*gone, *texts)]
    )
    db.executemany(
        "INSERT INTO snapshots (session, part, seq, data) VALUES (?, ?, ?, ?)",
        [(session, part, view.last, text) for part, text in texts.items()],
    )
    folded.stored, folded.groups = view.last, groups


def catch_up(db: Db, folded: Folded) -> None:
    """Fold what the log of a session holds beyond its view."""
    for head in all_heads(db, folded.session, folded.view.last):
        folded.view.apply(head)


def is_stale(db: Db, dialect: Dialect, session: str) -> bool:
    """Whether the snapshot of a session is not what its log says; folds the whole log."""

    def read(seqs: Collection[int]) -> list[Head]:
        return heads_of(db, session, seqs)

    try:
        kept = _kept_folds(db, session, read)
    except _DAMAGED:
        return True
    folded = Folded(session, AgentView(), StatsFold())
    try:
        for head in all_heads(db, session) if kept.stored else ():
            if head.seq <= kept.stored:
                folded.view.apply(head)
        for seq, kind, found in figures(db, dialect, session, 0) if kept.stats.last else ():
            if seq <= kept.stats.last:
                folded.stats.apply(seq, kind, found)
    except (*_DAMAGED, sqlite3.OperationalError):
        return False  # Of a damaged event nothing can be made anew.
    return (kept.view, kept.stats) != (folded.view, folded.stats)


class SqlStore(ABC):
    """The sessions of one database; see ``SessionStore``. Not thread-safe: open one for each thread."""

    dialect: Dialect

    def __init__(self, *, read_only: bool, snapshots: bool) -> None:
        self._read_only = read_only
        self._snapshots = snapshots
        """Whether the database has a table of them; a reader of an older one has to do without."""
        self._folded: Folded | None = None
        """The folds of the session that was rewritten last, as of its last rewrite."""

    @abstractmethod
    def _ask(self, work: Callable[[Db], T]) -> T:
        """Read something, once more where the connection was lost over it."""

    @abstractmethod
    def _change(self, work: Callable[[Db], T], session: str = "") -> T:
        """Do all of something or nothing.

        Args:
            work: May be done twice where it concerns a session.
            session: Id of the session; empty where there is none yet.
        """

    @abstractmethod
    def _announce(self, session: str) -> None:
        """Tell who follows a session of what is being written, once it is committed."""

    @abstractmethod
    def _begin_alone(self, db: Db) -> None:
        """Let no other process begin a session in this way until the transaction ends."""

    @property
    def _info(self) -> str:
        columns = f"id, title, cwd, model, created, updated, {self.dialect.last}, messages, tokens"
        return f"SELECT {columns} FROM sessions"

    def sessions(self, *, hidden: bool = False) -> list[SessionInfo]:
        which = "" if hidden else f"WHERE NOT {IS_HIDDEN}"
        query = f"{self._info} {which} ORDER BY {self.dialect.place} DESC"
        rows = self._ask(lambda db: db.execute(query).fetchall())
        listed = [_info_of(row) for row in rows if is_session_id(row[0])]
        return sorted(listed, key=attrgetter("used"), reverse=True)

    def children(self, session: str) -> list[str]:
        return self._ask(partial(_children, session=session))

    def info(self, session: str) -> SessionInfo:
        wanted = self.dialect.text(session)

        def find(db: Db) -> list[Row]:
            exact = db.execute(f"{self._info} WHERE id = ?", (wanted,)).fetchall()
            beginning = f"{self._info} WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 2"
            return exact or db.execute(beginning, (len(wanted), wanted)).fetchall()

        found = [row for row in self._ask(find) if is_session_id(row[0])] if session else []
        if len(found) != 1:
            which = "no session" if not found else "more than one session"
            raise SessionNotFound(f"There is {which} with the id {session!r}. See: plimsoll sessions")
        return _info_of(found[0])

    def heads(self, session: str, after: int = 0) -> Iterator[Head]:
        return self._pages(partial(heads, session=session), after)

    def newest(self, session: str, types: Collection[str]) -> Iterator[Head]:
        runs = (
            self._pages(partial(heads_of_type, session=session, kind=kind), _BEHIND_ALL) for kind in types
        )
        return merge(*runs, key=attrgetter("seq"), reverse=True)

    def _pages(self, read: Callable[..., list[Head]], at: int) -> Iterator[Head]:
        most = _FEW
        while part := self._ask(partial(read, at=at, most=most)):
            yield from part
            # Who wants but the first ones does not wait for thousands.
            at, most = part[-1].seq, min(most * 4, _HEADS_AT_ONCE)

    def heads_of(self, session: str, seqs: Collection[int]) -> list[Head]:
        return self._ask(lambda db: heads_of(db, session, seqs))

    def agent_view(self, session: str) -> AgentView:
        folded = self._ask(lambda db: self._loaded(db, session))
        self._ask(lambda db: catch_up(db, folded))
        if not self._read_only and folded.view.last - folded.stored > 2 * EVERY:
            self._save(session, folded)
        return folded.view

    def kept_stats(self, session: str) -> StatsFold:
        kept = self._kept(session, _STATS)
        with suppress(*_DAMAGED):
            return (StatsFold.from_text(kept) if kept else None) or StatsFold()
        return StatsFold()

    def record(self, session: str, seq: int) -> Record | None:
        query = "SELECT seq, type, time, data FROM events WHERE session = ? AND seq = ?"
        row = self._ask(lambda db: db.execute(query, (session, min(seq, _BEHIND_ALL))).fetchone())
        return record_of(session, row) if row else None

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        after = 0
        while part := self._ask(partial(records, session=session, after=after)):
            yield from part
            after = part[-1][0].seq

    def message(self, session: str, seq: int) -> str | None:
        query = "SELECT message FROM events WHERE session = ? AND seq = ?"
        row = self._ask(lambda db: db.execute(query, (session, min(seq, _BEHIND_ALL))).fetchone())
        return row[0] if row else None

    def last_of(self, session: str, kind: str) -> Record | None:
        return self._ask(lambda db: last_of(db, session, kind))

    def figures(self, session: str, after: int = 0) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        return iter(self._ask(lambda db: figures(db, self.dialect, session, after)))

    def sizes(self) -> dict[str, int]:
        query = "SELECT id, bytes FROM sessions"
        rows = self._ask(lambda db: db.execute(query).fetchall())
        return {session: size for session, size in rows if is_session_id(session)}

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        query = (
            "SELECT session, seq, time, data FROM events JOIN sessions ON sessions.id = session"
            f" WHERE cwd = ? AND type = ? AND NOT {IS_HIDDEN} ORDER BY time DESC, seq DESC LIMIT ?"
        )
        values = (self.dialect.text(cwd), UserMessage.TYPE, most)
        rows = self._ask(lambda db: db.execute(query, values).fetchall())
        said: list[tuple[str, int, float, str]] = []
        for session, seq, time, data in rows:
            # One that is damaged is missing, and stops nothing.
            with suppress(DamagedEvent):
                payload = payload_of(session, seq, UserMessage.TYPE, data)
                said.append((session, seq, time, getattr(payload, "text", "")[:chars]))
        return said

    def create(
        self,
        start: SessionStart,
        *,
        time: float,
        events: Sequence[Event] = (),
        check: Callable[[], None] | None = None,
    ) -> str:
        row = (*map(self.dialect.text, (start.title, start.cwd, start.model)), time, time)

        def begin(db: Db) -> str:
            if check is not None:
                self._begin_alone(db)
                check()
            session = secrets.token_hex(4)
            # Ids of many machines may meet here: one that is taken is drawn again.
            while db.execute(_BEGIN, (session, *row)).rowcount != 1:
                session = secrets.token_hex(4)
            self._write(db, session, [(start, None, time), *events])
            return session

        session = self._change(begin)
        self._keep(session, 1, len(events) + 1)
        return session

    def append(self, session: str, payload: Payload, message: str | None, *, time: float) -> Record:
        return self.append_many(session, [(payload, message, time)])[0]

    def append_many(self, session: str, events: Sequence[Event]) -> list[Record]:
        try:
            records = self._append(session, events)
        except BaseException:
            # What was folded may not have been written.
            self._folded = None
            raise
        if records:
            self._keep(session, records[0].seq, records[-1].seq)
        return records

    def _append(self, session: str, events: Sequence[Event]) -> list[Record]:
        return self._change(lambda db: self._write(db, session, events), session)

    def set_title(self, session: str, title: str) -> None:
        query, values = "UPDATE sessions SET title = ? WHERE id = ?", (self.dialect.text(title), session)
        self._change(lambda db: db.execute(query, values), session)

    def set_model(self, session: str, model: str) -> None:
        query, values = "UPDATE sessions SET model = ? WHERE id = ?", (self.dialect.text(model), session)
        self._change(lambda db: db.execute(query, values), session)

    def delete(self, session: str) -> None:

        def remove(db: Db) -> None:
            for each in (*_children(db, session), session):
                # First its row, for which a writer of the session waits.
                db.execute("UPDATE sessions SET title = title WHERE id = ?", (each,))
                db.execute("DELETE FROM snapshots WHERE session = ?", (each,))
                db.execute("DELETE FROM events WHERE session = ?", (each,))
                db.execute("DELETE FROM sessions WHERE id = ?", (each,))

        self._change(remove, session)

    def _write(self, db: Db, session: str, events: Sequence[Event]) -> list[Record]:
        """Write events behind the newest one, within a transaction, and what the list says of the session."""
        row = db.execute(
            f"SELECT {self.dialect.last}, tokens FROM sessions WHERE id = ?", (session,)
        ).fetchone()
        if row is None:
            raise SessionDeleted(session)
        if self._folded is not None and self._folded.view.last > row[0]:
            # What was folded already has not been written after all.
            self._folded = None
        records = [
            Record(seq=seq, time=time, session=session, data=payload)
            for seq, (payload, _, time) in enumerate(events, row[0] + 1)
        ]
        if not records:
            return []
        beside = self.dialect.beside
        rows = [row_of(record, message) for record, (_, message, _) in zip(records, events, strict=True)]
        columns = ("session", "seq", "type", "time", "head", "data", "message", *beside)
        marks = ", ".join("?" * len(columns))
        db.executemany(
            f"INSERT INTO events ({', '.join(columns)}) VALUES ({marks})",
            [
                (*row, *(make(record.data, row) for make in beside.values()))
                for row, record in zip(rows, records, strict=True)
            ],
        )
        payloads = [record.data for record in records]
        prompts = (data.text for data in payloads if isinstance(data, UserMessage))
        db.execute(
            f"UPDATE sessions SET {'last = ?, ' if self.dialect.keeps_last else ''}"
            " updated = COALESCE(?, updated), messages = messages + ?, bytes = bytes + ?, tokens = ?,"
            " title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
            (
                *([records[-1].seq] if self.dialect.keeps_last else []),
                next((each.time for each in reversed(records) if each.data.TYPE not in AFTERWARDS), None),
                count_messages(data.TYPE for data in payloads),
                sum(len(text.encode()) for row in rows for text in row[4:] if text is not None),
                self._tokens(db, session, row[1], payloads),
                self.dialect.text(spoken_line(next(prompts, ""))),
                session,
            ),
        )
        self._announce(session)
        return records

    def _tokens(self, db: Db, session: str, before: int, events: Sequence[Payload]) -> int:
        """Tokens of the view behind events that have just been written."""
        tokens = tokens_after(before, events)
        if tokens is not None:
            return tokens
        usage = data_of(last_of(db, session, UsageInfo.TYPE), UsageInfo)
        if self._folded is None or self._folded.session != session:
            self._folded = self._loaded(db, session)
        catch_up(db, self._folded)
        return view_tokens(self._folded.view, usage)

    def kept_ledger(self, session: str) -> str:
        """What was kept of the session's ledger, as JSON; empty where nothing was."""
        return self._kept(session, _LEDGER)

    def _kept(self, session: str, part: int) -> str:
        query = "SELECT data FROM snapshots WHERE session = ? AND part = ?"
        row = self._ask(lambda db: db.execute(query, (session, part)).fetchone()) if self._snapshots else None
        return str(row[0]) if row else ""

    def keep_ledger(self, session: str, ledger: str) -> None:
        """Keep what the session's ledger has come to; where that fails, it is folded anew the next time."""
        delete = "DELETE FROM snapshots WHERE session = ? AND part = ?"
        insert = "INSERT INTO snapshots (session, part, seq, data) VALUES (?, ?, ?, ?)"

        def keep(db: Db) -> None:
            db.execute(delete, (session, _LEDGER))
            db.execute(insert, (session, _LEDGER, 0, ledger))

        try:
            if self._snapshots:
                self._change(keep)
        except sqlite3.Error as error:
            _log.warning("The ledger of %s could not be kept: %s", session, error)

    def _loaded(self, db: Db, session: str) -> Folded:
        """The folds of a session as they were kept."""
        if not self._snapshots:
            return Folded(session, AgentView(), StatsFold())
        return load_folds(db, session, partial(self.heads_of, session))

    def _keep(self, session: str, first: int, last: int) -> None:
        """Keep what the log has come to every so many events, of which the newest have just been written."""
        if first // EVERY < (last + 1) // EVERY:
            folded, self._folded = self._folded, None
            self._save(session, folded if folded is not None and folded.session == session else None)

    def _save(self, session: str, folded: Folded | None) -> None:
        """Keep the folds of a log; where that fails, more of it is folded the next time."""

        def fold(db: Db) -> Folded:
            known = folded or self._loaded(db, session)
            catch_up(db, known)
            for seq, kind, found in figures(db, self.dialect, session, known.stats.last):
                known.stats.apply(seq, kind, found)
            return known

        try:
            known = self._ask(fold)
            # What can be undone by one event more has to be folded from in front of it.
            if not known.view.cuts:
                self._change(lambda db: save_folds(db, known))
        except sqlite3.Error as error:
            _log.warning("No snapshot of %s could be kept: %s", session, error)


def _info_of(row: Row) -> SessionInfo:
    """A line of the list; its columns are in the order of the fields."""
    return SessionInfo(**dict(zip(SessionInfo.__dataclass_fields__, row, strict=True)))
