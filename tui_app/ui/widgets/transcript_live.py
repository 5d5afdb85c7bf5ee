"""What the transcript holds: finished entries, and the answer that is being written at its end."""

from collections.abc import Sequence
from time import monotonic

from textual.reactive import reactive
from textual.timer import Timer

from tui_app.session.entries import Entry
from tui_app.ui.widgets.layout import Spot
from tui_app.ui.widgets.live import LiveMessage
from tui_app.ui.widgets.transcript_view import TranscriptView

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
