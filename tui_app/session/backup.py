"""A copy of the sessions file, made while it is in use."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.stores.sqlite_connection import connect


@frozen(kw_only=True)
class Backup:
    """What was copied."""

    path: Path
    sessions: int
    bytes: int


def back_up(database: Path, target: Path) -> Backup:
    """Copy the sessions file as it is at one moment; its writer goes on meanwhile. Blocks.

    The copy is one file, readable by its owner only, and is there whole or not at all.

    Args:
        database: The file with the log of every session.
        target: Where the copy goes; nothing must be there.

    Raises:
        Refusal: if something is there, or the copy is damaged as its original is.
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
            # In one step: what is read is one moment of the log, and no writer has to wait for it.
            source.backup(copy)
            # One file that can be carried away, without a -wal beside it.
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
