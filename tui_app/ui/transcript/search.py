"""Search in a conversation: hits in the texts of a session, painted or not."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from tui_app.records import frozen
from tui_app.session.views.entries import Body, Entry
from tui_app.ui.transcript.entries import shell_line, shell_output
from tui_app.ui.transcript.excerpts import Excerpt, readable_args
from tui_app.ui.words.text import clean

if TYPE_CHECKING:
    from tui_app.session.preview import StoreBodies

Part = Literal["title", "args", "thinking", "text", "excerpt"]
"""Which of an entry's texts; ``excerpt`` is a part cut out of another for display."""
MOST_HITS = 10_000
"""Maximum number of hits; older ones are not searched for."""
_SLICE = 65_536
"""Characters searched in one go, which blocks the interpreter (GIL) for about a millisecond."""
_OVERLAP = 1_000
"""Longest match, in characters, that is found across two slices."""
_BATCH_ENTRIES, _BATCH_CHARS = 100, 400_000
_AROUND = 1_200
"""Characters shown before and after a hit in a text that is not shown whole."""


@frozen
class Hit:
    """One match of the words."""

    seq: int
    """Log number of the entry."""
    part: Part
    at: int
    """Offset in characters of the clean text."""
    nth: int
    """Number of matches in the same part before this one."""


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Compile words to a pattern, None for no words.

    Case matters if there are capitals; white space matches any.
    """
    parts = words.split()
    if not parts:
        return None
    flags = re.NOFLAG if any(sign.isupper() for sign in words) else re.IGNORECASE
    return re.compile(r"\s+".join(map(re.escape, parts)), flags)


def parts_of(entry: Entry, body: Body) -> Iterator[tuple[Part, str]]:
    """Yield the clean texts of an entry that can be shown in place, top to bottom."""
    if entry.kind == "shell":
        yield "args", shell_line(body.args or entry.title, private=entry.private)
        yield "text", shell_output(body.text)
        return
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
    """Return every hit in an entry, in reading order."""
    return [
        Hit(entry.seq, part, at, nth)
        for part, text in parts_of(entry, body)
        for nth, at in enumerate(places_in(text, pattern))
    ]


def places_in(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield the offsets of matches, searching in slices because each search blocks other threads."""
    first = 0
    for start in range(0, len(text), _SLICE):
        stop = start + _SLICE
        for match in pattern.finditer(text, max(first, start), stop + _OVERLAP):
            if match.start() >= stop:
                break
            yield match.start()
            first = match.end()


def batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split a conversation into batches, newest first; progress is shown after each."""
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


def look_in(source: "StoreBodies", entries: Sequence[Entry], pattern: re.Pattern[str]) -> list[Hit]:
    """Return the hits in some entries, up to `MOST_HITS` or a little more."""
    hits: list[Hit] = []
    for entry in entries:
        hits += hits_in(entry, source.body(entry), pattern)
        if len(hits) >= MOST_HITS:
            break
    return hits


def excerpt_of(entry: Entry, body: Body, hit: Hit) -> Excerpt | None:
    """Cut out the text around a hit; None if the entry no longer has that place."""
    text = next((text for part, text in parts_of(entry, body) if part == hit.part), "")
    if hit.at >= len(text):
        return None
    start, stop = max(0, hit.at - _AROUND), hit.at + _AROUND
    line = text.find("\n", start, hit.at)
    start = line + 1 if start and line >= 0 else start
    line = text.rfind("\n", min(hit.at + _AROUND // 2, len(text)), stop)
    stop = line if stop < len(text) and line >= 0 else stop
    return Excerpt(text[start:stop], hit.at - start, hit.at, len(text))
