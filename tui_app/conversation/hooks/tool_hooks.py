"""Hooks around tools, and masking of results, as capabilities of the agent."""

import json
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from pydantic_ai import RunContext, ToolDenied, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, RawToolArgs
from pydantic_ai.capabilities import WrapToolExecuteHandler as Handler
from pydantic_ai.capabilities import WrapToolValidateHandler as Validator
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_core import PydanticSerializationError, from_json, to_json

from tui_app.agent.step_watch import NOT_RUN
from tui_app.agent.tool_failures import rewrite_failure
from tui_app.context.user_text import BY_HOOK
from tui_app.conversation.hooks.hook_outcomes import OUTPUT_CHARS, before_tool, changed_arguments, one_line
from tui_app.conversation.hooks.hooks import Hooks
from tui_app.events import Notice, ToolCall, ToolResult
from tui_app.system.environment import Secrets, masked
from tui_app.text import cut, plain_text


class ChangedArguments(dict[str, Any]):
    """Arguments changed by a hook. Approval must be asked for these, not for the model's."""

    def __init__(self, args: Mapping[str, Any], *, said: Mapping[str, Any]) -> None:
        super().__init__(args)
        self.said = dict(said)
        """As the hook wrote them."""


class ToolHooks(AbstractCapability[Any]):
    """Runs a conversation's preTool and postTool hooks around every tool."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._validators: dict[str, Validator] = {}
        """By call id, the validator of its tool's arguments."""

    async def wrap_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: RawToolArgs, handler: Validator, **_: Any
    ) -> dict[str, Any]:
        """Remember the validator: a hook may change the arguments."""
        validated = await handler(args)
        self._validators[call.tool_call_id] = handler
        return validated

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run preTool hooks, the tool, then postTool hooks. The model continues after all of them."""
        asked = ToolCall(tool_call_id=call.tool_call_id, name=call.tool_name, args=call.args_as_json_str())
        validate = self._validators.pop(call.tool_call_id, None)
        runs = await self._hooks.run_hooks("preTool", call.tool_name, asked)
        if declined := before_tool(runs):
            return ToolDenied(declined)
        for run in runs:
            if validate is None or (changed := changed_arguments(run)) is None:
                continue
            try:
                args = ChangedArguments(await validate(changed), said=changed)
            except Exception as error:  # whatever a validation raises: the model did not write these
                why = one_line(plain_text(str(error)))
                detail = f"{BY_HOOK}{run.ran.command} changed its arguments into what the "
                return ToolDenied(f"{detail}tool does not take: {why}")
            detail = cut(plain_text(json.dumps(changed, ensure_ascii=False)), OUTPUT_CHARS)
            text = f"preTool hook {run.ran.command} changed the arguments of {call.tool_name}: {detail}"
            self._hooks.history.report(Notice(text=text))
        started = monotonic()
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as error:
            # Both a tool's error and its request to be called again: the model sees this text.
            part = ToolReturnPart(call.tool_name, str(error), outcome="failed")
            await self._run_hooks(call, part, started)
            raise
        if not isinstance(result, ToolDenied):
            value = result.return_value if isinstance(result, ToolReturn) else result
            await self._run_hooks(call, ToolReturnPart(call.tool_name, value), started)
        return result

    async def _run_hooks(self, call: ToolCallPart, part: ToolReturnPart, started: float) -> None:
        result = ToolResult(
            tool_call_id=call.tool_call_id,
            name=call.tool_name,
            text=part.model_response_str(wrap_if_error=False),
            outcome="success" if part.outcome == "success" else "error",
            duration_s=round(monotonic() - started, 3),
        )
        await self._hooks.run_hooks("postTool", call.tool_name, result)


class MaskedResults(AbstractCapability[Any]):
    """Masks the program's keys and withheld variables in tool results, before anything else sees them.

    Everything that keeps, shows, exports or sends a result comes later.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Mask the result, or the exception that a tool raises."""
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as error:
            rewrite_failure(error, self._secrets.masked)
            raise
        if isinstance(result, ToolReturn):
            value, content = self._masked(result.return_value), self._secrets.masked(result.content)
            return replace(result, return_value=value, content=content)
        return self._masked(result)

    def _masked(self, value: Any) -> Any:
        if value is None or isinstance(value, str | dict | list | tuple | bytes | ToolDenied):
            return self._secrets.masked(value)
        try:
            text = to_json(value).decode()
        except (PydanticSerializationError, ValueError):
            return value
        # As the model would read it. A value without secrets is unchanged.
        return self._secrets.masked(from_json(text)) if masked(text, self._secrets) != text else value
