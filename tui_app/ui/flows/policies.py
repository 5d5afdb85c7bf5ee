"""Showing the governance policies, and changing to one of them."""

from typing import Any

from textual.app import App

from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.conversation.work import ChangePolicy
from tui_app.settings import Settings
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.details import DetailsScreen

_HOW = "/policy NAME changes it for this session, the setting policy for new ones."


async def show_policies(app: App[Any], session: ChatSession) -> None:
    """One line for each policy, the present one marked."""
    text = policy_text(session.launch.settings, session.state.policy)
    await app.push_screen_wait(DetailsScreen("Policies", text))


def policy_text(settings: Settings, current: str) -> str:
    """The policies with one line each.

    Args:
        settings: Knows the person's own ones.
        current: Name of the one in force.
    """
    names = policy_names(settings)
    width = max(map(len, names))
    lines = [
        f"{'>' if name == current else ' '} {name:<{width}}  {choose_policy(settings, name).about}"
        for name in names
    ]
    return "\n".join([*lines, "", _HOW])


def change_policy(session: ChatSession, name: str) -> None:
    """Change to a policy once nothing else is under way; an unknown name is answered at once."""
    names = policy_names(session.launch.settings)
    if name in names:
        session.submit(ChangePolicy(name))
    else:
        session.say(f"No policy {one_line(name, 20)}. There are {', '.join(names)}.")
