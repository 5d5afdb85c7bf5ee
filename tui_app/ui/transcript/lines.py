"""Painted lines that remember which part of them is content, and the painter that makes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_app.ui.text import Glyphs, cut_cells, without_drawing
from tui_app.ui.themes import Palette, Tone

GUTTER = 2
"""Cells left of the content, for the signs of focus and marks."""


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
    """The text between this line and the one before it in the original."""
    blank: bool = False
    """A line that only keeps distance."""

    def copied(self, start: int, stop: int | None) -> str:
        """Return the original characters between two columns (in characters right of the gutter)."""
        stop = self.end if stop is None else min(stop, self.end)
        return self.text[max(start, self.lead) : max(stop, self.lead)]

    def highlighted(self, start: int, stop: int, style: Style) -> Strip:
        """Paint the line with a part of its content in another style.

        Args:
            start: First character, right of the gutter.
            stop: Character behind the last one; -1 for the end of the line.
            style: Laid over the content; ornament stays as it is.
        """
        start = max(start, self.lead)
        stop = self.end if stop < 0 else min(stop, self.end)
        if stop <= start:
            return self.strip
        left = GUTTER + cell_len(self.text[:start])
        right = left + cell_len(self.text[start:stop])
        before, inside, *after = self.strip.divide([left, right, self.strip.cell_length])
        marked = Strip([Segment(text, (old or Style.null()) + style) for text, old, _ in inside])
        return Strip.join([before, marked, *after])


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
        return Segment(text, self.palette.style(tone))

    def signed(self, strip: Strip, *, focused: bool, marked: bool) -> Strip:
        """Put the signs of the focus and of a marked entry in the gutter of a line."""
        if marked:
            sign = Strip([self.styled(self.glyphs.check, Tone.MARK)], 1)
            strip = Strip.join([strip.crop(0, 1), sign, strip.crop(GUTTER)])
        if focused:
            strip = Strip.join([Strip([self.styled(self.glyphs.mark, Tone.MARK)], 1), strip.crop(1)])
        return strip
