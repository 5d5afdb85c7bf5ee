"""The layout of a conversation: estimated and measured heights of entries, and the visible lines."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple, SupportsIndex

from textual.selection import Selection

from tui_app.session.views.entries import Bodies, Body, Entry
from tui_app.ui.colours.palette import Tone
from tui_app.ui.transcript.entries import (
    SAYS_MORE,
    LiveMessage,
    Rail,
    Wording,
    estimate,
    gap_before,
    has_lines,
    pieces,
    shell_line,
)
from tui_app.ui.transcript.excerpts import Excerpt
from tui_app.ui.transcript.lines import Line, Painter, with_tabs
from tui_app.ui.transcript.pieces import GapPiece, Piece
from tui_app.ui.words.text import clean


class HeightIndex(list[int]):
    """Heights of a list of blocks, with lookups from line to block and from block to first line.

    Prefix sums are cached up to the first changed block, so an answer that grows at the end costs nothing.
    """

    def __init__(self, heights: Iterable[int] = ()) -> None:
        super().__init__(heights)
        self._tops = [0]

    @property
    def total(self) -> int:
        """Total height in lines."""
        return self.top(len(self))

    def pop(self, index: SupportsIndex = -1, /) -> int:
        """Remove a block, by default the last one, and return its height.

        Raises:
            IndexError: If there is none.
        """
        del self._tops[range(len(self))[index] + 1 :]
        return super().pop(index)

    def set(self, index: int, height: int) -> int:
        """Change the height of a block.

        Returns:
            The difference to its previous height.
        """
        delta = height - self[index]
        if delta:
            self[index] = height
            del self._tops[index + 1 :]
        return delta

    def top(self, index: int) -> int:
        """Return the first line of block ``index``: the sum of the heights before it."""
        known = self._tops
        if index >= len(known):
            changed = self[len(known) - 1 : index]
            known += islice(accumulate(changed, initial=known[-1]), 1, None)
        return known[index]

    def find(self, line: int) -> tuple[int, int]:
        """Find the block that covers a line, skipping blocks of height zero.

        Args:
            line: Line from 0; values outside are clamped.

        Returns:
            Index of the block and line inside it. If there are no lines, the index is the number of blocks.
        """
        if self.total <= 0:
            return len(self), 0
        line = min(max(line, 0), self.total - 1)
        index = bisect_right(self._tops, line) - 1
        return index, line - self._tops[index]


MAX_LINES = 2_000
"""Maximum number of cached lines; the least recently used piece is evicted first."""


class LineCache(OrderedDict[Piece, Sequence[Line]]):
    """An LRU cache of painted pieces, enough for a few screens.

    The key is the piece itself: equal pieces share lines.
    """

    @property
    def size(self) -> int:
        """Number of cached lines."""
        return sum(map(len, self.values()))

    def lines(self, piece: Piece, painter: Painter) -> Sequence[Line]:
        """Return the lines of a piece, painting it if needed."""
        if piece not in self:
            self[piece] = piece.lines(painter)
            while self.size > MAX_LINES and len(self) > 1:
                self.popitem(last=False)
        self.move_to_end(piece)
        return self[piece]


_MAX_BLOCKS = 300
_EMPTY = Body(text="")
_BITS = 24
_MASK = (1 << _BITS) - 1


class Spot(NamedTuple):
    """A line of the conversation, addressed independently of the heights above it."""

    slot: int
    """Index of the entry; the live answer comes after the last one."""
    piece: int
    line: int

    @property
    def row(self) -> int:
        """The y coordinate of the line for text selections.

        Textual asks for one ``Offset`` per character. A number derived from the spot sorts in line order and
        stays valid while estimated heights above it are measured.
        """
        return (self.slot << 2 * _BITS) | (self.piece << _BITS) | self.line

    @classmethod
    def at_row(cls, row: int) -> "Spot":
        return cls(row >> 2 * _BITS, row >> _BITS & _MASK, row & _MASK)


START = Spot(0, 0, 0)


class _Block:
    def __init__(self, pieces: Sequence[Piece], width: int) -> None:
        self.pieces = pieces
        self.heights = HeightIndex(piece.estimate(width) for piece in pieces)


class Layout:
    """Maps lines to entries and back.

    Heights are estimated from the number of characters until a piece is painted. Methods documented as
    *measured* paint what they pass, so their results are exact.
    """

    def __init__(self, bodies: Bodies, painter: Painter, wording: Wording) -> None:
        self.entries: list[Entry] = []
        self.expanded: set[int] = set()
        """Log numbers of the unfolded entries; 0 for the live answer."""
        self.excerpts: dict[int, Excerpt] = {}
        """Excerpts around search hits in clipped entries, by log number."""
        self.rail = Rail()
        """What the model sees of the conversation."""
        self.live: LiveMessage | None = None
        self.wording = wording
        self.painter = painter
        self._bodies = bodies
        self._lines = LineCache()
        self.slots: dict[int, int] = {}
        """Slots of entries by log number."""
        self.heights = HeightIndex()
        self._blocks: OrderedDict[int, _Block] = OrderedDict()

    def __len__(self) -> int:
        return len(self.heights)

    @property
    def total(self) -> int:
        """Total height in lines."""
        return self.heights.total

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Replace the conversation; nothing is painted."""
        self.entries = list(entries)
        self.live = None
        self.expanded.clear()
        self.excerpts.clear()
        self.slots = {entry.seq: slot for slot, entry in enumerate(self.entries)}
        self._reindex()

    def prepend(self, entries: Sequence[Entry]) -> None:
        """Insert older entries at the top, shifting all slots by their number; nothing is painted."""
        moved, older = len(entries), self._guessed(entries)
        self.entries[:0] = entries
        self.slots = {entry.seq: slot for slot, entry in enumerate(self.entries)}
        self._blocks = OrderedDict((slot + moved, block) for slot, block in self._blocks.items())
        self.heights = HeightIndex([*older, *self.heights])
        self.stale(moved)  # another entry is above it now

    def append(self, entry: Entry) -> int:
        """Add an entry and return its slot.

        An ended live answer is replaced by its finished entry, or by the next prompt if none came. Any other
        entry is inserted before the live answer.
        """
        handed_over = self.live is not None and self.live.ended and entry.kind in ("assistant", "user")
        growing = None if handed_over else self.live
        self.set_live(None)
        slot = len(self.entries)
        if slot and self.entries[-1].kind == "error":
            self.stale(slot - 1)  # next steps are shown below the last error only
        self.entries.append(entry)
        self.slots[entry.seq] = slot
        self.heights.append(estimate(entry, self.before(slot), self.painter.width))
        if handed_over and 0 in self.expanded:
            self.expanded.discard(0)
            self.expanded.add(entry.seq)
        self.set_live(growing)
        return slot

    def replace(self, entry: Entry) -> int | None:
        """Replace an entry in place; returns its slot, or None for an unknown log number."""
        slot = self.slots.get(entry.seq)
        if slot is not None:
            self.entries[slot] = entry
            self.stale(slot)
        return slot

    def before(self, slot: int) -> Entry | None:
        """Return the nearest visible entry above a slot."""
        for index in range(slot - 1, -1, -1):
            if has_lines(self.entries[index]):
                return self.entries[index]
        return None

    def repaint(self, painter: Painter, wording: Wording) -> None:
        """Use other colours, signs or another width; heights are estimated again."""
        self.painter, self.wording = painter, wording
        self._lines.clear()
        self._reindex()

    def recolour(self, painter: Painter) -> None:
        """Use other colours; no height changes."""
        self.painter = painter
        self._lines.clear()

    def reword(self, wording: Wording) -> None:
        """Use other words of the same height."""
        self.wording = wording
        self._blocks.clear()

    def show_rail(self, rail: Rail) -> None:
        """Show what the model sees; no height changes."""
        self.rail = rail
        self._blocks.clear()

    def rail_sign(self, spot: Spot) -> tuple[str, Tone]:
        """Return the sign left of a line, and its tone."""
        glyphs = self.wording.glyphs
        if spot.slot >= len(self.entries):
            return (glyphs.mark, Tone.RAIL) if spot.slot < len(self) else ("", Tone.RAIL)
        sign, tone = self.rail.sign(self.entries[spot.slot], glyphs)
        # The sign is on the first line with words; the lines above it separate entries.
        lead = self.lead_piece(spot.slot)
        first = spot.line == 0 and spot.piece == lead
        above = self.entries[spot.slot - 1] if spot.slot else None
        if sign and spot.piece < lead and above is not None and not self.rail.sees(above):
            # The rail begins here, below entries that the model does not see.
            return "", Tone.RAIL
        if first or sign in ("", glyphs.mark, glyphs.leaves):
            return sign, tone
        return "" if sign == glyphs.excluded else glyphs.mark, Tone.RAIL

    def lead_piece(self, slot: int) -> int:
        """Return the number of an entry's first piece that has words."""
        pieces = self.block(slot).pieces
        return next((number for number, each in enumerate(pieces) if not isinstance(each, GapPiece)), 0)

    def selected_text(self, selection: Selection) -> str:
        """Return the original text of a selection.

        Fully selected entries give their source text (Markdown for an answer). From the others the visible
        characters are taken, and wrapped lines are joined again.
        """
        start, stop = selection
        first = Spot.at_row(start.y) if start is not None else START
        last = Spot.at_row(stop.y) if stop is not None else self.end
        parts: list[str] = []
        for slot in range(first.slot, min(last.slot + 1, len(self))):
            begin, column = (first, start.x) if start is not None and slot == first.slot else (START, 0)
            end = (last, stop.x if stop is not None else None) if slot == last.slot else None
            is_whole = begin[1:] == (0, 0) and column <= 0 and (end is None or last.piece >= _MASK)
            if is_whole and slot < len(self.entries):
                text = self._original(self.entries[slot])
            else:
                text = self._copied(slot, (begin._replace(slot=slot), column), end)
                if "  " in text and slot < len(self.entries):  # a live answer's original text is not kept
                    body = self._bodies.body(self.entries[slot])
                    text = with_tabs(text, "\n".join((self.entries[slot].title, body.args, body.text)))
            if text and parts:
                live = slot == len(self.entries)
                parts.append("\n" * (2 if live else 1 + gap_before(self.entries[slot], self.before(slot))))
            parts.append(text)
        return "".join(parts)

    def _original(self, entry: Entry) -> str:
        if entry.kind in ("user", "assistant"):
            return clean(self._bodies.body(entry).text, keep_tabs=True).strip("\n")
        if entry.kind == "shell":
            body = self._bodies.body(entry)
            typed, printed = shell_line(body.args, private=entry.private), clean(body.text, keep_tabs=True)
            return "\n".join(filter(None, (typed, printed.strip("\n"))))
        if entry.seq in self.expanded:
            body = self._bodies.body(entry)
            return "\n".join(
                clean(part, keep_tabs=True) for part in (entry.title, body.args, body.text) if part
            )
        return clean(entry.title, keep_tabs=True)

    def _copied(self, slot: int, start: tuple[Spot, int], stop: tuple[Spot, int | None] | None) -> str:
        text = ""
        for piece in range(start[0].piece, len(self.block(slot).pieces)):
            for number, line in enumerate(self.lines(slot, piece)):
                spot = Spot(slot, piece, number)
                if stop is not None and spot > stop[0]:
                    return text
                if spot < start[0] or line.blank or (line.lead >= line.end and line.text):
                    continue
                begin = start[1] if spot == start[0] else 0
                end = stop[1] if stop is not None and spot == stop[0] else None
                text += (line.join if text else "") + line.copied(begin, end)
        return text

    def shed(self, first: int, last: int) -> None:
        """Drop the lines of all entries outside a range of slots; measured heights are kept."""
        near = {slot: block for slot, block in self._blocks.items() if first <= slot <= last}
        self._blocks = OrderedDict(near)
        for piece in self._lines.keys() - {piece for block in near.values() for piece in block.pieces}:
            del self._lines[piece]

    def stale(self, slot: int) -> None:
        """Discard the pieces of a slot; its height is measured again when it is painted."""
        self._blocks.pop(slot, None)

    def set_live(self, live: LiveMessage | None) -> None:
        """Set the streaming answer at the end, or remove it."""
        self._blocks.pop(len(self.entries), None)
        if self.live is not None:
            self.heights.pop()
        self.live = live
        if live is not None:
            self.heights.append(0)
            self.block(len(self.entries))

    def refresh_live(self) -> None:
        """Update the live answer with what has arrived since the last call."""
        slot = len(self.entries)
        former = self._blocks.pop(slot, None)
        block = self.block(slot)
        for piece in former.pieces[-1:] if former else ():
            if piece not in block.pieces[-2:]:
                self._lines.pop(piece, None)

    @property
    def growing_from(self) -> int:
        """First line that may change as the live answer grows: of its last piece, or all with thinking."""
        if self.live is None:
            return self.total
        slot = len(self.entries)
        heights = self.block(slot).heights
        fixed = 0 if self.live.thinking or not len(heights) else heights.top(len(heights) - 1)
        return self.heights.top(slot) + fixed

    def block(self, slot: int) -> _Block:
        """Return the pieces of a slot, creating them if needed."""
        if (known := self._blocks.get(slot)) is not None:
            self._blocks.move_to_end(slot)
            return known
        before = self.before(slot)
        if slot == len(self.entries) and self.live is not None:
            expanded, gap = 0 in self.expanded, int(before is not None and before.kind != "user")
            parts = self.live.pieces(self.wording, gap=gap, expanded=expanded)
        else:
            entry = self.entries[slot]
            expanded, excerpt = entry.seq in self.expanded, self.excerpts.get(entry.seq)
            body = self._bodies.preview(entry) if expanded or entry.kind in SAYS_MORE else _EMPTY
            parts = pieces(
                entry,
                before,
                body,
                self.wording,
                expanded=expanded,
                excerpt=excerpt,
                sunk=not self.rail.sees(entry),
                last=slot == len(self.entries) - 1,
            )
        block = self._blocks[slot] = _Block(parts, self.painter.width)
        for number, piece in enumerate(parts):
            if (lines := self._lines.get(piece)) is not None:
                block.heights.set(number, len(lines))
        self.heights.set(slot, block.heights.total)
        if len(self._blocks) > _MAX_BLOCKS:
            self._blocks.popitem(last=False)
        return block

    def lines(self, slot: int, piece: int) -> Sequence[Line]:
        """Paint a piece (measured)."""
        block = self.block(slot)
        lines = self._lines.lines(block.pieces[piece], self.painter)
        if block.heights.set(piece, len(lines)):
            self.heights.set(slot, block.heights.total)
        return lines

    def line(self, spot: Spot) -> Line | None:
        """Paint one line; None if there is none at this spot."""
        if spot.slot >= len(self) or spot.piece >= len(self.block(spot.slot).pieces):
            return None
        lines = self.lines(spot.slot, spot.piece)
        return lines[spot.line] if spot.line < len(lines) else None

    def spot_at(self, y: int) -> Spot:
        """Return the spot at a line, by the heights known so far."""
        slot, inside = self.heights.find(y)
        if slot >= len(self):
            return self.end
        piece, line = self.block(slot).heights.find(inside)
        return Spot(slot, piece, line)

    def slot_at(self, y: int) -> int:
        """Return the slot that covers a line; creates no pieces, so no height changes."""
        return self.heights.find(y)[0]

    def y_of(self, spot: Spot) -> int:
        """Return the line of a spot, by the heights known so far."""
        if spot.slot >= len(self):
            return self.total
        return self.heights.top(spot.slot) + self.block(spot.slot).heights.top(spot.piece) + spot.line

    @property
    def end(self) -> Spot:
        """The spot after the last line."""
        return Spot(len(self), 0, 0)

    def measure(self, slot: int, *, most: int = 2) -> int:
        """Paint the first and last pieces of a slot and return its height, exact if there are no others."""
        count = len(self.block(slot).pieces)
        for piece in sorted({*range(min(most, count)), *range(max(0, count - most), count)}):
            self.lines(slot, piece)
        return self.heights[slot]

    def piece_at(self, y: int) -> Piece | None:
        spot = self.spot_at(y)
        return self.block(spot.slot).pieces[spot.piece] if spot.slot < len(self) else None

    def _guessed(self, entries: Sequence[Entry]) -> Iterator[int]:
        width, before = max(1, self.painter.width), None
        for entry in entries:
            yield estimate(entry, before, width)
            if has_lines(entry):
                before = entry

    def _reindex(self) -> None:
        self._blocks.clear()
        self.heights = HeightIndex(self._guessed(self.entries))
        if self.live is not None:
            self.heights.append(0)


class Viewport:
    """The visible rows of a layout, kept in place while heights are measured.

    The position is stored as the entry and line at the top (or "at the end"), never as a line number: line
    numbers shift whenever an estimated height above is replaced by a measured one.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.rows = 0
        """Height of the window in lines."""
        self.top = START
        self.following = True
        """Whether the window is at the end and stays there as content is added."""

    def settle(self) -> int:
        """Measure what is visible.

        Returns:
            The line of the conversation at the top of the window.
        """
        layout = self._layout
        if not self.following:
            self.top = self._valid(self.top)
        if self.following or self.forward(self.top, self.rows) == layout.end:
            self.top = self.backward(layout.end, self.rows)
        return layout.y_of(self.top)

    def scroll(self, lines: int) -> None:
        """Scroll by a number of lines (measured); reaching the end resumes following."""
        self.following = False
        self.top = self._valid(self.top)
        self.top = self.forward(self.top, lines) if lines > 0 else self.backward(self.top, -lines)
        self._follow_if_at_end()

    def go(self, y: int) -> None:
        """Scroll to a line as the scroll bar counts them, which is an estimate where nothing was measured."""
        self.following = False
        self.top = self._layout.spot_at(y)
        self._follow_if_at_end()

    def show(self, spot: Spot) -> None:
        """Put a spot on the top row, as far as enough lines follow it."""
        self.following = False
        self.top = self._valid(spot)
        self._follow_if_at_end()

    def reveal(self, slot: int) -> None:
        """Scroll as little as needed to show an entry, or its beginning if it is taller than the window."""
        layout = self._layout
        layout.measure(slot)
        self.settle()
        first, top = layout.heights.top(slot), layout.y_of(self.top)
        last = first + layout.heights[slot]
        if first < top or last - first > self.rows:
            self.show(Spot(slot, 0, 0))
        elif last > top + self.rows:
            self.scroll(last - top - self.rows)

    def anchor(self) -> None:
        """Keep the top row in place although something below it changes height."""
        self.following = False
        self._follow_if_at_end()

    def _follow_if_at_end(self) -> None:
        self.settle()
        self.following = self._layout.y_of(self.top) + self.rows >= self._layout.total

    def _valid(self, spot: Spot) -> Spot:
        """Return the nearest existing spot after a change."""
        layout = self._layout
        slot, piece, line = spot
        while slot < len(layout):
            count = len(layout.block(slot).pieces)
            if count:
                if piece >= count:
                    piece, line = count - 1, 1 << 30
                return Spot(slot, piece, max(0, min(line, len(layout.lines(slot, piece)) - 1)))
            slot, piece, line = slot + 1, 0, 0
        return layout.end

    def forward(self, spot: Spot, lines: int) -> Spot:
        """Move down (measured), stopping at the end."""
        slot, piece, line = spot
        left = line + lines
        while slot < len(self._layout):
            count = len(self._layout.block(slot).pieces)
            while piece < count:
                height = len(self._layout.lines(slot, piece))
                if left < height:
                    return Spot(slot, piece, left)
                left -= height
                piece += 1
            slot, piece = slot + 1, 0
        return self._layout.end

    def backward(self, spot: Spot, lines: int) -> Spot:
        """Move up (measured), stopping at the start."""
        slot, piece, line = spot
        left = lines - line
        if left <= 0:
            return Spot(slot, piece, -left)
        while True:
            piece -= 1
            while piece < 0:
                slot -= 1
                if slot < 0:
                    return START
                piece = len(self._layout.block(slot).pieces) - 1
            left -= len(self._layout.lines(slot, piece))
            if left <= 0:
                return Spot(slot, piece, -left)

    def mark(self) -> tuple[Spot, int]:
        """Return what to restore after a change of width: the top spot and the height of its piece."""
        if self.following:
            return START, 1
        self.top = self._valid(self.top)
        slot, piece, _ = self.top
        return self.top, len(self._layout.lines(slot, piece)) if slot < len(self._layout) else 1

    def restore(self, mark: tuple[Spot, int]) -> None:
        """Return to a marked position, proportionally as far into the piece as before."""
        (slot, piece, line), height = mark
        self.top = Spot(slot, piece, line)
        if line and slot < len(self._layout) and piece < len(self._layout.block(slot).pieces):
            now = len(self._layout.lines(slot, piece))
            self.top = Spot(slot, piece, line * now // max(1, height))
