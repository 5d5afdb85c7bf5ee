"""A gate for tools that do not ask for approval themselves, such as those of MCP servers."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.capabilities import WrapOutputProcessHandler as OutputHandler
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ToolCallPart,
)
from pydantic_ai.output import OutputContext
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.approvals.rules import Action, Gate
from tui_app.context.history import ignore
from tui_app.conversation.approvals import CallsAhead
from tui_app.conversation.hooks.tool_hooks import ChangedArguments
from tui_app.tool_specs import FILE_LOOKERS

_DESCRIBING = frozenset({"tool-search", "capability-load"})
"""Kinds of tools by which pydantic-ai reveals more tools; those ask for approval themselves."""

_NO_RESULT = (
    "Not done: the result of {} would have to come from outside of this program, and nothing can bring it "
    "here. Go on without it, or tell the user."
)


@dataclass(eq=False)
class ToolGate(AbstractCapability[Any]):
    """Asks for approval before a tool runs, unless the tool does that itself or needs none.

    Calls that pydantic-ai wants approved by the user pass the same gate, once.
    """

    gate: Gate
    """Decides about calls."""
    known: Collection[str] = ()
    """Names of the tools that ask themselves, with what they would do or read."""
    free: Collection[str] = ()
    """Names of the tools that only read or keep notes: they run unless a rule is about them."""
    ahead: CallsAhead = field(default_factory=lambda: CallsAhead(ignore))
    """Keeps the calls that need approval, in the order of the answer."""
    _let_through: set[Action] = field(default_factory=set, init=False)
    """Allowed calls whose tool asks pydantic-ai for approval once more."""

    async def for_run(self, ctx: RunContext[Any]) -> "ToolGate":
        """Approvals do not outlive their turn."""
        self.ahead.restart()
        return replace(self)

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Record which calls need approval before any of them runs. A call with a result no longer does."""
        match event:
            case FunctionToolCallEvent(part=call, args_valid=True):
                looks = call.tool_name in FILE_LOOKERS and call.tool_name in self.known
                if not looks and call.tool_name not in self.free:
                    self.ahead.require_approval(call.tool_call_id)
            case FunctionToolResultEvent(part=part):
                self.ahead.allow(part.tool_call_id)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Ask, then run the tool with exactly the arguments that were asked about."""
        if tool_def.tool_kind in _DESCRIBING:
            self.ahead.allow(call.tool_call_id)
            return await handler(args)
        with self.ahead.reserve(call.tool_call_id):
            if call.tool_name in self.known:
                return await handler(args)
            asked = replace(call, args=args.said) if isinstance(args, ChangedArguments) else call
            action = replace(_action(asked), looks=call.tool_name in self.free)
            if action in self._let_through and ctx.tool_call_approved:
                self._let_through.discard(action)
                self.ahead.judged(call.tool_call_id)
                self.ahead.allow(call.tool_call_id)
            elif declined := await self.gate(action):
                return ToolDenied(declined)
            try:
                return await handler(args)
            except ApprovalRequired:
                # It returns approved by ``handle_deferred_tool_calls``, and is not asked about again.
                self._let_through.add(action)
                raise

    async def wrap_output_process(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: OutputHandler
    ) -> Any:
        """Ask before an output function runs, which a model calls to give its answer.

        Raises:
            ModelRetry: if it must not run. The model reads why, and may answer in another way.
        """
        call = output_context.tool_call
        if call is not None and output_context.has_function and (declined := await self.gate(_action(call))):
            raise ModelRetry(declined)
        return await handler(output)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        """Approve everything here: the gate asks again before execution."""
        calls: dict[str, Any] = {
            call.tool_call_id: ToolFailed(_NO_RESULT.format(call.tool_name)) for call in requests.calls
        }
        return requests.build_results(approve_all=True, calls=calls)


def _action(call: ToolCallPart) -> Action:
    return Action(tool=call.tool_name, kind="other", subject=call.args_as_json_str(), call=call.tool_call_id)
