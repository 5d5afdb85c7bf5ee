"""The database's schema, version by version (``sqlite.sql``), and how a file is brought to the newest one.

A migration is never changed once released; add the next one.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tui_app.context.storage_errors import ForeignDatabase

_TABLES = frozenset({"sessions", "events"})
"""What is in every version."""
BYTES = " + ".join(f"COALESCE(LENGTH(CAST({name} AS BLOB)), 0)" for name in ("head", "data", "message"))
"""Bytes of an event, as SQL; ``LENGTH`` of a text would count characters."""


def read_steps(file: str) -> tuple[tuple[str, ...], ...]:
    """The statements of each version, of a file beside this one that has them as paragraphs."""
    versions = re.split(r"(?m)^-- version \d+$", Path(__file__).with_name(file).read_text("utf-8"))[1:]
    bare = (re.sub(r"(?m)^--.*$", "", version) for version in versions)
    return tuple(
        tuple(" ".join(each.split()).removesuffix(";") for each in version.split("\n\n") if each.strip())
        for version in bare
    )


MIGRATIONS = read_steps("sqlite.sql")
"""Statements that lead from version N to N+1."""
COUNT_BYTES, _INDEX_AGAIN = MIGRATIONS[5][-1], MIGRATIONS[7][-1]
"""What fills the column with sizes, and the index of words."""
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
    while version_of(db) < len(MIGRATIONS):
        # Another process may be migrating at the same moment; look again once the file is ours.
        with transaction(db):
            version = version_of(db)
            # A new file holds nothing that takes time: all at once, and the disk is waited for once.
            for number in range(len(MIGRATIONS))[version : version + 1 if version else None]:
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
