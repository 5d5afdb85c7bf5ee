"""Writes down what one run of a sub-agent does: a step for each answer of its model, with its calls."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolResultEvent,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestContext

from tui_app.context.counting.prices import answer_cost
from tui_app.events import (
    CompactionComplete,
    Payload,
    SubAgentCall,
    SubAgentEnd,
    SubAgentOutcome,
    SubAgentStep,
)

RESULT_CHARS = 2_000
"""Characters of a result that are kept: what was looked at is still in the workspace."""


@dataclass(slots=True)
class _Step:
    """The step under way."""

    payload: SubAgentStep
    calls: dict[str, SubAgentCall]
    """By id, in the order of the answer."""


class SubAgentWatch(AbstractCapability[Any]):
    """Follows one run. A step is written when the next one begins, so it has the results of its calls."""

    def __init__(self, call: str, model: str, report: Callable[[Payload], object]) -> None:
        """Follow a run.

        Args:
            call: Id of the call that sent the sub-agent.
            model: Name of its model.
            report: Writes an event down and shows it.
        """
        self._call, self._model, self._report = call, model, report
        self._step: _Step | None = None
        self._started = monotonic()
        self._ended = SubAgentEnd(tool_call_id=call, outcome="done")
        self.said = ""
        """The last text it wrote."""
        self.titles: list[tuple[str, str]] = []
        """Name and arguments of each call so far."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The step before is done."""
        self.flush()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """A step begins with an answer."""
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        usage = response.usage
        self.said = text or self.said
        self.titles += [(call.tool_name, call.args_as_json_str()) for call in calls]
        step = SubAgentStep(
            tool_call_id=self._call,
            text=text,
            model=self._model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cost_usd=answer_cost(response),
        )
        made = {
            call.tool_call_id: SubAgentCall(name=call.tool_name, args=call.args_as_json_str())
            for call in calls
        }
        self._step = _Step(step, made)
        return response

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Take the result of a call into its step."""
        if not isinstance(event, FunctionToolResultEvent) or self._step is None:
            return
        part = event.part
        if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id in self._step.calls:
            made = self._step.calls[part.tool_call_id]
            self._step.calls[part.tool_call_id] = _answered(made, part)

    def compacted(self, payload: Payload) -> None:
        """Count what the sub-agent's own governor does; it is no event of the session's context."""
        if isinstance(payload, CompactionComplete) and payload.outcome == "success":
            self._ended = replace(self._ended, compactions=self._ended.compactions + 1)
        if isinstance(payload, CompactionComplete) and payload.input_tokens:
            self._write(
                SubAgentStep(
                    tool_call_id=self._call,
                    model=payload.model,
                    input_tokens=payload.input_tokens,
                    output_tokens=payload.output_tokens,
                    cost_usd=payload.cost_usd,
                )
            )

    def flush(self) -> None:
        """Write the step under way, as far as it got."""
        if self._step is not None:
            step, self._step = self._step, None
            self._write(replace(step.payload, calls=tuple(step.calls.values())))

    def end(self, outcome: SubAgentOutcome, reason: str = "") -> None:
        """Write the end, with the sums of all steps."""
        self.flush()
        took = round(monotonic() - self._started, 3)
        self._report(replace(self._ended, outcome=outcome, reason=reason, duration_s=took))

    def _write(self, step: SubAgentStep) -> None:
        known = [cost for cost in (self._ended.cost_usd, step.cost_usd) if cost is not None]
        self._ended = replace(
            self._ended,
            steps=self._ended.steps + 1,
            calls=self._ended.calls + len(step.calls),
            input_tokens=self._ended.input_tokens + step.input_tokens,
            output_tokens=self._ended.output_tokens + step.output_tokens,
            cost_usd=sum(known) if known else None,
        )
        self._report(step)


def _answered(made: SubAgentCall, part: ToolReturnPart | RetryPromptPart) -> SubAgentCall:
    if isinstance(part, RetryPromptPart):
        text, outcome = part.model_response(), "error"
    else:
        text, outcome = part.model_response_str(), part.outcome
    shown = {"success": "success", "denied": "denied", "interrupted": "interrupted"}.get(outcome, "error")
    return replace(made, outcome=shown, text=text[:RESULT_CHARS], chars=len(text))  # type: ignore[arg-type]
