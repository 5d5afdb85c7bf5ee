"""Writes what happens during a turn into the session's log, before anyone is shown it."""

from dataclasses import replace
from time import monotonic
from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    AgentStreamEvent,
    CompactionPart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    OutputToolCallEvent,
    OutputToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_core import to_json

from tui_app.agent.call_ids import with_unique_calls
from tui_app.context.answer_end import CUT_OFF, why_not_whole
from tui_app.context.counting.prices import answer_cost
from tui_app.context.counting.tokens import TokenCounter
from tui_app.events import (
    AgentOutput,
    AssistantDelta,
    AssistantMessage,
    Payload,
    Record,
    ToolCall,
    ToolResult,
)


class Journal(Protocol):
    """Where a turn is written down."""

    @property
    def counter(self) -> TokenCounter:
        """Counts what is written, without any factor."""
        ...

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        ...

    def append(self, payload: Payload, message: ModelMessage | None = None) -> Record:
        """Write an event to the log and show it."""
        ...

    def take_distrust(self) -> bool:
        """Whether the answer that just came belongs to a request that was cut."""
        ...


class Recorder(AbstractCapability[Any]):
    """Follows the events of a run. One per conversation; runs of it never overlap."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._asked = 0.0
        self._model: Model[Any] | None = None
        self._called: dict[str, float] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Note when the request was sent."""
        self._asked, self._model = monotonic(), request_context.model
        self._forget_streamed()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Write the whole answer down, with an id of its own for each call."""
        response = with_unique_calls(response)
        self.answer(response)
        return response

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Show text as it streams; write tool calls and results down as they happen."""
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                self._streamed(AssistantDelta(text=text))
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                self._streamed(AssistantDelta(thinking=text))
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._streamed(AssistantDelta(text=text))
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
                self._streamed(AssistantDelta(thinking=text))
            case FunctionToolCallEvent(part=call) | OutputToolCallEvent(part=call):
                self._called[call.tool_call_id] = monotonic()
                self.journal.append(
                    ToolCall(
                        tool_call_id=call.tool_call_id, name=call.tool_name, args=call.args_as_json_str()
                    )
                )
            case FunctionToolResultEvent(part=part) | OutputToolResultEvent(part=part) if isinstance(
                part, ToolReturnPart | RetryPromptPart
            ):
                self.result(part)

    def answer(self, response: ModelResponse) -> None:
        """Write an answer down, whole or as far as it got."""
        self._forget_streamed()
        usage = response.usage
        cut = self.journal.take_distrust()
        ended = why_not_whole(response)
        # A copy: the run goes on writing into its own. What a provider has compacted is an event of its own.
        own = replace(
            response, parts=[part for part in response.parts if not isinstance(part, CompactionPart)]
        )
        message = AssistantMessage(
            text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
            thinking="".join(part.content for part in response.parts if isinstance(part, ThinkingPart)),
            call_ids=tuple(part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)),
            tokens=self.journal.counter.message(own).nonzero(),
            model=self.journal.model,
            input_tokens=0 if cut or ended == CUT_OFF else usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            finish_reason=response.finish_reason or "",
            interrupted=bool(ended),
            duration_s=round(monotonic() - self._asked, 3),
            cost_usd=answer_cost(response, self._model),
        )
        self.journal.append(message, own)

    def returned(self, output: Any) -> None:
        """Write down what an agent returned that no text of its model says."""
        if isinstance(output, str):
            self.journal.append(AgentOutput(text=output, structured=False))
        else:
            self.journal.append(AgentOutput(text=_as_json(output)))

    def broken_off(self) -> None:
        """Write down what was streamed of an answer whose connection broke, if it had said anything."""
        text, thinking = "".join(self._text), "".join(self._thinking)
        if text.strip():
            before = [ThinkingPart(thinking)] if thinking else []
            self.answer(ModelResponse(parts=[*before, TextPart(text)], state="interrupted"))

    def _streamed(self, delta: AssistantDelta) -> None:
        self._text.append(delta.text)
        self._thinking.append(delta.thinking)
        self.journal.append(delta)

    def _forget_streamed(self) -> None:
        self._text.clear()
        self._thinking.clear()

    def result(self, part: ToolReturnPart | RetryPromptPart) -> None:
        """Write a tool's answer down, success and failure alike."""
        request = ModelRequest(parts=[part], timestamp=part.timestamp)
        text, outcome = _outcome(part)
        started = self._called.pop(part.tool_call_id, monotonic())
        self.journal.append(
            ToolResult(
                tool_call_id=part.tool_call_id,
                name=part.tool_name or "",
                text=text,
                outcome=outcome,
                tokens=self.journal.counter.message(request).nonzero(),
                duration_s=round(monotonic() - started, 3),
            ),
            request,
        )


def _as_json(output: Any) -> str:
    """One line of JSON of whatever it is; what cannot be told as JSON is told in Python's own words."""
    try:
        return to_json(output, fallback=repr, bytes_mode="base64", inf_nan_mode="null").decode()
    except Exception:  # a serialiser of the person's own code may raise anything
        return to_json(repr(output)).decode()


def _outcome(part: ToolReturnPart | RetryPromptPart) -> tuple[str, Any]:
    if isinstance(part, RetryPromptPart):
        return part.model_response(), "error"
    # Without the wrapping in which some providers are sent an error.
    text = part.model_response_str(wrap_if_error=False)
    if part.outcome in ("denied", "interrupted"):
        return text, part.outcome
    failed = part.outcome != "success" or part.retry is not None
    return text, "error" if failed else "success"
