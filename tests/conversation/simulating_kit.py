"""Synthetic coding-agent sessions, and a live agent that replays one under the governor."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from tests.context.governor_kit import Delta
from tui_app.agent.turn import Recorder
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import ContextGovernor
from tui_app.context.policy import Policy
from tui_app.context.requests.pipeline import compact_at_turn_end
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.views.view import to_messages
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import Limits
from tui_app.conversation.audits.replay import Replay, ReplayHistory
from tui_app.conversation.audits.transcript import Recorded
from tui_app.conversation.history.view_messages import ViewMessages
from tui_app.events import AssistantMessage, Payload, Record, UserMessage
from tui_app.session.event_heads import head_of
from tui_app.usage import Breakdown

THEN = datetime(2000, 1, 1, tzinfo=UTC)
TOOLS = ("read_file", "write_file")


def prompt(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def words(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def body(number: int, words: int) -> str:
    """Return ``words`` distinct words, ten per line, that differ for every ``number``."""
    every = [f"berth{number}x{place}" for place in range(words)]
    return "\n".join(" ".join(every[start : start + 10]) for start in range(0, words, 10))


def session(turns: Sequence[Sequence[int]]) -> tuple[ModelMessage, ...]:
    """Build a conversation.

    Args:
        turns: For each turn, the size in words of each call's content: results of reads at even places,
            arguments of writes at odd ones.
    """
    messages: list[ModelMessage] = []
    call = 0
    for number, lengths in enumerate(turns):
        messages.append(prompt(f"Turn {number}: look after berth {number}. Never touch pier {number}."))
        for step, length in enumerate(lengths):
            call += 1
            path = f"src/berth{call}.py"
            args = json.dumps({"path": path, **({"content": body(call, length)} if step % 2 else {})})
            answered = "written" if step % 2 else body(call, length)
            tool = TOOLS[step % 2]
            messages.append(ModelResponse(parts=[ToolCallPart(tool, args, tool_call_id=f"call-{call}")]))
            messages.append(ModelRequest(parts=[ToolReturnPart(tool, answered, f"call-{call}")]))
        messages.append(words(f"Berth {number} is in order."))
    return tuple(messages)


def transcript(messages: Sequence[ModelMessage], model: str = "") -> Recorded:
    """Return the messages as a recorded session without compactions."""
    said = [
        AssistantMessage(text="") if isinstance(each, ModelResponse) else UserMessage(text="")
        for each in messages
    ]
    heads = tuple(head_of(seq, 0.0, payload) for seq, payload in enumerate(said, 1))
    held = ViewMessages(lambda _seq: None)
    for head, message in zip(heads, messages, strict=True):
        held.put(head, message)
    return Recorded(
        name="made-up.json",
        format="pydantic-ai",
        title="Berths",
        model=model,
        heads=heads,
        messages=held,
        event=lambda _seq: None,
    )


def replay(policy: Policy, window: int, text: TextCounter | None = None) -> Replay:
    """Return a replay that counts four characters per token and has no prices."""
    return Replay(policy, window, TokenCounter(text or TextCounter("o200k_base")))


class Uncarried(TokenCounter):
    """Ignores tool definitions and instructions, since transcripts do not contain them."""

    def overhead(self, instructions: str, tools: Sequence[ToolDefinition]) -> Breakdown:
        return Breakdown()


@dataclass
class Journal:
    """Adapter that lets the recorder write into an in-memory view."""

    history: ReplayHistory
    model: str = "live"

    @property
    def counter(self) -> TokenCounter:
        return self.history.counter

    def append(self, payload: Payload, message: ModelMessage | None = None) -> Record:
        if message is not None:
            self.history.append(message)
        return Record(seq=0, time=0.0, session="", data=payload)

    def take_distrust(self) -> bool:
        return False


class Scripted(FunctionModel):
    """A model that gives the script's responses and reports our own token counts."""

    def __init__(self, live: "Live") -> None:
        super().__init__(stream_function=live.stream, model_name="live", profile=ModelProfile())
        self.live = live

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
            response._usage = RequestUsage(input_tokens=self.live.size(messages))
            yield response


@dataclass
class Live:
    """An agent under the governor whose model responses and tool results come from a script."""

    policy: Policy
    window: int
    script: Sequence[ModelMessage]
    sent: list[list[ModelMessage]] = field(default_factory=list)
    events: list[Payload] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counter = Uncarried(TextCounter("o200k_base"))
        self.history = ReplayHistory(self.counter, self.events.append)
        writer = ExtractiveSummariser(TextCounter("o200k_base").count)
        self.compactor = Compactor(self.history, self.policy, PlainHost((writer,), fallback=writer))
        governor = ContextGovernor(
            self.policy,
            history=self.history,
            compactor=self.compactor,
            counter=self.counter,
            limits=Limits(LearntModels(None), setting=self.window),
            surroundings=StageHost(now=lambda: THEN),
        )
        answers = [message for message in self.script if isinstance(message, ModelResponse)]
        self._answers: Iterator[ModelResponse] = iter(answers)
        parts = [part for message in self.script for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolReturnPart)]
        self._results = {part.tool_call_id: part.content for part in results}
        self._agent: Agent[None, str] = Agent(
            Scripted(self),
            tools=[Tool(self._tool, takes_ctx=True, name=name) for name in TOOLS],
            capabilities=[governor, Recorder(Journal(self.history))],
        )

    async def run(self) -> list[ModelMessage]:
        """Run every turn of the script and return the final view."""
        for message in self.script:
            if isinstance(message, ModelRequest) and isinstance(message.parts[0], UserPromptPart):
                self.history.append(message)
                await self._agent.run(None, message_history=to_messages(self.history.items()))
                await self.compactor.finish()
                await compact_at_turn_end(self.compactor)
        await self.compactor.aclose()
        return to_messages(self.history.items())

    def size(self, messages: Sequence[ModelMessage]) -> int:
        return sum(self.counter.message(message).total for message in messages)

    async def stream(self, messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        self.sent.append(list(messages))
        await self.compactor.settled()
        for place, part in enumerate(next(self._answers).parts):
            if isinstance(part, ToolCallPart):
                call = DeltaToolCall(part.tool_name, str(part.args), tool_call_id=part.tool_call_id)
                yield {place: call}
            elif isinstance(part, TextPart):
                yield part.content

    async def _tool(self, ctx: RunContext[None], **_given: Any) -> Any:
        return self._results[str(ctx.tool_call_id)]
