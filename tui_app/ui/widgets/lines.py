"""One painted line that remembers which part of it is content, and how text is broken into lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.cells import cell_len, get_character_cell_size
from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import cut_cells, without_drawing
from tui_app.ui.widgets.palette import Palette, Tone

GUTTER = 2
"""Cells left of the content, where the focus mark stands."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is painted, gutter and padding included."""

    strip: Strip
    text: str
    """The characters right of the gutter, without padding."""
    lead: int = 0
    """Number of characters at the start that are decoration and never copied."""
    end: int = 0
    """Where the content ends; what follows (a time, a token count) is never copied."""
    join: str = "\n"
    """What stands between this line and the one before it in the original text."""
    blank: bool = False
    """A line that only keeps distance."""

    def copied(self, start: int, stop: int | None) -> str:
        """Return the original characters between two columns (in characters right of the gutter)."""
        stop = self.end if stop is None else min(stop, self.end)
        return self.text[max(start, self.lead) : max(stop, self.lead)]


@dataclass(frozen=True)
class Painter:
    """Everything that painting depends on beside the text; a new one makes all cached lines stale."""

    palette: Palette
    glyphs: Glyphs
    width: int
    """Cells of the content, gutter excluded."""
    plain: bool = False
    console: Console = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "console", self.palette.console())

    def line(
        self, segments: Sequence[Segment], *, lead: int = 0, end: int | None = None, join: str = "\n"
    ) -> Line:
        """Make a line from segments, padded to the full width over the base style."""
        base = self.palette.style(Tone.TEXT)
        # What is copied is what was written.
        text = "".join(segment.text for segment in segments).rstrip()
        if self.plain:
            segments = [Segment(without_drawing(part), style) for part, style, _ in segments]
        parts = [Segment(" " * GUTTER, base)]
        parts.extend(Segment(part, base + style if style else base) for part, style, _ in segments)
        strip = Strip(parts).adjust_cell_length(GUTTER + self.width, base)
        stop = len(text) if end is None else min(end, len(text))
        return Line(strip, text, min(lead, stop), stop, join)

    def spelled(self, text: str) -> str:
        """A row of ours as it is laid out: in plain ASCII dots take three cells, which must be counted."""
        if not self.plain or text.isascii():
            return text
        return text.replace("…", self.glyphs.dots).replace("·", "-").replace("→", self.glyphs.arrow)

    def fitted(self, text: str, width: int) -> str:
        """Cut one line to a width; dots say that something is missing."""
        text = self.spelled(text)
        if not self.plain or cell_len(text) <= width:
            return cut_cells(text, width)
        return self.spelled(cut_cells(text, width - 2))

    def gap(self) -> Line:
        """Make a line that only keeps distance."""
        return replace(self.line(()), blank=True)

    def faded(self, line: Line) -> Line:
        """A line with all of its text in the quiet colour."""
        over = self.palette.accent_of(Tone.DIM)
        return replace(line, strip=Strip(Segment.apply_style(line.strip, post_style=over)))

    def styled(self, text: str, tone: Tone) -> Segment:
        """Make one segment in a tone."""
        return Segment(text, self.palette.style(tone))


def wrap_spans(text: str, width: int) -> Iterator[tuple[int, int, str]]:
    r"""Break text into lines at spaces, or anywhere when a word is wider than a line.

    Joining the spans with their ``join`` gives back the text exactly.

    Args:
        text: Clean text; each ``\n`` begins a line.
        width: Width in cells, at least 1.

    Yields:
        Start, end, and what stood before the line: newline, one space, or nothing.
    """
    width = max(1, width)
    start, join = 0, "\n"
    while True:
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        yield from _wrap_one(text, start, stop, width, join)
        if stop == len(text):
            return
        start = stop + 1


def _wrap_one(text: str, start: int, stop: int, width: int, join: str) -> Iterator[tuple[int, int, str]]:
    while True:
        cut = _fit(text, start, stop, width)
        if cut >= stop:
            yield start, stop, join
            return
        space = text.rfind(" ", start, cut + 1)
        if space > start and not text[start:space].isspace():
            yield start, space, join
            start, join = space + 1, " "
        else:
            yield start, cut, join
            start, join = cut, ""


def _fit(text: str, start: int, stop: int, width: int) -> int:
    """Return the end of the longest run that is at most ``width`` cells wide; one character at least."""
    near = min(stop, start + width)
    piece = text[start:near]
    if piece.isascii() or cell_len(piece) == len(piece):
        return near
    used = 0
    for index in range(start, stop):
        used += get_character_cell_size(text[index])
        if used > width:
            return max(index, start + 1)
    return stop
