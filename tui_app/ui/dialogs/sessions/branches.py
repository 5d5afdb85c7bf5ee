"""Starting branches, and showing them in the timeline."""

import asyncio
import time
from contextlib import closing
from typing import TYPE_CHECKING

from tui_app.references import log_number
from tui_app.refusals import Refusal
from tui_app.session.branches import branches_of, parent_of
from tui_app.session.stores.database import open_store
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.sessions.session_choice import Chosen, go_to
from tui_app.ui.timeline import Relatives, TimelineFilter
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.conversation.branches.new_branch import Branched
    from tui_app.ui.host import Host


async def branch(app: "Host", session: ChatSession, argument: str) -> None:
    """Start a branch, from here or before a prompt (``#12``), and go to it."""
    first, _, rest = argument.strip().partition(" ")
    at = log_number(first) if first.startswith("#") else None
    if not session.id or not session.presenter.view.entries:
        raise Refusal("Nothing to branch off: nothing has been said yet.")
    if not await may_leave(app, session):
        return

    def make() -> "Branched":
        from tui_app.conversation.branches.new_branch import make_branch

        name = rest if at else argument
        return make_branch(session.launch.opening(session.id), name, at=at, now=time.time())

    session.reply("Making the branch …")
    made = await asyncio.to_thread(make)
    if made.note:
        session.report(one_line(made.note, 300))
    session.pane.prompt.editor.restore_prompt(made.fork.prompt)
    app.open_session(made.fork.session)


async def show_tree(app: "Host", session: ChatSession, argument: str) -> None:
    """Show and focus the timeline as a tree; or go to a branch by name."""
    timeline, target = session.pane.timeline, argument.strip()
    timeline.relatives = above, branches = await asyncio.to_thread(_relatives, session)
    if target:
        known = {branch.name: branch.info.id for branch in branches}
        if above is not None:
            known.setdefault(above[1], above[0])
        if not (found := target if target in known.values() else known.get(target, "")):
            name = one_line(target, 40)
            raise Refusal(f"This session has no branch {name}. /tree shows which there are.")
        await go_to(app, session, Chosen(found))
        return
    timeline.shown = TimelineFilter.TREE
    if not timeline.region:
        session.pane.action_timeline()
    timeline.focus()


def _relatives(session: ChatSession) -> Relatives:
    with closing(open_store(session.launch.database, read_only=True)) as store:
        above = parent_of(store, session.id)
        known = {info.id: info.title for info in store.sessions()}
        return (above, known[above]) if above in known else None, branches_of(store, session.id)
