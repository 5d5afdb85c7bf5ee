"""Mending what an examination found. Nothing that was said is deleted: what does not fit is set aside."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tui_app.plurals import count
from tui_app.session.database import connect
from tui_app.session.health import Health
from tui_app.session.lock import holder
from tui_app.session.migrations import rebuild_index
from tui_app.session.salvage import Salvaged, list_unlisted, salvage
from tui_app.session.workspace import SessionFolder

SET_ASIDE = "set-aside"
"""Folder beside the sessions' own for what belongs to none."""


class InUse(Exception):
    """A session is open, and nothing is mended under somebody's feet; the text says who has it."""


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was mended, in a sentence."""

    text: str


def mend(health: Health, database: Path, sessions_dir: Path, *, stamp: str) -> list[Done]:
    """Mend the sessions file and set aside what belongs to no session; blocks.

    Args:
        health: What is wrong.
        database: The sessions file.
        sessions_dir: Parent of the sessions' folders.
        stamp: Distinguishes the names of what is kept, such as the time.

    Raises:
        InUse: if a session is open somewhere.
        StorageError: if nothing in the file can be read.
        OSError: if the disk refuses.
        sqlite3.Error: if the file cannot be written.
    """
    if used := in_use(sessions_dir):
        raise InUse(used)
    done: list[Done] = []
    if health.damage:
        done.append(Done(_told(salvage(database, stamp=stamp))))
    else:
        done += _inside(health, database)
    for orphan in health.orphans:
        target = sessions_dir.parent / SET_ASIDE / f"{orphan.name}-{stamp}"
        target.parent.mkdir(mode=0o700, exist_ok=True)
        orphan.rename(target)
        done.append(Done(f"The folder {orphan.name} belongs to no session; it is now {target}"))
    return done


def in_use(sessions_dir: Path) -> str:
    """Which session somebody writes, in words; empty when nobody does."""
    if not sessions_dir.is_dir():
        return ""
    for folder in sessions_dir.iterdir():
        if who := holder(SessionFolder(folder).lock_file):
            return f"Session {folder.name} is open in {who}. Close it there first."
    return ""


def _told(salvaged: Salvaged) -> str:
    rows = "1 row" if salvaged.lost == 1 else f"up to {salvaged.lost:,} rows"
    lost = f"{rows} could not be read" if salvaged.lost else "nothing was lost"
    events = "1 event" if salvaged.events == 1 else f"{salvaged.events:,} events"
    sessions = "1 session is" if salvaged.sessions == 1 else f"{salvaged.sessions:,} sessions are"
    return f"{sessions} in a new file with {events}, {lost}. The damaged one is kept: {salvaged.kept}"


def _inside(health: Health, database: Path) -> list[Done]:
    if not (health.unlisted or health.stale_index):
        return []
    done: list[Done] = []
    with closing(connect(database, read_only=False)) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            if health.unlisted:
                listed = list_unlisted(db)
                done.append(Done(f"Listed again: {', '.join(listed)}"))
            if health.stale_index:
                held = rebuild_index(db)
                done.append(Done(f"The index of words is made anew: {count(held, 'message')}"))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return done
