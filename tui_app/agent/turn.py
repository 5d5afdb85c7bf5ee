"""One run of a turn: from the view to the model and its tools, until it is done, cancelled or failed."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from pydantic_ai import AgentRunResultEvent, CancellationToken, RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    AgentStreamEvent,
    BaseToolCallPart,
    BaseToolReturnPart,
    CachePoint,
    CompactionPart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    OutputToolCallEvent,
    OutputToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextContent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings, ThinkingLevel
from pydantic_ai.tools import DeferredToolResults
from pydantic_ai.usage import UsageLimits
from pydantic_core import to_json

from tui_app.agent.step_watch import AnswerCutOff, Steered, StepWatch
from tui_app.agent.tool_failures import ToolBroke
from tui_app.context.counting.prices import answer_cost
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.requests.builder import INTERRUPTED
from tui_app.context.views.view import answers_of
from tui_app.events import (
    AgentOutput,
    AssistantDelta,
    AssistantMessage,
    Notice,
    Payload,
    Record,
    ToolCall,
    ToolResult,
    WebSearched,
)
from tui_app.records import frozen
from tui_app.system.environment import NO_SECRETS, MaskedStream, Secrets
from tui_app.wires.answer_end import (
    CUT_OFF,
    as_known,
    context_input,
    half_call,
    incomplete_reason,
    with_unique_calls,
    without_calls,
)
from tui_app.wires.error_text import chain
from tui_app.wires.event_streams import MOST_CALLS, MOST_CHARS, AnswerTooLong
from tui_app.wires.web_searches import searches_of

if TYPE_CHECKING:
    from tui_app.agent.answer_schema import AnswerSchema


def without_secrets(response: ModelResponse, secrets: Secrets) -> ModelResponse:
    """Mask secrets in every part of an answer. A thinking part that is changed loses its signature."""
    parts = [_part_without(part, secrets) for part in response.parts]
    return response if all(map(is_, parts, response.parts)) else replace(response, parts=parts)


def _part_without(part: ModelResponsePart, secrets: Secrets) -> ModelResponsePart:
    match part:
        case ThinkingPart() if (content := secrets.masked(part.content)) != part.content:
            return replace(part, content=content, id=None, signature=None, provider_details=None)
        case TextPart() | BaseToolReturnPart() if (content := secrets.masked(part.content)) != part.content:
            return replace(part, content=content)
        case BaseToolCallPart() if (args := secrets.masked(part.args)) != part.args:
            return replace(part, args=args)
    return part


class Journal(Protocol):
    """The log of a turn."""

    @property
    def counter(self) -> TokenCounter: ...

    @property
    def model(self) -> str: ...

    def append(self, payload: Payload, message: ModelMessage | None = None) -> Record: ...

    def take_distrust(self) -> bool:
        """Whether the newest answer belongs to a request that was cut. Resets it."""


class Recorder(AbstractCapability[Any]):
    """Logs the events of a run. One per conversation; its runs never overlap.

    Args:
        journal: The log.
        secrets: Masked in answers before anything keeps, shows, exports or sends them.
    """

    def __init__(self, journal: Journal, secrets: Secrets = NO_SECRETS) -> None:
        self.journal, self.secrets = journal, secrets
        self._asked = 0.0
        self._model: Model[Any] | None = None
        self._called: dict[str, float] = {}
        self.known: frozenset[str] = frozenset()
        """Ids of calls that were logged before the run."""
        self._forget_streamed()

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._asked, self._model = monotonic(), request_context.model
        self._forget_streamed()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Log the whole answer, with a unique id for each call.

        Raises:
            AnswerCutOff: if the stream ended early and the answer calls tools, none of which may run.
        """
        response = without_secrets(with_unique_calls(as_known(response)), self.secrets)
        if cut := without_calls(response):
            self.answer(cut)
            raise AnswerCutOff
        self.answer(response)
        if (half := half_call(response)) is not None:
            reason = incomplete_reason(response)
            left = f"Its last call, {half.tool_name}, is incomplete and was not run."
            self.journal.append(Notice(text=f"{reason[0].upper()}{reason[1:]}. {left}"))
        return response

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, result: Any, **_: Any
    ) -> Any:
        """Merge what a tool adds for the model into its result: alone it would count as the user's words."""
        if not isinstance(result, ToolReturn) or not result.content:
            return result
        return replace(result, return_value=_with_added(call.tool_name, result), content=None)

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Show text as it streams; log tool calls and results as they happen."""
        match event:
            case PartStartEvent(part=ToolCallPart()):
                self._calls += 1
                self._bound("")
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(text))):
                self._bound(text)
            case (
                PartStartEvent(part=TextPart(content=str(text)))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                self._show(AssistantDelta(text=self._text.add(text)))
            case (
                PartStartEvent(part=ThinkingPart(content=text))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text)))
            ):
                self._show(AssistantDelta(thinking=self._thinking.add(text)))
            case FunctionToolCallEvent(part=call) | OutputToolCallEvent(part=call):
                self._called[call.tool_call_id] = monotonic()
                if call.tool_call_id not in self.known:
                    args = call.args_as_json_str()
                    self.journal.append(
                        ToolCall(tool_call_id=call.tool_call_id, name=call.tool_name, args=args)
                    )
            case FunctionToolResultEvent(part=part) | OutputToolResultEvent(part=part):
                self.result(part)

    def answer(self, response: ModelResponse) -> None:
        """Log an answer, whole or as far as it got."""
        response = without_secrets(response, self.secrets)
        self._show(AssistantDelta(text=self._text.flush(), thinking=self._thinking.flush()))
        self._forget_streamed()
        usage, size = response.usage, context_input(response)
        cut = self.journal.take_distrust()
        ended = incomplete_reason(response)
        # A copy, because the run keeps writing to its own. A provider's compaction is an event of its own.
        own = replace(
            response, parts=[each for each in response.parts if not isinstance(each, CompactionPart)]
        )
        # A secret may be split between two parts.
        text, thinking = (
            self.secrets.masked("".join(part.content for part in response.parts if isinstance(part, kind)))
            for kind in (TextPart, ThinkingPart)
        )
        message = AssistantMessage(
            text=text,
            thinking=thinking,
            call_ids=tuple(call.tool_call_id for call in response.tool_calls),
            tokens=self.journal.counter.message(own).nonzero(),
            model=self.journal.model,
            input_tokens=0 if cut or ended == CUT_OFF else usage.input_tokens,
            context_tokens=size if size != usage.input_tokens else 0,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            finish_reason=response.finish_reason or "",
            interrupted=bool(ended),
            duration_s=round(monotonic() - self._asked, 3),
            cost_usd=answer_cost(response, self._model),
        )
        self.journal.append(message, own)
        for search in searches_of(response.parts):
            sources = tuple(url for _, url in search.sources)
            self.journal.append(WebSearched(queries=search.queries, sources=sources))

    def returned(self, output: Any, *, structured: bool = False) -> None:
        """Log what an agent returned, if its model's text does not contain it.

        Args:
            output: What it returned.
            structured: Whether it is a value even if it is a text.
        """
        if isinstance(output, str) and not structured:
            self.journal.append(AgentOutput(text=self.secrets.masked(output), structured=False))
            return
        try:
            text = to_json(output, fallback=repr, bytes_mode="base64", inf_nan_mode="null")
        except Exception:  # a serialiser in the user's own code may raise anything
            text = to_json(repr(output))
        self.journal.append(AgentOutput(text=self.secrets.masked(text.decode())))

    def broken_off(self) -> None:
        """Log the streamed part of an answer whose connection was lost, if there is any text."""
        streams = (self._text, self._thinking)
        text, thinking = ("".join([*each.shown, each.held])[:_MOST_KEPT] for each in streams)
        if text.strip():
            before = [ThinkingPart(thinking)] if thinking else []
            self.answer(ModelResponse(parts=[*before, TextPart(text)], state="interrupted"))

    def cut_off(self, messages: Sequence[ModelMessage]) -> None:
        """Log the unfinished answer at the end of a run, without its calls, which never ran."""
        last = messages[-1] if messages else None
        if isinstance(last, ModelResponse) and last.state != "complete":
            parts = [part for part in last.parts if not isinstance(part, ToolCallPart)]
            if parts:
                self.answer(replace(last, parts=parts))

    def _bound(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > MOST_CHARS or self._calls > MOST_CALLS:
            raise AnswerTooLong

    def _show(self, delta: AssistantDelta) -> None:
        self._bound(delta.text or delta.thinking)
        if delta.text or delta.thinking:
            self.journal.append(delta)

    def _forget_streamed(self) -> None:
        self._text, self._thinking = MaskedStream(self.secrets), MaskedStream(self.secrets)
        self._chars = self._calls = 0

    def result(self, part: ToolReturnPart) -> None:
        """Log a tool's result, success and failure alike."""
        request = ModelRequest(parts=[part], timestamp=part.timestamp)
        # Without the wrapper in which some providers get errors.
        text = part.model_response_str(wrap_if_error=False)
        outcome: Literal["success", "error", "denied", "interrupted"] = "error"
        if part.outcome in ("denied", "interrupted"):
            outcome = part.outcome
        elif part.outcome == "success" and part.retry is None:
            outcome = "success"
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


def _with_added(name: str, returned: ToolReturn[Any]) -> Any:
    """One text, or a list if there are files."""
    added = [returned.content] if isinstance(returned.content, str) else returned.content or ()
    pieces = [
        piece.content if isinstance(piece, TextContent) else piece
        for piece in added
        if not isinstance(piece, CachePoint)
    ]
    value, texts = returned.return_value, [piece for piece in pieces if isinstance(piece, str)]
    part = ToolReturnPart(name, value)
    if len(texts) == len(pieces) and not part.files:
        return "\n\n".join(text for text in (part.model_response_str(), *texts) if text)
    return [*(value if isinstance(value, list | tuple) else [value]), *pieces]


_MOST_KEPT = 200_000
"""Maximum characters kept of an interrupted answer."""
NO_RESULT = "No result: an error stopped the turn before there was one."
"""The result of a call that was running when something else ended the turn."""
ENDED = "No result: the program ended before there was one. What the call has done by then is not known."
"""The result of a call whose process was killed."""


@frozen
class TurnResult:
    """How a turn ended."""

    cancelled: bool = False
    error: Exception | None = None


class ProgramEnded(Exception):
    """The program was killed or crashed during a turn."""


@frozen(kw_only=True)
class Manner:
    """Settings for running turns."""

    thinking: str = "default"
    """Reasoning effort; ``default`` leaves it to the model."""
    prompt_cache: str = "auto"
    """Retention of caches that must be requested: ``auto`` for the provider's default, ``1h`` or ``off``."""
    max_steps: int = 200
    """Maximum model requests per turn."""
    silence_s: float = 600.0
    """Seconds without any byte of an answer after which its request is given up."""

    def settings_for(self, model: Model) -> ModelSettings:
        """Settings of requests to a model."""
        settings = ModelSettings()
        if self.thinking != "default":
            level = cast("ThinkingLevel", self.thinking)
            settings["thinking"] = False if self.thinking == "off" else level
        if self.prompt_cache != "off":
            # Marks tools, system prompt and the newest message, where the protocol has marks.
            settings["cache"] = "1h" if self.prompt_cache == "1h" else True
        if model.provider is not None and "timeout" not in model.unsupported_settings:
            settings["timeout"] = self.silence_s
        return settings


@dataclass(slots=True)
class TurnRunner:
    """Runs an agent through the turns of one conversation, one at a time."""

    agent: AbstractAgent[Any, Any]
    recorder: Recorder
    conversation_id: str = ""
    """Id that groups all turns in spans."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Arguments for each run of the user's own agent, in addition to its own."""
    steps: StepWatch = field(default_factory=StepWatch)
    """The same object as in the agent's capabilities."""
    manner: Manner = field(default_factory=Manner)
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """Output of stopped commands, by the id of the call."""
    answers: "AnswerSchema | None" = None
    """The schema of answers; None for the agent's own output type."""
    _token: CancellationToken | None = None

    @property
    def running(self) -> bool:
        return self._token is not None

    def cancel(self) -> None:
        if self._token is not None:
            self._token.cancel()

    async def run(
        self, history: Sequence[ModelMessage], model: Model, calls: Sequence[ToolCallPart] = ()
    ) -> TurnResult:
        """Run a turn whose prompt is the last message of ``history``.

        Args:
            history: The agent view.
            model: The model that answers.
            calls: Calls of its newest answer to run first, because the turn was interrupted before them.

        Returns:
            How it ended. Errors are returned, not raised, because what was done until then counts.
        """
        token = self._token = CancellationToken()
        self.steps.begin()
        known: dict[str, Any] = {call.tool_call_id: True for call in calls}
        self.recorder.known = frozenset(known)
        try:
            events = self.agent.run_stream_events(
                None,
                output_type=None if self.answers is None else self.answers.output_type(),
                message_history=list(history),
                # Each still passes the gate as usual.
                deferred_tool_results=DeferredToolResults(approvals=known) if known else None,
                model=model,
                conversation_id=self.conversation_id or None,
                cancellation_token=token,
                usage_limits=UsageLimits(request_limit=self.manner.max_steps),
                model_settings=self.manner.settings_for(model),
                **self.added,
            )
            async with events as stream:
                async for event in stream:
                    if not isinstance(event, AgentRunResultEvent):
                        continue
                    messages = event.result.all_messages()
                    if self.answers is not None:
                        self.recorder.returned(self.answers.value(event.result.output), structured=True)
                    elif messages and isinstance(messages[-1], ModelRequest):
                        # It ended with the call of an output tool, not with text from its model.
                        self.recorder.returned(event.result.output)
        except RunCancelled as cancelled:
            self.recorder.cut_off(cancelled.all_messages())
            return TurnResult(cancelled=True)
        except Steered:
            return TurnResult()
        except AnswerCutOff as error:
            # The log marks it, so that it is seen and retried. A text is no substitute for a value.
            return TurnResult(error=error if self.answers is not None else None)
        except Exception as error:  # every failure of a turn becomes an error the user reads
            self.recorder.broken_off()
            return TurnResult(error=error)
        finally:
            self._token = None
        return TurnResult()

    def close_calls(self, calls: Sequence[ToolCallPart], error: Exception | None = None) -> None:
        """Answer calls whose tool never finished, so that the history stays valid.

        Args:
            calls: Those without a result.
            error: What ended the turn, if the user did not.
        """
        content = INTERRUPTED
        if error is not None:
            content = ENDED if isinstance(error, ProgramEnded) else NO_RESULT
        broke = next((one for one in chain(error) if isinstance(one, ToolBroke)), None) if error else None
        for call in calls:
            printed = self.cut_short.pop(call.tool_call_id, "").strip()
            text = f"{content} Output until then:\n{printed}" if printed else content
            outcome: Literal["interrupted", "failed"] = "interrupted"
            if broke is not None and broke.call == call.tool_call_id:
                text, outcome = str(broke), "failed"
            self.recorder.result(
                ToolReturnPart(
                    tool_name=call.tool_name, content=text, tool_call_id=call.tool_call_id, outcome=outcome
                )
            )


def open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """Tool calls of the newest answer that have no result yet."""
    open_now: dict[str, ToolCallPart] = {}
    for message in messages:
        if isinstance(message, ModelResponse):
            open_now = {call.tool_call_id: call for call in message.tool_calls}
            continue
        for call_id in answers_of(message):
            open_now.pop(call_id, None)
    return list(open_now.values())
