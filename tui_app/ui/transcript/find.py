"""The find bar: words to search for in the conversation, progress, and navigation between hits."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from textual import on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui_app.records import frozen
from tui_app.session.views.entries import Entry
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.transcript.excerpts import Excerpt
from tui_app.ui.transcript.search import MOST_HITS, Hit, batches, pattern_of
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.widgets.hint_row import TellsFailures
from tui_app.ui.widgets.scroll_bars import WrittenLine
from tui_app.ui.words.text import clean

PAUSE_S = 0.12
"""Seconds without a key press after which a search starts."""
_ROOMY = 100
"""Columns from which the keys are shown."""


class Searchable(Protocol):
    """A source that searches entries without blocking the screen."""

    async def search(self, entries: Sequence[Entry], pattern: re.Pattern[str]) -> list[Hit]: ...

    async def ready(self, entry: Entry) -> None: ...

    async def excerpt(self, entry: Entry, hit: Hit) -> Excerpt | None: ...


@frozen
class Progress:
    """The progress of a search."""

    hits: tuple[Hit, ...] = ()
    done: int = 0
    count: int = 0
    """Number of entries searched, and their total number."""
    stopped: bool = False

    @property
    def over(self) -> bool:
        return self.stopped or self.done >= self.count

    def words(self, here: Hit | None) -> str:
        if not self.over:
            found = f" · {len(self.hits):,} so far" if self.hits else ""
            return f"searching {self.done * 100 // max(1, self.count)}%{found} · esc stops"
        more = "+" if self.stopped or len(self.hits) >= MOST_HITS else ""
        if not self.hits:
            return "stopped · nothing so far" if self.stopped else "not found"
        place = self.hits.index(here) + 1 if here in self.hits else 0
        return f"{place:,} of {len(self.hits):,}{more}"


class FindRow(TellsFailures, Horizontal):
    """Searches as the user types; enter and the arrow keys move between hits.

    Its parts are mounted when it is first opened, because most sessions never use it.

    Args:
        transcript: Shows the hits.
        source: Searches the entries.
        id: Textual id.
    """

    class Words(WrittenLine):
        """The input for the words."""

        BINDINGS = place_bindings("find")

        def action_step(self, step: int) -> None:
            self.query_ancestor(FindRow).step(step)

        def action_stop(self) -> None:
            self.query_ancestor(FindRow).stop()

    @dataclass(kw_only=True)
    class Closed(Message):
        """Posted when the bar closes; ``arrived`` if the user is on a hit."""

        arrived: bool

    def __init__(self, transcript: Transcript, source: Searchable, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._transcript, self._source = transcript, source
        self._progress = Progress()
        self._here: Hit | None = None
        self._searched: tuple[str, int] = ("", 0)
        """The words and the number of entries that the hits belong to."""

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    async def open(self, words: str = "") -> None:
        """Show the bar; with words, search for them at once."""
        if not self.children:
            await self.mount(
                Static("Find", id="find-label", markup=False),
                self.Words(placeholder="words in the whole conversation", id="find-words", compact=True),
                Static(id="find-state", markup=False),
            )
        self.add_class("-open")
        field = self.query_one(self.Words)
        if words:
            field.value = clean(words, keep_newlines=False)
        field.focus()
        field.select_all()
        self._begin(0.0)

    def hide(self) -> bool:
        """Hide the bar without scrolling; returns whether it was open."""
        if not self.is_open:
            return False
        self.workers.cancel_group(self, "find")
        self.remove_class("-open")
        self._transcript.highlight_all(None)
        self._searched, arrived, self._here = ("", 0), self._here is not None, None
        self.post_message(self.Closed(arrived=arrived))
        return True

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self._begin(PAUSE_S)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()

    def stop(self) -> None:
        """Stop a running search, else close the bar."""
        if not self._progress.over:
            self.workers.cancel_group(self, "find")
            self._say(Progress(self._progress.hits, self._progress.done, self._progress.count, stopped=True))
        else:
            self.hide()

    def step(self, step: int) -> None:
        """Move by a number of hits."""
        words, count = self.query_one(self.Words).value, len(self._transcript.entries)
        if (words, count) != self._searched and self._progress.over and not self._progress.stopped:
            self._begin(0.0, step)
        else:
            self._go(step)

    def _begin(self, pause_s: float, step: int = 0) -> None:
        words = self.query_one(self.Words).value
        if (words, len(self._transcript.entries)) != self._searched:
            self._search(words, pause_s, step)

    @work(group="find", exclusive=True)
    async def _search(self, words: str, pause_s: float, step: int) -> None:
        """Search all entries, newest first, and show the nearest hit above the last visible line."""
        await asyncio.sleep(pause_s)
        pattern, entries = pattern_of(words), tuple(self._transcript.entries)
        start, former = self._transcript.last_shown, self._here
        self._searched, self._here = (words, len(entries)), None
        self._transcript.highlight_all(pattern)
        progress = Progress(count=len(entries) if pattern else 0)
        self._say(progress)
        if pattern is None:
            return
        for batch in batches(entries):
            found = await self._source.search(batch, pattern)
            hits = (*found, *progress.hits)[-MOST_HITS:]
            done = len(entries) if len(hits) >= MOST_HITS else progress.done + len(batch)
            progress = Progress(hits, done, len(entries))
            self._say(progress)
            if self._here is None:
                above = (hit for hit in reversed(found) if hit.seq <= start)
                await self._show(former if former in hits else next(above, None))
        if self._here is None and progress.hits:
            await self._show(progress.hits[0])
        if step:
            self._go(step)

    @work(group="find-step", exclusive=True)
    async def _go(self, step: int) -> None:
        hits = self._progress.hits
        if hits:
            place = hits.index(self._here) + step if self._here in hits else (0 if step > 0 else -1)
            await self._show(hits[place % len(hits)])

    async def _show(self, hit: Hit | None) -> None:
        if hit is None:
            return
        self._here = hit
        entry = next((each for each in self._transcript.entries if each.seq == hit.seq), None)
        if entry is not None:
            await self._source.ready(entry)
        if self._here == hit and not self._transcript.show_hit(hit) and entry is not None:
            excerpt = await self._source.excerpt(entry, hit)
            if excerpt is not None and self._here == hit:
                self._transcript.show_hit(hit, excerpt)
        self._say(self._progress)

    def _say(self, progress: Progress) -> None:
        self._progress = progress
        words = progress.words(self._here) if progress.count else ""
        keys = "   enter next · up previous · esc closes"
        roomy = self.size.width >= _ROOMY and progress.over
        self.query_one("#find-state", Static).update(Content(words + (keys if roomy else "")))
