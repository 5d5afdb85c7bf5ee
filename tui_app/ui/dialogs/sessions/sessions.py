"""The list of sessions: open, rename or delete one, or search all of them."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath
from types import MappingProxyType

from rich.cells import cell_len
from textual.content import Content

from tui_app.context.storage_errors import StorageError
from tui_app.session.stats import SessionStats
from tui_app.session.stores.store import SessionInfo
from tui_app.ui.dialogs.list import NARROW, Asked, ListDialog, ListSpec
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.text import clock, cost, count, from_home, one_line, tokens
from tui_app.usage import percent_text

_NO_OTHER = "There is no other session yet."


def last_used(moment: datetime, now: datetime) -> str:
    """Return ``23:53`` today, ``yesterday``, ``Monday`` within a week, else the date."""
    days = (now.date() - moment.date()).days
    if not 0 <= days < 7:
        return f"{moment:%Y-%m-%d}"
    return (f"{moment:%H:%M}", "yesterday")[days] if days < 2 else _WEEKDAYS[moment.weekday()]


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""In English whatever the locale, like everything else."""


def spent_text(stats: SessionStats | None) -> tuple[str, str]:
    """Return the number of compactions and the cost of a session, ``3×`` and ``$1.90``; empty if none.

    The cost is ``$1.90+`` if a part of it has no known price.
    """
    if stats is None:
        return "", ""
    made = sum(row.count - row.undone for row in stats.compactions if row.outcome in ("success", "imported"))
    usd, unpriced = stats.cost_usd, "+" if stats.unpriced else ""
    return f"{made}×" if made else "", f"{cost(usd)}{unpriced}" if usd else "?" * len(unpriced)


_PRICED = 90
"""Cells of a row from which it has the session's cost."""


class SessionsScreen(ListDialog[SessionInfo], place="sessions"):
    """Dismisses with the session to open, one to ``rename`` or ``delete``, or ``search``."""

    def __init__(
        self,
        rows: Sequence[SessionInfo],
        *,
        current: str = "",
        windows: Mapping[str, int] = MappingProxyType({}),
        held: Callable[[str], str] = lambda _: "",
        here: str = "",
        home: str = "",
        stats: Callable[[str], SessionStats] | None = None,
    ) -> None:
        """List sessions.

        Args:
            rows: Newest first.
            current: Id of the open session; another one is marked first.
            windows: Known context windows by model, in tokens.
            held: Describes where a session is open, empty if it is not; called in a thread.
            here: The folder whose sessions come first.
            home: The user's home folder.
            stats: Reads a session's figures, in a thread; may raise ``sqlite3.Error``.
        """
        self._current, self._held, self._read_stats = current, held, stats
        self.standing: Mapping[str, str] = {}
        """States of the background sessions by id."""
        self._stats: dict[str, SessionStats] = {}
        """Figures by session, as far as they are read."""

        def name(row: SessionInfo, cells: int) -> Content:
            mark = self._mark(row, cells)
            return Content.assemble(one_line(row.title, cells - cell_len(mark)) or "untitled", (mark, MUTED))

        def used(row: SessionInfo) -> str:
            return last_used(datetime.fromtimestamp(row.updated), datetime.now())

        def turns(row: SessionInfo) -> str:
            return f"{self._stats[row.id].turns:,}" if row.id in self._stats else ""

        def few_turns(row: SessionInfo) -> str:
            return f"{turns(row):>4} {'turn ' if turns(row) == '1' else 'turns'}"

        def spent(row: SessionInfo) -> tuple[str, str]:
            return spent_text(self._stats.get(row.id))

        def size(row: SessionInfo) -> str:
            return tokens(row.tokens) if row.tokens else "?"

        def folder(cwd: str) -> str:
            return one_line(from_home(PurePath(cwd), home), 80)

        def note(row: SessionInfo) -> str:
            if row.id == current and len(rows) == 1:
                return _NO_OTHER
            window = windows.get(row.model, 0)
            # A session without requests has not been counted.
            usage = f"{tokens(row.tokens)} of {window_text(window)}, {percent_text(row.tokens, window)}"
            full = f"opens with {usage}" if window and row.tokens else ""
            parts = (full, one_line(row.id, 40), one_line(row.model, 40), folder(row.cwd))
            return " · ".join(filter(None, parts))

        spec = ListSpec[SessionInfo](
            name="sessions",
            search="filter by title, folder or model",
            columns=(
                Column(title="session", fitted=name),
                Column(few_turns, 11, "", right=True, comes_below=NARROW),
                Column(lambda row: clock(row.updated, "%m-%d"), 7, right=True, comes_below=NARROW),
                Column(turns, 7, "", "turns", right=True, leaves_at=NARROW),
                Column(size, 10, "", "context", right=True, leaves_at=NARROW),
                Column(lambda row: spent(row)[0], 11, "", "compacted", right=True, leaves_at=_PRICED),
                Column(lambda row: spent(row)[1], 9, "", "cost", right=True, leaves_at=_PRICED),
                Column(used, 12, MUTED, "last used", right=True, leaves_at=NARROW),
            ),
            title=lambda it: " · ".join(["Sessions", *(folder(row.cwd) for row in it.shown[:1])]),
            words=lambda row: f"{row.title} {row.cwd} {row.model} {row.id} {self.standing.get(row.id, '')}",
            note=note,
            empty="No matching session.",
            none=_NO_OTHER,
            acts_without_row=("f7", "esc"),
            section=lambda row: row.cwd,
            head=folder,
        )
        # By folder: the current one, then the most recently used.
        folders = list(dict.fromkeys((here, *(row.cwd for row in rows))))
        super().__init__(sorted(rows, key=lambda row: folders.index(row.cwd)), spec)

    def _mark(self, row: SessionInfo, cells: int) -> str:
        if (state := self.standing.get(row.id)) is not None:
            return f"  {one_line(state, max(8, cells // 2))}"
        return "  this one" if row.id == self._current else ""

    def on_mount(self) -> None:
        """List the sessions; their figures are added later."""
        if self._read_stats is not None:
            self.run_worker(self._count(self._read_stats), group="stats")

    async def _count(self, read: Callable[[str], SessionStats]) -> None:
        """Read the sessions' figures, newest first; logs may be long, so the list is shown before."""
        with suppress(StorageError, OSError, sqlite3.Error):
            for row in self.rows:
                self._stats[row.id] = await asyncio.to_thread(read, row.id)
                self.repaint(row)

    def first(self) -> int:
        return next((at for at, row in enumerate(self.shown) if row.id != self._current), 0)

    async def action_delete(self) -> None:
        """Confirm, then dismiss with the session to delete; one that is open elsewhere cannot be deleted."""
        if (row := self.marked) is None:
            return
        if row.id == self._current:
            self.note("This is the session you are in. Open another one to delete it.")
        elif who := await asyncio.to_thread(self._held, row.id):
            self.note(f"This session is open in {who}. Close it there first.")
        else:
            title = one_line(row.title, 60) or "untitled"
            question = f'Delete session "{title}"? {count(row.messages, "message")}, cannot be undone.'
            self.ask(ConfirmDialog(question), lambda _: Asked("delete", row))
