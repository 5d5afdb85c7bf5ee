"""The parts that an entry is painted from; equal pieces paint equally, so their lines can be shared."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from rich.cells import cell_len
from rich.segment import Segment

from tui_app.ui.widgets.lines import Line, Painter, wrap_spans
from tui_app.ui.widgets.palette import Tone

PIECE_CHARS = 3_000
PIECE_LINES = 120


class Piece(Protocol):
    """A bounded part of an entry. Implementations are frozen and hashable."""

    def estimate(self, width: int) -> int:
        """Guess the height in lines without painting."""
        ...

    def lines(self, painter: Painter) -> list[Line]:
        """Paint it; takes a few milliseconds at most."""
        ...


@dataclass(frozen=True)
class GapPiece:
    """Blank lines that keep entries apart."""

    height: int = 1

    def estimate(self, width: int) -> int:
        """Know the height."""
        return self.height

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the distance."""
        return [painter.gap()] * self.height


@dataclass(frozen=True)
class RowPiece:
    """One line: a sign, a title that is cut to fit, and something right-aligned."""

    sign: str
    title: str
    tone: Tone
    right: str = ""
    right_tone: Tone = Tone.DIM
    fold: bool = False
    """A click on it opens and closes the entry."""
    ornament: bool = False
    """Nothing in it is ever copied."""

    def estimate(self, width: int) -> int:
        """Know the height."""
        return 1

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the row; the right part gives way when the line is too narrow for both."""
        lead = f"{self.sign} " if self.sign else ""
        right = painter.spelled(self.right)
        room = painter.width - cell_len(lead) - (cell_len(right) + 2 if right else 0)
        if right and room < 12:
            right, room = "", painter.width - cell_len(lead)
        title = painter.fitted(self.title, room)
        segments = [painter.styled(lead + title, self.tone)]
        if right:
            space = painter.width - cell_len(lead + title) - cell_len(right)
            segments += [Segment(" " * space), painter.styled(right, self.right_tone)]
        end = len(lead + title)
        return [painter.line(segments, lead=end if self.ornament else len(lead), end=end)]


@dataclass(frozen=True)
class TextPiece:
    """Plain text, wrapped; ``sign`` stands before its first line and the others are indented as far."""

    text: str
    tone: Tone
    sign: str = ""
    indent: int = 0
    join: str = "\n"
    part: str = field(default="", compare=False)
    """Which text of an entry it is a piece of; empty for words of ours."""
    start: int = field(default=0, compare=False)
    """Where it begins in that text."""

    def estimate(self, width: int) -> int:
        """Guess from the number of characters and newlines."""
        return self.text.count("\n") + 1 + len(self.text) // max(1, 2 * (width - self.indent))

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the wrapped lines."""
        first = f"{self.sign} " if self.sign else " " * self.indent
        rest = " " * cell_len(first)
        width = max(1, painter.width - cell_len(first))
        painted: list[Line] = []
        text = self.text if self.part else painter.spelled(self.text)
        for start, stop, join in wrap_spans(text, width):
            lead = rest if painted else first
            segment = painter.styled(lead + text[start:stop], self.tone)
            painted.append(painter.line([segment], lead=len(lead), join=join if painted else self.join))
        return painted


@dataclass(frozen=True)
class MarkdownPiece:
    """A part of an answer."""

    source: str
    gap: bool = False
    """Whether a blank line stands before it."""
    part: str = field(default="text", compare=False)
    """Which text of an entry it is a piece of."""

    def estimate(self, width: int) -> int:
        """Guess from the number of characters and newlines."""
        text = self.source.strip()
        return self.gap + text.count("\n") + 1 - text.count("```") + len(text) // max(1, 3 * width)

    def lines(self, painter: Painter) -> list[Line]:
        """Lay out the Markdown."""
        # Parser and lexers cost 50 ms to import: not before the first answer is shown.
        from tui_app.ui.widgets.markdown_lines import markdown_lines

        body = markdown_lines(self.source, painter)
        return [painter.line(()), *body] if self.gap and body else body


@dataclass(frozen=True)
class FadedPiece:
    """A piece of something that was left behind, painted in one quiet colour."""

    piece: Piece

    @property
    def fold(self) -> bool:
        """Whether a click on it opens and closes the entry."""
        return folds(self.piece)

    def estimate(self, width: int) -> int:
        """Guess as the piece does."""
        return self.piece.estimate(width)

    def lines(self, painter: Painter) -> list[Line]:
        """Paint the piece and lay the quiet colour over it."""
        return [painter.faded(line) for line in self.piece.lines(painter)]


def folds(piece: Piece | None) -> bool:
    """Whether a click on a piece, if there is one, opens and closes the entry."""
    return isinstance(piece, RowPiece | FadedPiece) and piece.fold


def text_pieces(text: str, tone: Tone, indent: int = 0, *, part: str = "text") -> Iterator[TextPiece]:
    """Cut plain text of any length into pieces, at line ends where there are some."""
    start, join = 0, "\n"
    while True:
        stop = _piece_end(text, start)
        at_newline = stop < len(text) and text[stop] == "\n"
        yield TextPiece(text[start:stop], tone, indent=indent, join=join, part=part, start=start)
        start, join = (stop + 1, "\n") if at_newline else (stop, "")
        if stop >= len(text):
            return


def _piece_end(text: str, start: int) -> int:
    limit = start + PIECE_CHARS
    stop = start
    for _ in range(PIECE_LINES):
        following = text.find("\n", stop + 1, limit + 1)
        if following < 0:
            break
        stop = following
    else:
        return stop
    if len(text) <= limit:
        return len(text)
    return stop if stop > start else limit
