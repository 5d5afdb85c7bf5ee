"""Searching the sessions file in parts, the newest messages first: how far it is, and a way to stop it."""

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tui_app.session.database import connect
from tui_app.session.search_query import Term, is_word, match_expression

_RANKED = 2_000
"""Messages that are weighed against each other; of more, the newest ones."""
_PATIENCE_S = 0.4
_WORDS_LOOKED_AT, _WORDS_TAKEN = 2_000, 64
_PART = 50_000
"""Events that are looked through between two reports: a tenth of a second or two."""
_TOLD_EVERY_S = 0.05
"""Seconds between two reports at least: of what is quicker nobody needs to know how far it is."""
Row = tuple[object, ...]
"""Session, number, type and time of an event, title and folder of its session, and its text."""


@dataclass(frozen=True, slots=True)
class Part:
    """How far a search is."""

    rows: Sequence[Row]
    """The best fits so far."""
    sessions: int
    """So many sessions are looked through to their beginning."""
    of: int
    """Sessions there are."""


def search_parts(
    database: Path, terms: Sequence[Term], limit: int, stopped: Callable[[], bool]
) -> Iterator[Part]:
    """Look for messages that hold everything wanted; blocks between two reports.

    Args:
        database: The sessions file.
        terms: What is wanted; at least one.
        limit: How many of the best fits to report.
        stopped: Whether nobody waits for it any more; asked again and again, in whatever thread goes on.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(_with_index(database)) as db:
        try:
            yield from _Search(db, terms, limit, stopped).parts()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT or not stopped():
                raise


class _Search:
    """One search over one connection."""

    def __init__(
        self, db: sqlite3.Connection, terms: Sequence[Term], limit: int, stopped: Callable[[], bool]
    ) -> None:
        self._db, self._terms, self._limit, self._stopped = db, terms, limit, stopped
        self._longer: Mapping[str, Sequence[str]] | None = None
        """Words that stand for a beginning of too many; None while the index looks beginnings up itself."""

    def parts(self) -> Iterator[Part]:
        """Report at the end, and after each stretch of the log that somebody would have waited for."""
        above = int(self._db.execute("SELECT COALESCE(MAX(rowid), 0) + 1 FROM events").fetchone()[0])
        sessions = int(self._db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0])
        first: list[int] = []
        told = monotonic()
        found: list[Row] = []
        room = _RANKED
        while above > 1 and room > 0 and not self._stopped():
            low = max(1, above - _PART)
            hits, rows = self._between(low, above, room)
            room -= hits
            # The weight stands first, then the place: the newest of equals comes first.
            found = sorted([*found, *rows], key=lambda row: (row[0], -int(str(row[1]))))[: self._limit]
            above = low
            if room <= 0 or low == 1:
                yield Part([row[2:] for row in found], sessions, sessions)
            elif monotonic() - told >= _TOLD_EVERY_S:
                first = first or sorted(row[0] for row in self._db.execute(_FIRST_ROWS))
                yield Part([row[2:] for row in found], len(first) - bisect_left(first, low), sessions)
                told = monotonic()

    def _between(self, low: int, above: int, room: int) -> tuple[int, list[Row]]:
        """How many of the newest hits of a stretch were weighed, and the best of them."""
        while True:
            match = match_expression(self._terms, self._longer or {})
            try:
                with self._patience():
                    hits, first = self._db.execute(_NEWEST, (match, low, above, room)).fetchone()
                    rows = self._db.execute(_BEST, (match, first, above, self._limit)) if hits else ()
                    return hits, list(rows)
            except sqlite3.OperationalError as error:
                slow = error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and not self._stopped()
                if not slow or self._longer is not None:
                    raise
            words = {term.words[-1] for term in self._terms if term.begins}
            self._longer = {word: _longer(self._db, word) for word in words}

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Interrupt what nobody waits for, and what takes too long: the beginning of very many words."""
        end = monotonic() + _PATIENCE_S
        hurry = self._longer is None and any(term.begins for term in self._terms)
        self._db.set_progress_handler(lambda: self._stopped() or (hurry and monotonic() > end), 1_000)
        try:
            yield
        finally:
            self._db.set_progress_handler(None, 0)


_FIRST_ROWS = "SELECT events.rowid FROM sessions JOIN events ON events.session = sessions.id AND seq = 1"
# Weighing needs every hit. Of a word that stands everywhere, only the newest hits are worth it.
_NEWEST = (
    "SELECT COUNT(*), COALESCE(MIN(rowid), 0) FROM (SELECT rowid FROM said"
    " WHERE said MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?)"
)
_BEST = (
    "SELECT weight, place, events.session, seq, type, time, title, cwd,"
    " COALESCE(json_extract(data, '$.text'), json_extract(data, '$.summary'), '')"
    " FROM (SELECT rowid AS place, bm25(said, 0.0, 1.0) AS weight FROM said WHERE said MATCH ?"
    " AND rowid >= ? AND rowid < ? ORDER BY weight, rowid DESC LIMIT ?)"
    " JOIN events ON events.rowid = place JOIN sessions ON sessions.id = events.session"
)


def _with_index(database: Path) -> sqlite3.Connection:
    """A connection that only reads; a file from before there was an index is brought up to date first."""
    db = connect(database, read_only=True)
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'said'").fetchone() is None:
        db.close()
        connect(database, read_only=False).close()
        db = connect(database, read_only=True)
    return db


def _longer(db: sqlite3.Connection, word: str) -> list[str]:
    """Words of the log that begin so: the commonest of the first few thousand."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab('main', 'said', 'row')")
    query = (
        "SELECT term FROM (SELECT term, doc FROM temp.words WHERE term >= ? AND term < ? LIMIT ?)"
        " ORDER BY doc DESC LIMIT ?"
    )
    low = word.lower()
    rows = db.execute(query, (low, f"{low}{chr(0x10FFFF)}", _WORDS_LOOKED_AT, _WORDS_TAKEN))
    return [row[0] for row in rows if is_word(row[0])] or [word]
