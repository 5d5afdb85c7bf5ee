"""Rules about tools that only look: asked before they do, and what they leave out of a folder."""

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic_ai import RunContext

from tui_app.agent.approvals.action import Action
from tui_app.agent.approvals.policy import Judge
from tui_app.agent.tools.walk import ShowsFile
from tui_app.agent.tools.workspace import ToolProblem, Workspace

READ = "read_file"
MESSAGES = "search_history"


@dataclass(frozen=True, slots=True)
class Looking:
    """What rules have to say before a tool looks at files, and while it does."""

    workspace: Workspace
    gate: Judge

    async def declined(self, ctx: RunContext[Any], path: str, *like: str, tool: str = "") -> str:
        """Ask whether a tool may look at a path.

        Args:
            ctx: The call.
            path: As the model gave it.
            like: Other tools that would show the same.
            tool: What looks, where that is not the tool that was called.

        Returns:
            Why it must not, for the model to read; empty when it may.
        """
        return await self.gate(await asyncio.to_thread(self._action, tool or _name(ctx), ctx, path, like))

    def shows(self, ctx: RunContext[Any], path: str, *like: str) -> ShowsFile:
        """Which files a tool that was let into a folder may show.

        What must be asked about was not asked about by opening a folder around it, unless by the same rule.
        Blocking.
        """
        opened = self.gate.judged(self._action(_name(ctx), ctx, path, like))

        def shown(file: Path) -> bool:
            verdict = self.gate.judged(_action(_name(ctx), ctx, self.workspace.display(file), (), like))
            return verdict.ruling == "allow" or (verdict.ruling, verdict.because) == (
                opened.ruling,
                opened.because,
            )

        return shown

    def _action(self, tool: str, ctx: RunContext[Any], path: str, like: tuple[str, ...]) -> Action:
        """What is asked about: where a path leads, by its own name and by the one that was given."""
        try:
            shown = self.workspace.display(self.workspace.resolve(path))
        except ToolProblem:
            # The tool says why; a rule about all of it, or about this very name, is heard before.
            shown = path
        return _action(tool, ctx, shown, self._spelled(path, shown), like)

    def _spelled(self, path: str, shown: str) -> tuple[str, ...]:
        """The name that was given, as seen from the workspace; rules say nothing of folders around that."""
        given = PurePosixPath(path)
        if given.is_relative_to(self.workspace.root):
            given = given.relative_to(self.workspace.root)
        return () if given.is_absolute() or str(given) == shown else (str(given),)


def _name(ctx: RunContext[Any]) -> str:
    return ctx.tool_name or READ


def _action(
    tool: str, ctx: RunContext[Any], shown: str, spelled: tuple[str, ...], like: tuple[str, ...]
) -> Action:
    return Action(
        tool=tool,
        kind="file",
        subject=shown,
        note="looks, changes nothing",
        call=ctx.tool_call_id or "",
        looks=True,
        like=like,
        spelled=spelled,
    )
