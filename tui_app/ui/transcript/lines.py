"""Painted lines that record which part of them is content, and the painter that makes them."""

from collections.abc import Sequence
from dataclasses import field, replace

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_app.records import frozen
from tui_app.ui.colours.palette import STROKE_CONTRAST, Palette, Tone, legible
from tui_app.ui.words.glyphs import Glyphs
from tui_app.ui.words.text import TAB, cut_cells, without_drawing

GUTTER = 4
"""Cells left of the content: the rail, the focus, the row's sign, and space."""
SIGN = 2
"""Column of the signs that hang left of the text."""
EDGE = 2
"""Cells left free at the right."""
PROSE_CELLS = 96
"""Maximum width of prose in cells: longer lines are hard to read."""


@frozen
class Line:
    """A painted line, including gutter and padding."""

    strip: Strip
    text: str
    """The characters right of the gutter, without padding."""
    lead: int = 0
    """Number of leading characters that are decoration and never copied."""
    end: int = 0
    """End of the content; what follows (a time, a token count) is never copied."""
    join: str = "\n"
    """The original text between the previous line and this one."""
    blank: bool = False
    """Whether the line only adds distance."""
    crosses: bool = False
    """Whether the line runs through the gutter."""

    def copied(self, start: int, stop: int | None) -> str:
        """Return the original characters between two columns (in characters right of the gutter)."""
        stop = self.end if stop is None else min(stop, self.end)
        return self.text[max(start, self.lead) : max(stop, self.lead)]

    def highlighted(self, start: int, stop: int, style: Style) -> Strip:
        """Return the line with a part of its content in another style.

        Args:
            start: First character, right of the gutter.
            stop: Character after the last one; -1 for the end of the line.
            style: Added to the style of the content; decoration stays as it is.
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


def with_tabs(shown: str, source: str) -> str:
    """Restore the tabs that are shown as spaces.

    Args:
        shown: Lines of a text as laid out, or parts of them.
        source: The original text.
    """
    if "\t" not in source or "  " not in shown:
        return shown
    written: dict[str, list[str]] = {}
    for line in source.splitlines():
        if "\t" not in line:
            continue
        for stops in (False, True):
            signs, column = list[str](), 0
            for sign in line:
                cells = len(TAB) - (column % len(TAB) if stops else 0) if sign == "\t" else 1
                # The first cell of a tab has the tab itself, the others are empty.
                signs += [sign, *[""] * (cells - 1)]
                column += cells
            written.setdefault("".join(" " if sign in ("\t", "") else sign for sign in signs), signs)
    lines = shown.split("\n")
    for number, line in enumerate(lines):
        whole = line if line in written else next((each for each in written if line in each), "")
        if "  " in line and whole:
            at = whole.index(line)
            lines[number] = "".join(written[whole][at : at + len(line)])
    return "\n".join(lines)


@frozen
class Painter:
    """Everything that painting depends on except the text; a new painter invalidates all cached lines."""

    palette: Palette
    glyphs: Glyphs
    width: int
    """Width of the content in cells, without gutter and edge."""
    plain: bool = False
    grounds: bool = True
    """Whether parts of the screen have backgrounds; without them, half-block rows have no meaning."""
    console: Console = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "console", self.palette.console())

    def line(
        self,
        segments: Sequence[Segment],
        *,
        lead: int = 0,
        end: int | None = None,
        join: str = "\n",
        sign: Segment | None = None,
        ground: Tone = Tone.TEXT,
    ) -> Line:
        """Make a line from segments, padded to the full width over the base style.

        Args:
            segments: The content.
            lead: Number of leading characters that are decoration.
            end: End of the part that is copied.
            join: Original text between the previous line and this one.
            sign: Hangs left of the content.
            ground: Background, from the sign to the right edge.
        """
        around, base = self.palette.style(Tone.TEXT), self.palette.style(ground)
        # Copying gives the original characters, before the plain-text replacement.
        text = "".join(segment.text for segment in segments).rstrip()
        if self.plain:
            segments = [Segment(without_drawing(part), style) for part, style, _ in segments]
        hung = Segment(" ", base) if sign is None else sign
        air = GUTTER - SIGN - cell_len(hung.text)
        parts = [Segment(" " * SIGN, around), hung, Segment(" " * air, base)]
        parts.extend(Segment(part, base + style if style else base) for part, style, _ in segments)
        strip = Strip(parts).adjust_cell_length(GUTTER + self.width, base)
        strip = strip.adjust_cell_length(GUTTER + self.width + EDGE, around)
        stop = len(text) if end is None else min(end, len(text))
        return Line(strip, text, min(lead, stop), stop, join)

    def spelled(self, text: str) -> str:
        """Return text of the program as it is laid out: in plain mode "…" becomes three cells wide."""
        if not self.plain or text.isascii():
            return text
        return text.replace("…", self.glyphs.dots).replace("·", "-").replace("→", self.glyphs.arrow)

    def fitted(self, text: str, width: int) -> str:
        """Cut a line to a width, with dots where something is cut."""
        text = self.spelled(text)
        if not self.plain or cell_len(text) <= width:
            return cut_cells(text, width)
        return self.spelled(cut_cells(text, width - 2))

    @property
    def prose(self) -> int:
        """Width of prose in cells."""
        return min(self.width, PROSE_CELLS)

    def edge(self, *, top: bool) -> Line:
        """Make the blank line over or under a prompt, half of which has the prompt's background."""
        if not self.grounds:
            return self.gap()
        halves = "▗▄" if top else "▝▀"
        ground, around = self.palette.style(Tone.GROUND), self.palette.style(Tone.TEXT)
        half = around + Style(color=ground.bgcolor)
        corner = Segment(halves[0], around + self.palette.accent_of(Tone.USER))
        line = self.line([Segment(halves[1] * self.width, half)], end=0, sign=corner)
        strip = Strip.join(
            [line.strip.crop(0, SIGN + 1), Strip([Segment(halves[1], half)], 1), line.strip.crop(GUTTER)]
        )
        return replace(line, strip=strip, text="", blank=True)

    def crossed(self, segments: Sequence[Segment], tone: Tone, *, end: int) -> Line:
        """Make a line that begins at the rail with the product's sign and runs through the gutter."""
        line = self.line(segments, end=end)
        through = self.glyphs.load_line + self.glyphs.gauge_full * (GUTTER - SIGN)
        start = Strip([self.styled(f"{through:<{GUTTER}}", tone)], GUTTER)
        return replace(line, strip=Strip.join([start, line.strip.crop(GUTTER)]), crosses=True)

    def small(self, ground: Tone) -> Style:
        """Return the style of small figures on a background."""
        style = self.palette.style(ground) + Style(color=self.palette.style(Tone.FAINT).color)
        return legible(style, STROKE_CONTRAST)

    def gap(self) -> Line:
        """Make a line that only adds distance."""
        return replace(self.line(()), blank=True)

    def faded(self, line: Line) -> Line:
        """Return a line one level dimmer and without hue: text becomes dim, dim text faint."""
        quiet = {self.palette.style(tone).color for tone in (Tone.DIM, Tone.TOOL, Tone.FAINT)}
        dim, faint = (self.palette.style(tone).color for tone in (Tone.DIM, Tone.FAINT))
        if self.palette.style(Tone.TEXT).color in quiet:
            # A terminal's own colours have no middle level, so prose keeps its own to stay readable.
            quiet = {faint}
        ground = self.palette.style(Tone.TEXT).bgcolor
        parts = [
            Segment(
                text,
                (style or Style.null())
                + Style(color=faint if style and style.color in quiet else dim, bgcolor=ground),
            )
            for text, style, _ in line.strip
        ]
        return replace(line, strip=Strip(parts, line.strip.cell_length))

    def styled(self, text: str, tone: Tone) -> Segment:
        return Segment(text, self.palette.style(tone))

    def signed(
        self, strip: Strip, *, rail: Segment | None, focused: bool, marked: bool, leads: bool
    ) -> Strip:
        """Put the rail and the signs for focus and mark into the gutter of a line.

        Args:
            strip: The line.
            rail: The sign for what the model sees of it.
            focused: Whether keys act on its entry.
            marked: Whether its entry is marked.
            leads: Whether it is the first line of its entry that has words.
        """
        first = rail or Segment(" ", self.palette.style(Tone.TEXT))
        here = self.glyphs.collapsed if leads else self.glyphs.pipe
        sign = self.glyphs.check if marked else here if focused else " "
        return Strip.join([Strip([first, self.styled(sign, Tone.MARK)], 2), strip.crop(SIGN)])
