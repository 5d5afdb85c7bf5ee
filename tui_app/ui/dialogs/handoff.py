"""Handing this session over: its brief is written, reviewed, and a new session begins with it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tui_app.events import CompactionProgress
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.brief import JOB, show_brief
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.dialogs.review import ReviewScreen, Words, draft_reviewed

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.handoff import Draft
    from tui_app.ui.host import Host

    _Write = Callable[[OpenSession], Awaitable[Draft | str]]

NO_GOAL = "What is the new session for? Name its goal, as in /handoff write the release notes."
BUSY = "An answer is being written. Wait for its end, or stop it with esc, then hand over."
UNCHANGED = "Not handed over. Nothing changed."


class BriefScreen(ReviewScreen):
    """Shows a brief while it is written, then to edit."""

    WORDS: ClassVar[Words] = Words(
        "Writing the brief …",
        "Review the brief of the new session",
        "begin it",
        ("Goal", "What is the new session for? The brief is rewritten; nothing has changed yet.", "rewrite"),
        "Discard the brief you have edited?",
        rewrites="another goal",
    )

    def show(self, draft: "Draft") -> None:
        show_brief(self, draft.brief)


async def hand_over(app: "Host", session: ChatSession, argument: str) -> None:
    """Have a brief written and reviewed, and go to the session that begins with it.

    Args:
        app: Shows the screens.
        session: The session that is handed over; it stays as it is.
        argument: What the new session is for; empty asks.
    """
    if session.state.busy:
        session.say(BUSY)
        return
    about = "What is the new session for? This one stays as it is."
    goal: str | None = argument.strip()
    if not goal:
        goal = await app.push_screen_wait(EditDialog("Hand over", about, "", verb="write the brief"))
    loop = asyncio.get_running_loop()
    while goal:
        screen = BriefScreen(None, job=JOB)
        write: _Write = partial(_written, session, goal, screen, loop)
        reviewed = await draft_reviewed(app, session, screen, write, screen.show)
        draft, wanted = reviewed
        if wanted is None:
            return  # why was said
        goal = wanted.focus
        if goal is None and draft is not None and wanted.summary is not None:
            await _begin(app, session, draft, wanted.summary)
            return
    session.say(NO_GOAL if goal == "" else UNCHANGED)


async def _written(
    session: ChatSession,
    goal: str,
    screen: BriefScreen,
    loop: asyncio.AbstractEventLoop,
    opened: "OpenSession",
) -> "Draft | str":
    from tui_app.conversation.handoff import told_draft

    def heard(progress: CompactionProgress) -> None:
        loop.call_soon_threadsafe(screen.hear, progress)

    now = opened.conversation
    opening = replace(session.launch.opening(now.session), model=now.model, policy=now.policy)
    return await told_draft(opening, goal, heard)


async def _begin(app: "Host", session: ChatSession, draft: "Draft", text: str) -> None:
    if not await may_leave(app, session):
        return

    async def begin(_opened: "OpenSession") -> "tuple[str, str]":
        from tui_app.conversation.handoff import told_session

        return await told_session(session.launch.opening(), draft, text)

    new, why = await session.ask(begin)
    if why:
        session.report(why)
        return
    editor = session.pane.prompt.editor
    if editor.draft.strip() != draft.brief.goal:
        editor.give_back(draft.brief.goal)
    app.open_session(new)
