"""Which part of a conversation is on screen, and how it stays there while heights become known."""

from tui_app.ui.widgets.layout import START, Layout, Spot


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
