"""A prompt that would start above the session's budget: sent only when the person says so."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.conversation.work import Prompt
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.asking import confirmed
from tui_app.ui.format import cost
from tui_app.ui.widgets.chat_pane import ChatPane

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


async def send_above(app: "PlimsollApp", session: ChatSession, prompt: Prompt, pane: ChatPane) -> None:
    """Ask, then send; otherwise the prompt goes back to the editor."""
    spent, limit = session.state.spent or 0.0, session.launch.settings.budget["session_usd"]
    text = f"This session has cost {cost(spent)}; its budget is {cost(limit)}. Send this prompt anyway?"
    if await confirmed(app, text, verb="Send", keep="Do not send"):
        session.send(replace(prompt, above_budget=True), pane)
    else:
        pane.prompt.editor.give_back(prompt.text)
