"""Serving one editor until it closes stdin: sessions are ended, and nothing is left running."""

from typing import cast

from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent

from tui_app.conversation.open_request import Opening
from tui_app.editors.agent import EditorAgent
from tui_app.editors.pipes import Pipes, own_pipes
from tui_app.program_log import logging_to


async def serve(opening: Opening) -> int:
    """Serve the editor at the other end of stdin and stdout.

    Args:
        opening: What sessions begin with; folder and id are the editor's to say.

    Returns:
        The exit code, 0 once the editor has closed its end.
    """
    with logging_to(opening.paths.log_file, "acp"), own_pipes() as (reading, writing):
        pipes, agent = Pipes(reading, writing), EditorAgent(opening)
        pipes.open()
        connection = AgentSideConnection(
            cast("Agent", agent), pipes, listening=False, use_unstable_protocol=True
        )
        try:
            await connection.listen()
        finally:
            # Prompts under way first, or they would answer into sessions that have ended.
            await connection.close()
            await agent.close()
    return 0
