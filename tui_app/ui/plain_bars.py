"""Scroll bars of whole cells, for terminals and people that take block signs for text."""

from typing import ClassVar

from textual.scrollbar import ScrollBar, ScrollBarRender


class PlainBars(ScrollBarRender):
    """Draws a bar with blanks alone; its colours say where it stands."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def use_plain_bars() -> None:
    """Draw all scroll bars of this process so; Textual offers no place that is nearer to one application."""
    ScrollBar.renderer = PlainBars
