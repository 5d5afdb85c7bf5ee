"""Copying the sessions file while it is in use."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.stores.sqlite_connection import connect


@frozen(kw_only=True)
class Backup:
    """A finished copy."""

    path: Path
    sessions: int
    bytes: int


def back_up(database: Path, target: Path) -> Backup:
    """Copy a snapshot of the sessions file while its writer continues. Blocks.

    The copy is a single file that only its owner can read. It is complete or missing.

    Args:
        database: The file with the log of every session.
        target: Path of the copy; must not exist.

    Raises:
        Refusal: if the target exists, or the copy is as damaged as its original.
        OSError: if the target cannot be written.
        sqlite3.Error: if the original cannot be read, or the disk is full.
    """
    if target.exists() or target.is_symlink():
        raise Refusal(f"{target} exists already; nothing was written. Choose another name.")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        with (
            closing(connect(database, read_only=True)) as source,
            closing(sqlite3.connect(unfinished, isolation_level=None)) as copy,
        ):
            # In one step: this reads one moment of the log, and no writer has to wait.
            source.backup(copy)
            # A single file that can be moved, without a -wal.
            copy.execute("PRAGMA journal_mode=DELETE")
            if problems := [row[0] for row in copy.execute("PRAGMA quick_check(1)") if row[0] != "ok"]:
                raise Refusal(
                    f"The sessions file is damaged: {problems[0]}. No copy was made."
                    " See: plimsoll doctor --repair"
                )
            sessions = int(copy.execute("SELECT COUNT(*) FROM sessions").fetchone()[0])
        unfinished.rename(target)
    finally:
        for name in (unfinished.name, f"{unfinished.name}-wal", f"{unfinished.name}-shm"):
            unfinished.with_name(name).unlink(missing_ok=True)
    return Backup(path=target, sessions=sessions, bytes=target.stat().st_size)
