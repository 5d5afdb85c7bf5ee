"""Stopping and leaving: what Esc, ctrl+c and the quit commands do, one step a press."""

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.models import cancel_lookup
from tui_app.ui.widgets.prompt import PromptEditor

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp
    from tui_app.ui.screens.chat import ChatScreen

ASK_AGAIN = "Press ctrl+c again to quit"
QUIT_WINDOW_S = 2.0
"""Seconds within which a second ctrl+c quits."""


async def step_back(session: ChatSession, editor: PromptEditor) -> None:
    """What Esc does on the chat screen: give a lookup up, else take a prompt back, else stop what runs.

    With nothing to stop it leads back to the prompt. A draft is never cleared, the screen never left.
    """
    if cancel_lookup(editor.screen):
        return
    if session.state.queue and editor.is_empty:
        editor.give_back(await session.take_back())
    elif session.state.busy:
        session.link.cancel()
    else:
        editor.focus()


def stop_or_quit(app: "PlimsollApp", screen: "ChatScreen") -> None:
    """What ctrl+c does: copy a selection, clear the draft, stop what runs, and when pressed twice quit."""
    if text := screen.get_selected_text():
        app.copy_to_clipboard(text)
        count = text.count("\n") + 1
        screen.session.say(f"Copied {count} line{'s' if count != 1 else ''}.")
        screen.clear_selection()
    elif screen.pane.prompt.editor.clear_draft():
        screen.session.say("Draft cleared. The up arrow brings it back.")
    elif screen.session.state.busy:
        screen.session.link.cancel()
    elif monotonic() - app.quit_asked < QUIT_WINDOW_S:
        app.exit()
    else:
        app.quit_asked = monotonic()
        screen.session.say(ASK_AGAIN)
        screen.set_timer(QUIT_WINDOW_S, partial(_forget_question, screen.session))


def _forget_question(session: ChatSession) -> None:
    """Take the question off the row once a second press would only ask it again."""
    if session.state.status.text == ASK_AGAIN:
        session.say("")
