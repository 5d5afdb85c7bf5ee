"""Everything that was ever said, in any session: words are typed, hits appear, one is opened at its place."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import ClassVar

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.session.search import Found
from tui_app.ui.format import count
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import clean, one_line
from tui_app.ui.screens.filter_dialog import FilterDialog

_WHO = {
    "user.message": "you",
    "assistant.message": "answer",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}
_TITLE_CELLS = 24
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


class SearchScreen(FilterDialog[Found]):
    """Dismisses with the hit to open, or ``None``. Searching never holds up typing."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/search.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "open there", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "search"
    PLACEHOLDER = "search what was said in all sessions"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, search: Callable[[str], Sequence[Found]], *, tz: tzinfo | None = None) -> None:
        """Offer a search.

        Args:
            search: Finds the best hits; called in a thread, raises ``SearchFailed``.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._search = search
        self._shown: Sequence[Found] = ()
        self._tz = tz

    @property
    def title_text(self) -> str:
        """What is searched."""
        return "Search all sessions"

    def fill(self, wanted: str) -> None:
        """Search anew; what was being searched for is forgotten."""
        if wanted.strip():
            self.run_worker(self._look(wanted), group="search", exclusive=True, exit_on_error=False)
        else:
            self.workers.cancel_group(self, "search")
            self._show((), _HELP)

    async def _look(self, wanted: str) -> None:
        try:
            found = await asyncio.to_thread(self._search, wanted)
        except SearchFailed as failed:
            self._show((), str(failed))
        else:
            self._show(found, "" if found else "Nothing holds all of that.")

    def _show(self, found: Sequence[Found], note: str) -> None:
        self._shown = found
        self.options.clear_options()
        width = max(40, self.size.width - 8)
        self.options.add_options([Option(hit_line(each, width, self._tz)) for each in found])
        if found:
            self.options.highlighted = 0
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
