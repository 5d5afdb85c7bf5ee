"""Keeps tools from filling a window: some are switched off, some are found by searching."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.tokens import TokenCounter
from tui_app.tool_specs import ASK_USER, DELEGATE, EXPLORE, PLAN, TASKS, TODO, WEB_FETCH
from tui_app.usage import ContextUsage

_MOST, _AGAIN = 1 / 3, 0.25
"""Shares of the window: above the first what is rarely used is searched for, below the other it is back."""
RARELY_USED = frozenset(spec.name for spec in (ASK_USER, DELEGATE, EXPLORE, PLAN, TASKS, TODO, WEB_FETCH))


class _Sized(Protocol):
    @property
    def counter(self) -> TokenCounter: ...

    @property
    def factor(self) -> float: ...

    def usage(self) -> ContextUsage: ...


class ToolRoom(AbstractCapability[Any]):
    """One per conversation.

    Args:
        history: Knows the window.
        instructions: Those of every request.
        named: Names of tools that are switched ``off``, and of those that one has to ``search`` for.
    """

    def __init__(self, history: _Sized, instructions: Callable[[], str], named: Mapping[str, Any]) -> None:
        self._history, self._instructions = history, instructions
        self._off, self._searched = frozenset(named.get("off", ())), frozenset(named.get("search", ()))
        self._short = False

    def fitted(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
        """The tools that are not off, each with whether it is found by searching."""
        kept, counter = self._marked(tools, self._searched), self._history.counter
        taken = counter.carried(self._instructions(), kept).total * self._history.factor
        limit = self._history.usage().window.limit
        self._short = taken > limit * (_AGAIN if self._short else _MOST)
        return self._marked(kept, RARELY_USED) if self._short else kept

    def _marked(self, tools: Sequence[ToolDefinition], names: Collection[str]) -> list[ToolDefinition]:
        kept = (tool for tool in tools if tool.name not in self._off)
        return [replace(tool, defer_loading=True) if tool.name in names else tool for tool in kept]

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        return self.fitted(tool_defs)
