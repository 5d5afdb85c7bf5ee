"""Plain mode: filters that paint the program's signs and drawings in ASCII."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tui_app.ui.words.glyphs import PLAIN, UNICODE
from tui_app.ui.words.text import without_drawing

if TYPE_CHECKING:
    from textual.widget import Widget

    Mixed = Widget
else:
    # Textual takes styles from the first base that is a widget, which must be the other one.
    Mixed = object

_SIGNS = {
    **{sign: plain for sign, plain in zip(UNICODE, PLAIN, strict=True) if len(sign) == len(plain) == 1},
    **dict(zip(UNICODE.blocks, PLAIN.blocks, strict=True)),
    "→": ">",
    "⚠": "!",
    "│": "|",
    "\u00a0": " ",
}
"""The program's own signs, each of one cell."""
_DOTS = "…"


class PlainDrawing(LineFilter):
    """Paints box drawing and braille characters as ASCII, cell by cell, whatever their origin."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [_with(segment, without_drawing(segment.text)) for segment in segments]


class PlainSigns(LineFilter):
    """Paints the program's own signs as ASCII; a line keeps its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        signs = list("".join(segment.text for segment in segments))
        if "".join(signs).isascii():
            return segments
        spelled = _spelled([_SIGNS.get(sign, sign) for sign in signs])
        painted, at = [], 0
        for segment in segments:
            end = at + len(segment.text)
            painted.append(_with(segment, "".join(spelled[at:end])))
            at = end
        return painted


def _spelled(signs: list[str]) -> list[str]:
    """Write an ellipsis as three dots, over two adjacent blanks or the end of the cut text."""
    for at, sign in enumerate(signs):
        if sign != _DOTS:
            continue
        before, after = signs[max(0, at - 2) : at], signs[at + 1 : at + 4]
        # A cut text keeps its distance from the edge; an ellipsis after a blank has nothing to overwrite.
        room = 2 if before[-1:] == [" "] else 3
        if len(after) >= room and all(each == " " for each in after):
            signs[at : at + 3] = "..."
        elif len(before) == 2 and all(map(str.isascii, before)) and (before[1] != " " or before[0] == " "):
            signs[at - 2 : at + 1] = "..."
        # Otherwise it is between two words, and stays as written.
    return signs


def _with(segment: Segment, text: str) -> Segment:
    return segment if text == segment.text else Segment(text, segment.style, segment.control)


DRAWING, SIGNS = PlainDrawing(), PlainSigns()


class Exact(Mixed):
    """A widget that shows text of the user, the model or a tool unchanged."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return all line filters except the one for the program's own signs."""
        return [each for each in super().get_line_filters() if each is not SIGNS]
