"""Full-text search over all sessions: ranked messages with the text around each hit."""

import re
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

from tui_app.records import frozen
from tui_app.session.event_rows import DamagedEvent, event_text, payload_of
from tui_app.session.queries import Term, match_expression, read_query
from tui_app.session.stores.database import Database
from tui_app.session.stores.sql_store import IS_HIDDEN
from tui_app.session.stores.sqlite_connection import connect
from tui_app.session.stores.word_index import WORD, is_joined
from tui_app.settings.spec import SessionServer

_RANKED = 2_000
"""Number of the newest matching messages that are ranked against each other."""
_PATIENCE_S = 0.4
_WORDS_LOOKED_AT, _WORDS_TAKEN = 2_000, 64
_PART = 50_000
"""Events searched between two progress reports; takes a tenth of a second or two."""
_REPORT_EVERY_S = 0.05
"""Minimum seconds between two progress reports. Quicker searches need none."""
Row = Sequence[Any]
"""Session, log number, type and time of an event, title and folder of its session, and its payload."""
_PLACE = ("session", "seq", "type", "time", "title", "cwd")
SNIPPET_CHARS = 160
"""Characters around the first hit."""
_LOOKED_THROUGH = 100_000
"""Characters of a message in which hits are looked for."""
_HITS = 200
"""Maximum number of hits in a message from which the best place is chosen."""
_END = r"(?![^\W_])"


@frozen(kw_only=True)
class Found:
    """One message, or the summary of a compaction, that matches the query."""

    session: str
    seq: int
    """Its log number, to jump to."""
    type: str
    """Type of the event, for example ``user.message``."""
    time: float
    """Seconds since the epoch."""
    title: str
    """Title of its session."""
    cwd: str
    snippet: str
    """Text around the best hits, on one line."""
    hits: tuple[tuple[int, int], ...]
    """Start and end of each hit in the snippet."""


@frozen
class Searched:
    """The progress and results of a search."""

    found: Sequence[Found]
    """The best matches so far, best first."""
    sessions: int = 0
    """Number of sessions searched so far."""
    of: int = 0
    """Total number of sessions; 0 on a server, which does not count them."""


def search_sessions(
    database: Database, query: str, *, limit: int = 50, sessions: Collection[str] | None = None
) -> list[Found]:
    """Search the messages of all sessions; return matches, best first. Blocks.

    Args:
        database: The database. A file need not exist.
        query: Words, phrases in quotation marks, and prefixes followed by a star. A prefix of thousands of
            words
            is searched as the most frequent of them.
        limit: Maximum number of matches.
        sessions: Full ids of the sessions to search; None for all.

    Raises:
        sqlite3.Error: if the file or the server cannot be read.
    """
    every = searching(database, query, lambda: False, limit=limit, sessions=sessions)
    return list([Searched(()), *every][-1].found)


def searching(
    database: Database,
    query: str,
    stopped: Callable[[], bool],
    *,
    limit: int = 50,
    typing: bool = False,
    sessions: Collection[str] | None = None,
) -> Generator[Searched, None, None]:
    """Search like ``search_sessions`` and report progress. Blocks between two reports.

    Args:
        database: The database.
        query: The query.
        stopped: Whether the result is no longer needed. A server's search is not interrupted.
        limit: Maximum number of matches.
        typing: Whether the last word is still being typed.
        sessions: Full ids of the sessions to search; None for all.

    Raises:
        sqlite3.Error: if the file or the server cannot be read.
    """
    terms = read_query(query, typing=typing)
    if sessions is not None and not sessions:
        return
    if terms and isinstance(database, SessionServer):
        from tui_app.session.stores.postgres_store import PostgresStore

        with closing(PostgresStore(database, read_only=True)) as store:
            rows = store.found([term.indexed() for term in terms], limit, sessions)
        yield Searched([_found(row, terms) for row in rows])
    elif terms and isinstance(database, Path) and database.exists():
        with closing(_with_index(database)) as db:
            try:
                yield from _Search(db, terms, limit, stopped, _among(db, sessions)).parts()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT or not stopped():
                    raise


def _among(db: sqlite3.Connection, sessions: Collection[str] | None) -> str:
    """Return a template that limits a match expression to some sessions; None: all but subagents'."""
    # Subagents' sessions may begin with a copy of another session.
    hidden = (row[0] for row in db.execute(f"SELECT id FROM sessions WHERE {IS_HIDDEN}"))
    ids = " OR ".join(f'"{each}"' for each in (hidden if sessions is None else sessions))
    if sessions is None:
        return f"({{}}) NOT session : ({ids})" if ids else "{}"
    return f"session : ({ids}) AND ({{}})"


def _found(row: Row, terms: Sequence[Term]) -> Found:
    *place, data = row
    text = ""
    with suppress(DamagedEvent):
        text = event_text(payload_of(row[0], row[1], row[2], data))
    snippet, hits = snippet_of(text, terms)
    return Found(**dict(zip(_PLACE, place, strict=True)), snippet=snippet, hits=hits)


def snippet_of(text: str, terms: Sequence[Term]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the text around the best hits, on one line, and the hits' places in it.

    Args:
        text: The whole text.
        terms: The terms of the query.
    """
    pattern = re.compile("|".join(f"({_pattern(term)})" for term in terms), re.IGNORECASE)
    first = _best(list(islice(pattern.finditer(text, 0, _LOOKED_THROUGH), _HITS)), SNIPPET_CHARS * 2 // 3)
    # Only a third of it before the hit: what follows is more informative.
    start = max(0, first - SNIPPET_CHARS // 3)
    if start:
        start = text.find(" ", start, first) + 1 or start
    cut = " ".join(text[start : start + SNIPPET_CHARS].split())
    shown = f"{'… ' if start else ''}{cut}{' …' if start + SNIPPET_CHARS < len(text) else ''}"
    return shown, tuple(match.span() for match in pattern.finditer(shown))


def _best(hits: Sequence[re.Match[str]], room: int) -> int:
    """Return the start of the first place with the most different terms close together."""

    def together(at: int) -> int:
        near = (hit for hit in hits[at:] if hit.end() <= hits[at].start() + room)
        return len({hit.lastindex for hit in near})

    return hits[max(range(len(hits)), key=together)].start() if hits else 0


def _pattern(term: Term) -> str:
    words = r"[\W_]+".join(map(re.escape, term.words))
    begin = "" if is_joined(term.words[0][0]) else r"(?<![^\W_])"
    return rf"{begin}{words}{'' if term.begins or is_joined(term.words[-1][-1]) else _END}"


def as_json(found: Found) -> dict[str, object]:
    return {name: getattr(found, name) for name in (*_PLACE, "snippet")}


@dataclass(slots=True)
class _Search:
    db: sqlite3.Connection
    terms: Sequence[Term]
    limit: int
    stopped: Callable[[], bool]
    of: str
    """Template that limits a match expression to some sessions, whose ids are words of the index."""
    _longer: Mapping[str, Sequence[str]] | None = None
    """Words to search for prefixes with too many; None while the index expands prefixes itself."""

    def parts(self) -> Iterator[Searched]:
        """Report at the end, and after each part of the log if it took noticeable time."""
        above = int(self.db.execute("SELECT COALESCE(MAX(rowid), 0) + 1 FROM events").fetchone()[0])
        sessions = int(self.db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0])
        first: list[int] = []
        last = monotonic()
        found: list[Row] = []
        room = _RANKED
        while above > 1 and room > 0 and not self.stopped():
            low = max(1, above - _PART)
            hits, rows = self._between(low, above, room)
            room -= hits
            # By weight, then by position: of equal matches the newest comes first.
            found = sorted([*found, *rows], key=lambda row: (row[0], -row[1]))[: self.limit]
            above = low
            if room <= 0 or low == 1:
                yield self._searched(found, sessions, sessions)
            elif monotonic() - last >= _REPORT_EVERY_S:
                first = first or sorted(row[0] for row in self.db.execute(_FIRST_ROWS))
                yield self._searched(found, len(first) - bisect_left(first, low), sessions)
                last = monotonic()

    def _searched(self, best: Sequence[Row], sessions: int, of: int) -> Searched:
        return Searched([_found(row[2:], self.terms) for row in best], sessions, of)

    def _between(self, low: int, above: int, room: int) -> tuple[int, list[Row]]:
        """Return how many of the newest hits in a part of the log were ranked, and the best of them."""
        while True:
            match = self.of.format(match_expression(self.terms, self._longer or {}))
            try:
                with self._patience():
                    hits, first = self.db.execute(_NEWEST, (match, low, above, room)).fetchone()
                    rows = self.db.execute(_BEST, (match, first, above, self.limit)) if hits else ()
                    return hits, list(rows)
            except sqlite3.OperationalError as error:
                slow = error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and not self.stopped()
                if not slow or self._longer is not None:
                    raise
            words = {found[-1] for found, begins in map(Term.indexed, self.terms) if begins}
            self._longer = {word: _longer(self.db, word) for word in words}

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Interrupt a search that is no longer needed, or whose prefix takes too long to expand."""
        end = monotonic() + _PATIENCE_S
        hurry = self._longer is None and any(term.indexed()[1] for term in self.terms)
        self.db.set_progress_handler(lambda: self.stopped() or (hurry and monotonic() > end), 1_000)
        try:
            yield
        finally:
            self.db.set_progress_handler(None, 0)


_FIRST_ROWS = "SELECT events.rowid FROM sessions JOIN events ON events.session = sessions.id AND seq = 1"
# Ranking needs every hit. For a very frequent word, only the newest hits are worth it.
_NEWEST = (
    "SELECT COUNT(*), COALESCE(MIN(rowid), 0) FROM (SELECT rowid FROM said"
    " WHERE said MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?)"
)
_BEST = (
    "SELECT weight, place, events.session, seq, type, time, title, cwd, data"
    " FROM (SELECT rowid AS place, bm25(said, 0.0, 1.0) AS weight FROM said WHERE said MATCH ?"
    " AND rowid >= ? AND rowid < ? ORDER BY weight, rowid DESC LIMIT ?)"
    " JOIN events ON events.rowid = place JOIN sessions ON sessions.id = events.session"
)


def _with_index(database: Path) -> sqlite3.Connection:
    """Connect read-only. A file from before the index existed is migrated first."""
    db = connect(database, read_only=True)
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'said'").fetchone() is None:
        db.close()
        connect(database, read_only=False).close()
        db = connect(database, read_only=True)
    return db


def _longer(db: sqlite3.Connection, word: str) -> list[str]:
    """Return the most frequent words with a prefix, among the first few thousand in the index."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab('main', 'said', 'row')")
    query = (
        "SELECT term FROM (SELECT term, doc FROM temp.words WHERE term >= ? AND term < ? LIMIT ?)"
        " ORDER BY doc DESC LIMIT ?"
    )
    low = word.lower()
    rows = db.execute(query, (low, f"{low}{chr(0x10FFFF)}", _WORDS_LOOKED_AT, _WORDS_TAKEN))
    # Keep only what the index counts as one word.
    return [row[0] for row in rows if WORD.fullmatch(row[0]) is not None] or [word]
