"""The database's schema, version by version. A migration is never changed once released; add the next one."""

import sqlite3

_SAID = "COALESCE(json_extract({row}data, '$.text'), json_extract({row}data, '$.summary'), '')"
"""What an event says, as SQL: the text of a message, or the summary of a compaction."""
_SPEAKING = "('user.message', 'assistant.message', 'tool.result', 'session.compaction_complete')"

_VERSION_1 = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        cwd TEXT NOT NULL,
        model TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0,
        tokens INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    CREATE TABLE events (
        session TEXT NOT NULL REFERENCES sessions (id),
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        time REAL NOT NULL,
        head TEXT NOT NULL,
        data TEXT NOT NULL,
        message TEXT,
        PRIMARY KEY (session, seq)
    )
    """,
    "CREATE INDEX events_by_type ON events (session, type, seq)",
)
# The index of words keeps no text of its own; triggers hold it to the log, deletions included.
_VERSION_2 = (
    "CREATE VIRTUAL TABLE said USING fts5 (session, text, content='', tokenize='unicode61')",
    f"""
    INSERT INTO said (rowid, session, text)
    SELECT rowid, session, {_SAID.format(row="")} FROM events WHERE type IN {_SPEAKING}
    """,
    f"""
    CREATE TRIGGER said_more AFTER INSERT ON events WHEN new.type IN {_SPEAKING} BEGIN
        INSERT INTO said (rowid, session, text) VALUES (new.rowid, new.session, {_SAID.format(row="new.")});
    END
    """,
    f"""
    CREATE TRIGGER said_less AFTER DELETE ON events WHEN old.type IN {_SPEAKING} BEGIN
        INSERT INTO said (said, rowid, session, text)
        VALUES ('delete', old.rowid, old.session, {_SAID.format(row="old.")});
    END
    """,
)
MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1, _VERSION_2)
"""Statements that lead from version N to N+1."""


def migrate(db: sqlite3.Connection) -> None:
    """Bring a database to this version; each step happens whole or not at all.

    Raises:
        sqlite3.DatabaseError: if the file was written by a newer version of the program.
    """
    version = _version(db)
    if version > len(MIGRATIONS):
        raise sqlite3.DatabaseError(
            f"the sessions file has schema {version}, this program knows {len(MIGRATIONS)}: update it"
        )
    for number in range(version, len(MIGRATIONS)):
        # Another process may be migrating at the same moment; look again once the file is ours.
        db.execute("BEGIN IMMEDIATE")
        try:
            if _version(db) == number:
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
