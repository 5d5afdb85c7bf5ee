"""Hooks around tools, as a capability of the agent: they may decline a call, and hear of each result."""

from time import monotonic
from typing import Any

from pydantic_ai import RunContext, ToolDenied, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, SkipToolExecution
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.tools import ToolDefinition

from tui_app.conversation.hooks.hooks import Hooks
from tui_app.conversation.hooks.outcomes import before_tool
from tui_app.events import ToolCall, ToolResult

_NO_RESULT = (ApprovalRequired, CallDeferred, SkipToolExecution)
"""What others raise around a tool that did not run; there is nothing to tell hooks of."""


class ToolHooks(AbstractCapability[Any]):
    """Runs a conversation's preTool and postTool hooks around every tool."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Ask before a tool runs, and tell what came of it; the model goes on when both are done."""
        asked = ToolCall(tool_call_id=call.tool_call_id, name=call.tool_name, args=call.args_as_json_str())
        if declined := before_tool(await self._hooks.run("preTool", call.tool_name, asked)):
            return ToolDenied(declined)
        started = monotonic()
        try:
            result = await handler(args)
        except _NO_RESULT:
            raise
        except Exception as error:
            # A tool's own error and its wish to be called again alike: the model sees this text.
            await self._tell(call, ToolReturnPart(call.tool_name, str(error), outcome="failed"), started)
            raise
        if not isinstance(result, ToolDenied):
            value = result.return_value if isinstance(result, ToolReturn) else result
            await self._tell(call, ToolReturnPart(call.tool_name, value), started)
        return result

    async def _tell(self, call: ToolCallPart, part: ToolReturnPart, started: float) -> None:
        told = ToolResult(
            tool_call_id=call.tool_call_id,
            name=call.tool_name,
            text=part.model_response_str(wrap_if_error=False),
            outcome="success" if part.outcome == "success" else "error",
            duration_s=round(monotonic() - started, 3),
        )
        await self._hooks.run("postTool", call.tool_name, told)
