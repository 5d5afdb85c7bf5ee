"""Everything that was ever said, in any session: words are typed, hits appear, one is opened at its place."""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from functools import partial
from typing import ClassVar, Literal

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from tui_app.session.search import Found, Searched
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.keys import Hint, place_bindings, place_hints
from tui_app.ui.text import clean, count, one_line

_WHO = {
    "user.message": "you",
    "assistant.message": "answer",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}
_TITLE_CELLS = 24
SLOW_S = 0.2
"""Seconds after which a search says how far it is; one that is sooner done would only flicker."""
Search = Callable[[str, Callable[[], bool]], Generator[Searched, None, None]]
"""Searches for words, and asks whether to stop; each step is taken in a thread."""
_HELP = 'Words in any order, "words side by side", or the beginning of one as harb*'


class SearchFailed(Exception):
    """The sessions cannot be searched; the text says why to a person."""


def hit_line(found: Found, width: int, tz: tzinfo | None = None) -> Content:
    """One row: when, in which session, who, and the words around the hit."""
    roomy = width >= 100
    when = datetime.fromtimestamp(found.time, tz).strftime("%Y-%m-%d %H:%M" if roomy else "%m-%d")
    cells = _TITLE_CELLS if roomy else _TITLE_CELLS // 2
    title = one_line(found.title, cells) or "untitled"
    padding = " " * (cells - Content(title).cell_length)
    who = _WHO.get(found.type, "")
    room = max(12, width - len(when) - cells - 13)
    return Content.assemble(
        (f"{when}  ", "$text-muted"), title, padding, (f"  {who:<8} ", "$text-muted"), _marked(found, room)
    )


def _marked(found: Found, width: int) -> Content:
    """The snippet with its hits set off; cleaned piece by piece, so that the places still fit."""
    pieces: list[tuple[str, str]] = []
    at = 0
    for start, end in found.hits:
        pieces += [(_safe(found.snippet[at:start]), ""), (_safe(found.snippet[start:end]), "bold underline")]
        at = end
    pieces.append((_safe(found.snippet[at:]), ""))
    whole = Content.assemble(*pieces)
    if found.hits and found.hits[0][1] > width:
        # In a narrow window what goes before the hit must not push it out.
        whole = Content.assemble("… ", whole[max(0, found.hits[0][0] - width // 3) :])
    return whole.truncate(width, ellipsis=True)


def _safe(text: str) -> str:
    return clean(text, keep_newlines=False)


def title_of(searched: Searched | None, state: Literal["", "looking", "stopped"]) -> str:
    """The first row: how far the search is, where that is worth saying."""
    title = "Search all sessions"
    if not state:
        return title
    done = f"{searched.sessions:,} of {searched.of:,}" if searched is not None and searched.of else ""
    if state == "looking":
        return f"{title} · {f'{done} searched' if done else 'searching'} · esc stops"
    return f"{title} · stopped{f' at {done}' if done else ''}"


class SearchScreen(FilterDialog[Found]):
    """Dismisses with the hit to open, or ``None``. Searching never holds up typing, and can be stopped."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/search.tcss"]
    BINDINGS = place_bindings("search")
    HINTS = place_hints("search")
    NAME = "search"
    PLACEHOLDER = "search what was said in all sessions"
    CLASSES_OF_BOX = "dialog -full"
    NARROWS = False

    def __init__(self, search: Search, *, tz: tzinfo | None = None) -> None:
        """Offer a search.

        Args:
            search: Reports the best hits so far; called in a thread, raises ``SearchFailed``.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._search = search
        self._shown: Sequence[Found] = ()
        self._tz = tz
        self._stopping: threading.Event | None = None
        """Stops the search that is under way; None while none is."""
        self._reached: Searched | None = None
        self._slow = False
        """Whether it is said how far the search is."""

    @property
    def title_text(self) -> str:
        """What is searched."""
        return title_of(None, "")

    def fill(self, wanted: str) -> None:
        """Search anew; what was being searched for is forgotten."""
        self._end("")
        self._reached, self._slow = None, False
        if wanted.strip():
            self._stopping = threading.Event()
            # What makes a coroutine: the next letter may cancel a worker before it has begun.
            _searching: Worker[None] = self.run_worker(
                partial(self._look, wanted, self._stopping),
                group="search",
                exclusive=True,
                exit_on_error=False,
            )
        else:
            self.workers.cancel_group(self, "search")
            self._show((), _HELP)

    def line_up(self) -> None:
        """Paint the hits for the present width; nothing is searched anew."""
        if self._shown:
            self._show(self._shown, "", same=True)

    async def _look(self, wanted: str, stopping: threading.Event) -> None:
        slow = self.set_timer(SLOW_S, self._tell)
        parts = self._search(wanted, stopping.is_set)
        try:
            while (part := await asyncio.to_thread(next, parts, None)) is not None:
                first = self._reached is None or not self._reached.found
                self._reached = part
                if part.found:
                    self._show(part.found, "", same=not first)
                if self._slow:
                    self._tell()
        except SearchFailed as failed:
            self._show((), str(failed))
        else:
            if self._reached is None or not self._reached.found:
                self._show((), "Nothing holds all of that.")
        finally:
            slow.stop()
            # Where it is at work in a thread just now, that ends it: it asks whether it is to stop.
            with suppress(ValueError):
                parts.close()
        self._end("")

    def _tell(self) -> None:
        """Say how far the search is, from now on after each part."""
        self._slow = True
        self._head("looking")

    def _end(self, state: Literal["", "stopped"]) -> None:
        """Have nothing more searched; what was found stays."""
        if self._stopping is not None:
            self._stopping.set()
            self._stopping = None
        if state:
            self.workers.cancel_group(self, "search")
            if self._reached is None or not self._reached.found:
                self._show((), "Stopped before anything was found.")
        self._head(state)

    def _head(self, state: Literal["", "looking", "stopped"]) -> None:
        self.query_one(".dialog-title", Static).update(Content(title_of(self._reached, state)))
        esc = "stop" if state == "looking" else "close"
        self.key_row.hints = (*self.HINTS[:-1], Hint("esc", esc, 0, "screen.close"))

    def _show(self, found: Sequence[Found], note: str, *, same: bool = False) -> None:
        """List hits; those of the ``same`` search keep the row that was chosen."""
        chosen = self.options.highlighted
        marked = self._shown[chosen] if same and chosen else None
        self._shown = found
        self.options.clear_options()
        width = max(40, self.size.width - 8)
        self.options.add_options([Option(hit_line(each, width, self._tz)) for each in found])
        if found:
            # A row that was chosen stays so while more is found.
            self.options.highlighted = found.index(marked) if marked in found else 0
        else:
            self.note(note)

    def explain(self, index: int) -> None:
        """Session and number of a hit, and how many there are."""
        found = self._shown[index]
        where = f"{found.session} #{found.seq} · {one_line(found.title, 40)} · {one_line(found.cwd, 60)}"
        self.note(f"{count(len(self._shown), 'hit')} · {where}")

    def use(self, index: int) -> None:
        """Dismiss with the hit."""
        self.dismiss(self._shown[index])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the key that stops to others while there is nothing to stop."""
        if action == "stop":
            return self._stopping is not None
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stop the search; what was found stays."""
        self._end("stopped")

    def action_close(self) -> None:
        """Stop a search that says how far it is; else close."""
        if self._stopping is not None and self._slow:
            self._end("stopped")
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        """Leave no search behind."""
        if self._stopping is not None:
            self._stopping.set()
