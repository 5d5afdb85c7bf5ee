"""The list of sessions: open another one, name or delete one, search all of them."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual.app import App

from tui_app.session.errors import explained
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session, rename_session
from tui_app.session.port import SessionInfo, SessionNotFound
from tui_app.session.search import Searched, searching
from tui_app.session.stores import has_begun, open_store
from tui_app.session.workspace import SessionFolder
from tui_app.ui.launch import Launch
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.screens.edit import EditDialog
from tui_app.ui.screens.search import Search, SearchFailed, SearchScreen
from tui_app.ui.screens.sessions import SessionRow, SessionsScreen


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where to go on."""

    session: str
    """Id of the session."""
    seq: int = 0
    """Log number of the message to show; 0 for the end."""


async def choose_session(app: App[Any], launch: Launch, current: str, written: str = "") -> Chosen | None:
    """Show the sessions until the person opens one or leaves the list.

    Args:
        app: Shows the screens.
        launch: Where the sessions are.
        current: Id of the open session, which is not listed; a search finds it too.
        written: What the list is filtered by at first.

    Returns:
        What to open; None when the list was closed.
    """
    while True:
        try:
            infos = await asyncio.to_thread(_list, launch)
        except sqlite3.Error as error:
            told = explained(error, launch.paths.database)
            await app.push_screen_wait(DetailsScreen("No sessions", f"The sessions cannot be read. {told}"))
            return None
        rows = [_row(info) for info in infos if info.messages and info.id != current]
        screen = SessionsScreen(rows, held=partial(held_elsewhere, launch))
        screen.written = written
        choice = await app.push_screen_wait(screen)
        written = screen.written
        if choice is None:
            return None
        if choice.action == "open":
            return Chosen(choice.id)
        if choice.action == "search":
            search = SearchScreen(_searching(launch))
            search.written = written
            if (found := await app.push_screen_wait(search)) is not None:
                return Chosen(found.session, found.seq)
        elif choice.action == "rename":
            await _rename(app, launch, next(row for row in rows if row.id == choice.id))
        elif refusal := await asyncio.to_thread(_delete, launch, choice.id):
            await app.push_screen_wait(DetailsScreen("Not deleted", refusal))


def held_elsewhere(launch: Launch, session: str) -> str:
    """Where a session is open for writing, in words; empty where it is not, or nobody can say."""
    try:
        with closing(open_store(launch.database, read_only=True)) as store:
            return store.holder(session, SessionFolder(launch.paths.sessions_dir / session).lock_file)
    except (OSError, sqlite3.Error):
        return ""


def _searching(launch: Launch) -> Search:
    """What searches the sessions while somebody types."""

    def search(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        try:
            yield from searching(launch.database, words, stopped, typing=True)
        except sqlite3.Error as error:
            told = explained(error, launch.paths.database)
            raise SearchFailed(f"The sessions cannot be searched. {told}") from error

    return search


async def _rename(app: App[Any], launch: Launch, row: SessionRow) -> None:
    about = "What the list calls it. Empty for its first prompt."
    title = await app.push_screen_wait(EditDialog("Title of the session", about, one_line(row.title, 200)))
    if title is None:
        return
    if refusal := await asyncio.to_thread(_name, launch, row.id, title):
        await app.push_screen_wait(DetailsScreen("Not renamed", refusal))


def _name(launch: Launch, session: str, title: str) -> str:
    """Give a session a title; why it was not possible, empty when it was."""
    try:
        with closing(open_store(launch.database)) as store:
            rename_session(store, session, title)
    except (SessionNotFound, OSError, sqlite3.Error) as error:
        return f"The session could not be renamed. {explained(error, launch.paths.database)}"
    return ""


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
    except SessionNotFound:
        return ""  # another window was faster
    except (OSError, sqlite3.Error) as error:
        return f"The session could not be deleted. {explained(error, launch.paths.database)}"
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
