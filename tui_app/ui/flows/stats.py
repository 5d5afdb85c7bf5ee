"""The figures of the session."""

import asyncio
import sqlite3
from typing import Any

from textual.app import App

from tui_app.session.stats import SessionStats
from tui_app.session.stats_reader import StatsReader
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.stats import StatsScreen


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
