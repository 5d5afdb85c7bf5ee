"""The transcript while a person looks for words in it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_app.session.entries import Entry
from tui_app.ui.widgets.found import Found
from tui_app.ui.widgets.transcript_live import LiveTranscript

if TYPE_CHECKING:
    from tui_app.ui.finding import Excerpt, Hit

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
