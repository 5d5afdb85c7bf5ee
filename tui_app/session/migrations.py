"""The database's schema, version by version. A migration is never changed once released; add the next one."""

import sqlite3

_VERSION_1 = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    cwd TEXT NOT NULL,
    model TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
    session TEXT NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    time REAL NOT NULL,
    head TEXT NOT NULL,
    data TEXT NOT NULL,
    message TEXT,
    PRIMARY KEY (session, seq)
);
CREATE INDEX events_by_type ON events (session, type, seq);
"""
MIGRATIONS: tuple[str, ...] = (_VERSION_1,)
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
                for statement in MIGRATIONS[number].split(";"):
                    if statement.strip():
                        db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
