"""Splitting text into words for the word index: the same for every store, for messages and for queries."""

import re
import sqlite3
import unicodedata
from collections.abc import Iterator

_WORDS = re.compile(r"[^\W_]+")
_JOINED = (
    "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u1aaf\u1b00-\u1bff\u3005-\u3007\u3031-\u3035\u3040-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua980-\ua9ff\uaa00-\uaadf\uac00-\ud7ff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
"""Scripts of East and South-East Asia, which do not separate words by spaces or attach endings to them."""
_RUNS = re.compile(rf"[{_JOINED}]+")
WORD = re.compile(rf"(?:[^\W_]|[{_JOINED}])+")
"""A word as written, with its combining marks."""
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]")


def index_words(text: str, *, ends: bool = True) -> Iterator[str]:
    """Iterate over the words of a text in order, without accents and case.

    Runs of a script without spaces are cut into overlapping pairs of letters, so that any part of a run is
    found as a phrase.

    Args:
        text: Any text.
        ends: Whether a run at the end of the text is complete; if not, its last letter is not a word of its
            own.
    """
    if text.isascii():
        yield from _WORDS.findall(text.lower())
        return
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).encode("utf-8", "replace").decode())
    plain = unicodedata.normalize("NFC", plain.casefold())
    place = 0
    for run in _RUNS.finditer(plain):
        yield from _WORDS.findall(plain[place : run.start()])
        place = run.end()
        letters = "".join(filter(str.isalnum, run[0]))
        yield from (letters[at : at + 2] for at in range(len(letters) - 1))
        if letters and (len(letters) == 1 or ends or place < len(plain)):
            yield letters[-1]
    yield from _WORDS.findall(plain[place:])


def is_joined(text: str) -> bool:
    """Return whether a text begins in a script without spaces; a match need not start at a word border."""
    return _RUNS.match(text) is not None


def add_index_words(db: sqlite3.Connection) -> None:
    """Register ``index_words`` with SQLite, for the triggers of the index.

    It takes bytes: a lone surrogate is no valid text, and a prompt with one must not be lost.
    """

    def words(data: bytes | None) -> str:
        return " ".join(index_words((data or b"").decode("utf-8", "replace")))

    db.create_function("index_words", 1, words, deterministic=True)


LONGEST = 256
"""Characters of a word that count."""
_MOST_BYTES = 900_000
"""Bytes of an event's words and their positions. The server's maximum is a million."""
_MOST_PLACES = 64
_LAST_PLACE = 16_383


def vector(text: str) -> str | None:
    """Return the words of a text with their positions, as a ``tsvector``; None if there are none."""
    places: dict[str, list[int]] = {}
    size = 0
    for place, whole in enumerate(index_words(text), start=1):
        word = whole[:LONGEST]
        known = places.get(word)
        if known is None:
            size += len(word.encode()) + 8
            if size > _MOST_BYTES:
                break
            known = places[word] = []
        if len(known) < _MOST_PLACES and place <= _LAST_PLACE:
            size += 2
            known.append(place)
    entries = (f"'{word}':{','.join(map(str, at))}" if at else f"'{word}'" for word, at in places.items())
    return " ".join(entries) or None
