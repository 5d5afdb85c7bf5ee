"""Choosing a session from the list, with renaming, deleting and searching."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_app.records import frozen
from tui_app.session.background import standings_of, where_open
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session, rename_session
from tui_app.session.preview import StatsReader
from tui_app.session.search import Searched, searching
from tui_app.session.stores.database import log_exists, open_store
from tui_app.session.stores.store import SessionInfo, SessionNotFound, explained
from tui_app.ui.dialogs.actions import may_leave, what_leaving_costs
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.launch import Launch
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.chat.session import ChatSession
    from tui_app.ui.host import Host
from tui_app.ui.dialogs.sessions.session_search import Search, SearchFailed, SearchScreen
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen


@frozen
class Chosen:
    """The session to go to."""

    session: str
    """Id of the session; empty starts a new one."""
    seq: int = 0
    """Log number of the message to show; 0 for the end."""
    then: str = ""
    """A command to run there once it is open."""


async def choose_session(
    app: App[Any],
    launch: Launch,
    current: str,
    written: str = "",
    *,
    windows: Mapping[str, int] = MappingProxyType({}),
    listed: Callable[[Sequence[SessionInfo]], object] = lambda _: None,
) -> Chosen | None:
    """Show the sessions until the user opens one or closes the list.

    Args:
        app: Shows the screens.
        launch: Where the sessions are.
        current: Id of the open session.
        written: Initial filter.
        windows: Known context windows by model, in tokens.
        listed: Called with the sessions whenever they are read, since they can be renamed here.

    Returns:
        What to open; None if the list was closed.
    """
    while True:
        infos, states = await asyncio.to_thread(_list, launch)
        rows = [info for info in infos if info.messages]
        listed(rows)
        screen = SessionsScreen(
            rows,
            current=current,
            windows=windows,
            held=partial(open_elsewhere, launch),
            here=next((row.cwd for row in rows if row.id == current), str(launch.cwd)),
            home=launch.env.get("HOME", ""),
            stats=lambda id: StatsReader(launch.database, id).read(),
        )
        screen.written, screen.standing = written, states
        choice = await app.push_screen_wait(screen)
        written = screen.written
        if choice is None or isinstance(choice, SessionInfo):
            return Chosen(choice.id) if choice is not None else None
        if choice.what == "search":
            search = SearchScreen(search_in(launch))
            search.written = written
            if (found := await app.push_screen_wait(search)) is not None:
                return Chosen(found.session, found.seq)
        elif choice.what == "rename":
            row = choice.row
            about = "Its name in the list. Empty: its first prompt."
            dialog = EditDialog("Title of the session", about, one_line(row.title, 200))
            if (title := await app.push_screen_wait(dialog)) is not None:
                await _change(app, launch, "Not renamed", partial(_rename, launch, row.id, title))
        else:
            await _change(app, launch, "Not deleted", partial(_delete, launch, choice.row.id))


async def resume(app: "Host", session: "ChatSession", words: str) -> None:
    """Let the user choose a session and go to it; a message of this one is shown in place."""

    def listed(rows: Sequence[SessionInfo]) -> None:
        presenter = session.presenter
        title = next((row.title for row in rows if row.id == session.id), presenter.state.title)
        if title != presenter.state.title:
            presenter.update(replace(presenter.state, title=title))

    usage = session.state.usage
    windows = {session.state.model: usage.window.stated} if usage is not None else {}
    chosen = await choose_session(app, session.launch, session.id, words, windows=windows, listed=listed)
    if chosen is None:
        return
    if chosen.session == session.id:
        session.presenter.jump_to(chosen.seq)
    else:
        await go_to(app, session, chosen)


async def go_to(app: "Host", session: "ChatSession", chosen: Chosen) -> None:
    """Open a session, asking first if something of this one would be lost."""
    place = ""
    if chosen.session and what_leaving_costs(session):
        place = await asyncio.to_thread(open_elsewhere, session.launch, chosen.session)
    first = f"That session is open in {place} and would be read-only. " if place else ""
    if await may_leave(app, session, first):
        app.open_session(chosen.session, at=chosen.seq, then=chosen.then)


def open_elsewhere(launch: Launch, session: str) -> str:
    """Describe where a session is open for writing; empty if it is not, or if that is unknown."""
    try:
        with closing(open_store(launch.database, read_only=True)) as store:
            return where_open(store, launch.paths.sessions_dir, session)
    except (OSError, sqlite3.Error):
        return ""


def search_in(launch: Launch) -> Search:
    """Create the search over all sessions that follows the user's typing."""

    def search(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        try:
            yield from searching(launch.database, words, stopped, typing=True)
        except sqlite3.Error as error:
            reason = explained(error, launch.paths.database)
            raise SearchFailed(f"The sessions cannot be searched. {reason}") from error

    return search


async def _change(app: App[Any], launch: Launch, refused: str, change: Callable[[], object]) -> None:
    try:
        await asyncio.to_thread(change)
    except (SessionNotFound, SessionLocked, OSError, sqlite3.Error) as error:
        reason = explained(error, launch.paths.database)
        await app.push_screen_wait(DetailsScreen(refused, reason))


def _delete(launch: Launch, session: str) -> None:
    with suppress(SessionNotFound):  # another window was faster
        delete_session(launch.database, launch.paths.sessions_dir, session)


def _rename(launch: Launch, session: str, title: str) -> None:
    with closing(open_store(launch.database)) as store:
        rename_session(store, session, title)


def _list(launch: Launch) -> tuple[list[SessionInfo], dict[str, str]]:
    """Return the sessions, and the states of background ones by id."""
    if not log_exists(launch.database):
        return [], {}
    with closing(open_store(launch.database, read_only=True)) as store:
        infos = store.sessions()
        left = standings_of(store, launch.paths.sessions_dir, infos)
        return infos, {id: each.in_words for id, each in left.items()}
