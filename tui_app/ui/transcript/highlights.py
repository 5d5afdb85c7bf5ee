"""Search hits on painted lines: spans to highlight, and the line to show."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tui_app.ui.transcript.layout import Layout, Spot
from tui_app.ui.transcript.lines import Line
from tui_app.ui.transcript.pieces import FadedPiece, MarkdownPiece, Piece, RowPiece, TextPiece
from tui_app.ui.transcript.search import Hit


class CurrentMatch(NamedTuple):
    """The current hit: the nth match in a piece."""

    slot: int
    piece: int
    nth: int


Places = Sequence[Sequence[tuple[int, int, int]]]
"""For each line of a piece: start and stop in the line, and the number of the match in the piece."""


@dataclass(slots=True)
class Highlights:
    """Search matches on painted lines, and the current hit."""

    pattern: re.Pattern[str]
    here: CurrentMatch | None = None

    def spans(self, layout: Layout, spot: Spot) -> Iterator[tuple[int, int, bool]]:
        """Yield the spans to highlight on a painted line: start, stop, and whether it is the current hit."""
        places = places_on(layout.lines(spot.slot, spot.piece), self.pattern)
        for start, stop, nth in places[spot.line] if spot.line < len(places) else ():
            yield start, stop, self.here == (spot.slot, spot.piece, nth)

    def go(self, layout: Layout, slot: int, hit: Hit, *, excerpt_at: int | None = None) -> Spot:
        """Go to a hit and return the spot of its line.

        Args:
            layout: The layout that shows it.
            slot: The entry.
            hit: The hit.
            excerpt_at: Offset of the hit in the excerpt, if one is shown.
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
            self.here = CurrentMatch(slot, number, nth)
            return Spot(slot, number, line)
        self.here = None
        return Spot(slot, 0, 0)


def _nth(piece: Piece, hit: Hit, excerpt_at: int | None, pattern: re.Pattern[str]) -> int | None:
    """Return the number of a hit among a piece's matches; None if it is not in the piece.

    A negative result n means that the hit is further down, after -n - 1 more matches.
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
    """Find matches on painted lines, including those broken across two lines."""
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
