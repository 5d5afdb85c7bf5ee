"""Changing what waits to be sent."""

from typing import TYPE_CHECKING

from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.queue import QueueScreen
from tui_app.ui.widgets.queue_view import QueueView

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


async def show_queue(app: "PlimsollApp", session: ChatSession) -> None:
    """Let the person change the queue; what they want to edit goes back into the prompt."""
    if not session.state.queue:
        session.say("Nothing is queued.")
        return
    view, editor = app.chat.query_one(QueueView), app.chat.pane.prompt.editor
    text = await app.push_screen_wait(QueueScreen(view, session))
    if text:
        kept = not editor.is_empty
        editor.replace_draft(text)
        editor.focus()
        if kept:
            session.say("The draft made room; the up arrow brings it back.")
