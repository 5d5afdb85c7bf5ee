"""Reading what can be read of a damaged sessions file into a new one; the damaged one is kept."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.storage_errors import StorageError
from tui_app.events import Record, SessionStart, payload_to_json
from tui_app.session.damaged_rows import DamagedRows, Row, open_damaged
from tui_app.session.database import connect
from tui_app.session.head_fields import head_of
from tui_app.session.heads import Head
from tui_app.session.visibility import CARRYING

_TYPES: dict[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str}
_SIDE_FILES = ("-wal", "-shm")
_EVENT = "session, seq, type, time, head, data, message"
_SESSION = "id, title, cwd, model, created, updated, messages, tokens"
_BESIDE = ("memories", "consolidations")
"""Tables of the context boards."""
_RESCUED = "Rescued session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """What came of it."""

    kept: Path
    """The damaged file, as it was."""
    sessions: int
    events: int
    lost: int
    """Rows that could not be read, at most: numbers on a damaged page may never have been given."""


def salvage(database: Path, *, stamp: str) -> Salvaged:
    """Put a new file with everything readable in the place of a damaged one; nobody must have it open.

    Args:
        database: The damaged file.
        stamp: What distinguishes the name of the kept file, such as the time.

    Raises:
        StorageError: if nothing in it can be read; nothing is changed then.
        OSError: if the disk refuses; nothing is changed then.
        sqlite3.Error: if the new file cannot be written; nothing is changed then.
    """
    new = database.with_name(f".{database.name}.{os.getpid()}.tmp")
    kept = database.with_name(f"{database.name}.damaged-{stamp}")
    _remove(new)
    try:
        counted = _copy(database, new)
        _keep(database, kept)
        for side in _SIDE_FILES:
            database.with_name(database.name + side).unlink(missing_ok=True)
        new.replace(database)
    finally:
        _remove(new)
    return Salvaged(kept=kept, sessions=counted[0], events=counted[1], lost=counted[2])


def _keep(database: Path, kept: Path) -> None:
    """Copy the file with what stands beside it; the log that was written last may be there."""
    for side in ("", *_SIDE_FILES):
        source = database.with_name(database.name + side)
        if source.exists():
            target = kept.with_name(kept.name + side)
            shutil.copyfile(source, target)
            target.chmod(0o600)


def _remove(file: Path) -> None:
    for side in ("", *_SIDE_FILES):
        file.with_name(file.name + side).unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> tuple[int, int, int]:
    with (
        closing(open_damaged(source)) as damaged,
        closing(connect(target, read_only=False)) as db,
    ):
        reader = DamagedRows(damaged, source)
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("BEGIN")
        try:
            listed = list(reader.rows("sessions", _SESSION))
            events = _copy_events(reader, db)
            for table in _BESIDE:
                _copy_table(reader, db, table)
        except sqlite3.DatabaseError as error:
            raise _nothing_in(source, str(error)) from error
        if reader.lost and not events:
            raise _nothing_in(source, "all its pages that hold events are damaged")
        db.executemany(f"INSERT OR IGNORE INTO sessions ({_SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", listed)
        db.execute("DELETE FROM sessions WHERE id NOT IN (SELECT session FROM events)")
        list_unlisted(db)
        db.execute("COMMIT")
        # One file that can take the other's name.
        db.execute("PRAGMA journal_mode=DELETE")
        return db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0], events, reader.lost


def _nothing_in(source: Path, reason: str) -> StorageError:
    return StorageError(
        f"Nothing in {source} can be read ({reason}).",
        "It is left as it is. If you have a copy, put it in its place.",
    )


def _copy_events(reader: DamagedRows, db: sqlite3.Connection) -> int:
    count = 0
    for row in reader.rows("events", _EVENT):
        if _is_whole(row):
            db.execute(f"INSERT OR IGNORE INTO events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            count += 1
        else:
            reader.lost += 1
    return count


def _copy_table(reader: DamagedRows, db: sqlite3.Connection, table: str) -> None:
    if not reader.has(table):
        return
    described = db.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
    names = ", ".join(name for name, _ in described)
    types = [_TYPES[declared] for _, declared in described]
    marks = ", ".join("?" * len(types))
    for row in reader.rows(table, names):
        if all(isinstance(value, kind) for value, kind in zip(row, types, strict=True)):
            db.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", row)
        else:
            reader.lost += 1


def _is_whole(row: Row) -> bool:
    """Whether an event reads as one: what a long row holds may be damaged without SQLite noticing."""
    session, seq, kind, time, head, data, message = row
    if not (isinstance(session, str) and isinstance(seq, int) and isinstance(kind, str)):
        return False
    try:
        Head.from_text(seq, kind, float(str(time)), str(head))
        json.loads(str(data))
        return message is None or bool(json.loads(str(message)))
    except (ValueError, TypeError, KeyError):
        return False


def list_unlisted(db: sqlite3.Connection) -> list[str]:
    """List the sessions that have events but stand in no list, and give each its first event back.

    Returns:
        Their ids.
    """
    query = (
        "SELECT session, MIN(time), MAX(time), MIN(seq) FROM events"
        " WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session"
    )
    unlisted = db.execute(query).fetchall()
    for session, created, updated, _ in unlisted:
        start = db.execute("SELECT data FROM events WHERE session = ? AND seq = 1", (session,)).fetchone()
        said = json.loads(start[0]) if start else {}
        marks = ", ".join("?" * len(CARRYING))
        messages = db.execute(
            f"SELECT COUNT(*) FROM events WHERE session = ? AND type IN ({marks})", (session, *CARRYING)
        ).fetchone()[0]
        values = (said.get("title") or _RESCUED, said.get("cwd", ""), said.get("model", ""))
        db.execute(
            f"INSERT INTO sessions ({_SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
            (session, *values, created, updated, messages),
        )
    _begin_all(db)
    return [row[0] for row in unlisted]


def _begin_all(db: sqlite3.Connection) -> None:
    """Every log begins with the start of its session."""
    query = (
        "SELECT id, title, cwd, model, created FROM sessions"
        " WHERE NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.id AND seq = 1)"
    )
    for session, title, cwd, model, created in db.execute(query).fetchall():
        start = SessionStart(cwd=cwd, model=model, title=title)
        record = Record(seq=1, time=created, session=session, data=start)
        row = (
            session, 1, start.TYPE, created, head_of(1, created, record.data).to_text(),
            json.dumps(payload_to_json(start)), None,
        )  # fmt: skip
        db.execute(f"INSERT INTO events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
