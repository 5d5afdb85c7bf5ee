"""What plain mode paints: no frames and dots that are drawn, and our own signs in ASCII.

All of it happens to painted lines, in one place, so that no widget can forget it and nothing is copied
otherwise than it was written. A prompt, an answer or an output loses only what is drawn (:class:`Exact`).
Everything else is ours: ``·`` is ``-``, and what was cut ends in ``...``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.scrollbar import ScrollBar, ScrollBarRender

from tui_app.ui.text import without_drawing

if TYPE_CHECKING:
    from textual.widget import Widget as _Mixed
else:
    # Styles come from the first base that is a widget, which has to be the other one.
    _Mixed = object

_SIGNS = {
    "·": "-", "•": "-", "→": ">", "↓": "v", "✓": "+", "✗": "x", "▸": ">", "›": ">", "×": "x", "⊖": "@",
    "\u00a0": " ",
}  # fmt: skip
"""Signs of ours that words hold, each of one cell."""
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
        if len(behind) > 1 and all(each == " " for each in behind):
            signs[at : at + 3] = "..."
        elif len(before) == 2 and all(map(str.isascii, before)) and (before[1] != " " or before[0] == " "):
            signs[at - 2 : at + 1] = "..."
        # Else it stands between two words, as it was written.
    return signs


def _with(segment: Segment, text: str) -> Segment:
    return segment if text == segment.text else Segment(text, segment.style, segment.control)


DRAWING, SIGNS = PlainDrawing(), PlainSigns()


class Exact(_Mixed):
    """A widget that shows a text of the user, the model or a tool, sign by sign."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """All that is painted differently, without the spelling of our own signs."""
        return [each for each in super().get_line_filters() if each is not SIGNS]


# Scroll bars of whole cells, for terminals and people that take block signs for text.


class PlainBars(ScrollBarRender):
    """Draws a bar with blanks alone; its colours say where it stands."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def use_plain_bars() -> None:
    """Draw all scroll bars of this process so; Textual offers no place that is nearer to one application."""
    ScrollBar.renderer = PlainBars


# How well one colour can be told from another (WCAG 2.2, "contrast ratio").

MIN_CONTRAST = 4.5
"""Ratio that WCAG 2.2 (1.4.3, level AA) asks for text."""


def contrast(one: Color, other: Color) -> float:
    """The ratio of two opaque colours, from 1 (the same) to 21 (black and white)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
