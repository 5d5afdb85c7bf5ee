"""Limits on tool definitions: some tools are switched off, some are found by searching."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.tokens import TokenCounter
from tui_app.tool_specs import AGENTS, ASK_USER, DELEGATE, EXPLORE, FORK, PLAN, TASKS, TODO, WEB_FETCH
from tui_app.usage import ContextUsage

_MOST, _AGAIN = 1 / 3, 0.25
"""Shares of the window: above the first rarely used tools are deferred, below the second sent again."""
RARELY_USED = frozenset(
    spec.name for spec in (AGENTS, ASK_USER, DELEGATE, EXPLORE, FORK, PLAN, TASKS, TODO, WEB_FETCH)
)


class _Sized(Protocol):
    @property
    def counter(self) -> TokenCounter: ...

    @property
    def factor(self) -> float: ...

    def usage(self) -> ContextUsage: ...


class SwitchedOff(AbstractCapability[Any]):
    """Leaves out the tools that are off, including those of MCP servers.

    Args:
        names: Names of the disabled tools; may change at any time.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        return [tool for tool in tool_defs if tool.name not in self._names]


class ToolRoom(AbstractCapability[Any]):
    """Defers rarely used tools of one conversation while definitions take too much of the window.

    Args:
        history: Knows the window.
        instructions: Instructions of every request.
        searched: Names of tools that are always found by searching.
        off: Names of disabled tools, which take no room; may change at any time.
    """

    def __init__(
        self,
        history: _Sized,
        instructions: Callable[[], str],
        searched: Collection[str] = (),
        off: Collection[str] = (),
    ) -> None:
        self._history, self._instructions = history, instructions
        self._searched, self._off = searched, off
        self._short = False

    def fitted(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
        """Return the tools, with the deferred ones marked."""
        marked, counter = _marked(tools, self._searched), self._history.counter
        sent = [tool for tool in marked if tool.name not in self._off]
        taken = counter.overhead(self._instructions(), sent).total * self._history.factor
        limit = self._history.usage().window.limit
        self._short = taken > limit * (_AGAIN if self._short else _MOST)
        return _marked(marked, RARELY_USED) if self._short else marked

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        return self.fitted(tool_defs)


def _marked(tools: Sequence[ToolDefinition], names: Collection[str]) -> list[ToolDefinition]:
    return [replace(tool, defer_loading=True) if tool.name in names else tool for tool in tools]
