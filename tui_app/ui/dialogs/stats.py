"""What the session did and cost, as it stands and as it grows."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Static

from tui_app.session.stats import SessionStats
from tui_app.session.stats_reader import StatsReader
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import Dialog
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.stats_text import sections

LOOK_S = 1.0
"""Seconds between two looks at the log while the screen is open."""


class StatsScreen(Dialog[None]):
    """Scrollable figures that follow the log."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/stats.tcss"]
    BINDINGS = place_bindings("stats")
    HINTS = place_hints("stats")

    def __init__(self, stats: SessionStats, read: Callable[[], Awaitable[SessionStats]]) -> None:
        """Show figures.

        Args:
            stats: The figures so far.
            read: Brings them up to date, without holding up the screen.
        """
        super().__init__()
        self._stats, self._read = stats, read

    def compose(self) -> ComposeResult:
        """Heading, figures, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading("Statistics")
            with VerticalScroll(id="stats-scroll"):
                yield Static(self._content(), id="stats-figures", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Scroll with the keys; look at the log now and then."""
        self.query_one("#stats-scroll").focus()
        self.run_worker(self._follow(), exit_on_error=False)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            stats = await self._read()
            if stats != self._stats:
                self._stats = stats
                self.query_one("#stats-figures", Static).update(self._content())

    def action_copy_all(self) -> None:
        """Copy what is shown."""
        self.app.copy_to_clipboard(self._content().plain)
        self.key_row.said = "copied all"

    def _content(self) -> Content:
        blocks = [
            Content("\n").join([Content.styled(section.title, "bold"), *map(Content, section.lines)])
            for section in sections(self._stats)
        ]
        return Content("\n\n").join(blocks)


# The figures of the session.


async def show_stats(app: App[Any], session: ChatSession) -> None:
    """Show what the session did and cost; the log is read in a thread."""
    reader = StatsReader(session.launch.database, session.id)

    async def again() -> SessionStats:
        try:
            return await asyncio.to_thread(reader.read)
        except (sqlite3.Error, OSError):
            return reader.known  # the next look may succeed

    try:
        stats = await asyncio.to_thread(reader.read)
    except (sqlite3.Error, OSError) as error:
        session.report(f"The log cannot be read: {error}. Try /stats again.")
        return
    await app.push_screen_wait(StatsScreen(stats, again))
