"""Repairing what an examination found. No message is deleted: what does not fit is set aside."""

import json
import operator
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.context.storage_errors import StorageError
from tui_app.events import (
    BY_TYPE,
    AssistantMessage,
    Error,
    Payload,
    Record,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.files import write_bytes_atomic
from tui_app.session.damage import BESIDE, Health, intact_event
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import CARRYING, EventRow, payload_of, plain, row_of, row_sum
from tui_app.session.importers.books import call_part, canonical, iso, plain_text, request, return_request
from tui_app.session.lock import holder
from tui_app.session.pages import PageReader, Value, Values
from tui_app.session.stores.migrations import COUNT_BYTES, rebuild_index, transaction
from tui_app.session.stores.sqlite_connection import connect
from tui_app.session.stores.store import is_session_id
from tui_app.session.workspace import SessionFolder
from tui_app.text import count

SET_ASIDE = "set-aside"
"""Folder next to the sessions' folder, for folders without a session and the remains of damaged events."""
_SIDE_FILES = ("-wal", "-shm")
_INSERT = (
    "INSERT OR IGNORE INTO events (session, seq, type, time, head, data, message, sum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SESSION = "id, title, cwd, model, created, updated, messages, tokens"
_COUNT_MESSAGES = (
    "UPDATE sessions SET messages = (SELECT COUNT(*) FROM events WHERE session = sessions.id"
    f" AND type IN ({', '.join(map(repr, sorted(CARRYING)))}))"
)
_LIST = f"INSERT OR IGNORE INTO sessions ({_SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_RESCUED = "Rescued session"
_NUMBER = (int, float)
_SHAPES = {
    "events": (bytes, int, bytes, _NUMBER, bytes, bytes),
    "sessions": (bytes, bytes, bytes, bytes, _NUMBER, _NUMBER, int, int),
    "consolidations": (bytes, bytes, bytes, _NUMBER, int, int),
    "memories": (type(None), *(bytes,) * 6, int, _NUMBER, _NUMBER, _NUMBER, bytes, bytes, int, int, int),
    "named": (bytes, bytes, int, int),
    "numbered": (bytes, int, int),
}
"""What kind of row or index entry a record is, by the types of its columns."""
_SPEAKING = ("text", "user-prompt", "tool-return")
"""Parts of messages whose texts are also the texts of their events."""
_BEYOND = 1_000
"""Distance after the last surviving event within which an index entry counts as a lost event."""
Call = tuple[str, str, str]
"""Id, name and arguments."""


class InUse(Exception):
    """Raised when a session is open, so that nothing is repaired; the text tells where it is open."""


def mend(health: Health, database: Path, sessions_dir: Path, *, stamp: str) -> list[str]:
    """Repair the sessions file and set aside what belongs to no session. Blocks.

    Args:
        health: What is wrong.
        database: The sessions file.
        sessions_dir: Parent of the sessions' folders.
        stamp: Makes the names of set-aside files unique, for example the time.

    Returns:
        A sentence for each repair.

    Raises:
        InUse: if a session is open.
        StorageError: if nothing in the file can be read.
        OSError: if a file cannot be written.
        sqlite3.Error: if the sessions file cannot be written.
    """
    if used := in_use(sessions_dir):
        raise InUse(used)
    done: list[str] = []
    if health.damage or (health.missing and database.with_name(f"{database.name}-wal").exists()):
        done.append(salvage(database, sessions_dir.parent / SET_ASIDE, stamp=stamp))
    else:
        done += _repair_inside(health, database)
    for orphan in health.orphans:
        target = sessions_dir.parent / SET_ASIDE / f"{orphan.name}-{stamp}"
        target.parent.mkdir(mode=0o700, exist_ok=True)
        orphan.rename(target)
        done.append(f"The folder {orphan.name} belongs to no session; it is now {target}")
    return done


def in_use(sessions_dir: Path) -> str:
    """Describe which session is being written; empty if none is."""
    for folder in sessions_dir.iterdir() if sessions_dir.is_dir() else ():
        if who := holder(SessionFolder(folder).lock_file):
            return f"Session {folder.name} is open in {who}. Close it there first."
    return ""


def _repair_inside(health: Health, database: Path) -> list[str]:
    if not (health.unlisted or health.stale_index or health.stale):
        return []
    done: list[str] = []
    with closing(connect(database, read_only=False)) as db, transaction(db):
        if health.unlisted:
            done.append(f"Listed again: {', '.join(list_unlisted(db))}")
        if health.stale:
            marks = ", ".join("?" * len(health.stale))
            db.execute(f"DELETE FROM snapshots WHERE session IN ({marks})", health.stale)
            db.execute(COUNT_BYTES)
            done.append(f"Sizes and views are rebuilt from the log: {', '.join(health.stale)}")
        if health.stale_index:
            done.append(f"The word index is rebuilt: {count(rebuild_index(db), 'message')}")
    return done


def salvage(database: Path, aside: Path, *, stamp: str) -> str:
    """Replace a damaged file by a new one with everything readable. No process may have it open.

    Args:
        database: The damaged file. Its write-ahead log is read as well, and may be all there is.
        aside: Folder for the remains of damaged events.
        stamp: Makes the names of set-aside files unique, for example the time.

    Returns:
        The result as a sentence.

    Raises:
        StorageError: if nothing in the file can be read; nothing is changed then.
        OSError: if a file cannot be written; nothing is changed then.
        sqlite3.Error: if the new file cannot be written; nothing is changed then.
    """
    new = database.with_name(f".{database.name}.{os.getpid()}.tmp")
    kept = database.with_name(f"{database.name}.damaged-{stamp}")
    _remove(new)
    try:
        with closing(connect(new, read_only=False)) as db:
            db.execute("PRAGMA foreign_keys=OFF")
            db.execute("BEGIN")
            rescue = _Rescue(db, aside, stamp)
            rescue.read(PageReader(database))
            if not rescue.events:
                raise StorageError(
                    f"Nothing in {database} can be read: no event is left in it.",
                    "It is left as it is. If you have a copy, put it in its place.",
                )
            rescue.fill()
            db.execute("COMMIT")
            # A single file, which can be renamed over the old one.
            db.execute("PRAGMA journal_mode=DELETE")
            sessions = db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0]
        # The -wal and -shm files are copied too: the newest events may be in the log.
        for side in ("", *_SIDE_FILES):
            source, target = (file.with_name(file.name + side) for file in (database, kept))
            if source.exists():
                shutil.copyfile(source, target)
                target.chmod(0o600)
        for side in _SIDE_FILES:
            database.with_name(database.name + side).unlink(missing_ok=True)
        new.replace(database)
    finally:
        _remove(new)
    lost = f"{count(rescue.lost, 'event')} could not be read" if rescue.lost else "nothing was lost"
    patched = f", {count(rescue.patched, 'damaged event')} kept as far as readable" if rescue.patched else ""
    found = "1 session is" if sessions == 1 else f"{sessions:,} sessions are"
    events = count(rescue.events, "event")
    return f"{found} in a new file with {events}, {lost}{patched}. The damaged one is kept: {kept}"


def _remove(file: Path) -> None:
    for side in ("", *_SIDE_FILES):
        file.with_name(file.name + side).unlink(missing_ok=True)


def _table_of(values: Values) -> str:
    """Return the kind of a record by the types of its values; empty if it is not wanted."""
    for name, shape in _SHAPES.items():
        wide = len(values) - len(shape)
        right = wide in (1, 2) if name == "events" else 0 <= wide <= (2 if name == "sessions" else 0)
        if right and all(map(isinstance, values, shape)):
            return name if name == "memories" or is_session_id(_text(values[0])) else ""
    return ""


def _text(value: Value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


@dataclass(slots=True)
class _Rescue:
    """Writes the records of a damaged file into a new one."""

    db: sqlite3.Connection
    aside: Path
    stamp: str
    events: int = 0
    lost: int = 0
    patched: int = 0
    _damaged: list[Values] = field(default_factory=list)
    _listed: list[Values] = field(default_factory=list)

    def read(self, reader: PageReader) -> None:
        """Copy every intact row, and collect the others for :meth:`fill`."""
        self.db.execute("CREATE TEMP TABLE named (session, seq, type, PRIMARY KEY (session, seq))")
        for key, values in reader.records(lambda values: _table_of(values) != "", free=False):
            self._take(key, values)
        # The list of free pages may be damaged too. What a deleted session left there is in no list.
        known = {row[0] for row in self.db.execute("SELECT DISTINCT session FROM named")}
        known |= {_text(values[0]) for values in self._listed}
        for _, values in reader.records(lambda values: _table_of(values) != "", free=True):
            if _table_of(values) in ("events", "sessions") and _text(values[0]) in known:
                self._take(0, values)

    def _take(self, key: int, values: Values) -> None:
        match _table_of(values):
            case "events" if row := intact_event(values):
                self._insert(row)
            case "events":
                self._damaged.append(values)
            case "sessions":
                self._listed.append(values)
            case "named" | "numbered" as index:
                kind = _text(values[1]) if index == "named" else ""
                insert = "INSERT INTO named VALUES (?, ?, ?)"
                change = "ON CONFLICT DO UPDATE SET type = max(type, excluded.type)"
                self.db.execute(f"{insert} {change}", (_text(values[0]), values[2 if kind else 1], kind))
            case table if table in BESIDE:
                self._insert_values(table, key, values)
            case _:
                pass

    def fill(self) -> None:
        """Repair damaged events, and leave a row for each lost one."""
        for values in sorted(self._listed, key=lambda each: float(str(each[5])), reverse=True):
            listed = [_text(each) if isinstance(each, bytes) else each for each in values[:8]]
            self.db.execute(_LIST, listed)
        query = "SELECT session, data FROM events WHERE seq = 1"
        for session, data in self.db.execute(query).fetchall():
            cwd = plain(json.loads(data).get("cwd", ""))
            self.db.execute("UPDATE sessions SET cwd = ? WHERE id = ?", (cwd, session))
        known = "(SELECT id FROM sessions UNION SELECT session FROM named)"
        self.events -= self.db.execute(f"DELETE FROM events WHERE session NOT IN {known}").rowcount
        patched: dict[str, list[int]] = {}
        for values in self._damaged:
            session, seq = _text(values[0]), int(str(values[1]))
            taken = "SELECT 1 FROM events WHERE session = ? AND seq = ?"
            there = self.db.execute(f"SELECT EXISTS ({taken}) OR ? NOT IN {known}", (session, seq, session))
            if there.fetchone()[0]:
                continue
            event = mended(values, self._args_of)
            if event is not None:
                self._insert(event)
            if event is None or row_sum(event) != values[-1]:
                self._set_aside(session, seq, values)
                patched.setdefault(session, []).extend([seq] if event is not None else ())
        begun = "SELECT session FROM events WHERE seq = 1"
        query = f"SELECT DISTINCT session FROM events WHERE session NOT IN ({begun})"
        for (session,) in self.db.execute(query).fetchall():
            # Its first event is recreated from the session list.
            patched.setdefault(session, []).append(1)
        self.patched = sum(map(len, patched.values()))
        self.db.execute("DELETE FROM sessions WHERE id NOT IN (SELECT session FROM events)")
        list_unlisted(self.db)
        for session, last in self.db.execute(
            "SELECT session, MAX(seq) FROM events GROUP BY session"
        ).fetchall():
            self._leave_rows(session, last, patched.get(session, []))
        self.db.execute(COUNT_BYTES)

    def _leave_rows(self, session: str, last: int, patched: Sequence[int]) -> None:
        query = "SELECT seq, type FROM named WHERE session = ?"
        named = dict(self.db.execute(query, (session,)).fetchall())
        last = max([last, *(seq for seq in named if seq < last + _BEYOND)])
        query = "SELECT seq FROM events WHERE session = ?"
        there = {row[0] for row in self.db.execute(query, (session,))}
        time = self.db.execute("SELECT MAX(time) FROM events WHERE session = ?", (session,)).fetchone()[0]
        for seq in sorted(set(range(1, last + 1)) - there):
            kind = named.get(seq) or ""
            what = (
                f"Event #{seq}{f' ({kind})' if kind in BY_TYPE else ''} was damaged on the disk and is lost."
            )
            self._note(session, seq, time, what)
            self.lost += 1
        if patched:
            which = ", ".join(f"#{seq}" for seq in sorted(patched))
            what = f"Damaged on the disk, and kept as far as they could be read: {which}."
            self._note(session, last + 1, time, what)

    def _note(self, session: str, seq: int, time: float, what: str) -> None:
        hint = f"What is left of it is in {self.aside}, and in sessions.db.damaged-{self.stamp}."
        error = Error(kind="internal", message=what, hint=hint)
        self._insert(row_of(Record(seq=seq, time=time, session=session, data=error), None))

    def _args_of(self, session: str, call_ids: Sequence[str]) -> Iterator[Call]:
        query = "SELECT seq, data FROM events WHERE session = ? AND type = ?"
        rows = self.db.execute(query, (session, ToolCall.TYPE)).fetchall()
        calls = (payload_of(session, seq, ToolCall.TYPE, data) for seq, data in rows)
        found = {call.tool_call_id: call for call in calls if isinstance(call, ToolCall)}
        yield from ((id, found[id].name, found[id].args) for id in call_ids if id in found)

    def _insert(self, row: EventRow) -> None:
        self.events += self.db.execute(_INSERT, (*row, row_sum(row))).rowcount

    def _insert_values(self, table: str, key: int, values: Values) -> None:
        shown = [_text(each) if isinstance(each, bytes) else each for each in values]
        shown[0] = key or None if table == "memories" else shown[0]
        marks = ", ".join("?" * len(shown))
        self.db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", shown)

    def _set_aside(self, session: str, seq: int, values: Values) -> None:
        raw = b"\n".join(each if isinstance(each, bytes) else str(each).encode() for each in values)
        write_bytes_atomic(self.aside / f"{session}-{seq}-{self.stamp}.event", raw)


def mended(values: Values, args_of: Callable[[str, Sequence[str]], Iterable[Call]]) -> EventRow | None:
    """Restore a damaged event as far as it can be read; None if it cannot.

    Text and message have the same content: if only one of them is readable, the other is recreated from it.

    Args:
        values: Its columns.
        args_of: Finds a session's calls by their ids.
    """
    session, kind, head, data, message = (_text(values[at]) for at in (0, 2, 4, 5, 6))
    seq, time = int(str(values[1])), float(str(values[3]))
    kind = next((each for each in BY_TYPE if _is_nearly(each.encode(), values[2])), "")
    sent = message if _is_message(message) else None
    try:
        payload: Payload | None = payload_of(session, seq, kind, data)
    except StorageError:
        payload = _payload_of(kind, head, sent)
    if payload is None:
        return None
    if sent is None and values[6] is not None:
        made = json.dumps(_message(payload, time, args_of(session, getattr(payload, "call_ids", ()))))
        if not _is_message(made):
            return None
        sent = canonical(json.loads(made))
    return row_of(Record(seq=seq, time=time, session=session, data=payload), sent)


def _is_nearly(kind: bytes, found: Value) -> bool:
    return isinstance(found, bytes) and len(kind) == len(found) and sum(map(operator.ne, kind, found)) < 2


def _is_message(text: str) -> bool:
    """Return whether pydantic-ai reads the text as one of its messages, or a list of them."""
    try:
        read = json.loads(text)
        return all(canonical(each) for each in (read if isinstance(read, list) else [read]))
    except (ValueError, RecursionError):
        return False


def _payload_of(kind: str, head: str, message: str | None) -> Payload | None:
    """Recreate a payload from its message."""
    try:
        parts = [part for part in json.loads(message or "")["parts"] if isinstance(part, dict)]
        tokens = Head.from_text(0, kind, 0.0, head).tokens
    except (ValueError, TypeError, KeyError):
        return None
    text = "\n\n".join(plain_text(part.get("content")) for part in parts if part["part_kind"] in _SPEAKING)
    calls = tuple(part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call")
    match kind:
        case UserMessage.TYPE:
            return UserMessage(text=text, tokens=tokens)
        case AssistantMessage.TYPE:
            return AssistantMessage(text=text, call_ids=calls, tokens=tokens)
        case ToolResult.TYPE if parts[0]["part_kind"] == "tool-return":
            id, name = parts[0]["tool_call_id"], parts[0]["tool_name"]
            return ToolResult(tool_call_id=id, name=name, text=text, tokens=tokens)
        case _:
            return None


def _message(payload: Payload, time: float, calls: Iterable[Call]) -> object:
    """Recreate the message of an event from its payload; None if that has too little of it."""
    match payload:
        case UserMessage(text=text):
            return request({"part_kind": "user-prompt", "content": text, "timestamp": iso(time)}, time)
        case AssistantMessage(text=text):
            parts = [{"part_kind": "text", "content": text}] if text else []
            return {
                "kind": "response",
                "timestamp": iso(time),
                "parts": [*parts, *(call_part(*call) for call in calls)],
            }
        case ToolResult(tool_call_id=id, name=name, text=text, outcome=outcome):
            return return_request(id, name, text, "failed" if outcome == "error" else outcome, time)
        case _:
            return None


def list_unlisted(db: sqlite3.Connection) -> list[str]:
    """List the sessions that have events but are not listed, and restore missing first events.

    Returns:
        The ids of the sessions added to the list.
    """
    query = (
        "SELECT session, MIN(time), MAX(time) FROM events"
        " WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session"
    )
    unlisted = db.execute(query).fetchall()
    for session, created, updated in unlisted:
        start = db.execute("SELECT data FROM events WHERE session = ? AND seq = 1", (session,)).fetchone()
        data = json.loads(start[0]) if start else {}
        values = (data.get("title") or _RESCUED, data.get("cwd", ""), data.get("model", ""))
        db.execute(_LIST, (session, *values, created, updated, 0, 0))
    # Every log must begin with the start of its session.
    query = (
        "SELECT id, title, cwd, model, created FROM sessions"
        " WHERE NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.id AND seq = 1)"
    )
    for session, title, cwd, model, created in db.execute(query).fetchall():
        start = SessionStart(cwd=cwd, model=model, policy="", title=title)
        row = row_of(Record(seq=1, time=created, session=session, data=start), None)
        db.execute(_INSERT, (*row, row_sum(row)))
    db.execute(_COUNT_MESSAGES)
    db.execute(COUNT_BYTES)
    return [row[0] for row in unlisted]
