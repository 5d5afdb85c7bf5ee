"""Finding what was said in any session: ranked, with the words around it and the place to go to."""

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tui_app.session.location import Database, Server
from tui_app.session.search_parts import search_parts
from tui_app.session.search_query import Term, read_query

SNIPPET_CHARS = 160
"""Characters around the first hit."""
_LOOKED_THROUGH = 100_000
"""Characters of a message in which the first hit is looked for."""
_HITS = 200
"""Hits of a message among which the best place is chosen."""
_END = r"(?![^\W_])"


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


@dataclass(frozen=True, slots=True)
class Searched:
    """How far a search is, and what it has found."""

    found: Sequence[Found]
    """The best fits so far, the best one first."""
    sessions: int = 0
    """So many sessions are searched."""
    of: int = 0
    """Sessions there are; 0 where nobody counts them, as a server does not."""


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
    found: Sequence[Found] = ()
    for searched in searching(database, query, lambda: False, limit=limit, typing=typing):
        found = searched.found
    return list(found)


def searching(
    database: Database, query: str, stopped: Callable[[], bool], *, limit: int = 50, typing: bool = False
) -> Generator[Searched, None, None]:
    """Search as ``search_sessions`` does, and say in between how far it is; blocks between two reports.

    Args:
        database: Where the sessions are.
        query: What is wanted.
        stopped: Whether nobody waits for it any more; a server answers all the same.
        limit: How many to report at most.
        typing: Whether the last word is still being typed.

    Raises:
        sqlite3.Error: if the file or the server cannot be read.
    """
    terms = read_query(query, typing=typing)
    if terms and isinstance(database, Server):
        from tui_app.session.postgres.search import search

        wanted = [(term.words, term.begins) for term in terms]
        yield Searched([_found(row, terms) for row in search(database, wanted, limit)])
    elif terms and isinstance(database, Path) and database.exists():
        for part in search_parts(database, terms, limit, stopped):
            yield Searched([_found(row, terms) for row in part.rows], part.sessions, part.of)


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
