"""Branches on the screen: one is begun, and all are shown in the timeline."""

import asyncio
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from tui_app.references import log_number
from tui_app.session.branches import BranchRefused, branches_of, parent_of
from tui_app.session.database import open_store
from tui_app.session.rewind_fork import NotAPrompt
from tui_app.session.store import SessionNotFound, explained
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.sessions import Chosen, go_to
from tui_app.ui.text import one_line
from tui_app.ui.timeline import Relatives, TimelineFilter

if TYPE_CHECKING:
    from tui_app.conversation.new_branch import Branched
    from tui_app.ui.host import Host


async def branch(app: "Host", session: ChatSession, argument: str) -> None:
    """Begin a branch, from here or before a prompt (``#12``), and go there."""
    first, _, rest = argument.strip().partition(" ")
    at = log_number(first) if first.startswith("#") else None
    if not session.id or not session.presenter.view.entries:
        session.say("Nothing to branch off: nothing has been said yet.")
        return
    if not await may_leave(app, session):
        return

    def make() -> "Branched":
        from tui_app.conversation.new_branch import make_branch

        name = rest if at else argument
        return make_branch(session.launch.opening(session.id), name, at=at, now=time.time())

    session.say("Making the branch …")
    try:
        made = await asyncio.to_thread(make)
    except (BranchRefused, NotAPrompt, SessionNotFound) as refused:
        session.say(str(refused))
    except (OSError, sqlite3.Error) as error:
        session.report(f"There is no branch. {explained(error, session.launch.paths.database) or error}")
    else:
        if made.note:
            session.report(one_line(made.note, 300))
        session.pane.prompt.editor.give_back(made.fork.prompt)
        app.open_session(made.fork.session)


async def show_tree(app: "Host", session: ChatSession, argument: str) -> None:
    """Show the timeline as a tree, with the keys; or go to a branch by its name."""
    timeline, wanted = session.pane.timeline, argument.strip()
    if not await read_tree(session):
        return
    above, branches = timeline.relatives
    if wanted:
        known = {branch.name: branch.info.id for branch in branches}
        if above is not None:
            known.setdefault(above[1], above[0])
        if found := wanted if wanted in known.values() else known.get(wanted, ""):
            await go_to(app, session, Chosen(found))
        else:
            session.say(f"This session has no branch {one_line(wanted, 40)}. /tree shows which there are.")
        return
    timeline.shown = TimelineFilter.TREE
    if not timeline.region:
        session.pane.action_timeline()
    timeline.focus()


async def read_tree(session: ChatSession) -> bool:
    """Read the branches of a session for its timeline; whether they could be read."""

    def read() -> Relatives:
        with closing(open_store(session.launch.database, read_only=True)) as store:
            above = parent_of(store, session.id)
            known = {info.id: info.title for info in store.sessions()}
            return (above, known[above]) if above in known else None, branches_of(store, session.id)

    try:
        session.pane.timeline.relatives = await asyncio.to_thread(read)
    except (SessionNotFound, sqlite3.Error) as error:
        session.say(f"The branches cannot be read. {explained(error, session.launch.paths.database)}")
        return False
    return True
