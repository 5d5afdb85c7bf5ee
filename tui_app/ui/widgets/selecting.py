"""Text selection over lines that are not all painted: stable coordinates, highlight, and the original text.

Textual asks for one ``Offset`` per character. Its y is a number made from the place of the line (entry,
piece, line), which sorts like the lines do and stays true while guessed heights above become known.
"""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from tui_app.ui.widgets.blocks import distance
from tui_app.ui.widgets.layout import START, Layout, Spot
from tui_app.ui.widgets.lines import GUTTER, Line, Painter
from tui_app.ui.widgets.palette import Tone

_BITS = 24
_MASK = (1 << _BITS) - 1


def row_of(spot: Spot) -> int:
    """Return the selection row of a spot."""
    return (spot.slot << 2 * _BITS) | (spot.piece << _BITS) | spot.line


def spot_of(row: int) -> Spot:
    """Return the spot of a selection row."""
    return Spot(row >> 2 * _BITS, row >> _BITS & _MASK, row & _MASK)


def whole(slot: int) -> Selection:
    """Select an entry from its first to its last character."""
    return Selection(Offset(0, row_of(Spot(slot, 0, 0))), Offset(0, row_of(Spot(slot + 1, 0, 0)) - 1))


def highlight(line: Line, span: tuple[int, int], style: Style) -> Strip:
    """Paint a line with its selected content in another style.

    Args:
        line: The line.
        span: Start and end in characters right of the gutter; an end of -1 is the end of the line.
        style: Laid over the selected content; ornament stays as it is.
    """
    start = max(span[0], line.lead)
    stop = line.end if span[1] < 0 else min(span[1], line.end)
    if stop <= start:
        return line.strip
    left = GUTTER + cell_len(line.text[:start])
    right = left + cell_len(line.text[start:stop])
    before, inside, *after = line.strip.divide([left, right, line.strip.cell_length])
    marked = Strip([Segment(text, (old or Style.null()) + style) for text, old, _ in inside])
    return Strip.join([before, marked, *after])


def signed(strip: Strip, painter: Painter, *, focused: bool, marked: bool) -> Strip:
    """Put the signs of the focus and of a marked entry in the gutter of a line."""
    glyphs = painter.glyphs
    if marked:
        sign = Strip([painter.styled(glyphs.check, Tone.MARK)], 1)
        strip = Strip.join([strip.crop(0, 1), sign, strip.crop(GUTTER)])
    if focused:
        strip = Strip.join([Strip([painter.styled(glyphs.mark, Tone.MARK)], 1), strip.crop(1)])
    return strip


def selected_text(layout: Layout, selection: Selection) -> str:
    """Return the original text of a selection.

    Entries that are covered as a whole give the text they were made from (an answer its Markdown); of the
    others the visible characters are taken, lines that were only wrapped joined again.
    """
    start, stop = selection
    first = spot_of(start.y) if start is not None else START
    last = spot_of(stop.y) if stop is not None else Spot(len(layout), 0, 0)
    start_x = start.x if start is not None else 0
    stop_x = stop.x if stop is not None else None
    parts: list[str] = []
    for slot in range(first.slot, min(last.slot + 1, len(layout))):
        from_here = (first, start_x) if slot == first.slot else (Spot(slot, 0, 0), 0)
        to_here = (last, stop_x) if slot == last.slot else None
        text = _entry_text(layout, slot, from_here, to_here)
        if text and parts:
            parts.append("\n" * (1 + _distance(layout, slot)))
        parts.append(text)
    return "".join(parts)


def _distance(layout: Layout, slot: int) -> int:
    return distance(layout.entries[slot], layout.before(slot)) if slot < len(layout.entries) else 1


def _entry_text(
    layout: Layout, slot: int, start: tuple[Spot, int], stop: tuple[Spot, int | None] | None
) -> str:
    from_top = start[0][1:] == (0, 0) and start[1] <= 0
    to_end = stop is None or stop[0].piece >= _MASK
    if from_top and to_end and slot < len(layout.entries):
        return layout.original(slot)
    text = ""
    for spot, line in _lines_between(layout, slot, start[0], stop[0] if stop else None):
        begin = start[1] if spot == start[0] else 0
        end = stop[1] if stop is not None and spot == stop[0] else None
        text += (line.join if text else "") + line.copied(begin, end)
    return text


def _lines_between(layout: Layout, slot: int, start: Spot, stop: Spot | None) -> Iterator[tuple[Spot, Line]]:
    """Yield the lines of one entry that hold content, first and last included."""
    pieces = len(layout.block(slot).pieces)
    for piece in range(start.piece, pieces):
        for number, line in enumerate(layout.lines(slot, piece)):
            spot = Spot(slot, piece, number)
            if spot < start:
                continue
            if stop is not None and spot > stop:
                return
            if not line.blank and (line.lead < line.end or not line.text):
                yield spot, line
