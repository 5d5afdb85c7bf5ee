"""Full-text search over all sessions."""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Literal

from textual import work
from textual.content import Content

from tui_app.session.search import Found, Searched
from tui_app.ui.dialogs.list import NARROW, ROOMY, ListDialog, ListSpec
from tui_app.ui.keyboard.keys import Hint
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.text import clean, clock, count, one_line

_WHO = {
    "user.message": "user",
    "assistant.message": "answer",
    "tool.call": "call",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}

SLOW_S = 0.2
"""Seconds after which a search shows its progress; for a faster one it would only flicker."""

Search = Callable[[str, Callable[[], bool]], Generator[Searched, None, None]]
"""Searches for words, polling whether to stop; each step runs in a thread."""

_NOTHING = Searched(())


class SearchFailed(Exception):
    """Raised if the sessions cannot be searched, with the reason as message."""


def snippet(found: Found, cells: int) -> Content:
    """Return the words around a hit, which is highlighted and always visible."""
    # Cleaned piece by piece, so that the offsets stay valid.
    pieces: list[tuple[str, str]] = []
    at = 0
    for start, end in found.hits:
        pieces += [(_safe(found.snippet[at:start]), ""), (_safe(found.snippet[start:end]), "bold underline")]
        at = end
    pieces.append((_safe(found.snippet[at:]), ""))
    whole = Content.assemble(*pieces)
    if found.hits and found.hits[0][1] > cells:
        # In a narrow window the text before the hit must not push it out.
        whole = Content.assemble("… ", whole[max(0, found.hits[0][0] - cells // 3) :])
    return whole.truncate(cells, ellipsis=True)


def _safe(text: str) -> str:
    return clean(text, keep_newlines=False)


def title_of(searched: Searched, state: Literal["", "looking", "stopped"]) -> str:
    """Return the first row, with the progress of the search if it is worth showing."""
    title = "Search all sessions"
    if not state:
        return title
    done = f"{searched.sessions:,} of {searched.of:,}" if searched.of else ""
    if state == "looking":
        return f"{title} · {f'{done} searched' if done else 'searching'} · esc stops"
    return f"{title} · stopped{f' at {done}' if done else ''}"


class SearchScreen(ListDialog[Found], place="search"):
    """Dismisses with the hit to open, or ``None``. Searching never blocks typing, and can be stopped."""

    def __init__(self, search: Search) -> None:
        """Show the search.

        Args:
            search: Yields the best hits so far; called in a thread, raises ``SearchFailed``.
        """

        def title(found: Found) -> str:
            return found.title or "untitled"

        def note(found: Found) -> str:
            where = f"{found.session} #{found.seq} · {one_line(found.title, 40)} · {one_line(found.cwd, 60)}"
            return f"{count(len(self.shown), 'hit')} · {where}"

        spec = ListSpec[Found](
            name="search",
            search="search what was said in all sessions",
            columns=(
                Column(lambda found: clock(found.time, "%Y-%m-%d %H:%M"), 18, leaves_at=ROOMY),
                Column(lambda found: clock(found.time, "%m-%d"), 7, comes_below=ROOMY),
                # The words matter most: if space is short, the note has the session's name.
                Column(title, 26, "", gap=2, leaves_at=ROOMY),
                Column(title, 14, "", gap=2, leaves_at=NARROW, comes_below=ROOMY),
                Column(lambda found: _WHO.get(found.type, ""), 9),
                Column(fitted=snippet),
            ),
            title=lambda _: title_of(_NOTHING, ""),
            note=note,
            key=lambda found: (found.session, found.seq),
            least_lines=8,
            narrows=False,
        )
        super().__init__((), spec)
        self._search = search
        self._stopping: threading.Event | None = None
        """Stops the running search; None if none runs."""
        self._reached = _NOTHING
        self._slow = False
        """Whether the progress is shown."""

    def fill(self, query: str) -> None:
        """Start a new search, dropping the previous one."""
        self._end("")
        self._reached, self._slow = _NOTHING, False
        self.workers.cancel_group(self, "search")
        if query.strip():
            self._stopping = threading.Event()
            self._look(query, self._stopping)
        else:
            self._show((), 'Words in any order, "words side by side", or the beginning of one as harb*')

    def line_up(self) -> None:
        """Repaint the hits for the current width, without searching again."""
        if self.shown:
            self._show(self.shown, "", same=True)

    @work(group="search")
    async def _look(self, query: str, stopping: threading.Event) -> None:
        slow = self.set_timer(SLOW_S, self._tell)
        parts = self._search(query, stopping.is_set)
        message = ""
        try:
            while (part := await asyncio.to_thread(next, parts, None)) is not None:
                same, self._reached = bool(self._reached.found), part
                if part.found:
                    self._show(part.found, "", same=same)
                if self._slow:
                    self._tell()
            message = "" if self._reached.found else "No results."
        except SearchFailed as failed:
            message = str(failed)
        finally:
            slow.stop()
            # A generator running in its thread cannot be closed; it stops because it polls for that.
            with suppress(ValueError):
                parts.close()
        if message:
            self._show((), message)
        self._end("")

    def _tell(self) -> None:
        """Show the progress, from now on after each part."""
        self._slow = True
        self._show_progress("looking")

    def _end(self, state: Literal["", "stopped"]) -> None:
        """End the search, keeping the hits."""
        if self._stopping is not None:
            self._stopping.set()
            self._stopping = None
        if state:
            self.workers.cancel_group(self, "search")
            if not self._reached.found:
                self._show((), "Stopped before anything was found.")
        self._show_progress(state)

    def _show_progress(self, state: Literal["", "looking", "stopped"]) -> None:
        self.write_head(title_of(self._reached, state))
        esc = Hint("esc", "stop" if state == "looking" else "close", 0, "screen.close")
        self.key_row.hints = (*(self.spec.hints[:-1] if self.shown else ()), esc)

    def _show(self, found: Sequence[Found], note: str, *, same: bool = False) -> None:
        """List hits; those of the ``same`` search keep the marked row."""
        if not (same and self.options.highlighted):
            self.marked_key = None
        self.said = note
        self.list_rows(found)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the stop key while there is nothing to stop."""
        if action == "stop":
            return self._stopping is not None
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stop the search, keeping the hits."""
        self._end("stopped")

    def action_close(self) -> None:
        """Stop a search that shows its progress; otherwise close."""
        if self._stopping is not None and self._slow:
            self._end("stopped")
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        if self._stopping is not None:
            self._stopping.set()
