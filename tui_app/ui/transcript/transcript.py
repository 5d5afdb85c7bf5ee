"""The transcript: everything that was said and done, with the answer that is being written at its end."""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from tui_app.session.entries import Bodies, Entry
from tui_app.text import count
from tui_app.ui.keys import fixed_key
from tui_app.ui.plain_lines import Exact
from tui_app.ui.text import PLAIN, Glyphs
from tui_app.ui.themes import PLAIN_PALETTE, Palette, Tone, legible
from tui_app.ui.transcript.layout import START, Layout, Spot, Viewport
from tui_app.ui.transcript.lines import GUTTER, Line, Painter
from tui_app.ui.transcript.pieces import (
    FadedPiece,
    LiveMessage,
    MarkdownPiece,
    Piece,
    RowPiece,
    TextPiece,
    Wording,
    distance,
    foldable,
    folds,
    has_details,
)

if TYPE_CHECKING:
    from tui_app.ui.transcript.search import Excerpt, Hit

# Text selection over lines that are not all painted: stable coordinates, highlight, and the original text.
#
# Textual asks for one ``Offset`` per character. Its y is a number made from the place of the line (entry,
# piece, line), which sorts like the lines do and stays true while guessed heights above become known.

_BITS = 24
_MASK = (1 << _BITS) - 1


def row_of(spot: Spot) -> int:
    """Return the selection row of a spot."""
    return (spot.slot << 2 * _BITS) | (spot.piece << _BITS) | spot.line


def spot_of(row: int) -> Spot:
    """Return the spot of a selection row."""
    return Spot(row >> 2 * _BITS, row >> _BITS & _MASK, row & _MASK)


def whole(slot: int) -> Selection:
    """Select an entry from its first to its last character."""
    return Selection(Offset(0, row_of(Spot(slot, 0, 0))), Offset(0, row_of(Spot(slot + 1, 0, 0)) - 1))


def highlight(line: Line, span: tuple[int, int], style: Style) -> Strip:
    """Paint a line with its selected content in another style.

    Args:
        line: The line.
        span: Start and end in characters right of the gutter; an end of -1 is the end of the line.
        style: Laid over the selected content; ornament stays as it is.
    """
    start = max(span[0], line.lead)
    stop = line.end if span[1] < 0 else min(span[1], line.end)
    if stop <= start:
        return line.strip
    left = GUTTER + cell_len(line.text[:start])
    right = left + cell_len(line.text[start:stop])
    before, inside, *after = line.strip.divide([left, right, line.strip.cell_length])
    marked = Strip([Segment(text, (old or Style.null()) + style) for text, old, _ in inside])
    return Strip.join([before, marked, *after])


def signed(strip: Strip, painter: Painter, *, focused: bool, marked: bool) -> Strip:
    """Put the signs of the focus and of a marked entry in the gutter of a line."""
    glyphs = painter.glyphs
    if marked:
        sign = Strip([painter.styled(glyphs.check, Tone.MARK)], 1)
        strip = Strip.join([strip.crop(0, 1), sign, strip.crop(GUTTER)])
    if focused:
        strip = Strip.join([Strip([painter.styled(glyphs.mark, Tone.MARK)], 1), strip.crop(1)])
    return strip


def selected_text(layout: Layout, selection: Selection) -> str:
    """Return the original text of a selection.

    Entries that are covered as a whole give the text they were made from (an answer its Markdown); of the
    others the visible characters are taken, lines that were only wrapped joined again.
    """
    start, stop = selection
    first = spot_of(start.y) if start is not None else START
    last = spot_of(stop.y) if stop is not None else Spot(len(layout), 0, 0)
    start_x = start.x if start is not None else 0
    stop_x = stop.x if stop is not None else None
    parts: list[str] = []
    for slot in range(first.slot, min(last.slot + 1, len(layout))):
        from_here = (first, start_x) if slot == first.slot else (Spot(slot, 0, 0), 0)
        to_here = (last, stop_x) if slot == last.slot else None
        text = _entry_text(layout, slot, from_here, to_here)
        if text and parts:
            parts.append("\n" * (1 + _distance(layout, slot)))
        parts.append(text)
    return "".join(parts)


def _distance(layout: Layout, slot: int) -> int:
    return distance(layout.entries[slot], layout.before(slot)) if slot < len(layout.entries) else 1


def _entry_text(
    layout: Layout, slot: int, start: tuple[Spot, int], stop: tuple[Spot, int | None] | None
) -> str:
    from_top = start[0][1:] == (0, 0) and start[1] <= 0
    to_end = stop is None or stop[0].piece >= _MASK
    if from_top and to_end and slot < len(layout.entries):
        return layout.original(slot)
    text = ""
    for spot, line in _lines_between(layout, slot, start[0], stop[0] if stop else None):
        begin = start[1] if spot == start[0] else 0
        end = stop[1] if stop is not None and spot == stop[0] else None
        text += (line.join if text else "") + line.copied(begin, end)
    return text


def _lines_between(layout: Layout, slot: int, start: Spot, stop: Spot | None) -> Iterator[tuple[Spot, Line]]:
    """Yield the lines of one entry that hold content, first and last included."""
    pieces = len(layout.block(slot).pieces)
    for piece in range(start.piece, pieces):
        for number, line in enumerate(layout.lines(slot, piece)):
            spot = Spot(slot, piece, number)
            if spot < start:
                continue
            if stop is not None and spot > stop:
                return
            if not line.blank and (line.lead < line.end or not line.text):
                yield spot, line


# Where found words stand on painted lines: spans to highlight, and the line to show.

_KEPT = 200
"""Pieces whose places are remembered."""


class Span(NamedTuple):
    """A part of one line that is highlighted, in characters right of the gutter."""

    start: int
    stop: int
    here: bool
    """Whether it is the place that the person has gone to."""


class Here(NamedTuple):
    """The place that the person has gone to: the nth one of a piece."""

    slot: int
    piece: int
    nth: int


Places = Sequence[Sequence[tuple[int, int, int]]]
"""For each line of a piece: start and stop in the line, and which place of the piece that is."""


@dataclass(slots=True)
class Found:
    """What is highlighted while a person looks for words."""

    pattern: re.Pattern[str]
    here: Here | None = None
    _known: OrderedDict[Piece, tuple[Sequence[Line], Places]] = field(default_factory=OrderedDict)

    def spans(self, layout: Layout, spot: Spot) -> Iterator[Span]:
        """What to highlight on a line that is being painted."""
        lines = layout.lines(spot.slot, spot.piece)
        places = self._places(layout.block(spot.slot).pieces[spot.piece], lines)
        for start, stop, nth in places[spot.line] if spot.line < len(places) else ():
            yield Span(start, stop, self.here == (spot.slot, spot.piece, nth))

    def go(self, layout: Layout, slot: int, hit: "Hit", *, excerpt_at: int | None = None) -> Spot:
        """Make a place the one the person has gone to, and tell the line it stands on.

        Args:
            layout: Where everything stands.
            slot: The entry.
            hit: The place.
            excerpt_at: Where it stands in the excerpt that is shown, if it is shown in one.
        """
        for number, piece in enumerate(layout.block(slot).pieces):
            nth = _nth(piece, hit, excerpt_at, self.pattern)
            if nth is None:
                continue
            if nth < 0:
                hit = replace(hit, nth=-nth - 1)
                continue
            lines = layout.lines(slot, number)
            places = self._places(piece, lines)
            line = next((at for at, found in enumerate(places) if any(n == nth for *_, n in found)), 0)
            self.here = Here(slot, number, nth)
            return Spot(slot, number, line)
        self.here = None
        return Spot(slot, 0, 0)

    def _places(self, piece: Piece, lines: Sequence[Line]) -> Places:
        known = self._known.get(piece)
        if known is not None and known[0] is lines:
            return known[1]
        places = places_on(lines, self.pattern)
        self._known[piece] = (lines, places)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return places


def _nth(piece: Piece, hit: "Hit", excerpt_at: int | None, pattern: re.Pattern[str]) -> int | None:
    """Which place of a piece a hit is; None for none of it.

    Below zero: it stands further down, and so many places (plus one) are still to be counted off.
    """
    bare = piece.piece if isinstance(piece, FadedPiece) else piece
    if isinstance(bare, RowPiece):
        return 0 if hit.part == "title" and pattern.search(bare.title) else None
    if isinstance(bare, MarkdownPiece):
        if bare.part != hit.part or excerpt_at is not None:
            return None
        count = sum(1 for _ in pattern.finditer(bare.source))
        return hit.nth if hit.nth < count else count - hit.nth - 1
    if not isinstance(bare, TextPiece):
        return None
    if hit.part == "title":
        return 0 if not bare.part and pattern.search(bare.text) else None
    part, at = (hit.part, hit.at) if excerpt_at is None else ("excerpt", excerpt_at)
    inside = at - bare.start
    if bare.part != part or not 0 <= inside < max(1, len(bare.text)):
        return None
    return sum(1 for match in pattern.finditer(bare.text) if match.start() < inside)


def places_on(lines: Sequence[Line], pattern: re.Pattern[str]) -> Places:
    """Find the words on painted lines, also where one was broken over two."""
    starts: list[int] = []
    text = ""
    for line in lines:
        text += line.join if starts else ""
        starts.append(len(text))
        text += line.text[line.lead : line.end]
    places: list[list[tuple[int, int, int]]] = [[] for _ in lines]
    for nth, match in enumerate(pattern.finditer(text)):
        for number in range(bisect_right(starts, match.start()) - 1, len(lines)):
            line, begin = lines[number], match.start() - starts[number]
            stop = min(match.end() - starts[number], line.end - line.lead)
            if stop > max(0, begin):
                places[number].append((max(0, begin) + line.lead, stop + line.lead, nth))
            if number + 1 == len(lines) or match.end() <= starts[number + 1]:
                break
    return places


# The painting half of the transcript: a scrolling view of lines that are made when they become visible.

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


# What the transcript holds: finished entries, and the answer that is being written at its end.

FRAMES_PER_SECOND = 40
_NOW_S = 0.004
"""Text that arrives so shortly before the next frame is painted at once, with the rows around it."""


class LiveTranscript(TranscriptView):
    """Takes entries and streamed text in.

    Call :meth:`set_entries` when a session opens, then :meth:`append` and :meth:`replace` as things happen.
    An answer goes :meth:`live_start`, :meth:`live_append` any number of times, :meth:`live_end`; the
    finished entry, appended afterwards, takes the place of the live one without moving a line.
    """

    scale: reactive[float] = reactive(1.0, init=False)
    """Tokens as the model counts them for each counted one."""
    _live_timer: Timer | None = None
    _live_due = 0.0

    # Content

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show another conversation from its end; costs a few milliseconds for ten thousand entries."""
        self._stop_timer()
        self._pages.set_entries(entries)
        self.cursor = None
        self._found = None
        self._marks.clear()
        self._viewport.following = True
        self.unread = 0
        self._forget_selection()
        self._place()

    def clear(self) -> None:
        """Show nothing."""
        self.set_entries(())

    def append(self, entry: Entry) -> None:
        """Add an entry at the end (before the live answer, if that goes on)."""
        before = self._pages.total
        slot = self._pages.append(entry)
        self._added(slot, before)

    def replace(self, *entries: Entry) -> None:
        """Show a new state of the entries with the same log numbers; unknown ones are ignored."""
        slots = [self._pages.replace(entry) for entry in entries]
        if any(slot is not None for slot in slots):
            self._place()

    def jump_to(self, seq: int) -> None:
        """Scroll to the entry with a log number and put the cursor on it."""
        slot = self._pages.slot_of(seq)
        if slot is not None:
            self.cursor = slot
            self._viewport.show(Spot(slot, 0, 0))
            self._place()

    def watch_scale(self, scale: float) -> None:
        """Show sizes on another scale; nothing moves."""
        self._wording = self._wording._replace(scale=scale)
        self._pages.reword(self._wording)
        self._place()

    # The live answer

    def live_start(self) -> None:
        """Begin an answer."""
        self._stop_timer()
        self._pages.expanded.discard(0)
        self._pages.set_live(LiveMessage())
        self._place()

    def live_append(self, text: str = "", thinking: str = "") -> None:
        """Add streamed text; painted with whatever else arrives within the same frame."""
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
        """Paint what has arrived now instead of with the next frame."""
        self._stop_timer()
        self._live_due = monotonic() + 1 / FRAMES_PER_SECOND
        if self._pages.live is not None:
            before, growing = self._pages.total, self._pages.growing_from
            self._pages.refresh_live()
            self._added(len(self._pages) - 1, before, growing)

    def live_end(self) -> None:
        """End the answer; it stays until its finished entry, or the next prompt, is appended."""
        if self._pages.live is not None:
            self._pages.live.end()
            self.live_flush()
            if self._pages.live.empty:
                self._pages.set_live(None)
                self._place()

    def _stop_timer(self) -> None:
        if self._live_timer is not None:
            self._live_timer.stop()
            self._live_timer = None

    def _added(self, slot: int, total_before: int, changed_from: int = 0) -> None:
        """Count new lines for a person who reads further up, then show them to one who does not."""
        if not self._viewport.following:
            self._pages.measure(slot)
            self.unread = max(0, self.unread + self._pages.total - total_before)
        self._place(changed_from)

    def _forget_selection(self) -> None:
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()


# The transcript while a person looks for words in it.

_LEAST_ABOVE = 3
"""Lines that are shown above a place, where there are some."""


class SearchedTranscript(LiveTranscript):
    """Highlights words, and goes to where they stand."""

    @property
    def entries(self) -> Sequence[Entry]:
        """Every finished entry, oldest first."""
        return self._pages.entries

    @property
    def last_shown(self) -> int:
        """Log number of the lowest entry in the window; 0 for none."""
        entries = self._pages.entries
        if not entries or not self._pages.total:
            return 0
        below = min(self._placed_y + self._viewport.rows, self._pages.total) - 1
        return entries[min(self._pages.slot_at(max(0, below)), len(entries) - 1)].seq

    def highlight_all(self, pattern: re.Pattern[str] | None) -> None:
        """Highlight what a pattern finds, wherever it is painted; None ends that. Nothing moves."""
        self._found = None if pattern is None else Found(pattern)
        self.refresh()

    def show_hit(self, hit: "Hit", excerpt: "Excerpt | None" = None) -> bool:
        """Go to a place; the row it stands in is opened for it.

        Args:
            hit: The place.
            excerpt: What stands around it, to be shown where the row does not reach that far.

        Returns:
            Whether it can be seen now; False where it needs an excerpt.
        """
        slot = self._pages.slot_of(hit.seq)
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


# Why nothing can be done with a row of the conversation, in words.

NO_ROW = "No row is marked: shift+tab, then up, goes to one."
_UNDOABLE = ("compaction", "rewrite", "files", "clear")


def why_not_undone(entry: Entry | None) -> str:
    """Why a row cannot be undone; empty where it can.

    Args:
        entry: What the row stands for; None where there is no row.
    """
    if entry is None:
        return NO_ROW
    if entry.kind not in _UNDOABLE:
        return "This row cannot be undone: u is for compactions, rewrites, rewinds and restored files."
    if entry.state == "ok":
        return ""
    if entry.state == "running":
        return "This is still under way: esc stops it."
    if entry.state == "undone":
        return "This is undone already." + (" /redo applies it again." if entry.kind == "compaction" else "")
    return "This changed nothing, so there is nothing to undo."


# Choosing a part of the transcript to compact: up to the marked entry, or from it on.


class TranscriptParts(SearchedTranscript):
    """A transcript whose marked entry says where a compaction ends or begins."""

    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key(
            "transcript.compact_up_to",
            "less_than_sign",
            "compact_part(True)",
            "Compact up to here",
            "Summarise what was said up to the marked entry; the rest stays.",
        ),
        fixed_key(
            "transcript.compact_from",
            "greater_than_sign",
            "compact_part(False)",
            "Compact from here",
            "Summarise from the marked entry on; what is before it stays, and so does the newest.",
        ),
    ]

    class NothingToDo(Message):
        """The person wants something that no entry can be used for; ``reason`` is for them."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class CompactRequested(Message):
        """The person wants a part of the conversation compacted."""

        def __init__(self, transcript: "TranscriptParts", entry: Entry, *, up_to: bool) -> None:
            super().__init__()
            self.transcript = transcript
            self.entry = entry
            self.up_to = up_to
            """Whether the part ends with the entry; else it begins there."""

        @property
        def control(self) -> "TranscriptParts":
            """The transcript that sent it."""
            return self.transcript

    @property
    def cursor_entry(self) -> Entry | None:
        """The entry that the cursor is on; None for none and for the live answer."""
        entries = self._pages.entries
        return entries[self.cursor] if self.cursor is not None and self.cursor < len(entries) else None

    def action_compact_part(self, up_to: bool) -> None:
        """Ask for what was said up to the marked entry, or from it on, to be compacted."""
        entry = self.cursor_entry
        if entry is not None and entry.seq > 0:
            self.post_message(self.CompactRequested(self, entry, up_to=up_to))
        elif entry is None:
            self.post_message(self.NothingToDo(NO_ROW))


_STEP = 3
"""Lines that one press of an arrow key moves within an entry larger than the window."""


Wish = Literal["pin", "text", "code", "markdown", "archive", "offload"]
"""What can be done with entries: pin, three ways to copy, two ways to take results out of the view."""


class Transcript(TranscriptParts):
    """Shows entries and lets a person walk through them.

    Colours come from the component classes named in :class:`~tui_app.ui.themes.Tone`.
    """

    HELP = (
        "The conversation. Arrow keys move from entry to entry, enter opens one, end returns to the newest."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key("transcript.up", "up", "move(-1)", "Previous entry", "Mark the entry before."),
        fixed_key("transcript.down", "down", "move(1)", "Next entry", "Mark the next entry."),
        fixed_key("transcript.page_up", "pageup", "page(-1)", "Page up", "Scroll up a page."),
        fixed_key("transcript.page_down", "pagedown", "page(1)", "Page down", "Scroll down a page."),
        fixed_key("transcript.home", "home,ctrl+home", "first", "Oldest", "Go to the first message."),
        fixed_key(
            "transcript.end", "end,ctrl+end", "last", "Newest", "Go to the newest message and follow it."
        ),
        fixed_key("transcript.open", "enter", "open", "Open", "Open or close it, or show its details."),
        fixed_key(
            "transcript.details", "ctrl+o", "details", "Details", "All that is known about it, on a screen."
        ),
        fixed_key(
            "transcript.pin", "p", "ask('pin')", "Pin or unpin", "Keep it word for word, or no longer."
        ),
        fixed_key("transcript.mark", "v,space", "mark", "Mark", "Mark it, to do something with all marked."),
        fixed_key(
            "transcript.extend_up", "shift+up", "extend(-1)", "Mark upwards", "Mark up to the one before."
        ),
        fixed_key(
            "transcript.extend_down", "shift+down", "extend(1)", "Mark downwards", "Mark up to the next."
        ),
        fixed_key(
            "transcript.copy_text", "y", "ask('text')", "Copy as text", "What is marked, without markup."
        ),
        fixed_key(
            "transcript.copy_code", "c", "ask('code')", "Copy the code", "Code blocks of what is marked."
        ),
        fixed_key("transcript.copy_markdown", "m", "ask('markdown')", "Copy as Markdown", "What is marked."),
        fixed_key("transcript.archive", "a", "ask('archive')", "Archive", "Marked results leave a digest."),
        fixed_key("transcript.offload", "o", "ask('offload')", "Offload", "Marked results go to files."),
        fixed_key("transcript.undo", "u", "undo", "Undo compaction", "Bring the full history back."),
    ]

    class _OfEntry(Message):
        """Base of messages about one entry."""

        def __init__(self, transcript: "Transcript", entry: Entry) -> None:
            super().__init__()
            self.transcript = transcript
            self.entry = entry

        @property
        def control(self) -> "Transcript":
            """The transcript that sent it."""
            return self.transcript

    class Opened(_OfEntry):
        """The person wants the details of an entry."""

    class Asked(Message):
        """The person wants something done with the marked entries, or the one under the cursor."""

        def __init__(self, wanted: Wish, entries: Sequence[Entry]) -> None:
            super().__init__()
            self.wanted, self.entries = wanted, entries

    class MarksChanged(Message):
        """Other entries are marked."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class UnreadChanged(TranscriptParts.UnreadChanged):
        """The number of unread lines changed."""

    class UndoRequested(_OfEntry):
        """The person wants a compaction, or what a stage rewrote, undone."""

    _anchor: int | None = None
    """Slot of the entry at which marking began."""

    # Walking

    def action_move(self, step: int) -> None:
        """Go to the next visible entry, or further within one that is larger than the window."""
        if self.cursor is None or not self._on_screen(self.cursor):
            self.cursor = self._visible_slot(step)
        elif self._hidden_part(self.cursor, step):
            self._viewport.scroll(step * _STEP)
            self._place()
            return
        else:
            self.cursor = self._neighbour(self.cursor, step)
        if self.cursor is not None:
            self._viewport.reveal(self.cursor)
        self._place()

    def _span(self, slot: int) -> tuple[int, int]:
        """First and last line of an entry, relative to the window."""
        first = self._pages.top(slot) - self._placed_y
        return first, first + self._pages.height(slot) - 1

    def _on_screen(self, slot: int) -> bool:
        first, last = self._span(slot)
        return slot < len(self._pages) and last >= 0 and first < self._viewport.rows

    def _hidden_part(self, slot: int, step: int) -> bool:
        first, last = self._span(slot)
        return first < 0 if step < 0 else last >= self._viewport.rows

    def _visible_slot(self, step: int) -> int | None:
        if not self._pages.total:
            return None
        y = self._placed_y + (self._viewport.rows - 1 if step < 0 else 0)
        return self._pages.slot_at(min(y, self._pages.total - 1))

    def _neighbour(self, slot: int, step: int) -> int:
        """Return the next entry that has lines, or the same one at either end."""
        following = slot + step
        while 0 <= following < len(self._pages):
            if self._pages.measure(following, most=1):
                return following
            following += step
        return slot

    def action_page(self, step: int) -> None:
        """Scroll by a page, one line less so that the eye finds its place."""
        self.scroll_lines(step * max(1, self._viewport.rows - 1))

    def action_first(self) -> None:
        """Scroll to the oldest entry."""
        self._viewport.show(START)
        self._place()

    def action_last(self) -> None:
        """Scroll to the newest entry and follow what comes."""
        self._viewport.following = True
        self.cursor = None
        self._place()

    # Marking

    @property
    def marked(self) -> Sequence[Entry]:
        """The marked entries, oldest first."""
        return [entry for entry in self._pages.entries if entry.seq in self._marks]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters mean something on a row only, most of them on marked ones; else they are typed."""
        if action == "mark" or (action == "ask" and parameters == ("pin",)):
            return bool(self._marks) or self.cursor_entry is not None
        return bool(self._marks) if action == "ask" else super().check_action(action, parameters)

    def action_mark(self) -> None:
        """Mark the entry under the cursor, or take its mark away."""
        if (entry := self.cursor_entry) is not None:
            self._anchor = self.cursor
            self._show_marks(self._marks ^ {entry.seq})

    def action_extend(self, step: int) -> None:
        """Mark everything between where marking began and the next entry."""
        if self.cursor_entry is None:
            self.action_move(step)
        elif self.cursor is not None:
            self._anchor = self.cursor if self._anchor is None or not self._marks else self._anchor
            self.cursor = min(self._neighbour(self.cursor, step), len(self._pages.entries) - 1)
            self._viewport.reveal(self.cursor)
        if self.cursor_entry is not None and self.cursor is not None:
            anchor = self.cursor if self._anchor is None else self._anchor
            between = slice(min(anchor, self.cursor), max(anchor, self.cursor) + 1)
            self._show_marks({entry.seq for entry in self._pages.entries[between] if _shows(entry)})
        self._place()

    def unmark(self) -> bool:
        """Take all marks away; whether there were any."""
        had = bool(self._marks)
        self._show_marks(set())
        return had

    def _show_marks(self, marks: set[int]) -> None:
        self._marks = marks
        self._anchor = self._anchor if marks else None
        self.post_message(self.MarksChanged(len(marks)))
        self.refresh()

    def action_ask(self, wanted: Wish) -> None:
        """Have something done with the marked entries, or the one under the cursor."""
        entries = self.marked or ([self.cursor_entry] if self.cursor_entry else [])
        if entries:
            self.post_message(self.Asked(wanted, entries))

    # Opening

    def visit(self, entry: Entry) -> None:
        """Go to an entry that was chosen elsewhere; what a compaction did is shown at once."""
        self.jump_to(entry.seq)
        self.focus()
        if entry.kind == "compaction":
            # Of its own accord: what is posted while the pane acts does not get past the pane.
            self.call_later(self.action_details)

    def action_details(self) -> None:
        """Ask for all that is known about the entry under the cursor, or the newest that says more."""
        if (entry := self.cursor_entry) is not None:
            self.post_message(self.Opened(self, entry))
        elif self.cursor is not None:
            self.post_message(self.NothingToDo("The answer is still being written."))
        else:
            self.open_newest()

    def action_open(self) -> None:
        """Open or close the entry under the cursor, or ask for its details."""
        entry = self.cursor_entry
        if self.cursor is not None and (entry is None or foldable(entry)):
            self._toggle(self.cursor)
        elif entry is not None:
            self.post_message(self.Opened(self, entry))

    def open_newest(self) -> None:
        """Ask for the details of the newest compaction or error, wherever the cursor is."""
        newest = next((entry for entry in reversed(self._pages.entries) if has_details(entry)), None)
        if newest is not None:
            self.post_message(self.Opened(self, newest))
        elif self._pages.entries:
            self.post_message(self.NothingToDo("Nothing is marked to open: shift+tab, then up."))
        else:
            self.post_message(self.NothingToDo("Nothing to open yet."))

    def action_undo(self) -> None:
        """Ask for the compaction, rewrite or restored files under the cursor to be undone."""
        entry, refused = self.cursor_entry, why_not_undone(self.cursor_entry)
        if entry is None or refused:
            self.post_message(self.NothingToDo(refused))
        else:
            self.post_message(self.UndoRequested(self, entry))

    def _toggle(self, slot: int) -> None:
        seq = self._pages.entries[slot].seq if slot < len(self._pages.entries) else 0
        self._pages.expanded ^= {seq}
        self._pages.stale(slot)
        self._viewport.hold()
        self._place()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the entry; a folded row opens and closes, a compaction shows its details."""
        if self.text_selection is not None or event.chain > 1:
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


def _shows(entry: Entry) -> bool:
    """Whether an entry has lines; an answer that only calls tools has none."""
    return entry.kind != "assistant" or bool(entry.chars)
