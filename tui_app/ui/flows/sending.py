"""Sending to the model: at once, or, above the session's budget, when the person says so."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.conversation.work import Prompt
from tui_app.session.stats import is_over
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.asking import confirmed
from tui_app.ui.format import cost

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp
    from tui_app.ui.screens.chat import ChatScreen


def send(screen: "ChatScreen", prompt: Prompt) -> None:
    """Send a prompt, or ask first; what is not sent goes back to the editor."""
    if is_above(screen.session):
        # Not exclusive: each of two prompts sent in a burst has its own question, and its way back.
        screen.work(_send_above(screen, prompt), group="budget", exclusive=False)
    else:
        screen.session.send(prompt, screen.pane)


def is_above(session: ChatSession) -> bool:
    """Whether the session has used its budget up."""
    return is_over(session.launch.settings.budget, session.state.spent)


async def agreed(app: "PlimsollApp", session: ChatSession, what: str) -> bool:
    """Ask whether something is sent above the budget.

    Args:
        app: Shows the question.
        session: What has cost too much.
        what: What would be sent, for example ``this prompt``.
    """
    spent, limit = session.state.spent or 0.0, session.launch.settings.budget["session_usd"]
    text = f"This session has cost {cost(spent)}; its budget is {cost(limit)}. Send {what} anyway?"
    return await confirmed(app, text, verb="Send", keep="Do not send")


async def _send_above(screen: "ChatScreen", prompt: Prompt) -> None:
    session = screen.session
    # It has left the editor: whoever quits instead of answering finds it again.
    session.unsent.sent(prompt.text)
    yes = await agreed(screen.app, session, "this prompt")
    session.unsent.given_back(prompt.text)
    if yes:
        session.send(replace(prompt, above_budget=True), screen.pane)
    else:
        screen.pane.prompt.editor.give_back(prompt.text)
