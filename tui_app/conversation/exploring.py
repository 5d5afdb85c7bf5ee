"""The sub-agents of a session: which model they have, what they may look with, and where it is written."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from tui_app.agent.errors import describe_error
from tui_app.agent.subagents import Bounds, SubAgents
from tui_app.agent.tools.looking import Looking
from tui_app.agent.tools.toolset import looking_toolset
from tui_app.context.compaction.compactor import Compactor
from tui_app.context.window_limits import Limits
from tui_app.conversation.writers import SummaryWriters
from tui_app.events import Notice
from tui_app.settings.explore import ExploreSettings


def sub_agents(
    settings: ExploreSettings,
    writers: SummaryWriters,
    compactor: Compactor,
    limits: Limits,
    looking: Looking,
    around: Sequence[AbstractCapability[Any]],
) -> SubAgents:
    """Everything the sub-agents of one session need.

    Args:
        settings: Their model and bounds.
        writers: The session, and the models it can use.
        compactor: Knows the policy in force.
        limits: What is known about the models' windows.
        looking: Where they look, and what rules leave them to see.
        around: What follows every run of the session.
    """
    history = writers.history

    async def choose(model: Model) -> tuple[str, Model]:
        if wanted := settings.model:
            try:
                return wanted, await writers.shelf.get(wanted)
            except Exception as error:  # as for any model: said, and the session's own does it
                said = describe_error(error, model=wanted).message
                history.append(Notice(text=f"{said} Sub-agents are run by {history.model}."))
        return history.model, model

    return SubAgents(
        tools=looking_toolset(looking),
        report=history.append,
        choose=choose,
        policy=lambda: compactor.policy,
        limits=limits,
        bounds=Bounds(max_steps=settings.max_steps, max_tokens=settings.max_tokens),
        around=around,
        folder=str(looking.workspace.root),
    )
