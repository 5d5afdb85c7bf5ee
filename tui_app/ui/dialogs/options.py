"""An option list that marks the highlighted row with a sign as well: no state is shown by colour alone."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widgets import OptionList

from tui_app.ui.words.glyphs import UNICODE


class MarkedList(OptionList):
    """A list with a sign at its highlighted row while keys act on it, and headings between rows."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"option-list--sign"}

    def render_line(self, y: int) -> Strip:
        """Draw the sign two cells before the text, and the headings between rows."""
        strip = super().render_line(y)
        acts = self.has_focus or self.has_class("-led")
        at = _option_of(strip) if acts and self.highlighted is not None else None
        if at is None or at != self.highlighted:
            return strip
        if self.scroll_offset.y + y and at == _option_of(super().render_line(y - 1)):
            return strip
        place = self.get_component_styles("option-list--option").padding.left - 2
        style = next(iter(strip.crop(place, place + 1))).style or Style.null()
        accent = self.get_component_rich_style("option-list--sign", partial=True)
        sign = Strip([Segment(UNICODE.collapsed, style + accent)], 1)
        return Strip.join([strip.crop(0, place), sign, strip.crop(place + 1)])


def _option_of(strip: Strip) -> int | None:
    """Return the index of the option shown in a row; None for a row between options."""
    metas = (segment.style.meta for segment in strip if segment.style)
    return next((meta["option"] for meta in metas if "option" in meta), None)
