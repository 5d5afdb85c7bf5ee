"""Whether the sessions file and the folders beside it are whole. Only looks; nothing is changed."""

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.storage_errors import StorageError, storage_explained
from tui_app.events import Record, SessionStart
from tui_app.records import frozen
from tui_app.session.event_heads import CARRYING, Head, row_of
from tui_app.session.lock import holder
from tui_app.session.migrations import BYTES, COUNT_BYTES, rebuild_index
from tui_app.session.search import Term, match_expression
from tui_app.session.sql_store import is_stale
from tui_app.session.sqlite_store import SQLITE, connect
from tui_app.session.workspace import SessionFolder
from tui_app.text import count

_WITH_CALLS = 8
"""The version of the file from which on calls are part of the index of words."""
_SPEAKING = "('user.message', 'assistant.message', 'tool.result', 'session.compaction_complete')"
_SAMPLE = 20
"""Messages at either end of the log whose words are looked up."""
_WORDS = 8
"""Of each, side by side."""
_PROBLEMS = 5
_WORD = re.compile(r"[A-Za-z0-9]+")
_SESSION_ID = re.compile(r"[0-9a-f]{8}")


@frozen(kw_only=True)
class Health:
    """What is wrong; empty fields are fine."""

    damage: tuple[str, ...] = ()
    """What SQLite says about the file: some of it cannot be read."""
    stale_index: str = ""
    """Why the index of words does not fit the log."""
    unlisted: tuple[str, ...] = ()
    """Sessions that have events but stand in no list."""
    orphans: tuple[Path, ...] = ()
    """Folders of sessions that are not there."""
    stale: tuple[str, ...] = ()
    """Sessions beside whose log something is kept that it does not say."""


def examine(database: Path, sessions_dir: Path) -> Health:
    """Look at everything; reads the whole file, and blocks.

    Args:
        database: The sessions file; it must be there.
        sessions_dir: Parent of the sessions' folders.

    Raises:
        StorageError: if it is no database at all, or cannot be opened.
    """
    uri = f"{database.absolute().as_uri()}?mode=ro"
    with storage_explained(database), closing(sqlite3.connect(uri, uri=True, timeout=5.0)) as db:
        try:
            found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_PROBLEMS})")]
            if found != ["ok"]:
                return Health(damage=tuple("\n".join(found).splitlines())[:_PROBLEMS])
            known = {row[0] for row in db.execute("SELECT id FROM sessions")}
            query = "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT id FROM sessions)"
            lost = tuple(str(row[0]) for row in db.execute(query))
            # Files of older versions lack some.
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return Health(
                stale_index=index_trouble(db) if "said" in tables else "",
                stale=tuple(stale_sessions(db)) if "snapshots" in tables else (),
                unlisted=lost,
                orphans=tuple(_orphans(sessions_dir, known | set(lost))),
            )
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            return Health(damage=(str(error),))


def stale_sessions(db: sqlite3.Connection, most: int = -1) -> Iterator[str]:
    """Find the sessions whose kept size or folds do not fit their log; reads and folds all of it.

    Args:
        db: The sessions file, of a version that keeps both.
        most: How many sessions to look at, those used last; -1 for all.
    """
    query = "SELECT id, bytes FROM sessions ORDER BY updated DESC LIMIT ?"
    for session, size in db.execute(query, (most,)).fetchall():
        (found,) = db.execute(f"SELECT SUM({BYTES}) FROM events WHERE session = ?", (session,)).fetchone()
        if size != (found or 0) or is_stale(db, SQLITE, session):
            yield session


def _orphans(sessions_dir: Path, known: set[str]) -> Iterator[Path]:
    if not sessions_dir.is_dir():
        return
    for folder in sorted(sessions_dir.iterdir()):
        ours = folder.is_dir() and not folder.is_symlink() and _SESSION_ID.fullmatch(folder.name)
        # One that is held belongs to a session that is just beginning.
        if ours and folder.name not in known and not holder(SessionFolder(folder).lock_file):
            yield folder


def index_trouble(db: sqlite3.Connection) -> str:
    """Why the index of words does not fit the log; empty where it does.

    Numbers are compared, and some messages are looked up by a word of theirs: another program that packs the
    file may number its rows anew, and the index would then name others.
    """
    try:
        return _index_trouble(db)
    except sqlite3.DatabaseError as error:
        # The file is whole, but what the index keeps in it makes no sense.
        return str(error)


def _index_trouble(db: sqlite3.Connection) -> str:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    calls = " OR type = 'tool.call'" if version >= _WITH_CALLS else ""
    said = db.execute(f"SELECT COUNT(*) FROM events WHERE type IN {_SPEAKING}{calls}").fetchone()[0]
    indexed = db.execute("SELECT COUNT(*) FROM said_docsize").fetchone()[0]
    if said != indexed:
        return f"it knows {indexed:,} of {said:,} messages"
    for end in ("", " DESC"):
        rows = db.execute(
            "SELECT rowid,"
            " substr(COALESCE(json_extract(data, '$.text'), json_extract(data, '$.summary')), 1, 200)"
            f" FROM events WHERE type IN {_SPEAKING} AND json_valid(data) ORDER BY rowid{end} LIMIT ?",
            (_SAMPLE,),
        ).fetchall()
        for rowid, text in rows:
            # The last word may have been cut. Of letters beyond ASCII the index has an idea of its own.
            words = tuple(_WORD.findall(text or "")[:-1][:_WORDS])
            if words and text.isascii():
                query = "SELECT 1 FROM said WHERE said MATCH ? AND rowid = ?"
                if db.execute(query, (match_expression([Term(words)]), rowid)).fetchone() is None:
                    return f"message {rowid:,} cannot be found by its words"
    return ""


# Reading the rows of a damaged sessions file around what cannot be read.

Row = tuple[object, ...]

_ROWS = 128
"""Rows that no page holds more of."""
_INTERIOR, _LEAF = 5, 13
"""First byte of a table's pages: those that name others, and those that hold rows."""


def open_damaged(path: Path) -> sqlite3.Connection:
    """Open a file to read what is left of it; nothing is written."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # Without this SQLite reads nothing of a file that is shorter than it says of itself.
    db.execute("PRAGMA writable_schema=ON")
    return db


@dataclass(slots=True)
class DamagedRows:
    """Reads the rows of a table around those that are damaged."""

    db: sqlite3.Connection
    path: Path
    lost: int = 0
    """Row numbers that could not be read; the last ones may never have been given."""

    def has(self, table: str) -> bool:
        """Whether there is such a table; files of older versions lack some.

        Raises:
            sqlite3.DatabaseError: if not even that can be read.
        """
        found = self.db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        return found.fetchone() is not None

    def rows(self, table: str, columns: str) -> Iterator[Row]:
        """Every row that can be read, in the order of their numbers.

        Raises:
            sqlite3.DatabaseError: if not even the beginning of the file can be read.
        """
        query = f"SELECT rowid, {columns} FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        ranges = [(1, self._last(table))]
        while ranges:
            at, last = ranges.pop()
            try:
                with closing(self.db.execute(query, (at, last))) as found:
                    for row in found:
                        if not at <= row[0] <= last:
                            # What was cut away reads as zeros, and going back to them would never end.
                            self.lost += 1
                            continue
                        at = row[0] + 1
                        yield row[1:]
            except sqlite3.DatabaseError:
                if at >= last:
                    self.lost += 1
                    continue
                # Half and half again, until what is damaged stands alone.
                middle = (at + last) // 2
                ranges += [(middle + 1, last), (at, middle)]

    def _last(self, table: str) -> int:
        """A row number that none is above, from whatever part of the file still says so."""
        queries = [f"SELECT MAX(rowid) FROM {table}"]
        if table == "events":
            queries += [
                "SELECT MAX(+rowid) FROM events INDEXED BY events_by_type",
                "SELECT MAX(+rowid) FROM events INDEXED BY sqlite_autoindex_events_1",
                "SELECT MAX(id) FROM said_docsize",
            ]
        for query in queries:
            try:
                return int(self.db.execute(query).fetchone()[0] or 0)
            except sqlite3.DatabaseError:
                continue
        most = int(self.db.execute("PRAGMA page_count").fetchone()[0]) * _ROWS
        wal = self.path.with_name(f"{self.path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            return most  # Newer pages than the file's may stand there.
        return min(most, self._last_by_pages(table) or most)

    def _last_by_pages(self, table: str) -> int:
        """The same from the pages on the table's right side; 0 where all of them can be read.

        A page that names others says which is the last row of each but the rightmost. Where that one cannot
        be read, all that comes after is lost, and need not be looked for through all numbers there could be.
        """
        size = int(self.db.execute("PRAGMA page_size").fetchone()[0])
        query = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?"
        number = int(self.db.execute(query, (table,)).fetchone()[0])
        last, seen = 0, set[int]()
        with self.path.open("rb") as file:
            while number > 0 and number not in seen:
                seen.add(number)
                file.seek((number - 1) * size)
                page = file.read(size)
                if len(page) < size or page[0] != _INTERIOR:
                    return 0 if len(page) == size and page[0] == _LEAF else last + _ROWS
                last, number = max(last, _last_key(page)), int.from_bytes(page[8:12], "big")
        return last + _ROWS


def _last_key(page: bytes) -> int:
    """The number of the last row on the pages that an interior page names, but the rightmost."""
    count = int.from_bytes(page[3:5], "big")
    if not count or 12 + 2 * count > len(page):
        return 0
    # A cell: the number of a page, four bytes, and the key, seven bits a byte; the highest for "more".
    at, key = int.from_bytes(page[10 + 2 * count : 12 + 2 * count], "big") + 4, 0
    for byte in page[at : at + 8]:
        key = key << 7 | byte & 0x7F
        if byte < 0x80:
            return key
    return 0


# Reading what can be read of a damaged sessions file into a new one; the damaged one is kept.

_TYPES: dict[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str}
_SIDE_FILES = ("-wal", "-shm")
_EVENT = "session, seq, type, time, head, data, message"
_SESSION = "id, title, cwd, model, created, updated, messages, tokens"
_BESIDE = ("memories", "consolidations")
"""Tables of the context boards."""
_RESCUED = "Rescued session"


@frozen(kw_only=True)
class Salvaged:
    """What came of it."""

    kept: Path
    """The damaged file, as it was."""
    sessions: int
    events: int
    lost: int
    """Rows that could not be read, at most: numbers on a damaged page may never have been given."""

    def __str__(self) -> str:
        rows = "1 row" if self.lost == 1 else f"up to {self.lost:,} rows"
        lost = f"{rows} could not be read" if self.lost else "nothing was lost"
        sessions = "1 session is" if self.sessions == 1 else f"{self.sessions:,} sessions are"
        events = count(self.events, "event")
        return f"{sessions} in a new file with {events}, {lost}. The damaged one is kept: {self.kept}"


def salvage(database: Path, *, stamp: str) -> Salvaged:
    """Put a new file with everything readable in the place of a damaged one; no process may have it open.

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
        # What stands beside the file is copied too: the log that was written last may be there.
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
    return Salvaged(kept=kept, sessions=counted[0], events=counted[1], lost=counted[2])


def _remove(file: Path) -> None:
    for side in ("", *_SIDE_FILES):
        file.with_name(file.name + side).unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> tuple[int, int, int]:
    with (
        closing(open_damaged(source)) as damaged,
        closing(connect(target, read_only=False)) as db,
    ):
        reader, events = DamagedRows(damaged, source), 0
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("BEGIN")
        try:
            listed = list(reader.rows("sessions", _SESSION))
            for row in reader.rows("events", _EVENT):
                if _is_whole(row):
                    db.execute(f"INSERT OR IGNORE INTO events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                    events += 1
                else:
                    reader.lost += 1
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
    # Every log begins with the start of its session.
    query = (
        "SELECT id, title, cwd, model, created FROM sessions"
        " WHERE NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.id AND seq = 1)"
    )
    for session, title, cwd, model, created in db.execute(query).fetchall():
        start = SessionStart(cwd=cwd, model=model, policy="", title=title)
        row = row_of(Record(seq=1, time=created, session=session, data=start), None)
        db.execute(f"INSERT INTO events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.execute(COUNT_BYTES)
    return [row[0] for row in unlisted]


# Mending what an examination found. Nothing that was said is deleted: what does not fit is set aside.

SET_ASIDE = "set-aside"
"""Folder beside the sessions' own for what belongs to none."""


class InUse(Exception):
    """A session is open, so nothing is mended; the text says where it is open."""


@frozen
class Done:
    """One thing that was mended, in a sentence."""

    text: str


def mend(health: Health, database: Path, sessions_dir: Path, *, stamp: str) -> list[Done]:
    """Mend the sessions file and set aside what belongs to no session; blocks.

    Args:
        health: What is wrong.
        database: The sessions file.
        sessions_dir: Parent of the sessions' folders.
        stamp: Distinguishes the names of what is kept, such as the time.

    Raises:
        InUse: if a session is open somewhere.
        StorageError: if nothing in the file can be read.
        OSError: if the disk refuses.
        sqlite3.Error: if the file cannot be written.
    """
    if used := in_use(sessions_dir):
        raise InUse(used)
    done: list[Done] = []
    if health.damage:
        done.append(Done(str(salvage(database, stamp=stamp))))
    else:
        done += _repair_inside(health, database)
    for orphan in health.orphans:
        target = sessions_dir.parent / SET_ASIDE / f"{orphan.name}-{stamp}"
        target.parent.mkdir(mode=0o700, exist_ok=True)
        orphan.rename(target)
        done.append(Done(f"The folder {orphan.name} belongs to no session; it is now {target}"))
    return done


def in_use(sessions_dir: Path) -> str:
    """Say which session is being written; empty when none is."""
    if not sessions_dir.is_dir():
        return ""
    for folder in sessions_dir.iterdir():
        if who := holder(SessionFolder(folder).lock_file):
            return f"Session {folder.name} is open in {who}. Close it there first."
    return ""


def _repair_inside(health: Health, database: Path) -> list[Done]:
    if not (health.unlisted or health.stale_index or health.stale):
        return []
    done: list[Done] = []
    with closing(connect(database, read_only=False)) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            if health.unlisted:
                listed = list_unlisted(db)
                done.append(Done(f"Listed again: {', '.join(listed)}"))
            if health.stale:
                marks = ", ".join("?" * len(health.stale))
                db.execute(f"DELETE FROM snapshots WHERE session IN ({marks})", health.stale)
                db.execute(COUNT_BYTES)
                done.append(Done(f"Sizes and views are rebuilt from the log: {', '.join(health.stale)}"))
            if health.stale_index:
                held = rebuild_index(db)
                done.append(Done(f"The word index is rebuilt: {count(held, 'message')}"))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return done
