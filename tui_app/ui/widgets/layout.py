"""Where every line of a conversation stands: blocks of pieces, known heights and guessed ones."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_app.session.entries import Bodies, Body, Entry
from tui_app.ui.safe_text import clean
from tui_app.ui.widgets import blocks
from tui_app.ui.widgets.entry_wording import Wording
from tui_app.ui.widgets.heights import HeightIndex
from tui_app.ui.widgets.line_cache import LineCache
from tui_app.ui.widgets.lines import Line, Painter
from tui_app.ui.widgets.live import LiveMessage
from tui_app.ui.widgets.pieces import Piece

if TYPE_CHECKING:
    from tui_app.ui.finding import Excerpt

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
