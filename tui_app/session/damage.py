"""Whether the sessions file and the folders beside it are whole. Only looks; nothing is changed."""

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
"""The versions from which on there is an index of words, and calls are part of it."""
_SPEAKING = "('user.message', 'assistant.message', 'tool.result', 'session.compaction_complete')"
_COMPARED = 50_000
"""Events, the newest ones, whose words in the index are compared with the log."""
_PROBLEMS, _ID = 5, 8
_NEVER = 100
"""A version that no newer program has come to, which makes all tables as this one does."""
_TYPES: dict[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (bytes,)}
BESIDE = ("memories", "consolidations")
"""Tables of the context boards."""
_REASONS = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)
"""What SQLite says of a damaged file; anything else is about the machine."""


@frozen(kw_only=True)
class Health:
    """What is wrong; empty fields are fine."""

    missing: str = ""
    """Why there should be a sessions file, where there is none."""
    damage: tuple[str, ...] = ()
    """What cannot be read, or is not what was written."""
    stale_index: str = ""
    """Why the index of words does not fit the log."""
    unlisted: tuple[str, ...] = ()
    """Sessions that have events but are in no list."""
    orphans: tuple[Path, ...] = ()
    """Folders of sessions that are not there."""
    stale: tuple[str, ...] = ()
    """Sessions beside whose log something is kept that it does not say, or that is damaged."""


def examine(database: Path, sessions_dir: Path) -> Health:
    """Look at everything; reads the whole file, and blocks.

    Args:
        database: The sessions file.
        sessions_dir: Parent of the sessions' folders.

    Raises:
        StorageError: if it cannot be opened, for a reason of the machine.
        sqlite3.DatabaseError: if it comes from a newer version.
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
            # SQLite quotes what it cannot make sense of.
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
        # The file is whole, but what the index keeps in it makes no sense.
        stale_index = str(error)
    return Health(
        stale_index=stale_index,
        stale=tuple(_stale_sessions(db)) if version >= WITH_SNAPSHOTS else (),
        unlisted=lost,
        orphans=tuple(orphans(sessions_dir, known | set(lost))),
    )


def _log_trouble(log: Path) -> str:
    """What is wrong with the write-ahead log; SQLite would pass over all that is after it."""
    while log.exists():
        before = log.read_bytes()[:32]
        frames = log_frames(log.read_bytes())
        # A writer may have begun it anew meanwhile.
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
    """Why the tables are not those of the version that the file names; empty where they are."""
    found = _schema(db)
    if version > len(MIGRATIONS) and (found != _schema_of(len(MIGRATIONS)) or version < _NEVER):
        raise is_newer(version)
    if version > len(MIGRATIONS) or (found and not version):
        return f"it says version {version}, which is not true"
    wrong = sorted(name for _, name, _, _ in _schema_of(version) - found)
    return f"not as version {version} makes it: {', '.join(wrong)}" if wrong else ""


def intact_event(values: Sequence[Value]) -> EventRow | None:
    """An event as it was written; None where any byte of it has become another one.

    Args:
        values: Its columns, texts as bytes; one of an older version has no checksum, and is decoded instead.
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
    """Reads every row of every table; says of which not all bytes are those that were written."""
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
    """Whether a row has the types of its table, and its texts are texts."""
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
    """Find the sessions whose kept size does not fit their log, or of which a damaged snapshot is kept."""
    kept = db.execute("SELECT session, part, data FROM snapshots").fetchall()
    damaged = {session for session, part, text in kept if not is_sealed(session, part, str(text))}
    for session, size in db.execute("SELECT id, bytes FROM sessions ORDER BY updated DESC").fetchall():
        (found,) = db.execute(f"SELECT SUM({BYTES}) FROM events WHERE session = ?", (session,)).fetchone()
        if size != (found or 0) or session in damaged:
            yield session


def orphans(sessions_dir: Path, known: set[str]) -> Iterator[Path]:
    """Folders of sessions that are not known."""
    for folder in sorted(sessions_dir.iterdir()) if sessions_dir.is_dir() else ():
        ours = folder.is_dir() and not folder.is_symlink() and is_session_id(folder.name)
        # One that is held belongs to a session that is just beginning.
        lost = ours and len(folder.name) == _ID and folder.name not in known
        if lost and not holder(SessionFolder(folder).lock_file):
            yield folder


def index_trouble(db: sqlite3.Connection, version: int) -> str:
    """Why the index of words does not fit the log; empty where it does.

    Another program that packs the file may number its rows anew, and the index would then name others.
    """
    calls = " OR type = 'tool.call'" if version >= _WITH_CALLS else ""
    said = db.execute(f"SELECT COUNT(*) FROM events WHERE type IN {_SPEAKING}{calls}").fetchone()[0]
    indexed = db.execute("SELECT COUNT(*) FROM said_docsize").fetchone()[0]
    if said != indexed:
        return f"it knows {indexed:,} of {said:,} messages"
    if version < _WITH_CALLS:
        return ""
    # One that is made at this moment must hold the same.
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
