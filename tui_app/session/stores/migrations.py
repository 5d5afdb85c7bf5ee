"""The versions of the database schema (``sqlite.sql``) and migration to the newest.

Never change a released migration; add another one.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tui_app.context.storage_errors import ForeignDatabase

_TABLES = frozenset({"sessions", "events"})
"""Tables that every version has."""
BYTES = " + ".join(f"COALESCE(LENGTH(CAST({name} AS BLOB)), 0)" for name in ("head", "data", "message"))
"""Bytes of an event, as SQL. ``LENGTH`` of a text would count characters."""


def read_steps(file: str) -> tuple[tuple[str, ...], ...]:
    """Return the statements of each version, from a file in this folder that has them as paragraphs."""
    versions = re.split(r"(?m)^-- version \d+$", Path(__file__).with_name(file).read_text("utf-8"))[1:]
    bare = (re.sub(r"(?m)^--.*$", "", version) for version in versions)
    return tuple(
        tuple(" ".join(each.split()).removesuffix(";") for each in version.split("\n\n") if each.strip())
        for version in bare
    )


MIGRATIONS = read_steps("sqlite.sql")
"""Statements that migrate from version N to N+1."""
COUNT_BYTES, _INDEX_AGAIN = MIGRATIONS[5][-1], MIGRATIONS[7][-1]
"""The statements that fill the column of sizes and the word index."""
WITH_SNAPSHOTS = 7
"""The first version with a table of snapshots."""
WITH_SUMS = 9
"""The first version whose events have checksums."""


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run everything or nothing; waits for a writer in another process."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # A full disk has already rolled the transaction back.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def check(db: sqlite3.Connection) -> int:
    """Make sure that a database is ours before anything in it changes.

    Returns:
        Its schema version; 0 for an empty file.

    Raises:
        ForeignDatabase: if it belongs to another program.
        sqlite3.DatabaseError: if the file is no database, or a newer version of the program wrote it.
    """
    # Read both in one transaction: another process may be filling an empty file.
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
    known = f"this one knows {len(MIGRATIONS)}, update Plimsoll"
    return sqlite3.DatabaseError(f"it was written by a newer version (schema {version}): {known}")


def migrate(db: sqlite3.Connection) -> None:
    """Migrate a checked database to this version; each step is one transaction."""
    while version_of(db) < len(MIGRATIONS):
        # Another process may be migrating at the same moment: look again once the file is locked.
        with transaction(db):
            version = version_of(db)
            # In a new file no step takes long: run them all in one transaction, which waits for the disk
            # once.
            for number in range(len(MIGRATIONS))[version : version + 1 if version else None]:
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")


def version_of(db: sqlite3.Connection) -> int:
    """Return the schema version; 0 for an empty file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def rebuild_index(db: sqlite3.Connection) -> int:
    """Rebuild the word index from the log, in the caller's transaction.

    Returns:
        The number of messages in it.
    """
    db.execute("INSERT INTO said (said) VALUES ('delete-all')")
    return db.execute(_INDEX_AGAIN).rowcount
