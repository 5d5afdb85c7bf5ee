"""Looking at what is remembered, and changing it; reading the session that is open."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_app.conversation.boards import boards_in, session_scope
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import LONGEST, Entry, NotRemembered
from tui_app.session.errors import explained
from tui_app.session.port import SessionNotFound
from tui_app.session.stores import has_begun, open_store
from tui_app.settings.spec import memory_settings
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.asking import confirmed
from tui_app.ui.flows.leaving import what_leaving_costs
from tui_app.ui.launch import Launch
from tui_app.ui.screens.edit import EditDialog
from tui_app.ui.screens.memory import MemoryChoice, MemoryScreen

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.app import PlimsollApp

_ABOUT = f"One sentence, at most {LONGEST} characters. Later sessions on this branch are told."


@dataclass(frozen=True, slots=True)
class _Result:
    """What came of a change."""

    told: str = ""
    refused: str = ""
    entry: int = 0


_Change = Callable[["OpenSession"], _Result]


async def show_memory(app: "PlimsollApp", session: ChatSession) -> None:
    """Show the board until the person leaves it, or goes to where an entry comes from."""
    result, written = _Result(), ""
    while True:
        try:
            entries, whose = await asyncio.to_thread(_read, session.launch, session.id)
        except (SessionNotFound, sqlite3.Error, OSError) as error:
            told = explained(error, session.launch.paths.database)
            session.say(f"What is remembered cannot be read. {told}")
            return
        off = not memory_settings(session.launch.settings.memory).enabled
        screen = MemoryScreen(entries, whose, told=result.told, marked=result.entry, off=off)
        screen.written = written
        choice = await app.push_screen_wait(screen)
        # What was just added must not be left out of the list.
        written = "" if choice is not None and choice.action == "add" else screen.written
        if choice is None:
            return
        if choice.action == "source" and choice.entry is not None:
            await _go_to_source(app, session, choice.entry)
            return
        result = await _change(app, session, choice)


async def read_session_now(session: ChatSession) -> None:
    """Read the open session for the board, behind what else is done; a notice says what came of it."""
    if session.read_only:
        session.say(session.read_only)
        return

    async def run(opened: "OpenSession") -> None:
        opened.remembering.run()

    session.say("Reading this session for the context board.")
    await session.link.ask(run)


def _read(launch: Launch, session: str) -> tuple[list[Entry], str]:
    """What stands on the board that the session fills and is told, and whose it is."""
    boards = boards_in(launch.database)
    if not has_begun(launch.database):
        return [], boards.scope(launch.cwd).label
    if session:
        with closing(open_store(launch.database, read_only=True)) as store:
            info = store.info(session)
        scope = session_scope(boards, launch.database, info, launch.cwd)
    else:
        scope = boards.scope(launch.cwd)
    return ContextBoard(boards, scope).entries(), scope.label


async def _change(app: "PlimsollApp", session: ChatSession, choice: MemoryChoice) -> _Result:
    entry = choice.entry
    match choice.action:
        case "forget" if entry is not None:
            return await _do(session, lambda opened: _forgotten(opened, entry.id))
        case "edit" if entry is not None:
            return await _typed(app, session, f"Entry {entry.id}", entry)
        case _:
            return await _typed(app, session, "A new entry", None)


async def _typed(app: "PlimsollApp", session: ChatSession, title: str, entry: Entry | None) -> _Result:
    """Let the person word an entry until it is taken."""
    refused, text = "", entry.text if entry is not None else ""
    while True:
        typed = await app.push_screen_wait(EditDialog(title, _ABOUT, text, refused))
        if not typed:
            return _Result(entry=entry.id if entry is not None else 0)
        text = typed
        result = await _do(session, lambda opened: _worded(opened, entry, text))  # noqa: B023 - awaited here
        if not result.refused:
            return result
        refused = result.refused


async def _do(session: ChatSession, change: _Change) -> _Result:
    """Have the engine change the board, so that the session's log is told."""
    if session.read_only:
        return _Result(session.read_only)

    async def ask(opened: "OpenSession") -> _Result:
        try:
            return change(opened)
        except NotRemembered as refusal:
            return _Result(told=f"Not kept: {refusal}.", refused=f"Not kept: {refusal}.")

    try:
        return await session.link.ask(ask)
    except (SessionNotFound, sqlite3.Error, OSError) as error:
        told = f"The board could not be changed. {explained(error, session.launch.paths.database)}"
        return _Result(told=told, refused=told)


def _forgotten(opened: "OpenSession", number: int) -> _Result:
    opened.remembering.forget(number)
    return _Result(told=f"Entry {number} is off the board.")


def _worded(opened: "OpenSession", entry: Entry | None, text: str) -> _Result:
    board = opened.remembering
    done = board.add(text) if entry is None else board.edit(entry.id, text)
    told = f"Kept as entry {done.entry.id}." if done.new else f"Entry {done.entry.id} says so already."
    return _Result(told=told, entry=done.entry.id)


async def _go_to_source(app: "PlimsollApp", session: ChatSession, entry: Entry) -> None:
    """Show the message an entry comes from, in its session."""
    if entry.session == session.id:
        session.presenter.jump_to(entry.seq)
        return
    if not await asyncio.to_thread(_exists, session.launch, entry.session):
        session.say(f"Session {entry.session}, which this entry comes from, was deleted.")
        return
    text = what_leaving_costs(session)
    if text and not await confirmed(app, text, verb="Leave", keep="Stay"):
        return
    app.open_session(entry.session, at=entry.seq)


def _exists(launch: Launch, wanted: str) -> bool:
    store = open_store(launch.database, read_only=True)
    try:
        return bool(store.info(wanted))
    except SessionNotFound:
        return False
    finally:
        store.close()
