"""Showing the governance policies, and changing to one of them."""

import textwrap
from typing import Any

from textual.app import App

from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.conversation.work import ChangePolicy
from tui_app.settings import Settings
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.details import DetailsScreen

_FRAME = 10
"""Cells a screen takes around a text, with the bar to scroll by."""
_HOW = "/policy NAME changes it for this session, the setting policy for new ones."


async def show_policies(app: App[Any], session: ChatSession) -> None:
    """One line for each policy, the present one marked."""
    text = policy_text(session.launch.settings, session.state.policy, app.size.width - _FRAME)
    await app.push_screen_wait(DetailsScreen("Policies", text))


def policy_text(settings: Settings, current: str, cells: int = 1_000) -> str:
    """The policies with a sentence each, broken so that the names stand alone at the left.

    Args:
        settings: Knows the person's own ones.
        current: Name of the one in force.
        cells: How long a line may be.
    """
    names = policy_names(settings)
    width = max(map(len, names))
    lines = [
        wrapped
        for name in names
        for wrapped in textwrap.wrap(
            choose_policy(settings, name).about,
            max(cells, width + 24),
            initial_indent=f"{'>' if name == current else ' '} {name:<{width}}  ",
            subsequent_indent=" " * (width + 4),
        )
    ]
    return "\n".join([*lines, "", *textwrap.wrap(_HOW, max(cells, 24))])


def change_policy(session: ChatSession, name: str) -> None:
    """Change to a policy once nothing else is under way; an unknown name is answered at once."""
    names = policy_names(session.launch.settings)
    if name in names:
        session.submit(ChangePolicy(name))
    else:
        session.say(f"No policy {one_line(name, 20)}. There are {', '.join(names)}.")
