"""Asking before tools run that do not ask for themselves: those of servers and of other people's agents."""

from collections.abc import Collection
from typing import Any

from pydantic_ai import RunContext, ToolDenied
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.approvals.action import Action, Gate


class ToolGate(AbstractCapability[Any]):
    """Lets only known tools run without a word.

    Args:
        gate: Decides about the others.
        known: Names of the tools that only look, or that ask for themselves with what they would do.
    """

    def __init__(self, gate: Gate, known: Collection[str]) -> None:
        self._gate, self._known = gate, frozenset(known)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Ask, and run the tool with the very arguments that were asked about."""
        if call.tool_name not in self._known:
            action = Action(
                tool=call.tool_name, kind="other", subject=call.args_as_json_str(), call=call.tool_call_id
            )
            if declined := await self._gate(action):
                return ToolDenied(declined)
        return await handler(args)
