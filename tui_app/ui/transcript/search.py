"""Search in a conversation: hits in the texts of a session, painted or not, and where they are on screen."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from tui_app.records import frozen
from tui_app.session.user_view import Body, Entry
from tui_app.ui.text import clean
from tui_app.ui.transcript.entries import shell_line, shell_output
from tui_app.ui.transcript.layout import Layout, Spot
from tui_app.ui.transcript.lines import Line
from tui_app.ui.transcript.pieces import (
    Excerpt,
    FadedPiece,
    MarkdownPiece,
    Piece,
    RowPiece,
    TextPiece,
    readable_args,
)

if TYPE_CHECKING:
    from tui_app.session.preview import StoreBodies

# Hits in texts. Nothing of this runs on the UI loop.

Part = Literal["title", "args", "thinking", "text", "excerpt"]
"""Which of an entry's texts; the last one is a piece cut out of another for showing."""
MOST_HITS = 10_000
"""Places that are kept; older ones are not searched for."""
_SLICE = 65_536
"""Characters searched in one go: the interpreter is held for about a millisecond."""
_OVERLAP = 1_000
"""Longest match, in characters, that is found where two slices meet."""
_BATCH_ENTRIES, _BATCH_CHARS = 100, 400_000
_AROUND = 1_200
"""Characters shown before and after a place in a text that is not shown whole."""


@frozen
class Hit:
    """One place where the words were found."""

    seq: int
    """Log number of the entry's row."""
    part: Part
    at: int
    """Where it begins, in characters of the clean text."""
    nth: int
    """How many places of the same part come before it."""


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Compile words: capitals count where there are some, white space matches any; None for no words."""
    parts = words.split()
    if not parts:
        return None
    flags = re.NOFLAG if any(sign.isupper() for sign in words) else re.IGNORECASE
    return re.compile(r"\s+".join(map(re.escape, parts)), flags)


def parts_of(entry: Entry, body: Body) -> Iterator[tuple[Part, str]]:
    """Yield the texts of an entry that can be shown in its place, top to bottom, clean."""
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
    """Return every place in one entry, in reading order."""
    return [
        Hit(entry.seq, part, at, nth)
        for part, text in parts_of(entry, body)
        for nth, at in enumerate(places_in(text, pattern))
    ]


def places_in(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield where the words begin; searched in slices, because one search holds the interpreter."""
    first = 0
    for start in range(0, len(text), _SLICE):
        stop = start + _SLICE
        for match in pattern.finditer(text, max(first, start), stop + _OVERLAP):
            if match.start() >= stop:
                break
            yield match.start()
            first = match.end()


def batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Cut a conversation into batches, newest first; progress is shown after each."""
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
    """Return every place in some entries, or so many that no more are needed."""
    hits: list[Hit] = []
    for entry in entries:
        hits += hits_in(entry, source.body(entry), pattern)
        if len(hits) >= MOST_HITS:
            break
    return hits


def excerpt_of(entry: Entry, body: Body, hit: Hit) -> Excerpt | None:
    """Cut out the text around a place; None where the entry has no such place any more."""
    text = next((text for part, text in parts_of(entry, body) if part == hit.part), "")
    if hit.at >= len(text):
        return None
    start, stop = max(0, hit.at - _AROUND), hit.at + _AROUND
    line = text.find("\n", start, hit.at)
    start = line + 1 if start and line >= 0 else start
    line = text.rfind("\n", min(hit.at + _AROUND // 2, len(text)), stop)
    stop = line if stop < len(text) and line >= 0 else stop
    return Excerpt(text[start:stop], hit.at - start, hit.at, len(text))


# Hits on painted lines: spans to highlight, and the line to show.


class Here(NamedTuple):
    """The place that the user has gone to: the nth one of a piece."""

    slot: int
    piece: int
    nth: int


Places = Sequence[Sequence[tuple[int, int, int]]]
"""For each line of a piece: start and stop in the line, and which place of the piece that is."""


@dataclass(slots=True)
class Highlights:
    """The found words on painted lines, and the one that the user has gone to."""

    pattern: re.Pattern[str]
    here: Here | None = None

    def spans(self, layout: Layout, spot: Spot) -> Iterator[tuple[int, int, bool]]:
        """Yield what to highlight on a line that is painted: start, stop, and whether the user is there."""
        places = places_on(layout.lines(spot.slot, spot.piece), self.pattern)
        for start, stop, nth in places[spot.line] if spot.line < len(places) else ():
            yield start, stop, self.here == (spot.slot, spot.piece, nth)

    def go(self, layout: Layout, slot: int, hit: Hit, *, excerpt_at: int | None = None) -> Spot:
        """Go to a hit and return the spot of its line.

        Args:
            layout: The layout that shows it.
            slot: The entry.
            hit: The place.
            excerpt_at: Where it is in the excerpt, if it is shown in one.
        """
        for number, piece in enumerate(layout.block(slot).pieces):
            nth = _nth(piece, hit, excerpt_at, self.pattern)
            if nth is None:
                continue
            if nth < 0:
                hit = replace(hit, nth=-nth - 1)
                continue
            places = places_on(layout.lines(slot, number), self.pattern)
            line = next((at for at, found in enumerate(places) if any(n == nth for *_, n in found)), 0)
            self.here = Here(slot, number, nth)
            return Spot(slot, number, line)
        self.here = None
        return Spot(slot, 0, 0)


def _nth(piece: Piece, hit: Hit, excerpt_at: int | None, pattern: re.Pattern[str]) -> int | None:
    """Return which place of a piece a hit is; None where it is not in the piece.

    Below zero: it is further down, after -n - 1 more places.
    """
    bare = piece.piece if isinstance(piece, FadedPiece) else piece
    if isinstance(bare, RowPiece):
        return 0 if hit.part == "title" and pattern.search(bare.title) else None
    if isinstance(bare, MarkdownPiece):
        if bare.part != hit.part or excerpt_at is not None:
            return None
        count = sum(1 for _ in pattern.finditer(bare.source))
        return hit.nth if hit.nth < count else count - hit.nth - 1
    if not isinstance(bare, TextPiece):
        return None
    if hit.part == "title":
        return 0 if not bare.part and pattern.search(bare.text) else None
    part, at = (hit.part, hit.at) if excerpt_at is None else ("excerpt", excerpt_at)
    inside = at - bare.start
    if bare.part != part or not 0 <= inside < max(1, len(bare.text)):
        return None
    return sum(1 for match in pattern.finditer(bare.text) if match.start() < inside)


def places_on(lines: Sequence[Line], pattern: re.Pattern[str]) -> Places:
    """Find the words on painted lines, also where one was broken over two."""
    starts: list[int] = []
    text = ""
    for line in lines:
        text += line.join if starts else ""
        starts.append(len(text))
        text += line.text[line.lead : line.end]
    places: list[list[tuple[int, int, int]]] = [[] for _ in lines]
    for nth, match in enumerate(pattern.finditer(text)):
        for number in range(bisect_right(starts, match.start()) - 1, len(lines)):
            line, begin = lines[number], match.start() - starts[number]
            stop = min(match.end() - starts[number], line.end - line.lead)
            if stop > max(0, begin):
                places[number].append((max(0, begin) + line.lead, stop + line.lead, nth))
            if number + 1 == len(lines) or match.end() <= starts[number + 1]:
                break
    return places
