"""The transcript: everything that was said and done, with the answer that is being written at its end."""

from collections.abc import Sequence
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer

from tui_app.session.entries import Entry
from tui_app.ui.keys import fixed_key
from tui_app.ui.widgets.blocks import foldable, has_details
from tui_app.ui.widgets.layout import START, Spot
from tui_app.ui.widgets.live import LiveMessage
from tui_app.ui.widgets.pieces import folds
from tui_app.ui.widgets.transcript_view import TranscriptView

FRAMES_PER_SECOND = 40
_NOW_S = 0.004
"""Text that arrives so shortly before the next frame is painted at once, with the rows around it."""
_STEP = 3
"""Lines that one press of an arrow key moves within an entry larger than the window."""


class Transcript(TranscriptView):
    """Shows entries and lets a person walk through them.

    Call :meth:`set_entries` when a session opens, then :meth:`append` and :meth:`replace` as things happen.
    An answer goes :meth:`live_start`, :meth:`live_append` any number of times, :meth:`live_end`; the
    finished entry, appended afterwards, takes the place of the live one without moving a line.

    Colours come from the component classes named in :class:`~tui_app.ui.widgets.palette.Tone`.
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
            "transcript.details", "ctrl+o", "open", "Details", "Open or close it, or show its details."
        ),
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
        """The person wants the details of a compaction or an error."""

    class UnreadChanged(TranscriptView.UnreadChanged):
        """The number of unread lines changed."""

    class UndoRequested(_OfEntry):
        """The person wants a compaction, or what a stage rewrote, undone."""

    _live_timer: Timer | None = None
    _live_due = 0.0

    # Content

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show another conversation from its end; costs a few milliseconds for ten thousand entries."""
        self._stop_timer()
        self._pages.set_entries(entries)
        self._cursor = None
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

    def replace(self, entry: Entry) -> None:
        """Show a new state of the entry with the same log number; unknown ones are ignored."""
        if self._pages.replace(entry) is not None:
            self._place()

    def jump_to(self, seq: int) -> None:
        """Scroll to the entry with a log number and put the cursor on it."""
        slot = self._pages.slot_of(seq)
        if slot is not None:
            self._cursor = slot
            self._viewport.show(Spot(slot, 0, 0))
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

    # Walking

    @property
    def cursor_entry(self) -> Entry | None:
        """The entry that the cursor is on; None for none and for the live answer."""
        entries = self._pages.entries
        return entries[self._cursor] if self._cursor is not None and self._cursor < len(entries) else None

    def action_move(self, step: int) -> None:
        """Go to the next visible entry, or further within one that is larger than the window."""
        if self._cursor is None or not self._on_screen(self._cursor):
            self._cursor = self._visible_slot(step)
        elif self._hidden_part(self._cursor, step):
            self._viewport.scroll(step * _STEP)
            self._place()
            return
        else:
            self._cursor = self._neighbour(self._cursor, step)
        if self._cursor is not None:
            self._viewport.reveal(self._cursor)
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
        return self._pages.spot_at(min(y, self._pages.total - 1)).slot

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
        self._cursor = None
        self._place()

    # Opening

    def action_open(self) -> None:
        """Open or close the entry under the cursor, or ask for its details."""
        entry = self.cursor_entry
        if entry is not None and has_details(entry):
            self.post_message(self.Opened(self, entry))
        elif self._cursor is not None and (entry is None or foldable(entry)):
            self._toggle(self._cursor)

    def open_newest(self) -> None:
        """Ask for the details of the newest compaction or error, wherever the cursor is."""
        newest = next((entry for entry in reversed(self._pages.entries) if has_details(entry)), None)
        if newest is not None:
            self.post_message(self.Opened(self, newest))

    def action_undo(self) -> None:
        """Ask for the compaction, rewrite or restored files under the cursor to be undone."""
        entry = self.cursor_entry
        if entry is not None and entry.kind in ("compaction", "rewrite", "files") and entry.state == "ok":
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
        self._cursor = self.slot_at(offset)
        if self._cursor is not None:
            piece = self._pages.piece_at(self._placed_y + offset.y)
            entry = self.cursor_entry
            if folds(piece) or (entry is not None and has_details(entry)):
                self.action_open()
        self.refresh()
