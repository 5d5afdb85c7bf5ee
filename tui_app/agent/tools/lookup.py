"""The read-only tools, with the check of rules before each."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic_ai import BinaryContent, ModelRetry, RunContext, Tool, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.approvals.rules import Action, Judge
from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.agent.instructions.skills import Skills, use_skill
from tui_app.agent.tools import files
from tui_app.agent.tools.calls import as_model_retry, search_on_thread
from tui_app.agent.tools.commands import Stop
from tui_app.agent.tools.files import ShowsFile
from tui_app.agent.tools.history import (
    PAGE_LINES,
    HistorySearch,
    ProjectSearch,
    Scope,
    named_message,
    read_message,
    search_history,
    search_project,
)
from tui_app.agent.tools.seen_files import seen_files
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.records import frozen
from tui_app.system.pictures import Picture
from tui_app.system.project_files import Refused
from tui_app.tool_specs import READ_FILE, SEARCH_HISTORY, USE_SKILL


@frozen
class Looking:
    """Applies the rules before a tool reads files, and while it does."""

    workspace: Workspace
    gate: Judge

    async def declined(self, ctx: RunContext[Any], path: str, *like: str, tool: str = "") -> str:
        """Ask whether a tool may read a path.

        Args:
            ctx: The call.
            path: As the model gave it.
            like: Other tools that would reveal the same.
            tool: The tool that reads, if it is not the one that was called.

        Returns:
            Why it must not, for the model; empty if it may.
        """
        return await self.gate(await asyncio.to_thread(self._action, ctx, path, like, tool))

    def shows(self, ctx: RunContext[Any], path: str, *like: str) -> ShowsFile:
        """Which files a tool may show that was allowed to read a folder.

        Approval for a folder does not cover files that need approval themselves, unless by the same rule.
        Blocks.
        """
        asked = self._action(ctx, path, like)
        opened = self.gate.judged(asked)

        def shown(file: Path) -> bool:
            verdict = self.gate.judged(replace(asked, subject=self.workspace.display(file), spelled=()))
            same = (verdict.ruling, verdict.because) == (opened.ruling, opened.because)
            return verdict.ruling == "allow" or same

        return shown

    def _action(self, ctx: RunContext[Any], path: str, like: tuple[str, ...], tool: str = "") -> Action:
        """The action to ask about: the resolved path, by its own name and by the given one."""
        try:
            shown = self.workspace.display(self.workspace.resolve(path))
        except ToolProblem:
            # The tool itself reports the problem, but rules on all paths, or on this name, apply first.
            shown = path
        # Relative to the workspace: rules are not about the folders above it.
        given = PurePosixPath(path)
        if given.is_relative_to(self.workspace.root):
            given = given.relative_to(self.workspace.root)
        return Action(
            tool=tool or ctx.tool_name or READ_FILE.name,
            kind="file",
            subject=shown,
            note="looks, changes nothing",
            call=ctx.tool_call_id or "",
            looks=True,
            like=like,
            spelled=() if given.is_absolute() or str(given) == shown else (str(given),),
        )


MAX_RETRIES = 8
"""Invalid calls of one tool in a row after which the turn fails; finding a file can take several."""


@frozen
class ReadTools:
    """Read-only tools over a workspace and a conversation. The model reads their docstrings.

    They run unless a rule about the tool or the file decides otherwise. Blocking work runs on a thread, which
    is told to stop when the turn is cancelled.
    """

    history: HistorySearch | None
    """None if there is no conversation to search."""
    looking: Looking
    project: ProjectSearch | None = None
    """The sessions of the repository; None if only this conversation can be searched."""

    @property
    def _files(self) -> Workspace:
        return self.looking.workspace

    async def read_file(
        self, ctx: RunContext[Any], path: str, start: int = 1, lines: int = 400
    ) -> str | list[str | BinaryContent] | ToolDenied:
        """Read a text file as numbered lines, or look at a picture (PNG, JPEG, GIF, WebP).

        Args:
            ctx: The run.
            path: Path relative to the workspace, or a message's handle such as `#142`.
            start: First line, counted from 1.
            lines: How many lines, at most 1900.
        """
        message = named_message(self.history, path)
        like = () if message is None else (SEARCH_HISTORY.name,)
        if declined := await self.looking.declined(ctx, path, *like):
            return ToolDenied(declined)
        if message is not None:
            with as_model_retry():
                return read_message(message, start, lines)

        def noted(_: Stop) -> Picture | None:
            seen_files(ctx, self._files).remember(self._files.file(path))
            return files.read_picture(self._files, path)

        picture = await search_on_thread(noted)
        if picture is not None:
            shown = BinaryContent(picture.data, media_type=picture.media_type)
            return [f"[picture {path}, {picture.about}]", shown]
        return await search_on_thread(
            lambda stop: files.read_file(self._files, path, start, lines, stop=stop)
        )

    async def ls(self, ctx: RunContext[Any], path: str = ".") -> str | ToolDenied:
        """List a folder; names of folders end in a slash.

        Args:
            ctx: The run.
            path: Folder relative to the workspace.
        """
        return await self._looked(ctx, path, lambda _, shows: files.ls(self._files, path, shows=shows))

    async def glob(self, ctx: RunContext[Any], pattern: str) -> str | ToolDenied:
        """Find files by name. Files that git ignores are left out.

        Args:
            ctx: The run.
            pattern: Such as `*.py` (any depth), `src/**/*.ts` or `docs/*.{md,rst}`.
        """
        return await self._looked(
            ctx, pattern, lambda stop, shows: files.glob(self._files, pattern, stop=stop, shows=shows)
        )

    async def grep(
        self, ctx: RunContext[Any], pattern: str, path: str = ".", ignore_case: bool = False, limit: int = 200
    ) -> str | ToolDenied:
        """Search text files line by line; hits come as `path:line: text`. Skips what git ignores.

        Args:
            ctx: The run.
            pattern: Regular expression.
            path: File or folder to search.
            ignore_case: Whether upper and lower case are the same.
            limit: Hits to return at most.
        """

        def searched(stop: Stop, shows: ShowsFile) -> str:
            return files.grep(self._files, pattern, path, ignore_case, limit, stop=stop, shows=shows)

        return await self._looked(ctx, path, searched, READ_FILE.name)

    async def _looked(
        self, ctx: RunContext[Any], path: str, work: Callable[[Stop, ShowsFile], str], *like: str
    ) -> str | ToolDenied:
        if declined := await self.looking.declined(ctx, path, *like):
            return ToolDenied(declined)
        return await search_on_thread(lambda stop: work(stop, self.looking.shows(ctx, path, *like)))

    async def search_history(
        self,
        ctx: RunContext[Any],
        query: str,
        limit: int = 8,
        start: int = 1,
        lines: int = PAGE_LINES,
        offset: int = 0,
        *,
        scope: Scope = "session",
    ) -> str:
        """Search this whole conversation, also what is no longer in your context.

        Args:
            ctx: The run.
            query: Words to look for, or a handle such as `#142` to get that message back.
            limit: Hits to return at most.
            start: First line of a message that is too long for one result.
            lines: How many lines of it.
            offset: Characters to skip in the first.
            scope: `project` searches earlier sessions of this repository for messages with all words.
        """
        if scope == "session" or self.project is None:
            assert self.history is not None
            return search_history(self.history, query, limit, start, lines, offset)
        call = ctx.tool_call_id or ""
        return await search_project(self.project, query, limit, start, lines, offset, call=call)


def build_toolset(
    ws: Workspace,
    search: HistorySearch,
    gate: Judge,
    working: Sequence[Callable[..., Any]] = (),
    project: ProjectSearch | None = None,
) -> FunctionToolset[object]:
    """Build the read-only tools over a workspace and a conversation.

    Args:
        ws: What may be read.
        search: The conversation.
        gate: Applies the rules.
        working: Further tools, which ask for approval themselves.
        project: The sessions of the repository.
    """
    tools = ReadTools(search, Looking(ws, gate), project)
    return _toolset(tools, tools.search_history, *working)


def looking_toolset(looking: Looking) -> FunctionToolset[Any]:
    """Build the read-only tools over a workspace alone, without a conversation to search."""
    return _toolset(ReadTools(None, looking))


def _toolset(tools: ReadTools, *more: Callable[..., Any]) -> FunctionToolset[Any]:
    every: list[Callable[..., Any]] = [tools.read_file, tools.ls, tools.glob, tools.grep, *more]
    return FunctionToolset(every, max_retries=MAX_RETRIES, docstring_format="google")


def recall_toolset(search: HistorySearch) -> FunctionToolset[Any]:
    """Build the one tool by which another agent can search messages that have left its context."""

    async def look(
        query: str, limit: int = 8, start: int = 1, lines: int = PAGE_LINES, offset: int = 0
    ) -> str:
        return search_history(search, query, limit, start, lines, offset)

    return FunctionToolset(
        [Tool(look, name=SEARCH_HISTORY.name, description=PROMPTS["recall"])], max_retries=MAX_RETRIES
    )


def skill_toolset(skills: Callable[[], Skills]) -> FunctionToolset[Any]:
    """Build the tool that loads skills; without skills there is none."""

    async def use(name: str) -> str:
        try:
            return await asyncio.to_thread(use_skill, skills, name)
        except Refused as refused:
            raise ModelRetry(f"{refused}.") from refused

    tools = [Tool(use, name=USE_SKILL.name, description=PROMPTS["load_skill"])] if skills().found else []
    return FunctionToolset(tools, max_retries=4)
