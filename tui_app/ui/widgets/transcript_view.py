"""The painting half of the transcript: a scrolling view of lines that are made when they become visible."""

from dataclasses import replace
from datetime import tzinfo

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui_app.plurals import count
from tui_app.session.entries import Bodies
from tui_app.ui.glyphs import PLAIN, Glyphs
from tui_app.ui.plain_lines import Exact
from tui_app.ui.widgets.entry_wording import Wording
from tui_app.ui.widgets.found import Found
from tui_app.ui.widgets.layout import Layout
from tui_app.ui.widgets.lines import GUTTER, Painter
from tui_app.ui.widgets.palette import PLAIN_PALETTE, Palette, Tone, legible
from tui_app.ui.widgets.selecting import highlight, row_of, selected_text, signed, whole
from tui_app.ui.widgets.viewport import Viewport

_NEAR_PAGES = 3
"""A move by more pages than this jumps by the guessed heights instead of measuring every line between."""


class TranscriptView(Exact, ScrollView, can_focus=True, inherit_bindings=False):
    """Lines, colours, scrolling and selection of a conversation.

    The scroll position follows the content, not the other way round: Textual's ``scroll_y`` is set from the
    entry that stands at the top, and what a person scrolls is turned back into an entry and a line.
    """

    COMPONENT_CLASSES = {tone.value for tone in Tone}  # noqa: RUF012 (declared so by Textual)
    DEFAULT_CSS = """
    TranscriptView {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        & > .transcript--role { text-style: bold; }
        & > .transcript--dim { color: $foreground 70%; }
        & > .transcript--tool { color: $foreground 85%; }
        & > .transcript--accent { color: $text-accent; text-style: bold; }
        & > .transcript--error { color: $text-error; }
        & > .transcript--warning { color: $text-warning; }
        & > .transcript--heading { color: $text-primary; text-style: bold; }
        & > .transcript--code { color: $foreground; text-style: bold; }
        & > .transcript--link { color: $text-accent; text-style: underline; }
        & > .transcript--keyword { color: $text-accent; }
        & > .transcript--string { color: $text-success; }
        & > .transcript--comment { color: $foreground 70%; text-style: italic; }
        & > .transcript--number { color: $text-warning; }
        & > .transcript--name { color: $text-primary; }
        & > .transcript--added { color: $text-success; }
        & > .transcript--removed { color: $text-error; }
        & > .transcript--mark { color: $text-accent; text-style: bold; }
        & > .transcript--found { background: $warning-muted; color: $text-warning; text-style: underline; }
        & > .transcript--here { background: $accent; color: $background; text-style: bold underline; }
        & > .transcript--unread { background: $accent-muted; color: $text-accent; text-style: bold; }
    }
    """

    cursor: var[int | None] = var(None, init=False)
    """Index of the entry that keys act on; one behind the last is the live answer."""
    unread: reactive[int] = reactive(0, init=False)
    """Lines that were added below while the person reads further up."""
    plain: reactive[bool] = reactive(False, init=False)
    """ASCII signs and role words before every message."""

    class UnreadChanged(Message):
        """The number of unread lines changed."""

        def __init__(self, view: "TranscriptView", unread: int) -> None:
            super().__init__()
            self.view = view
            self.unread = unread

        @property
        def control(self) -> "TranscriptView":
            """The view that sent it."""
            return self.view

    def __init__(
        self,
        bodies: Bodies,
        glyphs: Glyphs,
        *,
        tz: tzinfo | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._wording = Wording(glyphs=glyphs, tz=tz)
        self._glyphs = glyphs
        self._pages = Layout(bodies, Painter(PLAIN_PALETTE, glyphs, 80), self._wording)
        self._viewport = Viewport(self._pages)
        self._placed_y = 0
        self._placing = False
        self._palette_stale = False
        self._found: Found | None = None
        self._marks: set[int] = set()
        """Log numbers of the entries that are marked."""

    # Size and colours

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again for another width; the entry at the top of the window stays there."""
        region = self.scrollable_content_region
        self._viewport.rows = region.height
        if region.width - GUTTER != self._pages.painter.width or self._pages.painter.palette is PLAIN_PALETTE:
            self._repaint()
        self._place()

    def watch_plain(self, plain: bool) -> None:
        """Change signs and words."""
        glyphs = PLAIN if plain else self._glyphs
        self._wording = self._wording._replace(glyphs=glyphs, plain=plain)
        if self.is_mounted and self.size:
            self._repaint()
            self._place()

    def notify_style_update(self) -> None:
        """Remember that the theme may have changed; colours are looked up again when painting."""
        super().notify_style_update()
        self._palette_stale = True

    def _repaint(self) -> None:
        mark = self._viewport.mark()
        self._pages.repaint(self._painter(), self._wording)
        self._viewport.restore(mark)

    def _painter(self) -> Painter:
        self._palette_stale = False
        width = max(8, self.scrollable_content_region.width - GUTTER)
        palette = Palette({tone: legible(self.get_component_rich_style(tone.value)) for tone in Tone})
        return Painter(palette, self._wording.glyphs, width, plain=self.plain)

    def _refresh_palette(self) -> None:
        painter = self._painter()
        if painter.palette != self._pages.painter.palette and painter.width == self._pages.painter.width:
            self._pages.recolour(painter)

    # Scrolling

    def _place(self, changed_from: int = 0) -> None:
        """Measure what is visible and put Textual's scroll position where the content is.

        Args:
            changed_from: First line of the conversation that may look different if nothing is scrolled.
        """
        if not self._viewport.rows:
            return
        y = self._viewport.settle()
        self._placing = True
        self._set_total(self._pages.total)
        self.scroll_to(y=y, animate=False, force=True)
        # Textual moves the bar with the text only once it is shown, which may be later.
        self.vertical_scrollbar.position = y
        self._placing = False
        still, self._placed_y = y == self._placed_y, y
        if self._viewport.following:
            self.unread = 0
        first = max(0, changed_from - y) if still else 0
        self.refresh(Region(0, first, self.size.width, max(1, self.size.height - first)))

    def _set_total(self, total: int) -> None:
        """Tell Textual the height of the conversation.

        Its own way lays the whole screen out again, many times a second while an answer grows; that is needed
        only when the scroll bar comes or goes.
        """
        size, rows = Size(self._pages.painter.width + GUTTER, total), self._viewport.rows
        if (total > rows) == self.show_vertical_scrollbar and size.width == self.virtual_size.width:
            self.set_reactive(TranscriptView.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = total
        else:
            self.virtual_size = size
            self.refresh(layout=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Turn what the person scrolled into a place in the conversation."""
        super().watch_scroll_y(old_value, new_value)
        lines = round(new_value) - self._placed_y
        if self._placing or not lines or self._is_resizing:
            return
        if abs(lines) <= _NEAR_PAGES * self._viewport.rows:
            self._viewport.scroll(lines)
        else:
            self._viewport.go(round(new_value))
        self._place()

    @property
    def _is_resizing(self) -> bool:
        """Whether the window has another height than was placed for: Textual moves it then, not a person."""
        return self.scrollable_content_region.height != self._viewport.rows

    def scroll_lines(self, lines: int) -> None:
        """Scroll by some lines, negative upwards; works without focus."""
        self._viewport.scroll(lines)
        self._place()

    def watch_unread(self, unread: int) -> None:
        """Tell others, and repaint the row that says it."""
        self.post_message(self.UnreadChanged(self, unread))
        self.refresh()

    def shed(self) -> None:
        """Let go of lines further than a window away from what is on screen."""
        rows, first = self._viewport.rows, self._placed_y
        above, below = max(0, first - rows), min(self._pages.total, first + 2 * rows)
        self._pages.shed(self._pages.slot_at(above), self._pages.slot_at(below))

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows past Textual's cache: it knows them by place, and streaming moves them all."""
        filters, background = self.get_line_filters(), self.background_colors[1]
        base = self._pages.painter.palette.style(Tone.TEXT)
        strips = []
        for y in crop.line_range:
            strip = self.render_line(y).crop_extend(crop.x, crop.right, base)
            for each in filters:
                strip = strip.apply_filter(each, background)
            strips.append(strip)
        return strips

    def render_line(self, y: int) -> Strip:
        """Paint one line of the window."""
        if self._palette_stale:
            self._refresh_palette()
        painter = self._pages.painter
        base = painter.palette.style(Tone.TEXT)
        width = self.scrollable_content_region.width
        if not self._viewport.rows:
            return Strip.blank(width, base)
        if self.unread and y == self._viewport.rows - 1:
            return self._unread_row(width)
        spot = self._pages.spot_at(self.scroll_offset.y + y)
        line = self._pages.line(spot) if self.scroll_offset.y + y < self._pages.total else None
        if line is None:
            return Strip.blank(width, base).apply_offsets(0, row_of(self._pages.end))
        row = row_of(spot)
        for start, stop, here in self._found.spans(self._pages, spot) if self._found else ():
            tone = painter.palette.style(Tone.HERE if here else Tone.FOUND)
            line = replace(line, strip=highlight(line, (start, stop), tone))
        strip = line.strip
        selection = self.text_selection
        span = selection.get_span(row) if selection is not None else None
        if span is not None:
            strip = highlight(line, span, self.screen.get_component_rich_style("screen--selection"))
        if not line.blank:
            focused = spot.slot == self.cursor and self.has_focus
            strip = signed(strip, painter, focused=focused, marked=self._is_marked(spot.slot))
        return strip.crop_extend(0, width, base).apply_offsets(-GUTTER, row)

    def _is_marked(self, slot: int) -> bool:
        return (
            bool(self._marks)
            and slot < len(self._pages.entries)
            and self._pages.entries[slot].seq in self._marks
        )

    def _unread_row(self, width: int) -> Strip:
        lines = count(self.unread, "new line")
        text = f" {self._wording.glyphs.down} {lines} "
        painter = self._pages.painter
        left = max(0, width - cell_len(text) - 1)
        base = painter.palette.style(Tone.TEXT)
        strip = Strip([Segment(" " * left, base), painter.styled(text, Tone.UNREAD)])
        return strip.adjust_cell_length(width, base)

    # Selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the original text of a selection, for copying."""
        text = selected_text(self._pages, selection)
        return (text, "\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        """Repaint the highlight."""
        self.refresh()

    def text_select_all(self) -> None:
        """Select the entry under the mouse (a double click), not the whole conversation."""
        if self.cursor is not None:
            self.screen.selections = {self: whole(self.cursor)}

    def slot_at(self, offset: Offset) -> int | None:
        """Find the entry at an offset in the window; None below the last one."""
        y = self.scroll_offset.y + offset.y
        return self._pages.slot_at(y) if 0 <= y < self._pages.total else None
