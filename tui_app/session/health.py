"""Whether the sessions file and the folders beside it are whole. Only looks; nothing is changed."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.storage_errors import StorageError, storage_error
from tui_app.session.lock import holder
from tui_app.session.search_query import Term, match_expression
from tui_app.session.workspace import SessionFolder

_SPEAKING = "('user.message', 'assistant.message', 'tool.result', 'session.compaction_complete')"
_SAMPLE = 20
"""Messages at either end of the log whose words are looked up."""
_WORDS = 8
"""Of each, side by side."""
_PROBLEMS = 5
_WORD = re.compile(r"[A-Za-z0-9]+")
_SESSION_ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damage or self.stale_index or self.unlisted or self.orphans)


def examine(database: Path, sessions_dir: Path) -> Health:
    """Look at everything; reads the whole file, and blocks.

    Args:
        database: The sessions file; it must be there.
        sessions_dir: Parent of the sessions' folders.

    Raises:
        StorageError: if it is no database at all, or cannot be opened.
    """
    uri = f"{database.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=5.0)) as db:
            try:
                if damage := _damage(db):
                    return Health(damage=damage)
                return _inside(db, sessions_dir)
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise
                return Health(damage=(str(error),))
    except sqlite3.Error as error:
        told: StorageError | None = storage_error(error, database)
        raise told or error from error


def _damage(db: sqlite3.Connection) -> tuple[str, ...]:
    found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_PROBLEMS})")]
    return () if found == ["ok"] else tuple(line for text in found for line in text.splitlines())[:_PROBLEMS]


def _inside(db: sqlite3.Connection, sessions_dir: Path) -> Health:
    known = {row[0] for row in db.execute("SELECT id FROM sessions")}
    query = "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT id FROM sessions)"
    lost = tuple(str(row[0]) for row in db.execute(query))
    indexed = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'said'").fetchone() is not None
    return Health(
        stale_index=index_trouble(db) if indexed else "",
        unlisted=lost,
        orphans=tuple(_orphans(sessions_dir, known | set(lost))),
    )


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
    said = db.execute(f"SELECT COUNT(*) FROM events WHERE type IN {_SPEAKING}").fetchone()[0]
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
