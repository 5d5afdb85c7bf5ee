"""A list whose chosen row has a sign as well: no state is told by colour alone."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widgets import OptionList

from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import cut_cells


class MarkedList(OptionList):
    """A list with a sign at its chosen row where keys act on it, and heads between its rows."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"option-list--sign", "option-list--head"}
    heads: Mapping[int, str] = MappingProxyType({})
    """What stands in the blank row in front of an option, by its place."""

    def render_line(self, y: int) -> Strip:
        """Put the sign two cells in front of the text, and heads between the rows."""
        strip = super().render_line(y)
        at = _option_of(strip)
        place = self.get_component_styles("option-list--option").padding.left - 2
        above = _option_of(super().render_line(y - 1)) if self.scroll_offset.y + y else None
        if at is None and above is not None and (head := self.heads.get(above + 1)):
            style = self.get_component_rich_style("option-list--head")
            text = cut_cells(f"{' ' * (place + 2)}{head}", strip.cell_length)
            return Strip([Segment(text, style)]).extend_cell_length(strip.cell_length, style)
        acts = self.has_focus or self.has_class("-led")
        if at is None or at == above or not acts or at != self.highlighted:
            return strip
        style = next(iter(strip.crop(place, place + 1))).style or Style.null()
        accent = self.get_component_rich_style("option-list--sign", partial=True)
        sign = Strip([Segment(UNICODE.collapsed, style + accent)], 1)
        return Strip.join([strip.crop(0, place), sign, strip.crop(place + 1)])


def _option_of(strip: Strip) -> int | None:
    """The place of the option that a row of a list shows; None for a row between options."""
    metas = (segment.style.meta for segment in strip if segment.style)
    return next((meta["option"] for meta in metas if "option" in meta), None)
