"""Forking: continuing from an earlier prompt in a new session."""

import asyncio
import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from tui_app.references import log_number
from tui_app.refusals import Refusal
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session
from tui_app.session.rewind_fork import Fork, NotAPrompt, fork_session
from tui_app.session.rewind_points import RewindPoint, fork_points
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionNotFound
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.launch import Launch
from tui_app.ui.words.text import count

if TYPE_CHECKING:
    from tui_app.ui.host import Host
from tui_app.ui.dialogs.sessions.rewind import PromptPicker

NOTHING_TO_FORK = "Nothing to fork: there is no prompt yet."


async def fork(app: "Host", session: ChatSession, argument: str) -> None:
    """Open a new session with the history before a prompt; the prompt becomes its draft."""
    at = await _chosen(app, session, argument)
    if at is None or not await may_leave(app, session):
        return
    session.reply("Making the fork …")
    work = asyncio.create_task(asyncio.to_thread(_fork, session.launch, session.id, at))
    try:
        forked = await asyncio.shield(work)
    except asyncio.CancelledError:
        # The thread cannot be stopped, so its result is deleted once it exists.
        app.run_worker(_delete_cancelled(work, session.launch))
        raise
    session.pane.prompt.editor.restore_prompt(forked.prompt)
    app.open_session(forked.session)


async def _delete_cancelled(work: asyncio.Task[Fork], launch: Launch) -> None:
    """Delete a cancelled fork; a failed one has left nothing."""
    with suppress(NotAPrompt, SessionNotFound, SessionLocked, OSError, sqlite3.Error):
        made = await work
        await asyncio.to_thread(delete_session, launch.database, launch.paths.sessions_dir, made.session)


async def _chosen(app: "Host", session: ChatSession, argument: str) -> int | None:
    """Return the log number of the named prompt, or of one that the user chooses."""
    if argument:
        if number := log_number(argument):
            return number
        raise Refusal("/fork takes the number of a prompt, as in /fork #12; alone it lists them.")
    points = fork_points(session.presenter.view.entries)
    if not points:
        raise Refusal(NOTHING_TO_FORK)
    picker = PromptPicker(points, "Fork before", "fork", _explained, unit="rows")
    chosen = await app.push_screen_wait(picker)
    return chosen.seq if chosen is not None else None


def _explained(point: RewindPoint) -> str:
    rows = f"{count(point.messages, 'row')} of the conversation come{'s' * (point.messages == 1)}"
    return f"{rows} along into a new session, the prompt as a draft. This session stays as it is."


def _fork(launch: Launch, session: str, at: int) -> Fork:
    with closing(open_store(launch.database)) as store:
        return fork_session(store, launch.paths.sessions_dir, session, at=at, now=time.time())
