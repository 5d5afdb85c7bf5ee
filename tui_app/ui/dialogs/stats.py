"""Statistics of a session."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_app.session.preview import StatsReader
from tui_app.session.stats import SessionStats
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.words.session_report import sections

LOOK_S = 1.0
"""Seconds between two reads of the log while the screen is open."""


class StatsScreen(Dialog[None], place="stats", style="stats", size="-full"):
    """Scrollable figures that follow the log."""

    def __init__(self, stats: SessionStats, read: Callable[[], Awaitable[SessionStats]]) -> None:
        """Show figures.

        Args:
            stats: The figures so far.
            read: Updates them, without blocking the screen.
        """
        super().__init__("Statistics")
        self._stats, self._read = stats, read

    def body(self) -> ComposeResult:
        with VerticalScroll(id="stats-scroll"):
            yield Static(self._content(), id="stats-figures", markup=False)

    def on_mount(self) -> None:
        """Make the figures scrollable with the keys, and start updating them."""
        self.query_one("#stats-scroll").focus()
        self.run_worker(self._follow())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            stats = await self._read()
            if stats != self._stats:
                self._stats = stats
                self.query_one("#stats-figures", Static).update(self._content())

    def _content(self) -> Content:
        blocks = [
            Content("\n").join([Content.styled(section.title, "bold"), *map(Content, section.lines)])
            for section in sections(self._stats)
        ]
        content = Content("\n\n").join(blocks)
        self.whole = content.plain
        return content


async def show_stats(app: App[Any], session: ChatSession) -> None:
    """Show what the session did and cost; the log is read in a thread."""
    reader = StatsReader(session.launch.database, session.id)

    async def again() -> SessionStats:
        with suppress(sqlite3.Error, OSError):  # the next read may succeed
            await asyncio.to_thread(reader.read)
        return reader.known

    await app.push_screen_wait(StatsScreen(await asyncio.to_thread(reader.read), again))
