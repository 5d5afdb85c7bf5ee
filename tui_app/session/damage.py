"""Checks of the sessions file and the folders next to it. They change nothing."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from tui_app.context.storage_errors import storage_explained
from tui_app.records import frozen
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import EventRow, payload_of, plain, row_sum
from tui_app.session.lock import holder
from tui_app.session.pages import Value, log_frames
from tui_app.session.stores.migrations import BYTES, MIGRATIONS, WITH_SNAPSHOTS, WITH_SUMS, is_newer
from tui_app.session.stores.sql_store import is_sealed
from tui_app.session.stores.sqlite_connection import has_events, lossy, open_file
from tui_app.session.stores.store import is_session_id
from tui_app.session.stores.word_index import add_index_words
from tui_app.session.workspace import SessionFolder
from tui_app.text import count

_WITH_INDEX, _WITH_CALLS = 2, 8
"""The first version with a word index, and the first whose index includes tool calls."""
_SPEAKING = "('user.message', 'assistant.message', 'tool.result', 'session.compaction_complete')"
_COMPARED = 50_000
"""Number of the newest events whose words in the index are compared with the log."""
_PROBLEMS, _ID = 5, 8
_NEVER = 100
"""A version number that no release has reached: it is damaged if the tables are this program's."""
_TYPES: dict[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (bytes,)}
BESIDE = ("memories", "consolidations")
"""Tables of the context boards."""
_REASONS = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)
"""SQLite's error codes for a damaged file; any other is a problem of the machine."""


@frozen(kw_only=True)
class Health:
    """What is wrong; empty fields are fine."""

    missing: str = ""
    """Why a sessions file is expected, if there is none."""
    damage: tuple[str, ...] = ()
    """What cannot be read, or differs from what was written."""
    stale_index: str = ""
    """Why the word index does not match the log."""
    unlisted: tuple[str, ...] = ()
    """Sessions that have events but are not in the list."""
    orphans: tuple[Path, ...] = ()
    """Folders of sessions that do not exist."""
    stale: tuple[str, ...] = ()
    """Sessions whose saved size or snapshot is damaged or does not match the log."""


def examine(database: Path, sessions_dir: Path) -> Health:
    """Check everything. Reads the whole file, and blocks.

    Args:
        database: The sessions file.
        sessions_dir: Parent of the sessions' folders.

    Raises:
        StorageError: if a problem of the machine keeps it from being opened.
        sqlite3.DatabaseError: if a newer version wrote it.
    """
    log = database.with_name(f"{database.name}-wal")
    if not has_events(database):
        folders = tuple(orphans(sessions_dir, set()))
        found = [f"{log.name} is there"] if has_events(log) else []
        found += [f"{count(len(folders), 'session folder')} found"] if folders else []
        state = "is empty" if database.exists() else "is missing"
        missing = f"{database} {state}, but {' and '.join(found)}" if found else ""
        return Health(missing=missing, orphans=folders)
    if (trouble := _log_trouble(log)) != "":
        return Health(damage=(trouble,))
    with storage_explained(database):
        try:
            with closing(open_file(database, "ro")) as db:
                return _examined(db, sessions_dir)
        except UnicodeDecodeError:
            # SQLite quotes bytes that are not UTF-8.
            return Health(damage=("its own tables cannot be read",))
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", -1) & 0xFF not in _REASONS:
                raise
            return Health(damage=(str(error),))


def _examined(db: sqlite3.Connection, sessions_dir: Path) -> Health:
    add_index_words(db)
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_PROBLEMS})")]
    if found != ["ok"]:
        return Health(damage=tuple("\n".join(found).splitlines())[:_PROBLEMS])
    if trouble := _schema_trouble(db, version):
        return Health(damage=(trouble,))
    if damaged := tuple(_damaged_rows(db, version)):
        return Health(damage=damaged)
    known = {row[0] for row in db.execute("SELECT id FROM sessions")}
    query = "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT id FROM sessions)"
    lost = tuple(str(row[0]) for row in db.execute(query))
    try:
        stale_index = index_trouble(db, version) if version >= _WITH_INDEX else ""
    except sqlite3.DatabaseError as error:
        # The file is intact, but the content of its index is not.
        stale_index = str(error)
    return Health(
        stale_index=stale_index,
        stale=tuple(_stale_sessions(db)) if version >= WITH_SNAPSHOTS else (),
        unlisted=lost,
        orphans=tuple(orphans(sessions_dir, known | set(lost))),
    )


def _log_trouble(log: Path) -> str:
    """Return what is wrong with the write-ahead log. SQLite would silently drop what follows the damage."""
    while log.exists():
        before = log.read_bytes()[:32]
        frames = log_frames(log.read_bytes())
        # A writer may have restarted the log meanwhile.
        if log.exists() and log.read_bytes()[:32] == before:
            bad = sum(not frame.sound for frame in frames)
            return f"{count(bad, 'page')} in {log.name} cannot be trusted" if bad else ""
    return ""


@cache
def _schema_of(version: int) -> frozenset[tuple[str, str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        add_index_words(db)
        for statement in (each for step in MIGRATIONS[:version] for each in step):
            db.execute(statement)
        return _schema(db)


def _schema(db: sqlite3.Connection) -> frozenset[tuple[str, str, str, str]]:
    rows = db.execute("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master")
    return frozenset((kind, name, table, "".join(sql.split())) for kind, name, table, sql in rows)


def _schema_trouble(db: sqlite3.Connection, version: int) -> str:
    """Return why the tables differ from those of the file's version; empty if they do not."""
    found = _schema(db)
    if version > len(MIGRATIONS) and (found != _schema_of(len(MIGRATIONS)) or version < _NEVER):
        raise is_newer(version)
    if version > len(MIGRATIONS) or (found and not version):
        return f"it says version {version}, which is not true"
    wrong = sorted(name for _, name, _, _ in _schema_of(version) - found)
    return f"not as version {version} makes it: {', '.join(wrong)}" if wrong else ""


def intact_event(values: Sequence[Value]) -> EventRow | None:
    """Return an event as it was written, or None if any byte of it has changed.

    Args:
        values: Its columns, texts as bytes. Older versions have no checksum: their events are decoded
            instead.
    """
    try:
        session, seq, kind, time, head, data, message = (
            each.decode() if isinstance(each, bytes) else each for each in values[:7]
        )
        row: EventRow = (session, seq, kind, float(time), head, data, message)  # type: ignore[assignment,arg-type]
        if len(values) > 7 and values[7] is not None:
            return row if row_sum(row) == values[7] else None
        Head.from_text(*row[1:5])
        payload_of(row[0], *row[1:3], row[5])
        return row if message is None or json.loads(str(message)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, sqlite3.DatabaseError):
        return None


def _damaged_rows(db: sqlite3.Connection, version: int) -> Iterator[str]:
    """Read every row of every table and report those that are damaged."""
    db.text_factory = bytes
    total = "sum" if version >= WITH_SUMS else "NULL"
    query = f"SELECT session, seq, type, time, head, data, message, {total} FROM events"
    places: dict[bytes, bytes] = {}
    for row in db.execute(query):
        if (event := intact_event(row)) is None:
            yield f"event {row[1]} of session {row[0].decode('ascii', 'replace')}"
        elif event[1] == 1:
            places[row[0]] = plain(json.loads(event[5]).get("cwd", "")).encode()
    for row in db.execute("SELECT id, title, cwd, model, created, updated, messages, tokens FROM sessions"):
        if not _fits(db, "sessions", row) or places.get(row[0], row[2]) != row[2]:
            yield f"the entry of session {row[0].decode('ascii', 'replace')}"
    for table in BESIDE if version > 3 else ():
        for row in db.execute(f"SELECT * FROM {table}"):
            if not _fits(db, table, row):
                yield f"row {row[0]!r} of {table}"
    db.text_factory = lossy


def _fits(db: sqlite3.Connection, table: str, row: Sequence[Value]) -> bool:
    """Return whether the values of a row have the types of its table, and its texts are UTF-8."""
    kinds = db.execute("SELECT CAST(type AS BLOB) FROM pragma_table_info(?)", (table,)).fetchall()
    try:
        return all(
            isinstance(value, _TYPES[kind.decode()])
            and (not isinstance(value, bytes) or value.decode() is not None)
            for value, (kind,) in zip(row, kinds, strict=False)
        )
    except UnicodeDecodeError:
        return False


def _stale_sessions(db: sqlite3.Connection) -> Iterator[str]:
    """Find the sessions whose saved size does not match their log, or whose snapshot is damaged."""
    kept = db.execute("SELECT session, part, data FROM snapshots").fetchall()
    damaged = {session for session, part, text in kept if not is_sealed(session, part, str(text))}
    for session, size in db.execute("SELECT id, bytes FROM sessions ORDER BY updated DESC").fetchall():
        (found,) = db.execute(f"SELECT SUM({BYTES}) FROM events WHERE session = ?", (session,)).fetchone()
        if size != (found or 0) or session in damaged:
            yield session


def orphans(sessions_dir: Path, known: set[str]) -> Iterator[Path]:
    """Yield the folders of unknown sessions."""
    for folder in sorted(sessions_dir.iterdir()) if sessions_dir.is_dir() else ():
        ours = folder.is_dir() and not folder.is_symlink() and is_session_id(folder.name)
        # A locked folder belongs to a session that is being created.
        lost = ours and len(folder.name) == _ID and folder.name not in known
        if lost and not holder(SessionFolder(folder).lock_file):
            yield folder


def index_trouble(db: sqlite3.Connection, version: int) -> str:
    """Return why the word index does not match the log; empty if it does.

    Another program that vacuums the file may renumber its rows, and the index would then point to others.
    """
    calls = " OR type = 'tool.call'" if version >= _WITH_CALLS else ""
    total = db.execute(f"SELECT COUNT(*) FROM events WHERE type IN {_SPEAKING}{calls}").fetchone()[0]
    indexed = db.execute("SELECT COUNT(*) FROM said_docsize").fetchone()[0]
    if total != indexed:
        return f"it knows {indexed:,} of {total:,} messages"
    if version < _WITH_CALLS:
        return ""
    # An index built now must have the same content.
    (made,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'said'").fetchone()
    (since,) = db.execute("SELECT MAX(0, MAX(rowid) - ?) FROM events", (_COMPARED,)).fetchone()
    db.execute("ATTACH ':memory:' AS fresh")
    db.execute(made.replace("TABLE said", "TABLE fresh.said", 1))
    insert = "INSERT INTO fresh.said (rowid, session, text) SELECT * FROM main.spoken WHERE place > ?"
    db.execute(insert, (since,))
    for name in ("main", "fresh"):
        db.execute(f"CREATE VIRTUAL TABLE temp.{name}_words USING fts5vocab({name}, said, instance)")
    kept = f"SELECT * FROM main_words WHERE doc > {since or 0}"
    query = f"SELECT doc FROM ({kept} EXCEPT SELECT * FROM fresh_words) UNION ALL"
    query += f" SELECT doc FROM (SELECT * FROM fresh_words EXCEPT {kept}) LIMIT 1"
    differs = db.execute(query).fetchone()
    return f"message {differs[0]:,} cannot be found by its words" if differs else ""
