"""Serving one editor until it closes stdin: sessions are ended, and nothing is left running."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent

from tui_app.context.masking import mask_secrets
from tui_app.conversation.request import Opening
from tui_app.editors.agent import EditorAgent
from tui_app.editors.pipes import Pipes, own_pipes


class _Masked(logging.Formatter):
    """Lines of the log file; keys and tokens are no business of theirs."""

    def format(self, record: logging.LogRecord) -> str:
        """One entry, without secrets."""
        return mask_secrets(super().format(record))


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Write warnings and errors to the program's log, which only its owner may read, for a block's length."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(file, "a", encoding="utf-8", errors="backslashreplace") as stream:
        handler = logging.StreamHandler(stream)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_Masked("%(asctime)s acp %(levelname)s %(name)s %(message)s"))
        root = logging.getLogger()
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)


async def serve(opening: Opening) -> int:
    """Serve the editor at the other end of stdin and stdout.

    Args:
        opening: What sessions begin with; folder and id are the editor's to say.

    Returns:
        The exit code, 0 once the editor has closed its end.
    """
    with logging_to(opening.paths.log_file), own_pipes() as (reading, writing):
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
