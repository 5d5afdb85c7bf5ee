"""The transcript: all entries of a conversation, with the streaming answer at its end."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from time import monotonic
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment, Segments
from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from tui_app.session.views.entries import Bodies, Entry
from tui_app.ui.colours.palette import PLAIN_PALETTE, Palette, Tone
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.transcript.entries import LiveMessage, Rail, Wording, foldable, has_details, has_lines
from tui_app.ui.transcript.excerpts import Excerpt
from tui_app.ui.transcript.highlights import Highlights
from tui_app.ui.transcript.layout import START, Layout, Spot, Viewport
from tui_app.ui.transcript.lines import EDGE, GUTTER, Painter
from tui_app.ui.transcript.pieces import folds
from tui_app.ui.transcript.search import Hit
from tui_app.ui.widgets.long_text import PaintedRows
from tui_app.ui.widgets.widgets import Exact
from tui_app.ui.words.glyphs import PLAIN, UNICODE
from tui_app.ui.words.text import count

FRAMES_PER_SECOND = 40
NO_ROW = "No row is marked: press tab, then up."
STREAM_END = "▍"
"""Drawn after the last word of an answer while it streams."""
_NOW_S = 0.004
"""Seconds: text that arrives this close to the next frame is painted at once."""
_NEAR_PAGES = 3
"""Scrolling by more pages than this uses the estimated heights instead of measuring every line on the way."""
_STEP = 3
"""Lines that an arrow key scrolls within an entry taller than the window."""
_LEAST_ABOVE = 3
"""Minimum number of lines shown above a search hit, if there are that many."""
_WORD = re.compile(r"[\w@#%&+=?~/.:-]*[\w@#%&+=~/]")
"""What a double click selects: characters of paths and URLs belong to the word, trailing punctuation does
not.
"""
_UNDOABLE = ("compaction", "rewrite", "files", "clear")

Wish = Literal["pin", "exclude", "text", "code", "markdown", "archive", "offload"]
"""Actions on entries: pin, exclude, three ways to copy, archive and offload."""
Want = Literal[Wish, "nothing", "details", "undo", "up_to", "from"]
"""`Wish`, and what a key on a single entry requests: its details, undo, or a compaction up to it or from it
on.
"""


class ThinBar(ScrollBarRender):
    """A scroll bar drawn as a line: thin for the track, heavy for the visible part."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for bar in super().__rich_console__(console, options):
            if not isinstance(bar, Segments):
                yield bar
                continue
            cells = []
            for cell in bar.segments:
                # The style's metadata carries what a click or drag on this cell does.
                style = cell.style or Style.null()
                thin = style.color is None
                drawn = Style(color="bright_black", dim=True) if thin else Style(reverse=False)
                cells.append(Segment("│" if thin else "┃", style + drawn))
            yield Segments(cells, new_lines=True)

    @classmethod
    def drawn_for(cls, bar: ScrollBar) -> list[Segment]:
        """Return the cells of a bar in its current state; empty if there is nothing to scroll."""
        size, virtual, window = bar.size.height, bar.window_virtual_size, bar.window_size
        return list(cls.render_bar(size, virtual, window, bar.position).segments) if virtual > window else []


def why_not_undone(entry: Entry | None) -> str:
    """Explain why an entry cannot be undone; empty if it can. None means that no row is selected."""
    if entry is None:
        return NO_ROW
    if entry.guard or (entry.kind in _UNDOABLE and entry.state == "ok"):
        return ""
    if entry.kind not in _UNDOABLE:
        return _NEVER
    again = " /redo applies it again." if entry.kind == "compaction" else ""
    reasons = {"running": "This is still running: esc stops it.", "undone": f"This is already undone.{again}"}
    return reasons.get(entry.state, "This changed nothing, so there is nothing to undo.")


_NEVER = "This row cannot be undone: u is for compactions, rewrites, rewinds, restored files and guards."
_GOES_ON = frozenset({"user", "shell", "compaction", "error"})
"""Entry kinds that end the view of a row shown from its beginning and scroll to the end again."""


class Transcript(Exact, PaintedRows, can_focus=True, inherit_bindings=False):
    """Shows entries and streamed text, and lets the user move through them, mark, search and select.

    Call :meth:`set_entries` when a session opens, then :meth:`append` and :meth:`replace` for later changes.
    A streamed answer is one :meth:`live_start`, any number of :meth:`live_append` and one :meth:`live_end`.
    The finished entry, appended afterwards, replaces the live one without moving a line.

    The scroll position follows the content, not the other way round: Textual's ``scroll_y`` is computed from
    the entry at the top, and scrolling by the user is converted back to an entry and a line. Colours come
    from :class:`~tui_app.ui.colours.palette.Palette`.
    """

    HELP = (
        "The conversation. Arrow keys move from entry to entry, enter opens one, end returns to the newest."
    )
    BINDINGS = place_bindings("transcript")

    cursor: var[int | None] = var(None, init=False)
    """Index of the entry that keys act on. The live answer's index is the number of finished entries."""
    unread: var[int] = var(0, init=False)
    """Number of lines added below while the user is scrolled up."""
    plain: reactive[bool] = reactive(False, init=False)
    """Use ASCII signs and put the role before every message."""
    scale: reactive[float] = reactive(1.0, init=False)
    """Model tokens per locally counted token."""

    @dataclass
    class Asked(Message):
        """Requests an action on entries: the marked ones, or the one under the cursor."""

        wanted: Want
        entries: Sequence[Entry] = ()
        why_not: str = ""
        """Why the action is not possible; empty if it is."""

    @dataclass
    class MarksChanged(Message):
        """Posted when the marked entries change."""

        count: int

    def __init__(self, bodies: Bodies, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._wording = Wording(UNICODE)
        self._pages = Layout(bodies, Painter(PLAIN_PALETTE, UNICODE, 80), self._wording)
        self._viewport = Viewport(self._pages)
        self._placed_y = 0
        self._placing = False
        self._palette_stale = False
        self._live_timer: Timer | None = None
        self._live_due = 0.0
        self._found: Highlights | None = None
        self._marks: set[int] = set()
        """Log numbers of the marked entries."""
        self._anchor: int | None = None
        """Slot of the entry at which marking began."""
        self._begun: Spot | None = None
        """Top spot set by `show_beginning` rather than by the user."""

    def on_mount(self) -> None:
        """Draw the scroll bar as a line."""
        self.vertical_scrollbar.renderer = ThinBar  # type: ignore[misc]  # documented by Textual

    # Content

    @property
    def entries(self) -> Sequence[Entry]:
        """Every finished entry, oldest first."""
        return self._pages.entries

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Replace the conversation and scroll to its end; a few milliseconds for ten thousand entries."""
        self._stop_timer()
        self._pages.set_entries(entries)
        self.cursor = None
        self._found = None
        self._marks.clear()
        self._viewport.following = True
        self.unread = 0
        self._moved()

    def prepend(self, entries: Sequence[Entry]) -> None:
        """Add older entries at the top without moving the visible lines."""
        moved, top = len(entries), self._viewport.top
        self._pages.prepend(entries)
        is_begun = top == self._begun
        self._viewport.top = top._replace(slot=top.slot + moved)
        self._begun = self._viewport.top if is_begun else None
        if self.cursor is not None:
            self.cursor += moved
        if self._anchor is not None:
            self._anchor += moved
        if self._found is not None and self._found.here is not None:
            self._found.here = self._found.here._replace(slot=self._found.here.slot + moved)
        self._moved()

    def _moved(self) -> None:
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()
        self._place()

    def append(self, entry: Entry) -> None:
        """Add an entry at the end, before the live answer if it is still streaming."""
        before = self._pages.total
        if entry.kind in _GOES_ON and self._viewport.top == self._begun:
            self._viewport.following = True
        self._added(self._pages.append(entry), before)

    def replace(self, *entries: Entry) -> None:
        """Replace the entries with the same log numbers; unknown log numbers are ignored."""
        slots = [self._pages.replace(entry) for entry in entries]
        if any(slot is not None for slot in slots):
            self._place()

    def jump_to(self, seq: int) -> None:
        """Scroll to the entry with a log number and put the cursor on it."""
        slot = self._pages.slots.get(seq)
        if slot is not None:
            self.cursor = slot
            self._viewport.show(Spot(slot, 0, 0))
            self._place()

    def show_beginning(self, seq: int) -> None:
        """Show a row that was not streamed from its first line, unless the user has scrolled up."""
        slot = self._pages.slots.get(seq)
        if slot is not None and self._viewport.following:
            self._viewport.reveal(slot)
            self._place()
            self._begun = None if self._viewport.following else self._viewport.top

    @property
    def follows(self) -> bool:
        """Whether the view is at the end and follows new content."""
        return self._viewport.following

    # The live answer

    def live_start(self) -> None:
        self._stop_timer()
        self._pages.expanded.discard(0)
        self._pages.set_live(LiveMessage())
        self._place()

    def live_append(self, text: str = "", thinking: str = "") -> None:
        """Add streamed text. Everything that arrives within one frame is painted together."""
        if self._pages.live is None:
            self.live_start()
        if self._pages.live is not None:
            self._pages.live.append(text, thinking)
        if self._live_timer is None and self.is_mounted:
            wait = self._live_due - monotonic()
            if wait <= _NOW_S:
                self.live_flush()
            else:
                self._live_timer = self.set_timer(wait, self.live_flush)

    def live_flush(self) -> None:
        """Paint what has arrived without waiting for the next frame."""
        self._stop_timer()
        self._live_due = monotonic() + 1 / FRAMES_PER_SECOND
        if self._pages.live is not None:
            before, growing = self._pages.total, self._pages.growing_from
            self._pages.refresh_live()
            self._added(len(self._pages) - 1, before, growing)

    def live_end(self) -> None:
        """End the answer. It stays visible until its finished entry, or the next prompt, is appended."""
        if self._pages.live is not None:
            self._pages.live.ended = True
            self.live_flush()
            if self._pages.live.empty:
                self._pages.set_live(None)
                self._place()

    def _stop_timer(self) -> None:
        if self._live_timer is not None:
            self._live_timer.stop()
            self._live_timer = None

    def _added(self, slot: int, total_before: int, changed_from: int = 0) -> None:
        if not self._viewport.following:
            self._pages.measure(slot)
            self.unread = max(0, self.unread + self._pages.total - total_before)
        self._place(changed_from)

    # Size and colours

    def on_resize(self, event: events.Resize) -> None:
        """Wrap for the new width, keeping the entry at the top of the window in place."""
        region = self.scrollable_content_region
        self._viewport.rows = region.height
        painter = self._pages.painter
        if region.width - GUTTER - EDGE != painter.width or painter.palette is PLAIN_PALETTE:
            self._repaint()
        self._place()

    def watch_plain(self, plain: bool) -> None:
        self._wording = self._wording._replace(glyphs=PLAIN if plain else UNICODE, plain=plain)
        self._respell()

    def notify_style_update(self) -> None:
        """Note that the theme may have changed; colours are looked up at the next paint."""
        super().notify_style_update()
        self._palette_stale = True

    def use_keymap(self, keymap: Mapping[str, str]) -> None:
        """Show the keys as the user has mapped them."""
        self._wording = self._wording._replace(keymap=keymap)
        self._respell()

    def _respell(self) -> None:
        self._pages.reword(self._wording)
        if self.is_mounted and self.size:
            self._repaint()
            self._place()

    def watch_scale(self, scale: float) -> None:
        """Show token counts on another scale; no line moves."""
        self._wording = self._wording._replace(scale=scale)
        self._pages.reword(self._wording)
        self._place()

    def _repaint(self) -> None:
        mark = self._viewport.mark()
        self._pages.repaint(self._painter(), self._wording)
        self._viewport.restore(mark)

    def _painter(self) -> Painter:
        self._palette_stale = False
        width = max(8, self.scrollable_content_region.width - GUTTER - EDGE)
        # Half-block rows need a background that differs: with the terminal's own colours or none they would
        # show as bars.
        grounds = not (self.plain or self.app.no_color or self.app.native_ansi_color)
        return Painter(Palette.of(self), self._wording.glyphs, width, plain=self.plain, grounds=grounds)

    # Scrolling

    def _place(self, changed_from: int = 0) -> None:
        """Measure what is visible and set Textual's scroll position to match the content.

        Args:
            changed_from: First line of the conversation whose look may differ if the position is unchanged.
        """
        if not self._viewport.rows:
            return
        y = self._viewport.settle()
        self._placing = True
        # Setting ``virtual_size`` lays out the whole screen again, many times per second while an answer
        # streams. It is needed only when the scroll bar appears or disappears.
        size = Size(self._pages.painter.width + GUTTER + EDGE, self._pages.total)
        has_bar = size.height > self._viewport.rows or self.styles.overflow_y == "scroll"
        if has_bar == self.show_vertical_scrollbar and size.width == self.virtual_size.width:
            self.set_reactive(Transcript.virtual_size, size)
            bar = self.vertical_scrollbar
            drawn = ThinBar.drawn_for(bar)
            bar.set_reactive(ScrollBar.window_virtual_size, size.height)
            cells = enumerate(zip_longest(drawn, ThinBar.drawn_for(bar)))
            if changed := [Region(0, row, 1, 1) for row, (was, now) in cells if was != now]:
                bar.refresh(*changed)
        else:
            self.virtual_size = size
            # Textual re-evaluates the bar only if the size differs from the widget's, not if the content just
            # fits.
            self.show_vertical_scrollbar = self.vertical_scrollbar.display = has_bar
            self.refresh(layout=True)
        self.scroll_to(y=y, animate=False, force=True)
        # Textual moves the bar with the text only once it is visible, which may be later.
        self.vertical_scrollbar.position = y
        self._placing = False
        still, self._placed_y = y == self._placed_y, y
        if self._viewport.following:
            self.unread = 0
        first = max(0, changed_from - y) if still else 0
        self.refresh(Region(0, first, self.size.width, max(1, self.size.height - first)))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Convert scrolling by the user into a place in the conversation."""
        super().watch_scroll_y(old_value, new_value)
        lines = round(new_value) - self._placed_y
        # If the height is not the one placed for, Textual moved the window, not the user.
        resizing = self.scrollable_content_region.height != self._viewport.rows
        if self._placing or not lines or resizing:
            return
        if abs(lines) <= _NEAR_PAGES * self._viewport.rows:
            self._viewport.scroll(lines)
        else:
            self._viewport.go(round(new_value))
        self._place()

    def scroll_lines(self, lines: int) -> None:
        """Scroll by a number of lines, negative for up; works without focus."""
        self._viewport.scroll(lines)
        self._place()

    def watch_unread(self) -> None:
        """Repaint only the row that shows the count: many lines per second may arrive below."""
        self.refresh(Region(0, self._viewport.rows - 1, self.size.width, 1))

    def shed(self) -> None:
        """Drop painted lines more than one window away from the visible ones."""
        rows, first = self._viewport.rows, self._placed_y
        above, below = max(0, first - rows), min(self._pages.total, first + 2 * rows)
        self._pages.shed(self._pages.slot_at(above), self._pages.slot_at(below))

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint rows without Textual's cache, which is keyed by position: streaming moves every row."""
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
        if self._palette_stale:
            painter, former = self._painter(), self._pages.painter
            if painter.palette != former.palette and painter.width == former.width:
                self._pages.recolour(painter)
        painter = self._pages.painter
        base = painter.palette.style(Tone.TEXT)
        width = self.scrollable_content_region.width
        if not self._viewport.rows:
            return Strip.blank(width, base)
        if self.unread and y == self._viewport.rows - 1:
            text = f" {self._wording.glyphs.down} {count(self.unread, 'new line')} "
            left = " " * max(0, width - cell_len(text) - 1)
            strip = Strip([Segment(left, base), self._pages.painter.styled(text, Tone.UNREAD)])
            return strip.adjust_cell_length(width, base)
        spot = self._pages.spot_at(self.scroll_offset.y + y)
        line = self._pages.line(spot) if self.scroll_offset.y + y < self._pages.total else None
        if line is None:
            return Strip.blank(width, base).apply_offsets(0, self._pages.end.row)
        for start, stop, here in self._found.spans(self._pages, spot) if self._found else ():
            tone = painter.palette.style(Tone.HERE if here else Tone.FOUND)
            line = replace(line, strip=line.highlighted(start, stop, tone))
        strip = line.strip
        live, at_end = self._pages.live, self.scroll_offset.y + y == self._pages.total - 1
        is_written = live is not None and not live.ended and not live.empty and at_end
        if is_written and line.text and not painter.plain:
            at = GUTTER + cell_len(line.text)
            end = Strip([painter.styled(STREAM_END, Tone.USER)], 1)
            strip = Strip.join([strip.crop(0, at), end, strip.crop(at + 1)])
        selection = self.text_selection
        span = selection.get_span(spot.row) if selection is not None else None
        if span is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            # Its text has no colour of its own in Textual's themes, only a background.
            strip = line.highlighted(*span, Style(bgcolor=style.bgcolor, reverse=style.reverse))
        if not line.crosses:
            entries = self._pages.entries
            marked = not line.blank and spot.slot < len(entries) and entries[spot.slot].seq in self._marks
            focused = not line.blank and spot.slot == self.cursor and self.has_focus
            leads = spot.line == 0 and spot.piece == self._pages.lead_piece(spot.slot)
            sign, colour = self._pages.rail_sign(spot)
            rail = painter.styled(sign, colour) if sign else None
            strip = painter.signed(strip, rail=rail, focused=focused, marked=marked, leads=leads)
        return strip.crop_extend(0, width, base).apply_offsets(-GUTTER, spot.row)

    def show_rail(self, rail: Rail) -> None:
        """Show which parts of the conversation the model sees."""
        if rail != self._pages.rail:
            self._pages.show_rail(rail)
            self._place()

    # Selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the original text of a selection, for copying."""
        text = self._pages.selected_text(selection)
        return (text, "\n") if text else None

    def _select_word(self, event: events.Click) -> None:
        _, place = self.screen.get_widget_and_offset_at(event.screen_x, event.screen_y)
        line = self._pages.line(Spot.at_row(place.y)) if place is not None else None
        if place is None or line is None or not line.lead <= place.x < line.end:
            return
        words = (found.span() for found in _WORD.finditer(line.text[: line.end]))
        start, stop = next((span for span in words if span[0] <= place.x < span[1]), (place.x, place.x + 1))
        self.screen.selections = {self: Selection(place._replace(x=start), place._replace(x=stop))}

    def text_select_all(self) -> None:
        """Select the entry under the cursor, not the whole conversation."""
        if self.cursor is not None:
            first, stop = Spot(self.cursor, 0, 0).row, Spot(self.cursor + 1, 0, 0).row
            self.screen.selections = {self: Selection(Offset(0, first), Offset(0, stop - 1))}

    def slot_at(self, offset: Offset) -> int | None:
        """Return the slot of the entry at an offset in the window; None below the last one."""
        y = self.scroll_offset.y + offset.y
        return self._pages.slot_at(y) if 0 <= y < self._pages.total else None

    # Search

    @property
    def last_shown(self) -> int:
        """Log number of the lowest entry in the window; 0 if there is none."""
        entries = self._pages.entries
        if not entries or not self._pages.total:
            return 0
        below = min(self._placed_y + self._viewport.rows, self._pages.total) - 1
        return entries[min(self._pages.slot_at(max(0, below)), len(entries) - 1)].seq

    def highlight_all(self, pattern: re.Pattern[str] | None) -> None:
        """Highlight all matches of a pattern, or none for None. Nothing scrolls."""
        self._found = None if pattern is None else Highlights(pattern)
        self.refresh()

    def show_hit(self, hit: Hit, excerpt: Excerpt | None = None) -> bool:
        """Scroll to a hit and open its entry.

        Args:
            hit: The hit.
            excerpt: The text around the hit, shown if the entry's text is clipped before it.

        Returns:
            Whether the hit is visible now; False if it needs an excerpt.
        """
        slot = self._pages.slots.get(hit.seq)
        if slot is None or self._found is None:
            return slot is None
        folded = self._pages.entries[slot].kind != "user" and hit.part != "title"
        if folded and not (hit.part == "text" and self._pages.entries[slot].kind == "assistant"):
            self._pages.expanded.add(hit.seq)
        self._pages.excerpts.pop(hit.seq, None)
        if excerpt is not None:
            self._pages.excerpts[hit.seq] = excerpt
        self._pages.stale(slot)
        spot = self._found.go(self._pages, slot, hit, excerpt_at=excerpt.at if excerpt else None)
        if self._found.here is None and excerpt is None and hit.part != "title":
            return False
        self.cursor = slot
        self._viewport.show(spot)
        above = max(_LEAST_ABOVE, self._viewport.rows // 3)
        self._viewport.scroll(-above)
        self._place()
        return True

    # Walking

    @property
    def cursor_entry(self) -> Entry | None:
        """The finished entry under the cursor; None if there is none or it is the live answer."""
        entries = self._pages.entries
        return entries[self.cursor] if self.cursor is not None and self.cursor < len(entries) else None

    def action_move(self, step: int) -> None:
        """Move to the next visible entry, or scroll within one that is taller than the window."""
        on_screen = goes_on = False
        if self.cursor is not None and self.cursor < len(self._pages):
            first = self._pages.heights.top(self.cursor) - self._placed_y
            last = first + self._pages.heights[self.cursor] - 1
            on_screen = last >= 0 and first < self._viewport.rows
            goes_on = first < 0 if step < 0 else last >= self._viewport.rows
        if on_screen and goes_on:
            self._viewport.scroll(step * _STEP)
        elif on_screen and self.cursor is not None:
            self.cursor = self._neighbour(self.cursor, step)
            self._viewport.reveal(self.cursor)
        elif self._pages.total:
            y = self._placed_y + (self._viewport.rows - 1 if step < 0 else 0)
            self.cursor = self._pages.slot_at(min(y, self._pages.total - 1))
            self._viewport.reveal(self.cursor)
        else:
            self.cursor = None
        self._place()

    def _neighbour(self, slot: int, step: int) -> int:
        following = slot + step
        while 0 <= following < len(self._pages):
            if self._pages.measure(following, most=1):
                return following
            following += step
        return slot

    def action_page(self, step: int) -> None:
        """Scroll by a page, less one line of overlap."""
        self.scroll_lines(step * max(1, self._viewport.rows - 1))

    def action_first(self) -> None:
        self._viewport.show(START)
        self._place()

    def action_last(self) -> None:
        """Scroll to the newest entry and follow new content."""
        self._viewport.following = True
        self.cursor = None
        self._place()

    # Marking

    @property
    def marked(self) -> Sequence[Entry]:
        """The marked entries, oldest first."""
        return [entry for entry in self._pages.entries if entry.seq in self._marks]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the letters that act on rows, most of them only while rows are marked."""
        if action == "mark" or (action == "ask" and parameters in (("pin",), ("exclude",))):
            return bool(self._marks) or self.cursor_entry is not None
        return bool(self._marks) if action == "ask" else super().check_action(action, parameters)

    def action_mark(self) -> None:
        if (entry := self.cursor_entry) is not None:
            self._anchor = self.cursor
            self._show_marks(self._marks ^ {entry.seq})

    def action_extend(self, step: int) -> None:
        """Mark all entries from where marking began to the next one."""
        if self.cursor_entry is None:
            self.action_move(step)
        elif self.cursor is not None:
            self._anchor = self.cursor if self._anchor is None or not self._marks else self._anchor
            self.cursor = min(self._neighbour(self.cursor, step), len(self._pages.entries) - 1)
            self._viewport.reveal(self.cursor)
        if self.cursor_entry is not None and self.cursor is not None:
            anchor = self.cursor if self._anchor is None else self._anchor
            between = slice(min(anchor, self.cursor), max(anchor, self.cursor) + 1)
            self._show_marks({entry.seq for entry in self._pages.entries[between] if has_lines(entry)})
        self._place()

    def unmark(self) -> bool:
        """Clear all marks; returns whether there were any."""
        had = bool(self._marks)
        self._show_marks(set())
        return had

    def _show_marks(self, marks: set[int]) -> None:
        self._marks = marks
        self._anchor = self._anchor if marks else None
        self.post_message(self.MarksChanged(len(marks)))
        self.refresh()

    def action_ask(self, wish: Wish) -> None:
        """Request an action on the marked entries, or on the one under the cursor."""
        entries = self.marked or ([self.cursor_entry] if self.cursor_entry else [])
        if entries:
            self.post_message(self.Asked(wish, entries))

    # Opening

    def visit(self, entry: Entry) -> None:
        """Go to an entry that was chosen elsewhere; for a compaction, also open its details."""
        self.jump_to(entry.seq)
        self.focus()
        if entry.kind == "compaction":
            # Deferred: a message posted while the pane handles another one would not bubble beyond the pane.
            self.call_later(self.action_details)

    def action_details(self) -> None:
        """Request the details of the entry under the cursor, or of the newest entry that has some."""
        if self.cursor is not None:
            self._request_action("details", self.cursor_entry, "The answer is still being written.")
        else:
            self.open_newest()

    def action_open(self) -> None:
        """Fold or unfold the entry under the cursor, or request its details."""
        entry = self.cursor_entry
        if self.cursor is not None and (entry is None or foldable(entry)):
            self._pages.expanded ^= {0 if entry is None else entry.seq}
            self._pages.stale(self.cursor)
            self._viewport.anchor()
            self._place()
        elif entry is not None:
            self._request_action("details", entry)

    def open_newest(self) -> None:
        """Request the details of the newest compaction or error, wherever the cursor is."""
        newest = next((entry for entry in reversed(self._pages.entries) if has_details(entry)), None)
        self._request_action("details", newest, NO_ROW if self._pages.entries else "Nothing to open yet.")

    def action_compact_part(self, up_to: bool) -> None:
        """Request a compaction up to the entry under the cursor, or from it on."""
        entry = self.cursor_entry
        if entry is None or entry.seq > 0:
            self._request_action("up_to" if up_to else "from", entry)

    def action_undo(self) -> None:
        """Request undoing the compaction, rewrite, restored files or guard under the cursor."""
        refused = why_not_undone(self.cursor_entry)
        self._request_action("undo", None if refused else self.cursor_entry, refused)

    def _request_action(self, wish: Want, entry: Entry | None, why_not: str = NO_ROW) -> None:
        asked = self.Asked(wish, [entry]) if entry is not None else self.Asked("nothing", why_not=why_not)
        self.post_message(asked)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the clicked entry; fold or unfold a row, or show a compaction's details.

        A double click selects the word, a triple click the entry.
        """
        if event.chain > 1:
            event.prevent_default()
            if event.chain == 2:
                self._select_word(event)
            else:
                self.text_select_all()
            return
        if self.text_selection is not None:
            return
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if self.unread and offset.y == self._viewport.rows - 1:
            self.action_last()
            return
        self.cursor = self.slot_at(offset)
        if self.cursor is not None:
            piece = self._pages.piece_at(self._placed_y + offset.y)
            entry = self.cursor_entry
            if folds(piece) or (entry is not None and has_details(entry)):
                self.action_open()
        self.refresh()
