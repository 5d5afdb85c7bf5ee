"""Asks before tools run that do not ask for themselves: of servers, of others' agents, a few of ours."""

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
"""Kinds of tools with which pydantic-ai itself shows a model more tools: those are asked about in turn."""

_NO_RESULT = (
    "Not done: the result of {} would have to come from outside of this program, and nothing can bring it "
    "here. Go on without it, or tell the user."
)


@dataclass(eq=False)
class ToolGate(AbstractCapability[Any]):
    """Lets only known tools run without a word, and of those what no rule asks about or denies.

    What pydantic-ai would have approved by the user passes the same gate, once.
    """

    gate: Gate
    """Decides about the others."""
    known: Collection[str] = ()
    """Names of the tools that ask for themselves, with what they would do or look at."""
    free: Collection[str] = ()
    """Names of those that only look, or keep notes: they go ahead unless a rule sets it."""
    ahead: CallsAhead = field(default_factory=lambda: CallsAhead(ignore))
    """Called with the calls that have to be allowed, in the order of the answer."""
    _let_through: set[Action] = field(default_factory=set, init=False)
    """Calls that may go ahead, and whose tool wants to hear that once more."""

    async def for_run(self, ctx: RunContext[Any]) -> "ToolGate":
        """No yes outlives its turn."""
        self.ahead.restart()
        return replace(self)

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Note what has to be allowed before any of it begins; whatever has a result is over."""
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
        """Ask, and run the tool with the very arguments that were asked about."""
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
                # It comes back, approved by ``handle_deferred_tool_calls``, and is not asked about again.
                self._let_through.add(action)
                raise

    async def wrap_output_process(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: OutputHandler
    ) -> Any:
        """Ask before a function runs that a model calls to give its answer.

        Raises:
            ModelRetry: if it must not run; the model reads why, and may answer in another way.
        """
        call = output_context.tool_call
        if call is not None and output_context.has_function and (declined := await self.gate(_action(call))):
            raise ModelRetry(declined)
        return await handler(output)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        """Leave what wants approval to the gate, which is asked before it is executed too."""
        calls: dict[str, Any] = {
            call.tool_call_id: ToolFailed(_NO_RESULT.format(call.tool_name)) for call in requests.calls
        }
        return requests.build_results(approve_all=True, calls=calls)


def _action(call: ToolCallPart) -> Action:
    return Action(tool=call.tool_name, kind="other", subject=call.args_as_json_str(), call=call.tool_call_id)
