"""The list of sessions: open another one, delete one."""

import asyncio
import sqlite3
from typing import Any

from textual.app import App

from tui_app.context.storage_errors import storage_error
from tui_app.session.lock import SessionLocked
from tui_app.session.places import has_begun, open_store
from tui_app.session.removal import delete_session
from tui_app.session.store import SessionInfo
from tui_app.ui.launch import Launch
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.screens.sessions import SessionRow, SessionsScreen


async def choose_session(app: App[Any], launch: Launch, current: str) -> str:
    """Show the sessions until the person opens one or leaves the list.

    Args:
        app: Shows the screens.
        launch: Where the sessions are.
        current: Id of the open session, which is not offered.

    Returns:
        Id of the session to open; empty when the list was closed.
    """
    while True:
        try:
            infos = await asyncio.to_thread(_list, launch)
        except sqlite3.Error as error:
            told = storage_error(error, launch.paths.database) or error
            await app.push_screen_wait(DetailsScreen("No sessions", f"The sessions cannot be read. {told}"))
            return ""
        rows = [_row(info) for info in infos if info.messages and info.id != current]
        choice = await app.push_screen_wait(SessionsScreen(rows))
        if choice is None:
            return ""
        if choice.action == "open":
            return choice.id
        if refusal := await asyncio.to_thread(_delete, launch, choice.id):
            await app.push_screen_wait(DetailsScreen("Not deleted", refusal))


def _list(launch: Launch) -> list[SessionInfo]:
    if not has_begun(launch.database):
        return []
    store = open_store(launch.database, read_only=True)
    try:
        return store.sessions()
    finally:
        store.close()


def _delete(launch: Launch, session: str) -> str:
    """Delete a session the person has said yes to; why it was not possible, empty when it was."""
    try:
        delete_session(launch.database, launch.paths.sessions_dir, session)
    except SessionLocked as locked:
        return f"This session is open in {locked}. Close it there first."
    except (OSError, sqlite3.Error) as error:
        return f"The session could not be deleted: {error}"
    return ""


def _row(info: SessionInfo) -> SessionRow:
    return SessionRow(
        id=info.id,
        title=info.title,
        cwd=info.cwd,
        updated=info.updated,
        messages=info.messages,
        tokens=info.tokens,
        model=info.model,
    )
