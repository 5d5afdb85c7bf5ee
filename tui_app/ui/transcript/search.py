"""Looking for words in everything that a session holds, painted or not. Nothing here runs on the UI loop."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, Protocol

from tui_app.session.entries import Body, Entry
from tui_app.session.location import Database
from tui_app.session.stores import open_store
from tui_app.ui.text import clean
from tui_app.ui.transcript.pieces import readable_args

Part = Literal["title", "args", "thinking", "text", "excerpt"]
"""Which of an entry's texts; the last one is a piece cut out of another for showing."""
MOST_HITS = 10_000
"""Places that are remembered; what is older than these is not looked at."""
_SLICE = 65_536
"""Characters looked through in one go: the interpreter is held for about a millisecond."""
_OVERLAP = 1_000
"""Longest place, in characters, that is found where two slices meet."""
_BATCH_ENTRIES, _BATCH_CHARS = 100, 400_000
_AROUND = 1_200
"""Characters shown before and after a place in a text that is not shown whole."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where the words stand."""

    seq: int
    """Log number of the entry's row."""
    part: Part
    at: int
    """Where it begins, in characters of the clean text."""
    nth: int
    """How many places of the same part stand before it."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a text around a place that is too far inside to be painted."""

    text: str
    at: int
    """Where the place begins in it."""
    offset: int
    """Where the place begins in the whole text."""
    length: int
    """Characters of the whole text."""


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Compile words: capitals count where there are some, white space stands for any; None for nothing."""
    parts = words.split()
    if not parts:
        return None
    flags = re.NOFLAG if any(sign.isupper() for sign in words) else re.IGNORECASE
    return re.compile(r"\s+".join(map(re.escape, parts)), flags)


def parts_of(entry: Entry, body: Body) -> Iterator[tuple[Part, str]]:
    """The texts of an entry that a person can be shown in its place, top to bottom, clean."""
    if entry.kind not in ("user", "assistant", "system"):
        yield "title", clean(entry.title, keep_newlines=False)
    if entry.kind == "tool" and body.args.strip():
        yield "args", _inner(readable_args(body.args))
    if entry.kind == "assistant" and body.thinking.strip():
        yield "thinking", _inner(body.thinking)
    if entry.kind in ("user", "assistant"):
        yield "text", clean(body.text)
    elif entry.kind in ("tool", "system", "hook"):
        yield "text", _inner(body.text)


def _inner(text: str) -> str:
    return clean(text).strip("\n")


def hits_in(entry: Entry, body: Body, pattern: re.Pattern[str]) -> list[Hit]:
    """Every place in one entry, in the order they are read."""
    return [
        Hit(entry.seq, part, at, nth)
        for part, text in parts_of(entry, body)
        for nth, at in enumerate(places_in(text, pattern))
    ]


def places_in(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Where the words begin; looked for slice by slice, because one search holds the interpreter."""
    first = 0
    for start in range(0, len(text), _SLICE):
        stop = start + _SLICE
        for match in pattern.finditer(text, max(first, start), stop + _OVERLAP):
            if match.start() >= stop:
                break
            yield match.start()
            first = match.end()


def batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Cut a conversation into what is looked through between two words about progress, newest first."""
    batch: list[Entry] = []
    chars = 0
    for entry in reversed(entries):
        batch.append(entry)
        chars += entry.chars
        if len(batch) >= _BATCH_ENTRIES or chars >= _BATCH_CHARS:
            yield batch[::-1]
            batch, chars = [], 0
    if batch:
        yield batch[::-1]


class Texts(Protocol):
    """Where full texts are read."""

    def body(self, entry: Entry) -> Body:
        """The full content of an entry."""
        ...


def look_in(bodies: Texts, entries: Sequence[Entry], pattern: re.Pattern[str]) -> list[Hit]:
    """Every place in some entries."""
    hits: list[Hit] = []
    for entry in entries:
        hits += hits_in(entry, bodies.body(entry), pattern)
        if len(hits) >= MOST_HITS:
            break
    return hits


def look_in_log(
    database: Database, session: str, entries: Sequence[Entry], pattern: re.Pattern[str]
) -> list[Hit]:
    """Every place in some entries of a session, read with a connection of the caller's thread."""
    # Both bring the log in, which the first paint does not wait for.
    from tui_app.session.preview import StoreBodies

    try:
        with closing(open_store(database, read_only=True)) as store:
            return look_in(StoreBodies(store, session), entries, pattern)
    except sqlite3.Error:
        return []


def excerpt_of(entry: Entry, body: Body, hit: Hit) -> Excerpt | None:
    """Cut out what stands around a place; None where the entry has no such place any more."""
    text = next((text for part, text in parts_of(entry, body) if part == hit.part), "")
    if hit.at >= len(text):
        return None
    start, stop = max(0, hit.at - _AROUND), hit.at + _AROUND
    line = text.find("\n", start, hit.at)
    start = line + 1 if start and line >= 0 else start
    line = text.rfind("\n", min(hit.at + _AROUND // 2, len(text)), stop)
    stop = line if stop < len(text) and line >= 0 else stop
    return Excerpt(text[start:stop], hit.at - start, hit.at, len(text))


def excerpt_in_log(database: Database, session: str, entry: Entry, hit: Hit) -> Excerpt | None:
    """Cut out what stands around a place of the log, with a connection of the caller's thread."""
    from tui_app.session.preview import StoreBodies

    try:
        with closing(open_store(database, read_only=True)) as store:
            return excerpt_of(entry, StoreBodies(store, session).body(entry), hit)
    except sqlite3.Error:
        return None
