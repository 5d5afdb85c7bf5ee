"""The governor: one pydantic-ai capability in front of every model request.

Before a request it measures the view, applies or starts compactions, repairs and, if it must, truncates. When the
provider still says "too long" it learns from the error, compacts, and lets the request be tried once more.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext

from tui_app.context.compactor import CompactionRefused, Compactor, State
from tui_app.context.events import Trigger, Truncation, UsageInfo
from tui_app.context.history import History
from tui_app.context.items import Item, to_messages
from tui_app.context.limits import ContextTooLarge, Limits
from tui_app.context.overflow import detect_overflow
from tui_app.context.policy import Policy
from tui_app.context.repair import answer_id, repair
from tui_app.context.tokens import TokenCounter
from tui_app.context.truncator import truncate
from tui_app.context.usage import Breakdown


class ContextGovernor(AbstractCapability[Any]):
    """Keeps a conversation inside its model's context window.

    Args:
        policy: Triggers and sizes; ``PLIMSOLL`` by default.
        history: Owner of the view.
        compactor: Runs the compactions of that view; None guards without compacting.
        counter: Counts instructions and tool definitions.
        limits: What is known about the models' windows.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        history: History,
        compactor: Compactor | None,
        counter: TokenCounter,
        limits: Limits,
    ) -> None:
        self.policy = policy
        self.history = history
        self.compactor = compactor
        self.counter = counter
        self.limits = limits

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Measure, relieve and build the request; see the module's text."""
        version = self.history.version
        self.history.sync(request_context.messages)
        self._fix(request_context)
        await self._relieve()
        if self.history.version != version:
            ctx.messages[:] = to_messages(self.history.items())
        return self._outgoing(request_context)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Build the second attempt from the view as it is after the overflow."""
        if request_context.attempt == 1:
            return request_context
        self._fix(request_context)
        return self._outgoing(request_context)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Learn how the model's own tokenizer compares with the count."""
        counted = self._counted(request_context)
        self.limits.observe(request_context.model, counted, response.usage.input_tokens)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Recover once from "too long"; everything else is passed on.

        Raises:
            RetryModelRequest: to try again with a smaller request.
            ContextTooLarge: if the second attempt was too long as well.
        """
        overflow = detect_overflow(error)
        if overflow is None:
            raise error
        counted = self._counted(request_context)
        self.limits.learn(request_context.model, overflow, counted)
        self._fix(request_context)
        if request_context.attempt > 1:
            usage = self.history.usage()
            raise ContextTooLarge(overflow.limit or usage.window.limit, overflow.requested or usage.total) from error
        await self._compact("overflow")
        if self.compactor is not None:
            ctx.messages[:] = to_messages(self.history.items())
        raise RetryModelRequest from error

    def _fix(self, request: ModelRequestContext) -> None:
        """Tell the history what every request to this model carries."""
        window = self.limits.window(request.model)
        self.history.fix(window, self._carried(request), request.model.model_name, self.limits.factor(request.model))

    def _carried(self, request: ModelRequestContext) -> Breakdown:
        parameters = request.model_request_parameters
        instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
        tools = [*parameters.function_tools, *parameters.output_tools]
        return Breakdown(
            system=self.counter.instructions(instructions) if instructions else 0, tools=self.counter.tools(tools)
        )

    def _counted(self, request: ModelRequestContext) -> int:
        """Tokens of the request as sent, counted without any factor."""
        messages = sum(self.counter.message(message).total for message in request.messages)
        return messages + self._carried(request).total

    async def _relieve(self) -> None:
        """Apply what is ready, start what is due, and wait where the window is nearly full."""
        if self.compactor is None:
            return
        self.compactor.apply_ready()
        match self.policy.pressure(self.history.usage()):
            case "background":
                self._start("background")
            case "blocking":
                await self._compact("blocking")

    async def _compact(self, trigger: Trigger) -> None:
        """Wait for the running job, then run another one if the view is still too full."""
        if self.compactor is None:
            return
        if self.compactor.state is not State.IDLE:
            await self.compactor.finish()
            if self.policy.pressure(self.history.usage()) != "blocking":
                return
        if self._start(trigger):
            await self.compactor.finish()

    def _start(self, trigger: Trigger) -> bool:
        if self.compactor is None or not self.compactor.wanted(trigger):
            return False
        try:
            self.compactor.start(trigger)
        except CompactionRefused:
            # Nothing can be gained now: not worth planning again until the view has grown.
            self.compactor.breaker.failed_at = self.history.usage().total
            return False
        return True

    def _outgoing(self, request: ModelRequestContext) -> ModelRequestContext:
        """The request as it is sent: whole if it fits, else cut for this time only."""
        usage = self.history.usage()
        items = self.history.items()
        if usage.total > usage.window.effective:
            items = self._truncated(items)
        messages = _with_extras(repair(to_messages(items)), request.messages)
        self.history.report(UsageInfo(usage=self.history.usage().to_json()))
        return replace(request, messages=messages)

    def _truncated(self, items: Sequence[Item]) -> Sequence[Item]:
        usage = self.history.usage()
        window = usage.window
        safe = min(window.effective, int(window.limit * (1 - self.policy.safety_margin)))
        carried = usage.parts.system + usage.parts.tools + usage.parts.memory + usage.unmeasured
        cut = truncate(items, safe - carried, self._weigh)
        requested = cut.tokens + carried
        if requested > window.limit:
            raise ContextTooLarge(window.limit, requested)
        self.history.distrust()
        self.history.report(
            Truncation(
                tokens_before=usage.total,
                tokens_after=requested,
                messages_before=len(items),
                messages_after=len(cut.items),
                tokens_removed=usage.total - requested,
                messages_removed=len(items) - len(cut.items),
            )
        )
        return cut.items

    def _weigh(self, message: ModelMessage) -> int:
        return self.history.weigh(Item(0, message)).total


def _with_extras(messages: list[ModelMessage], sent: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Keep what a run put into its last request and no history knows: feedback, deltas, reminders."""
    last, own = (sent[-1] if sent else None), (messages[-1] if messages else None)
    if not isinstance(last, ModelRequest):
        return messages
    extras = [part for part in last.parts if _is_extra(part)]
    if not isinstance(own, ModelRequest):
        return [*messages, replace(last, parts=extras)] if extras else messages
    missing = [part for part in extras if not any(part is known for known in own.parts)]
    return [*messages[:-1], replace(own, parts=[*own.parts, *missing])] if missing else messages


def _is_extra(part: ModelRequestPart) -> bool:
    known = isinstance(part, UserPromptPart | ToolReturnPart | SystemPromptPart)
    return not known and answer_id(part) is None and part.part_kind != "compaction"
