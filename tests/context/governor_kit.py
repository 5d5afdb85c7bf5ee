"""A scripted provider, a governor with its parts, and a token counter that tests can check by hand."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN_CONTEXT, Span, SpanContext, TracerProvider
from opentelemetry.util.types import AttributeValue
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tests.context.histories import complaints
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.expenses import Ledger
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import ContextGovernor
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL, Policy
from tui_app.context.summaries.prompt import INSTRUCTIONS, SummaryTask
from tui_app.context.summaries.writer import ModelSummariser, Progress, Summary
from tui_app.context.views.view import Item
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import Limits
from tui_app.events import CompactionComplete, Payload


class WordCounter(TextCounter):
    """Counts words and records the texts it was asked to count."""

    def __init__(self) -> None:
        super().__init__("o200k_base")
        self.asked: list[str] = []
        self.ready = False

    @property
    def loaded(self) -> bool:
        return self.ready

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split()) * (10 if self.ready else 1)


# OpenTelemetry's API package alone records no spans, so this tracer keeps them.


class KeptSpan(trace.NonRecordingSpan):
    """A span that records its name and attributes."""

    def __init__(self, name: str, attributes: Mapping[str, Any] | None) -> None:
        super().__init__(INVALID_SPAN_CONTEXT)
        self.name = name
        self.attributes = dict(attributes or {})

    def is_recording(self) -> bool:
        return True

    def get_span_context(self) -> SpanContext:
        return INVALID_SPAN_CONTEXT

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self.attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        self.attributes.update(attributes)


class Tracer(TracerProvider, trace.Tracer):
    """A tracer that is its own provider."""

    def __init__(self) -> None:
        self.spans: list[KeptSpan] = []

    def get_tracer(self, *_args: Any, **_kwargs: Any) -> trace.Tracer:
        return self

    def start_span(self, name: str, *_args: Any, attributes: Any = None, **_kwargs: Any) -> Span:
        span = KeptSpan(name, attributes)
        self.spans.append(span)
        return span

    @contextmanager
    def start_as_current_span(  # type: ignore[override]
        self, name: str, *_args: Any, attributes: Any = None, **_kwargs: Any
    ) -> Iterator[Span]:
        span = self.start_span(name, attributes=attributes)
        with trace.use_span(span):
            yield span


P = TypeVar("P", bound=Payload)
Delta = str | dict[int, DeltaThinkingPart] | dict[int, DeltaToolCall]
TOO_LONG = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in {requested} "
    "tokens. Please reduce the length of the messages."
)
NOTES = "Title: Steady work\n## Intent\nGo on with the work.\n## Current state\nAll is well."


def plain_counter() -> TokenCounter:
    """Return a counter of four characters per token, which never needs to load a tokenizer."""
    return TokenCounter(TextCounter("o200k_base"))


class Provider(FunctionModel):
    """A scripted model with its own window and token factor; invalid requests fail the test."""

    def __init__(
        self, window: int | None = 4_000, *, real_window: int | None = None, factor: float = 1.0
    ) -> None:
        profile = ModelProfile(context_window=window) if window else ModelProfile()
        super().__init__(self.answer, stream_function=self.stream, model_name="scripted", profile=profile)
        self.real_window = real_window or window or 10**9
        self.factor = factor
        self.sent: list[list[ModelMessage]] = []
        self.summary_requests: list[str] = []
        self.reply: Callable[[int], ModelResponse] = lambda number: ModelResponse(
            [TextPart(f"answer {number}")]
        )
        self.deltas: Callable[[int], Sequence[Delta]] = lambda _number: [NOTES]
        self.failures: list[Exception] = []
        """Raised by the next turns, one per turn."""
        self.summary_failures: list[Exception] = []
        self.gate: asyncio.Event | None = None
        """Summary requests wait until it is set."""
        self.asked = asyncio.Event()
        self.reported: int | None = None
        """Input tokens to report instead of the actual count."""

    def real(self, messages: Sequence[ModelMessage], instructions: str | None = None) -> int:
        counter = plain_counter()
        total = sum(counter.message(message).total for message in messages)
        return round((total + counter.instructions(instructions or "")) * self.factor)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert complaints(messages) == []
        real = self._measured(messages, info)
        self.sent.append(list(messages))
        if self.failures:
            raise self.failures.pop(0)
        response = self.reply(len(self.sent))
        reported = real if self.reported is None else self.reported
        response.usage = RequestUsage(input_tokens=reported, output_tokens=self.real([response]))
        return response

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Delta]:
        assert complaints(messages) == []
        self._measured(messages, info)
        if info.instructions != INSTRUCTIONS:
            self.sent.append(list(messages))
            yield "streamed answer"
            return
        self.summary_requests.append(str(messages[-1].parts[-1].content))
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.summary_failures:
            raise self.summary_failures.pop(0)
        for delta in self.deltas(len(self.summary_requests)):
            yield delta

    def _measured(self, messages: Sequence[ModelMessage], info: AgentInfo) -> int:
        real = self.real(messages, info.instructions)
        if real > self.real_window:
            raise too_long(self.real_window, real)
        return real

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        arguments = (messages, model_settings, model_request_parameters, run_context)
        async with super().request_stream(*arguments) as response:
            instructions = "".join(part.content for part in model_request_parameters.instruction_parts or ())
            response._usage = RequestUsage(input_tokens=self.real(messages, instructions))
            yield response


def numbered(number: int) -> ModelResponse:
    return ModelResponse([TextPart(f"answer {number}")])


def too_long(limit: int, requested: int) -> ModelHTTPError:
    body = {"message": TOO_LONG.format(limit=limit, requested=requested), "code": "context_length_exceeded"}
    return ModelHTTPError.for_category(None, status_code=400, model_name="scripted", body=body)


def rate_limited() -> ModelHTTPError:
    body = {
        "message": "Rate limit reached: too many tokens per minute, maximum context length is 1000 tokens"
    }
    return ModelHTTPError.for_category(None, status_code=429, model_name="scripted", body=body)


def per_minute(limit: int) -> ModelHTTPError:
    body = {"message": f"This request would exceed your rate limit of {limit:,} input tokens per minute."}
    return ModelHTTPError.for_category(None, status_code=429, model_name="scripted", body=body)


@dataclass
class Heard:
    """Callable that records every payload reported to it."""

    events: list[Payload] = field(default_factory=list)

    def __call__(self, payload: Payload) -> None:
        self.events.append(payload)

    def of(self, kind: type[P]) -> list[P]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def outcomes(self) -> list[str]:
        return [event.outcome for event in self.of(CompactionComplete)]


@dataclass
class Rig:
    """A governed conversation with all its parts exposed."""

    provider: Provider
    heard: Heard
    history: ListHistory
    compactor: Compactor
    limits: Limits
    governor: ContextGovernor


def rig(provider: Provider, policy: Policy = PLIMSOLL, *, fallback: Any = None) -> Rig:
    heard = Heard()
    counter = plain_counter()
    history = ListHistory(counter, heard)
    limits = Limits(LearntModels(None))
    writer = ModelSummariser(
        model=provider,
        model_name="scripted",
        input_budget=lambda: limits.window(provider).effective,
        count=TextCounter("o200k_base").count,
    )
    compactor = Compactor(history, policy, PlainHost((writer,), fallback=fallback))
    governor = ContextGovernor(policy, history=history, compactor=compactor, counter=counter, limits=limits)
    return Rig(provider, heard, history, compactor, limits, governor)


@dataclass
class Writer:
    """A summariser that returns what the test scripts."""

    does: Callable[[SummaryTask], str] = lambda _task: NOTES
    gate: asyncio.Event | None = None
    model_name: str = "writer"
    tasks: list[SummaryTask] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        self.tasks.append(task)
        progress(1, 1, 0)
        self.started.set()
        if self.gate is not None:
            await self.gate.wait()
        progress(1, 1, 5)
        return Summary(text=self.does(task), model=self.model_name)


def tokens(item: Item) -> int:
    return plain_counter().message(item.message).total


def agent(made: Rig) -> Agent[None, str]:
    return Agent(made.provider, capabilities=[made.governor])


def sized(provider: Provider, tokens: int) -> list[ModelMessage]:
    """Return a valid history that has exactly ``tokens`` tokens once the prompt "Go on." is added."""
    history: list[ModelMessage] = []
    for turn in range(6):
        history.append(ModelRequest(parts=[UserPromptPart(f"prompt {turn}")]))
        history.append(ModelResponse(parts=[TextPart(f"answer {turn}")]))
    prompt = ModelRequest(parts=[UserPromptPart("Go on.")])
    missing = tokens - provider.real([*history, prompt])
    history[1] = ModelResponse(parts=[TextPart("answer 0" + " abc" * missing)])
    assert provider.real([*history, prompt]) == tokens
    return history


async def run(made: Rig, history: Sequence[ModelMessage], prompt: str = "Go on.") -> list[ModelMessage]:
    result = await agent(made).run(prompt, message_history=history)
    return result.all_messages()
