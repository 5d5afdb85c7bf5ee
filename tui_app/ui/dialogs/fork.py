"""Going on from an earlier prompt in a session of its own."""

import asyncio
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tui_app.context.storage_errors import storage_error
from tui_app.references import log_number
from tui_app.session.database import open_store
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session
from tui_app.session.rewind_fork import Fork, NotAPrompt, RewindPoint, fork_points, fork_session
from tui_app.session.store import SessionNotFound
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import confirmed
from tui_app.ui.dialogs.quit import what_leaving_costs
from tui_app.ui.dialogs.rewind import PromptPicker
from tui_app.ui.launch import Launch

if TYPE_CHECKING:
    from tui_app.ui.host import Host

NOTHING = "Nothing to fork: there is no prompt yet."


async def fork(app: "Host", session: ChatSession, argument: str) -> None:
    """Open a new session with what was said before a prompt; the prompt goes along as a draft."""
    at = await _chosen(app, session, argument)
    if at is None:
        return
    question = what_leaving_costs(session)
    if question and not await confirmed(app, question, verb="Leave", keep="Stay"):
        return
    work = asyncio.create_task(asyncio.to_thread(_fork, session.launch, session.id, at))
    try:
        forked = await asyncio.shield(work)
    except asyncio.CancelledError:
        # The thread cannot be stopped: what it makes is taken away when it is there.
        app.run_worker(_take_away(work, session.launch), exit_on_error=False)
        raise
    except (NotAPrompt, SessionNotFound) as error:
        session.say(str(error))
    except (OSError, sqlite3.Error) as error:
        told = storage_error(error, session.launch.paths.database) or error
        session.report(f"The session could not be forked: {told}")
    else:
        session.presenter.give_back(forked.prompt)
        app.open_session(forked.session)


async def _take_away(work: asyncio.Task[Fork], launch: Launch) -> None:
    """Delete a fork that nobody wants any more; one that has failed has left nothing."""
    with suppress(NotAPrompt, SessionNotFound, SessionLocked, OSError, sqlite3.Error):
        made = await work
        await asyncio.to_thread(delete_session, launch.database, launch.paths.sessions_dir, made.session)


async def _chosen(app: "Host", session: ChatSession, argument: str) -> int | None:
    """Log number of the prompt that is named, or that the user chooses."""
    if argument:
        if number := log_number(argument):
            return number
        session.say("/fork takes the number of a prompt, as in /fork #12; alone it lists them.")
        return None
    points = fork_points(session.presenter.view.entries)
    if not points:
        session.say(NOTHING)
        return None
    return await app.push_screen_wait(PromptPicker(points, "Fork before", "fork", _explained, unit="rows"))


def _explained(point: RewindPoint) -> str:
    along = (
        "1 row of the conversation comes"
        if point.messages == 1
        else f"{point.messages:,} rows of the conversation come"
    )
    return f"{along} along into a new session, the prompt as a draft. This session stays as it is."


def _fork(launch: Launch, session: str, at: int) -> Fork:
    store = open_store(launch.database)
    try:
        return fork_session(store, launch.paths.sessions_dir, session, at=at, now=time.time())
    finally:
        store.close()
