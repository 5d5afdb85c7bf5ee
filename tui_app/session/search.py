"""Finding what was said in any session: ranked, with the words around it and the place to go to."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from types import MappingProxyType

from tui_app.session.database import connect
from tui_app.session.places import Database, Server

MOST_WORDS = 16
"""Words and phrases of a query that count; nobody means more of them."""
SNIPPET_CHARS = 160
"""Characters around the first hit."""
_RANKED = 2_000
"""Messages that are weighed against each other; of more, the newest ones."""
_LOOKED_THROUGH = 100_000
"""Characters of a message in which the first hit is looked for."""
_PATIENCE_S = 0.4
_WORDS_LOOKED_AT, _WORDS_TAKEN = 2_000, 64
_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})
_HITS = 200
"""Hits of a message among which the best place is chosen."""
_PIECES = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORDS = re.compile(r"[^\W_]+")
"""What the index takes for a word."""
_END = r"(?![^\W_])"


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that a message has to hold."""

    words: tuple[str, ...]
    """Side by side, in this order."""
    begins: bool = False
    """Whether the last one may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One message, or the summary of a compaction, that holds everything wanted."""

    session: str
    seq: int
    """Its log number: where to jump to."""
    type: str
    """Type of the event, for example ``user.message``."""
    time: float
    """Seconds since the epoch."""
    title: str
    """Title of its session."""
    cwd: str
    snippet: str
    """Some of the text around the first hit, on one line."""
    hits: tuple[tuple[int, int], ...]
    """Beginning and end of each hit in the snippet."""


def read_query(text: str, *, typing: bool = False) -> tuple[Term, ...]:
    """What a query asks for; any text is one.

    Words stand by themselves, ``"two words"`` side by side, and ``harb*`` for every word that so begins.
    Everything else only separates words.

    Args:
        text: As it was typed.
        typing: Whether the last word is still being typed, so that it may go on.
    """
    terms: list[Term] = []
    for quoted, bare in _PIECES.findall(text):
        if words := tuple(_WORDS.findall(quoted or bare)):
            terms.append(Term(words, begins=bare.endswith("*")))
    if typing and terms and text[-1:].isalnum():
        terms[-1] = Term(terms[-1].words, begins=True)
    return tuple(terms[:MOST_WORDS])


def match_expression(terms: Sequence[Term], longer: Mapping[str, Sequence[str]] = _NONE) -> str:
    """A query in the index's own language, with nothing in it that could be read as its syntax.

    Args:
        terms: What is wanted.
        longer: For beginnings of words that are not to be looked up by the index: words that so begin.
    """
    return f"text : ({' AND '.join(_wanted(term, longer) for term in terms)})"


def _wanted(term: Term, longer: Mapping[str, Sequence[str]]) -> str:
    *first, last = term.words
    if not term.begins:
        return f'"{" ".join(term.words)}"'
    if last not in longer:
        return f'"{" ".join(term.words)}" *'
    return "({})".format(" OR ".join(f'"{" ".join([*first, word])}"' for word in longer[last]))


def search_sessions(database: Database, query: str, *, limit: int = 50, typing: bool = False) -> list[Found]:
    """Messages of all sessions that hold everything a query asks for, the best fits first; blocks.

    Args:
        database: Where the sessions are; a file need not exist.
        query: Words, phrases in quotation marks, and beginnings of words with a star behind them. A beginning
            that thousands of words have stands for the commonest of them.
        limit: How many to return at most.
        typing: Whether the last word is still being typed.

    Raises:
        sqlite3.Error: if the file or the server cannot be read.
    """
    terms = read_query(query, typing=typing)
    if terms and isinstance(database, Server):
        from tui_app.session.postgres.search import search

        wanted = [(term.words, term.begins) for term in terms]
        return [_found(row, terms) for row in search(database, wanted, limit)]
    if not terms or not isinstance(database, Path) or not database.exists():
        return []
    with closing(_with_index(database)) as db:
        try:
            with _patience(db):
                rows = _rows(db, match_expression(terms), limit)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            longer = {term.words[-1]: _longer(db, term.words[-1]) for term in terms if term.begins}
            rows = _rows(db, match_expression(terms, longer), limit)
    return [_found(row, terms) for row in rows]


def _with_index(database: Path) -> sqlite3.Connection:
    """A connection that only reads; a file from before there was an index is brought up to date first."""
    db = connect(database, read_only=True)
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'said'").fetchone() is None:
        db.close()
        connect(database, read_only=False).close()
        db = connect(database, read_only=True)
    return db


def _rows(db: sqlite3.Connection, match: str, limit: int) -> list[tuple[object, ...]]:
    # Weighing needs every hit. Of a word that stands everywhere, only the newest hits are worth it.
    newest = (
        "SELECT COALESCE(MIN(rowid), 0) FROM"
        " (SELECT rowid FROM said WHERE said MATCH ? ORDER BY rowid DESC LIMIT ?)"
    )
    statement = (
        "SELECT events.session, seq, type, time, title, cwd,"
        " COALESCE(json_extract(data, '$.text'), json_extract(data, '$.summary'), '')"
        " FROM (SELECT rowid AS place, bm25(said, 0.0, 1.0) AS weight FROM said WHERE said MATCH ?"
        " AND rowid >= ? ORDER BY weight, rowid DESC LIMIT ?)"
        " JOIN events ON events.rowid = place JOIN sessions ON sessions.id = events.session"
        " ORDER BY weight, place DESC"
    )
    first = db.execute(newest, (match, _RANKED)).fetchone()[0]
    return db.execute(statement, (match, first, limit)).fetchall()


@contextmanager
def _patience(db: sqlite3.Connection) -> Iterator[None]:
    """Interrupt what takes too long: the beginning of very many words."""
    end = monotonic() + _PATIENCE_S
    db.set_progress_handler(lambda: monotonic() > end, 1_000)
    try:
        yield
    finally:
        db.set_progress_handler(None, 0)


def _longer(db: sqlite3.Connection, word: str) -> list[str]:
    """Words of the log that begin so: the commonest of the first few thousand."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab('main', 'said', 'row')")
    query = (
        "SELECT term FROM (SELECT term, doc FROM temp.words WHERE term >= ? AND term < ? LIMIT ?)"
        " ORDER BY doc DESC LIMIT ?"
    )
    low = word.lower()
    rows = db.execute(query, (low, f"{low}{chr(0x10FFFF)}", _WORDS_LOOKED_AT, _WORDS_TAKEN))
    return [row[0] for row in rows if _WORDS.fullmatch(row[0])] or [word]


def _found(row: Sequence[object], terms: Sequence[Term]) -> Found:
    session, seq, kind, time, title, cwd, text = row
    snippet, hits = snippet_of(str(text), terms)
    return Found(
        session=str(session),
        seq=int(str(seq)),
        type=str(kind),
        time=float(str(time)),
        title=str(title),
        cwd=str(cwd),
        snippet=snippet,
        hits=hits,
    )


def snippet_of(
    text: str, terms: Sequence[Term], length: int = SNIPPET_CHARS
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Some of a text around its best hits, on one line, and where in it they are.

    Args:
        text: The whole text.
        terms: What was looked for.
        length: Characters to return, without the dots that stand for what is left out.
    """
    pattern = re.compile("|".join(f"({_pattern(term)})" for term in terms), re.IGNORECASE)
    first = _best(list(islice(pattern.finditer(text, 0, _LOOKED_THROUGH), _HITS)), length * 2 // 3)
    # A third of it in front: what follows says more than what went before.
    start = max(0, first - length // 3)
    if start:
        start = text.find(" ", start, first) + 1 or start
    cut = " ".join(text[start : start + length].split())
    shown = f"{'… ' if start else ''}{cut}{' …' if start + length < len(text) else ''}"
    return shown, tuple(match.span() for match in pattern.finditer(shown))


def _best(hits: Sequence[re.Match[str]], room: int) -> int:
    """Where the most different terms begin to stand close together; the first such place."""

    def together(at: int) -> int:
        near = (hit for hit in hits[at:] if hit.end() <= hits[at].start() + room)
        return len({hit.lastindex for hit in near})

    return hits[max(range(len(hits)), key=together)].start() if hits else 0


def _pattern(term: Term) -> str:
    words = r"[\W_]+".join(map(re.escape, term.words))
    return rf"(?<![^\W_]){words}{'' if term.begins else _END}"


def as_json(found: Found) -> dict[str, object]:
    """The JSON names that scripts rely on."""
    return {
        "session": found.session,
        "seq": found.seq,
        "type": found.type,
        "time": found.time,
        "title": found.title,
        "cwd": found.cwd,
        "snippet": found.snippet,
    }
