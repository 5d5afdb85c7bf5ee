"""Reading texts and events out of a session's log, in threads; what cannot be read is no reason to fail."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing

from tui_app.context.events import Record
from tui_app.session.entries import Body, Entry
from tui_app.session.location import Database
from tui_app.session.places import open_store
from tui_app.session.ports import SessionStore
from tui_app.session.preview import StoreBodies


def read_bodies(database: Database, session: str, entries: Sequence[Entry]) -> list[Body]:
    """Read the texts of some rows, each with a connection of this thread's own."""
    return [read_body(database, session, entry) for entry in entries]


def read_body(database: Database, session: str, entry: Entry) -> Body:
    """Read a text with a connection of this thread's own."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            return body_from(StoreBodies(store, session), entry)
    except sqlite3.Error as error:
        return _unreadable(error)


def body_from(source: StoreBodies, entry: Entry) -> Body:
    """Read a text over a connection there is already."""
    try:
        return source.body(entry)
    except sqlite3.Error as error:
        return _unreadable(error)


def _unreadable(error: sqlite3.Error) -> Body:
    return Body(text=f"This text cannot be read: {error}.")


def read_records(database: Database, session: str, seqs: Sequence[int]) -> Mapping[int, Record]:
    """Read events with a connection of this thread's own."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            return records_from(store, session, seqs)
    except sqlite3.Error:
        return {}


def records_from(store: SessionStore, session: str, seqs: Sequence[int]) -> Mapping[int, Record]:
    """Read events over a connection there is already."""
    try:
        found = {seq: store.record(session, seq) for seq in seqs}
    except sqlite3.Error:
        return {}
    return {seq: record for seq, record in found.items() if record is not None}
