"""Widgets that screens share: text fields, long texts, key hints; plain mode; how failed work is reported."""

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
    # Styles come from the first base that is a widget, which has to be the other one.
    Mixed = object

_SIGNS = {
    **{sign: plain for sign, plain in zip(UNICODE, PLAIN, strict=True) if len(sign) == len(plain) == 1},
    **dict(zip(UNICODE.blocks, PLAIN.blocks, strict=True)),
    "→": ">",
    "⚠": "!",
    "│": "|",
    "\u00a0": " ",
}
"""Signs of ours, each of one cell."""
_DOTS = "…"


class PlainDrawing(LineFilter):
    """Paints box drawing and braille as ASCII, cell by cell, whoever wrote it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [_with(segment, without_drawing(segment.text)) for segment in segments]


class PlainSigns(LineFilter):
    """Paints our own signs as ASCII; a line keeps its width."""

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
    """Write three dots for one, in place of two blanks beside it, else of the end of what was cut."""
    for at, sign in enumerate(signs):
        if sign != _DOTS:
            continue
        before, behind = signs[max(0, at - 2) : at], signs[at + 1 : at + 4]
        # A cut text keeps its distance from the edge; dots that stand apart have nothing to give up.
        room = 2 if before[-1:] == [" "] else 3
        if len(behind) >= room and all(each == " " for each in behind):
            signs[at : at + 3] = "..."
        elif len(before) == 2 and all(map(str.isascii, before)) and (before[1] != " " or before[0] == " "):
            signs[at - 2 : at + 1] = "..."
        # Else it stands between two words, as it was written.
    return signs


def _with(segment: Segment, text: str) -> Segment:
    return segment if text == segment.text else Segment(text, segment.style, segment.control)


DRAWING, SIGNS = PlainDrawing(), PlainSigns()


class Exact(Mixed):
    """A widget that shows a text of the user, the model or a tool, sign by sign."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """All that is painted differently, without the spelling of our own signs."""
        return [each for each in super().get_line_filters() if each is not SIGNS]
