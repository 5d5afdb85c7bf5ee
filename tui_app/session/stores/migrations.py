"""The database's schema, version by version. A migration is never changed once released; add the next one."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from tui_app.context.storage_errors import ForeignDatabase

_TABLES = frozenset({"sessions", "events"})
"""What is in every version."""
SPOKEN = (
    "CASE type WHEN 'tool.call' THEN json_extract(data,'$.name')||ifnull((SELECT group_concat(' '||atom,'')"
    "FROM json_tree(CASE WHEN json_valid(json_extract(data,'$.args'))"
    "THEN json_extract(data,'$.args')END)),'')"
    "ELSE coalesce(json_extract(data,'$.text'),json_extract(data,'$.summary'),'')END"
)
"""What an event says, as SQL: a text, a summary, or a tool's name with each value of its arguments."""
_INDEX_AGAIN = (
    "INSERT INTO said (rowid, session, text)"
    # A damaged event has no words, and stops nothing.
    " SELECT spoken.* FROM spoken JOIN events ON events.rowid = place WHERE json_valid(data)"
)
_MESSAGES = "('system.message', 'user.message', 'assistant.message', 'tool.result')"

_VERSION_1 = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT NOT NULL, cwd TEXT NOT NULL, model TEXT NOT NULL,"
    " created REAL NOT NULL, updated REAL NOT NULL, messages INTEGER NOT NULL DEFAULT 0,"
    " tokens INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE events (session TEXT NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL,"
    " type TEXT NOT NULL, time REAL NOT NULL, head TEXT NOT NULL, data TEXT NOT NULL, message TEXT,"
    " PRIMARY KEY (session, seq))",
    "CREATE INDEX events_by_type ON events (session, type, seq)",
)
# The index of words keeps no text of its own; version 8 fills it, with triggers that hold it to the log.
_VERSION_2 = ("CREATE VIRTUAL TABLE said USING fts5 (session, text, content='', tokenize='unicode61')",)
# Without a request nothing was counted. The history of an import is wholly in view until then.
_VERSION_3 = (
    "UPDATE sessions SET tokens = ("
    " SELECT COALESCE(SUM(category.value), 0) FROM events, json_each(events.head, '$.k') AS category"
    f" WHERE events.session = sessions.id AND events.type IN {_MESSAGES}) WHERE tokens = 0 AND ("
    " SELECT json_extract(data, '$.imported_from') FROM events WHERE session = sessions.id AND seq = 1)<>''",
)
# The context boards. The code that reads and writes them lives in the room ``memory``.
_VERSION_4 = (
    "CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, repository TEXT NOT NULL,"
    " branch TEXT NOT NULL, text TEXT NOT NULL, kind TEXT NOT NULL, made_by TEXT NOT NULL,"
    " session TEXT NOT NULL, seq INTEGER NOT NULL, time REAL NOT NULL, weight REAL NOT NULL,"
    " pruned REAL NOT NULL DEFAULT 0, pruned_by TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',"
    " replaced_by INTEGER NOT NULL DEFAULT 0, added_told INTEGER NOT NULL DEFAULT 0,"
    " pruned_told INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX memories_by_scope ON memories (repository, branch)",
    "CREATE TABLE consolidations (session TEXT PRIMARY KEY, repository TEXT NOT NULL, branch TEXT NOT NULL,"
    " asked REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, read_until INTEGER NOT NULL DEFAULT 0)",
)
# A message is an item of the model's view, on every screen, each tool result by itself.
_VERSION_5 = (
    "UPDATE sessions SET messages = (SELECT COUNT(*) FROM events WHERE session = sessions.id AND type IN"
    " ('system.message', 'user.message', 'assistant.message', 'tool.result', 'memory.inbox'))",
)
BYTES = " + ".join(f"COALESCE(LENGTH(CAST({name} AS BLOB)), 0)" for name in ("head", "data", "message"))
"""Bytes of an event, as SQL; ``LENGTH`` of a text would count characters."""
COUNT_BYTES = (
    f"UPDATE sessions SET bytes = (SELECT COALESCE(SUM({BYTES}), 0) FROM events WHERE session = sessions.id)"
)
# How large each log is, kept up to date with every event.
_VERSION_6 = ("ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0", COUNT_BYTES)
# What the folds of a session have come to; it repeats the log, is changed as that grows, and may always go.
_VERSION_7 = (
    "CREATE TABLE snapshots (session TEXT NOT NULL, part INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " data TEXT NOT NULL, PRIMARY KEY (session, part))",
)
# Calls are found by what the model wrote in them, and words are cut by the program, so that they are found
# inside of scripts without spaces too. Said once, as a view: the schema should fit the first page.
_VERSION_8 = (
    "DROP TRIGGER IF EXISTS said_more",
    "DROP TRIGGER IF EXISTS said_less",
    f"CREATE VIEW spoken(place,session,text)AS SELECT rowid,session,index_words(CAST(({SPOKEN})AS BLOB))"
    " FROM events WHERE type IN"
    "('tool.call','user.message','assistant.message','tool.result','session.compaction_complete')",
    "CREATE TRIGGER said_more AFTER INSERT ON events BEGIN"
    " INSERT INTO said (rowid,session,text) SELECT * FROM spoken WHERE place=new.rowid; END",
    "CREATE TRIGGER said_less BEFORE DELETE ON events BEGIN"
    " INSERT INTO said (said,rowid,session,text) SELECT 'delete',* FROM spoken WHERE place=old.rowid; END",
    "INSERT INTO said (said) VALUES ('delete-all')",
    _INDEX_AGAIN,
)
# What was written can be told from what has become of it; rows of older versions have no checksum.
_VERSION_9 = ("ALTER TABLE events ADD COLUMN sum INTEGER",)
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, _VERSION_6, _VERSION_7, _VERSION_8,
    _VERSION_9,
)  # fmt: skip
"""Statements that lead from version N to N+1."""
WITH_SNAPSHOTS = 7
"""The first version that has a table of them."""
WITH_SUMS = 9
"""The first version whose events have checksums."""


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Do all of something or nothing; the writer of another process is waited for."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # A full disk has rolled back by itself already.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def check(db: sqlite3.Connection) -> int:
    """Make sure that a database is ours, before anything in it is changed.

    Returns:
        Its version; 0 for a file in which there is nothing yet.

    Raises:
        ForeignDatabase: if it is another program's.
        sqlite3.DatabaseError: if the file is no database, or was written by a newer version of the program.
    """
    # One moment for both: another process may be filling an empty file.
    db.execute("BEGIN")
    try:
        version = version_of(db)
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    if version > len(MIGRATIONS):
        raise is_newer(version)
    ours = tables >= _TABLES if version else not tables
    if not ours:
        raise ForeignDatabase("it belongs to another program")
    return version


def is_newer(version: int) -> sqlite3.DatabaseError:
    """The error that a file has a version which this program does not know."""
    known = f"this one knows {len(MIGRATIONS)}, update Plimsoll"
    return sqlite3.DatabaseError(f"it was written by a newer version (schema {version}): {known}")


def migrate(db: sqlite3.Connection) -> None:
    """Bring a database that has been checked to this version; each step happens whole or not at all."""
    version = version_of(db)
    for number in range(version, len(MIGRATIONS)):
        # Another process may be migrating at the same moment; look again once the file is ours.
        with transaction(db):
            if version_of(db) == number:
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")


def version_of(db: sqlite3.Connection) -> int:
    """Version of the schema; 0 for a file in which there is nothing yet."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def rebuild_index(db: sqlite3.Connection) -> int:
    """Make the index of words anew from the log, inside the caller's transaction.

    Returns:
        How many messages it holds.
    """
    db.execute("INSERT INTO said (said) VALUES ('delete-all')")
    return db.execute(_INDEX_AGAIN).rowcount
