"""Where every line of a conversation stands: blocks of pieces, known heights and guessed ones."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_app.session.entries import Bodies, Body, Entry
from tui_app.ui.text import clean
from tui_app.ui.transcript import pieces as blocks
from tui_app.ui.transcript.lines import Line, Painter
from tui_app.ui.transcript.pieces import LiveMessage, Piece, Wording

if TYPE_CHECKING:
    from tui_app.ui.transcript.search import Excerpt

# Heights of many blocks, with fast sums: which block stands at line y, and where does block i begin.


class HeightIndex:
    """A list of non-negative heights as a Fenwick tree (Fenwick 1994): every operation is O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for index in range(1, len(self._tree)):
            parent = index + (index & -index)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[index]
        self._total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """Sum of all heights, in lines."""
        return self._total

    def append(self, height: int) -> None:
        """Add a block at the end."""
        self._heights.append(height)
        self._total += height
        node = len(self._heights)
        value, step = height, 1
        while step < node & -node:
            value += self._tree[node - step]
            step <<= 1
        self._tree.append(value)

    def pop(self) -> int:
        """Remove the last block and return its height.

        Raises:
            IndexError: when there is none.
        """
        height = self._heights.pop()
        self._tree.pop()
        self._total -= height
        return height

    def set(self, index: int, height: int) -> int:
        """Change the height of a block.

        Returns:
            The difference to its former height.
        """
        delta = height - self._heights[index]
        if delta:
            self._heights[index] = height
            self._total += delta
            node = index + 1
            while node < len(self._tree):
                self._tree[node] += delta
                node += node & -node
        return delta

    def top(self, index: int) -> int:
        """Return the line on which block ``index`` begins: the sum of the heights before it."""
        total, node = 0, index
        while node > 0:
            total += self._tree[node]
            node -= node & -node
        return total

    def find(self, line: int) -> tuple[int, int]:
        """Find the block that covers a line; blocks without height are passed over.

        Args:
            line: Line from 0; lines outside are clamped.

        Returns:
            Index of the block and line inside it. With no line at all, the index is the number of blocks.
        """
        if self._total <= 0:
            return len(self._heights), 0
        left = min(max(line, 0), self._total - 1)
        node = 0
        step = 1 << len(self._heights).bit_length()
        while step:
            following = node + step
            if following < len(self._tree) and self._tree[following] <= left:
                node = following
                left -= self._tree[following]
            step >>= 1
        return node, left


# Painted pieces, as many as a few screens need.

MAX_LINES = 2_000
"""Lines kept; the piece used longest ago leaves first."""


class LineCache:
    """Least-recently-used cache, bounded in lines. The key is the piece itself: equal pieces share lines."""

    def __init__(self, limit: int = MAX_LINES) -> None:
        self._limit = limit
        self._painted: OrderedDict[Piece, Sequence[Line]] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """Lines kept at present."""
        return self._size

    def height(self, piece: Piece) -> int | None:
        """Return the height of a piece if it is painted."""
        lines = self._painted.get(piece)
        return None if lines is None else len(lines)

    def lines(self, piece: Piece, painter: Painter) -> Sequence[Line]:
        """Return the lines of a piece, painting it when needed."""
        lines = self._painted.get(piece)
        if lines is not None:
            self._painted.move_to_end(piece)
            return lines
        lines = piece.lines(painter)
        self._painted[piece] = lines
        self._size += len(lines)
        while self._size > self._limit and len(self._painted) > 1:
            _, dropped = self._painted.popitem(last=False)
            self._size -= len(dropped)
        return lines

    def keep(self, pieces: Iterable[Piece]) -> None:
        """Drop all but some pieces."""
        for piece in self._painted.keys() - set(pieces):
            self.forget(piece)

    def forget(self, piece: Piece) -> None:
        """Drop a piece that will not be shown again, such as a former state of a growing one."""
        self._size -= len(self._painted.pop(piece, ()))

    def clear(self) -> None:
        """Forget everything, because colours or width changed."""
        self._painted.clear()
        self._size = 0


_MAX_BLOCKS = 300
_EMPTY = Body(text="")


class Spot(NamedTuple):
    """A line of the conversation, independent of the height of anything above it."""

    slot: int
    """Index of the entry; the live answer stands behind the last one."""
    piece: int
    line: int


START = Spot(0, 0, 0)


class _Block:
    """Pieces of one entry and their heights."""

    def __init__(self, pieces: Sequence[Piece], width: int) -> None:
        self.pieces = pieces
        self.heights = HeightIndex(piece.estimate(width) for piece in pieces)


class Layout:
    """Maps lines to entries and back.

    Heights are guessed from the number of characters until a piece is painted; every method that says
    *measured* paints what it passes, so its answer is exact.
    """

    def __init__(self, bodies: Bodies, painter: Painter, wording: Wording) -> None:
        self.entries: list[Entry] = []
        self.expanded: set[int] = set()
        """Log numbers of the opened entries; 0 for the live answer."""
        self.excerpts: dict[int, Excerpt] = {}
        """What is shown besides of entries too long to be shown whole, by log number."""
        self.live: LiveMessage | None = None
        self.wording = wording
        self.painter = painter
        self._bodies = bodies
        self._lines = LineCache()
        self._slots: dict[int, int] = {}
        self._index = HeightIndex()
        self._blocks: OrderedDict[int, _Block] = OrderedDict()

    def __len__(self) -> int:
        return len(self._index)

    @property
    def total(self) -> int:
        """Height of everything, in lines."""
        return self._index.total

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Take another conversation; nothing is painted."""
        self.entries = list(entries)
        self.live = None
        self.expanded.clear()
        self.excerpts.clear()
        self._slots = {entry.seq: slot for slot, entry in enumerate(self.entries)}
        self._reindex()

    def append(self, entry: Entry) -> int:
        """Add an entry and return its slot.

        An ended live answer gives its place to the finished one, or to the next prompt when none came; any
        other entry is put before it.
        """
        handed_over = self.live is not None and self.live.ended and entry.kind in ("assistant", "user")
        growing = None if handed_over else self.live
        self.set_live(None)
        slot = len(self.entries)
        self.entries.append(entry)
        self._slots[entry.seq] = slot
        self._index.append(blocks.estimate(entry, self.before(slot), self.painter.width))
        if handed_over and 0 in self.expanded:
            self.expanded.discard(0)
            self.expanded.add(entry.seq)
        self.set_live(growing)
        return slot

    def replace(self, entry: Entry) -> int | None:
        """Change an entry in place; returns its slot, or None when there is none with this log number."""
        slot = self._slots.get(entry.seq)
        if slot is not None:
            self.entries[slot] = entry
            self.stale(slot)
        return slot

    def slot_of(self, seq: int) -> int | None:
        """Find an entry by its log number."""
        return self._slots.get(seq)

    def before(self, slot: int) -> Entry | None:
        """Return the nearest visible entry above a slot."""
        for index in range(slot - 1, -1, -1):
            entry = self.entries[index]
            if entry.kind != "assistant" or entry.chars:
                return entry
        return None

    def repaint(self, painter: Painter, wording: Wording) -> None:
        """Use other colours, signs or another width; heights are guessed anew."""
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

    def original(self, slot: int) -> str:
        """Return the text of a whole entry as it was written, not as it is painted."""
        entry = self.entries[slot]
        if entry.kind in ("user", "assistant"):
            return clean(self._bodies.body(entry).text).strip("\n")
        if entry.seq in self.expanded:
            body = self._bodies.body(entry)
            return "\n".join(clean(part) for part in (entry.title, body.args, body.text) if part)
        return clean(entry.title)

    def shed(self, first: int, last: int) -> None:
        """Let go of what was painted outside of two slots; their heights stay as they are known."""
        near = {slot: block for slot, block in self._blocks.items() if first <= slot <= last}
        self._blocks = OrderedDict(near)
        self._lines.keep(piece for block in near.values() for piece in block.pieces)

    def stale(self, slot: int) -> None:
        """Forget the pieces of a slot; its height is known again when it is painted."""
        self._blocks.pop(slot, None)

    def set_live(self, live: LiveMessage | None) -> None:
        """Put an answer that is being written at the end, or take it away."""
        self._blocks.pop(len(self.entries), None)
        if self.live is not None:
            self._index.pop()
        self.live = live
        if live is not None:
            self._index.append(0)
            self.block(len(self.entries))

    def refresh_live(self) -> None:
        """Take in what has arrived since the last call."""
        slot = len(self.entries)
        former = self._blocks.pop(slot, None)
        block = self.block(slot)
        for piece in former.pieces[-1:] if former else ():
            if piece not in block.pieces[-2:]:
                self._lines.forget(piece)

    @property
    def growing_from(self) -> int:
        """First line that may change as the live answer grows: its last piece, or all with thinking."""
        if self.live is None:
            return self.total
        slot = len(self.entries)
        heights = self.block(slot).heights
        fixed = 0 if self.live.thinking or not len(heights) else heights.top(len(heights) - 1)
        return self._index.top(slot) + fixed

    def block(self, slot: int) -> _Block:
        """Return the pieces of a slot, made when they are first needed."""
        block = self._blocks.get(slot)
        if block is None:
            block = _Block(self._make_pieces(slot), self.painter.width)
            for number, piece in enumerate(block.pieces):
                known = self._lines.height(piece)
                if known is not None:
                    block.heights.set(number, known)
            self._blocks[slot] = block
            self._index.set(slot, block.heights.total)
            if len(self._blocks) > _MAX_BLOCKS:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(slot)
        return block

    def _make_pieces(self, slot: int) -> list[Piece]:
        if slot == len(self.entries) and self.live is not None:
            gap = blocks.distance_of_answer(self.before(slot))
            return self.live.pieces(self.wording, gap=gap, expanded=0 in self.expanded)
        entry = self.entries[slot]
        expanded = entry.seq in self.expanded
        body = self._bodies.preview(entry) if blocks.needs_body(entry, expanded=expanded) else _EMPTY
        excerpt = self.excerpts.get(entry.seq)
        return blocks.pieces(entry, self.before(slot), body, self.wording, expanded=expanded, excerpt=excerpt)

    def lines(self, slot: int, piece: int) -> Sequence[Line]:
        """Paint a piece (measured)."""
        block = self.block(slot)
        lines = self._lines.lines(block.pieces[piece], self.painter)
        if block.heights.set(piece, len(lines)):
            self._index.set(slot, block.heights.total)
        return lines

    def line(self, spot: Spot) -> Line | None:
        """Paint one line; None when there is none at this spot."""
        if spot.slot >= len(self) or spot.piece >= len(self.block(spot.slot).pieces):
            return None
        lines = self.lines(spot.slot, spot.piece)
        return lines[spot.line] if spot.line < len(lines) else None

    def spot_at(self, y: int) -> Spot:
        """Find what stands at a line, with the heights as they are known now."""
        slot, inside = self._index.find(y)
        if slot >= len(self):
            return self.end
        piece, line = self.block(slot).heights.find(inside)
        return Spot(slot, piece, line)

    def slot_at(self, y: int) -> int:
        """Find which entry covers a line; makes no pieces, so no height changes."""
        return self._index.find(y)[0]

    def top(self, slot: int) -> int:
        """Return the line on which a slot begins."""
        return self._index.top(slot)

    def y_of(self, spot: Spot) -> int:
        """Return the line of a spot, with the heights as they are known now."""
        if spot.slot >= len(self):
            return self.total
        return self._index.top(spot.slot) + self.block(spot.slot).heights.top(spot.piece) + spot.line

    @property
    def end(self) -> Spot:
        """The spot behind the last line."""
        return Spot(len(self), 0, 0)

    def height(self, slot: int) -> int:
        """Return the height of a slot as it is known now."""
        return self._index[slot]

    def measure(self, slot: int, *, most: int = 2) -> int:
        """Paint the first and last pieces of a slot and return its height, exact when there are no others."""
        count = len(self.block(slot).pieces)
        for piece in sorted({*range(min(most, count)), *range(max(0, count - most), count)}):
            self.lines(slot, piece)
        return self._index[slot]

    def piece_at(self, y: int) -> Piece | None:
        """Return the piece that covers a line."""
        spot = self.spot_at(y)
        return self.block(spot.slot).pieces[spot.piece] if spot.slot < len(self) else None

    def _reindex(self) -> None:
        self._blocks.clear()
        width, before = max(1, self.painter.width), None
        heights = []
        for entry in self.entries:
            heights.append(blocks.estimate(entry, before, width))
            if entry.kind != "assistant" or entry.chars:
                before = entry
        self._index = HeightIndex(heights)
        if self.live is not None:
            self._index.append(0)


# Which part of a conversation is on screen, and how it stays there while heights become known.


class Viewport:
    """The visible rows of a layout.

    The place is remembered as the entry and line at the top (or "at the end"), never as a line number:
    line numbers move whenever a guessed height above becomes a measured one.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.rows = 0
        """Height of the window, in lines."""
        self.top = START
        self.following = True
        """At the end, and staying there when something is added."""

    def settle(self) -> int:
        """Measure what is visible.

        Returns:
            The line of the conversation at the top of the window.
        """
        layout = self._layout
        if not self.following:
            self.top = self._valid(self.top)
            if self.forward(self.top, self.rows) == layout.end:
                self._to_end()
            return layout.y_of(self.top)
        self._to_end()
        return layout.y_of(self.top)

    def _to_end(self) -> None:
        self.top = self.backward(self._layout.end, self.rows)

    @property
    def at_end(self) -> bool:
        """Whether the last line is visible; exact after :meth:`settle`."""
        return self._layout.y_of(self.top) + self.rows >= self._layout.total

    def scroll(self, lines: int) -> None:
        """Move by some lines (measured); to the end means following again."""
        self.following = False
        self.top = self._valid(self.top)
        self.top = self.forward(self.top, lines) if lines > 0 else self.backward(self.top, -lines)
        self._follow_if_at_end()

    def go(self, y: int) -> None:
        """Move to a line as the scroll bar counts them, a guess where nothing was measured."""
        self.following = False
        self.top = self._layout.spot_at(y)
        self._follow_if_at_end()

    def show(self, spot: Spot) -> None:
        """Put a spot on the top row, as far as there are enough lines below it."""
        self.following = False
        self.top = self._valid(spot)
        self._follow_if_at_end()

    def reveal(self, slot: int) -> None:
        """Move as little as needed to show an entry, or its beginning when it is larger than the window."""
        layout = self._layout
        layout.measure(slot)
        self.settle()
        first, top = layout.top(slot), layout.y_of(self.top)
        last = first + layout.height(slot)
        if first < top or last - first > self.rows:
            self.show(Spot(slot, 0, 0))
        elif last > top + self.rows:
            self.scroll(last - top - self.rows)

    def hold(self) -> None:
        """Keep the top row where it is although something below it changes its height."""
        self.following = False
        self._follow_if_at_end()

    def _follow_if_at_end(self) -> None:
        self.settle()
        self.following = self.at_end

    def _valid(self, spot: Spot) -> Spot:
        """Return the nearest spot that exists, after something changed under it."""
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
        """Walk down (measured); stops at the end."""
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
        """Walk up (measured); stops at the start."""
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
        """Remember the place across a change of width: the spot at the top and the height of its piece."""
        if self.following:
            return START, 1
        self.top = self._valid(self.top)
        slot, piece, _ = self.top
        return self.top, len(self._layout.lines(slot, piece)) if slot < len(self._layout) else 1

    def restore(self, mark: tuple[Spot, int]) -> None:
        """Return to a remembered place, as far into the piece as before in proportion."""
        (slot, piece, line), height = mark
        self.top = Spot(slot, piece, line)
        if line and slot < len(self._layout) and piece < len(self._layout.block(slot).pieces):
            now = len(self._layout.lines(slot, piece))
            self.top = Spot(slot, piece, line * now // max(1, height))
