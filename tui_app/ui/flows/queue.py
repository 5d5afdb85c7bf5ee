"""Changing what waits to be sent."""

from typing import TYPE_CHECKING

from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.queue import Picked, QueueScreen
from tui_app.ui.widgets.queue_view import QueueView

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp

GONE = "That prompt has been sent meanwhile."


async def show_queue(app: "PlimsollApp", session: ChatSession) -> None:
    """Let the person change the queue; what they want to edit goes back into the prompt."""
    if not session.state.queue:
        session.say("Nothing is queued.")
        return
    picked = await app.push_screen_wait(QueueScreen(app.chat.query_one(QueueView), session))
    if picked is not None:
        # Not exclusive: a command that is run meanwhile must not lose what was taken out.
        app.chat.work(_edit(app, session, picked), group="queue", exclusive=False)


async def _edit(app: "PlimsollApp", session: ChatSession, picked: Picked) -> None:
    """Take a prompt out of the queue and give it to the editor."""
    editor = app.chat.pane.prompt.editor
    if not (text := await session.take(*picked)):
        session.say(GONE)
        return
    kept = not editor.is_empty
    editor.replace_draft(text)
    editor.focus()
    if kept:
        session.say("The draft made room; the up arrow brings it back.")
