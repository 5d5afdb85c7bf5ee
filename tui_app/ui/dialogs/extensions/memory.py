"""The context board: what is remembered of this repository and branch, with the source of each entry."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.widgets import Input

from tui_app.conversation.memory.boards import boards_in, session_scope
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import LONGEST, PERSON, Entry, NotRemembered
from tui_app.refusals import Refusal
from tui_app.session.stores.database import log_exists, open_store
from tui_app.session.stores.store import SessionNotFound, explained
from tui_app.settings.spec import MemorySettings
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.list import ROOMY, Asked, ListSpec, OpenList
from tui_app.ui.dialogs.questions import ConfirmDialog, typed
from tui_app.ui.launch import Launch
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.text import clock, one_line

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host

EMPTY = "No memories yet. f6 adds one. Plimsoll also reads each session when it ends."
OFF = "Memory is off. Nothing is saved automatically or sent to sessions."


def source_text(entry: Entry) -> str:
    """Return who wrote an entry, or its source message and session."""
    if entry.made_by == PERSON:
        return "you"
    return f"#{entry.seq} {entry.session}" if entry.session else entry.made_by


def entry_note(entry: Entry) -> str:
    """Return an entry in full, with its source."""
    when = clock(entry.time, "%Y-%m-%d %H:%M")
    where = f"on {one_line(entry.branch, 40)}" if entry.branch else "on every branch"
    by = "you" if entry.made_by == PERSON else one_line(entry.made_by, 40)
    source = f" · message #{entry.seq} of session {one_line(entry.session, 20)}" if entry.seq else ""
    return f"{one_line(entry.text, 480)}\nentry {entry.id} · {where} · by {by}, {when}{source}"


class MemoryScreen(OpenList[Entry], place="memory"):
    """Requests to show an entry's ``source``, to ``edit`` or ``forget`` it, or to ``add`` one."""

    def __init__(self, entries: Sequence[Entry], whose: str, *, off: bool = False) -> None:
        """Show a board.

        Args:
            entries: Its entries by descending weight.
            whose: Repository and branch in words.
            off: Whether memory is switched off.
        """
        spec = ListSpec[Entry](
            name="memory",
            search="filter by words, kind or session",
            columns=(
                Column(lambda entry: entry.kind, 10),
                Column(lambda entry: entry.text, tone=""),
                Column(lambda entry: clock(entry.time, "%Y-%m-%d"), 12, leaves_at=ROOMY),
                Column(source_text, 16, leaves_at=ROOMY),
            ),
            title=lambda _: f"Memory · {one_line(whose, 60)}",
            words=lambda entry: f"{entry.text} {entry.kind} {entry.source} {entry.branch} {entry.made_by}",
            note=lambda entry: f"{entry_note(entry)}\n{OFF}" if off else entry_note(entry),
            empty="No matching entry.",
            none=OFF if off else EMPTY,
            acts_without_row=("f6", "esc"),
            key=lambda entry: entry.id,
        )
        super().__init__(entries, spec)

    def use(self, row: Entry) -> None:
        if row.session:
            self.answer(Asked("source", row))
        else:
            self.note("You wrote this entry outside any session: there is no message to show.")

    def action_forget(self) -> None:
        if (entry := self.marked) is not None:
            text = f'Forget "{one_line(entry.text, 120)}"? Later sessions do not see it'
            question = ConfirmDialog(f"{text}, and it is not added again automatically.", verb="Forget")
            self.app.push_screen(question, lambda yes: self.answer(Asked("forget", entry)) if yes else None)


_ABOUT = f"One sentence, at most {LONGEST} characters. Later sessions on this branch read it."


class _Result(NamedTuple):
    told: str = ""
    entry: int = 0
    is_refused: bool = False


async def show_memory(app: "Host", session: ChatSession) -> None:
    """Show the board until it is closed or the user goes to an entry's source."""
    off = not MemorySettings(**session.launch.settings.memory).enabled
    read = partial(asyncio.to_thread, _read, session.launch, session.id)
    screen = MemoryScreen(*await read(), off=off)
    app.push_screen(screen)
    while wish := await screen.next_request():
        if wish.what == "source" and wish.row is not None:
            screen.action_close()
            await _go_to_source(app, session, wish.row)
            return
        if (entry := wish.row) is None or wish.what == "add":
            result = await _typed(app, session, "A new entry", None)
            # The filter must not hide the new entry.
            screen.query_one(Input).clear()
        elif wish.what == "edit":
            result = await _typed(app, session, f"Entry {entry.id}", entry)
        else:
            result = await _do(session, partial(_forgotten, number=entry.id))
        screen.marked_key = result.entry or screen.marked_key
        screen.show((await read())[0], result.told)


async def read_session_now(session: ChatSession) -> None:
    """Update the board from the open session, in the background; a notice reports the result."""
    session.reply("Reading this session for the context board.")
    await session.ask(lambda opened: opened.remembering.read_now())


def _read(launch: Launch, session: str) -> tuple[list[Entry], str]:
    boards = boards_in(launch.database)
    if not log_exists(launch.database):
        return [], boards.scope(launch.cwd).label
    if session:
        with closing(open_store(launch.database, read_only=True)) as store:
            info = store.info(session)
        scope = session_scope(boards, launch.database, info, launch.cwd)
    else:
        scope = boards.scope(launch.cwd)
    return ContextBoard(boards, scope).entries(), scope.label


async def _typed(app: "Host", session: ChatSession, title: str, entry: Entry | None) -> _Result:
    unchanged = result = _Result(entry=entry.id if entry is not None else 0)

    async def take(text: str) -> str:
        nonlocal result
        if text:
            result = await _do(session, lambda opened: _worded(opened, entry, text))
        return result.told if result.is_refused else ""

    done = await typed(app, title, _ABOUT, entry.text if entry is not None else "", take)
    return result if done else unchanged


async def _do(session: ChatSession, change: "Callable[[OpenSession], _Result]") -> _Result:
    """Change the board on the engine's thread, so that the change is recorded in the session's log."""
    if session.read_only:
        return _Result(session.read_only)
    try:
        return await session.ask(change)
    except NotRemembered as refusal:
        message = f"Not kept: {refusal}."
    except (SessionNotFound, sqlite3.Error, OSError) as error:
        message = f"The board could not be changed. {explained(error, session.launch.paths.database)}"
    return _Result(message, is_refused=True)


def _forgotten(opened: "OpenSession", number: int) -> _Result:
    opened.remembering.forget(number)
    return _Result(told=f"Entry {number} was forgotten.")


def _worded(opened: "OpenSession", entry: Entry | None, text: str) -> _Result:
    board = opened.remembering
    done = board.add(text) if entry is None else board.edit(entry.id, text)
    message = f"Added as entry {done.entry.id}." if done.new else f"Entry {done.entry.id} already says this."
    return _Result(told=message, entry=done.entry.id)


async def _go_to_source(app: "Host", session: ChatSession, entry: Entry) -> None:
    if entry.session == session.id:
        session.presenter.jump_to(entry.seq)
    elif not await asyncio.to_thread(_exists, session.launch, entry.session):
        raise Refusal(f"Session {entry.session}, which this entry comes from, was deleted.")
    elif await may_leave(app, session):
        app.open_session(entry.session, at=entry.seq)


def _exists(launch: Launch, session: str) -> bool:
    with closing(open_store(launch.database, read_only=True)) as store, suppress(SessionNotFound):
        return bool(store.info(session))
    return False
