"""Handing a session over: a brief is written and reviewed, and a new session starts with it."""

import asyncio
from typing import TYPE_CHECKING

from tui_app.refusals import Refusal
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.drafts import BUSY, Hear, draft_reviewed, show_brief
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.dialogs.review import ReviewTexts

if TYPE_CHECKING:
    from tui_app.conversation.handoff import Draft
    from tui_app.conversation.requests.open_request import Opening
    from tui_app.ui.host import Host

NO_GOAL = "What is the new session for? Name its goal, as in /handoff write the release notes."
BRIEF = ReviewTexts(
    "Writing the brief …",
    "Review the brief of the new session",
    "begin it",
    ("Goal", "What is the new session for? The brief is rewritten; nothing has changed yet."),
    rewrites="another goal",
    unchanged="Handoff cancelled. Nothing changed.",
)


async def hand_over(app: "Host", session: ChatSession, argument: str) -> None:
    """Have a brief written and reviewed, and go to the session that starts with it.

    Args:
        app: Shows the screens.
        session: The session to hand over; it is unchanged.
        argument: The goal of the new session; empty asks for it.
    """
    if session.state.busy:
        raise Refusal(BUSY.format("hand over"))
    about = "What is the new session for? This one stays as it is."
    goal: str | None = argument.strip()
    if not goal:
        goal = await app.push_screen_wait(EditDialog("Hand over", about, "", verb="write the brief"))
    if not goal:
        raise Refusal(BRIEF.unchanged if goal is None else NO_GOAL)

    async def written(opening: "Opening", goal: str, hear: Hear) -> "Draft":
        from tui_app.conversation.handoff import write_brief

        return await write_brief(opening, goal, hear)

    async def begin(draft: "Draft", text: str) -> None:
        if not await may_leave(app, session):
            return

        from tui_app.conversation.handoff import begin_session

        new = await asyncio.to_thread(begin_session, session.launch.opening(), draft, text)
        editor = session.pane.prompt.editor
        if editor.draft.strip() != draft.brief.goal:
            editor.restore_prompt(draft.brief.goal)
        app.open_session(new)

    await draft_reviewed(app, session, BRIEF, written, show_brief, begin, wish=goal)
