"""Reading texts and events out of a session's log, in threads; what cannot be read is no reason to fail."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tui_app.events import Record
from tui_app.session.database import Database, open_store
from tui_app.session.event_heads import DamagedEvent
from tui_app.session.preview import StoreBodies
from tui_app.session.store import SessionStore, explained
from tui_app.session.user_view import Body, Entry


def read_bodies(database: Database, session: str, entries: Sequence[Entry]) -> list[Body]:
    """Read the texts of some rows, each with a connection of this thread's own."""
    return [read_body(database, session, entry) for entry in entries]


def read_body(database: Database, session: str, entry: Entry) -> Body:
    """Read a text with a connection of this thread's own."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            return body_from(StoreBodies(store, session), entry)
    except sqlite3.Error as error:
        return unreadable(error)


def body_from(source: StoreBodies, entry: Entry) -> Body:
    """Read a text over a connection there is already."""
    try:
        return source.body(entry)
    except sqlite3.Error as error:
        return unreadable(error)


def unreadable(error: Exception) -> Body:
    """Return a body that says why a text cannot be read."""
    if isinstance(error, sqlite3.Error):
        return Body(text=f"This text cannot be read: {str(error).removesuffix('.')}.")
    return Body(text=f"This text cannot be read: {type(error).__name__}. See plimsoll.log for details.")


def why_no_record(database: Database, session: str, seq: int) -> str:
    """Why there is no event with a log number; asked once it could not be read."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            store.record(session, seq)
    except (sqlite3.Error, OSError) as error:
        return f"{explained(error, database if isinstance(database, Path) else None)}"
    return "It is no longer in the log. Another window may have deleted the session."


def read_records(database: Database, session: str, seqs: Sequence[int]) -> Mapping[int, Record]:
    """Read events with a connection of this thread's own."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            return records_from(store, session, seqs)
    except sqlite3.Error:
        return {}


def records_from(store: SessionStore, session: str, seqs: Sequence[int]) -> Mapping[int, Record]:
    """Read events over a connection there is already."""
    found: dict[int, Record] = {}
    for seq in seqs:
        try:
            record = store.record(session, seq)
        except DamagedEvent:
            continue
        except sqlite3.Error:
            return {}
        if record is not None:
            found[seq] = record
    return found
