"""Painted pieces, as many as a few screens need."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from tui_app.ui.widgets.lines import Line, Painter
from tui_app.ui.widgets.pieces import Piece

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
