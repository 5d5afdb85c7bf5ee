"""The tools as the model sees them: short descriptions, text results, errors it can act on."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from pydantic_ai import ModelRetry, RunContext, Tool, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.approvals.policy import Judge
from tui_app.agent.tools import files
from tui_app.agent.tools.history import HistoryHit, HistorySearch, names_message, read_message, search_history
from tui_app.agent.tools.looking import MESSAGES, READ, Looking
from tui_app.agent.tools.message_pages import PAGE_LINES
from tui_app.agent.tools.stop import Stop
from tui_app.agent.tools.workspace import ToolProblem, Workspace

MAX_RETRIES = 8
"""Times a model may get one tool wrong in a row before the turn fails; looking for a file can take some."""
LOOKING = frozenset({"read_file", "ls", "glob", "grep"})
"""Names of the tools that look at files. Each asks for itself what rules say of the file."""
_RECALL = (
    "Search this whole conversation, also what is no longer in your context. A handle such as `#142` as the "
    "query gives that message back; of a long one a part from line `start` on, and how to read on."
)


@dataclass(frozen=True, slots=True)
class ReadTools:
    """Read-only tools over a workspace and a conversation; their docstrings are what the model reads.

    They go ahead unless a rule says otherwise of the tool or of the file. Blocking work runs on a thread
    that is told to stop when the turn is cancelled.
    """

    history: HistorySearch
    looking: Looking

    @property
    def _files(self) -> Workspace:
        return self.looking.workspace

    async def read_file(
        self, ctx: RunContext[Any], path: str, start: int = 1, lines: int = 400
    ) -> str | ToolDenied:
        """Read a text file as numbered lines.

        Args:
            ctx: The run.
            path: Path relative to the workspace, or a message's handle such as `#142`.
            start: First line, counted from 1.
            lines: How many lines, at most 1900.
        """
        like = (MESSAGES,) if names_message(self.history, path) else ()
        if declined := await self.looking.declined(ctx, path, *like):
            return ToolDenied(declined)
        try:
            message = read_message(self.history, path, start, lines)
        except ToolProblem as problem:
            raise ModelRetry(str(problem)) from problem
        if message is not None:
            return message
        return await _on_thread(lambda stop: files.read_file(self._files, path, start, lines, stop=stop))

    async def ls(self, ctx: RunContext[Any], path: str = ".") -> str | ToolDenied:
        """List a folder; names of folders end in a slash.

        Args:
            ctx: The run.
            path: Folder relative to the workspace.
        """
        if declined := await self.looking.declined(ctx, path):
            return ToolDenied(declined)
        return await _on_thread(lambda _: files.ls(self._files, path, shows=self.looking.shows(ctx, path)))

    async def glob(self, ctx: RunContext[Any], pattern: str) -> str | ToolDenied:
        """Find files by name. Files that git ignores are left out.

        Args:
            ctx: The run.
            pattern: Such as `*.py` (any depth), `src/**/*.ts` or `docs/*.{md,rst}`.
        """
        if declined := await self.looking.declined(ctx, pattern):
            return ToolDenied(declined)
        return await _on_thread(
            lambda stop: files.glob(self._files, pattern, stop=stop, shows=self.looking.shows(ctx, pattern))
        )

    async def grep(
        self,
        ctx: RunContext[Any],
        pattern: str,
        path: str = ".",
        ignore_case: bool = False,
        limit: int = 200,
    ) -> str | ToolDenied:
        """Search text files line by line; hits come as `path:line: text`. Skips what git ignores.

        Args:
            ctx: The run.
            pattern: Regular expression.
            path: File or folder to search.
            ignore_case: Whether upper and lower case are the same.
            limit: Hits to return at most.
        """
        if declined := await self.looking.declined(ctx, path, READ):
            return ToolDenied(declined)

        def searched(stop: Stop) -> str:
            shows = self.looking.shows(ctx, path, READ)
            return files.grep(self._files, pattern, path, ignore_case, limit, stop=stop, shows=shows)

        return await _on_thread(searched)

    async def search_history(
        self, query: str, limit: int = 8, start: int = 1, lines: int = PAGE_LINES, offset: int = 0
    ) -> str:
        """Search this whole conversation, also what is no longer in your context.

        Args:
            query: Words to look for, or a handle such as `#142` to get that message back.
            limit: Hits to return at most.
            start: First line of a message that is too long for one result.
            lines: How many lines of it.
            offset: Characters to skip in the first.
        """
        return search_history(self.history, query, limit, start, lines, offset)


def build_toolset(
    ws: Workspace, search: HistorySearch, gate: Judge, working: Sequence[Callable[..., Any]] = ()
) -> FunctionToolset[object]:
    """Build the read-only tools over a workspace and a conversation.

    Args:
        ws: What may be read.
        search: The conversation.
        gate: Says what rules leave them to see.
        working: Further tools, which ask for themselves before they change anything.
    """
    tools = ReadTools(search, Looking(ws, gate))
    return FunctionToolset(
        [tools.read_file, tools.ls, tools.glob, tools.grep, tools.search_history, *working],
        max_retries=MAX_RETRIES,
        docstring_format="google",
    )


def looking_toolset(looking: Looking) -> FunctionToolset[Any]:
    """Build the read-only tools over a workspace alone, for whoever has no conversation to search."""
    tools = ReadTools(_NothingSaid(), looking)
    return FunctionToolset(
        [tools.read_file, tools.ls, tools.glob, tools.grep],
        max_retries=MAX_RETRIES,
        docstring_format="google",
    )


class _NothingSaid:
    """A conversation in which nothing was said."""

    def search(self, words: str, limit: int = 8) -> list[HistoryHit]:
        """No hits."""
        return []

    def fetch(self, seq: int) -> None:
        """No message."""
        return


def recall_toolset(search: HistorySearch) -> FunctionToolset[Any]:
    """Build the one tool that an agent with tools of its own needs to get back what has left its context."""

    async def look(
        query: str, limit: int = 8, start: int = 1, lines: int = PAGE_LINES, offset: int = 0
    ) -> str:
        return search_history(search, query, limit, start, lines, offset)

    return FunctionToolset([Tool(look, name="search_history", description=_RECALL)], max_retries=MAX_RETRIES)


async def _on_thread(work: Callable[[Stop], str]) -> str:
    """Run blocking work off the loop; on cancellation the wait ends at once and the thread soon after."""
    cancelled = threading.Event()
    stop = Stop(cancelled)
    try:
        return await anyio.to_thread.run_sync(lambda: work(stop), abandon_on_cancel=True)
    except ToolProblem as problem:
        raise ModelRetry(str(problem)) from problem
    except OSError as error:  # the file system changed under the tool
        raise ModelRetry(f"That could not be read: {error.strerror or error}.") from error
    finally:
        cancelled.set()
