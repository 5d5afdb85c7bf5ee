"""``offline:extractive`` as a pydantic-ai model: the whole product works without key, network or weights."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tui_app.agent.offline.answer import answer, next_steps
from tui_app.agent.offline.turn import read_turn
from tui_app.context.counting.encodings import TextCounter, estimate
from tui_app.context.counting.prices import PricedProfile
from tui_app.context.counting.tokens import part_costs
from tui_app.providers import OFFLINE, OFFLINE_MODEL
from tui_app.settings import OFFLINE_WINDOW

MODEL_NAME = "extractive"
CONTEXT_WINDOW = OFFLINE_WINDOW
"""Tokens. It needs no limit itself, but its conversations should be governed like any other."""
_CHUNK = re.compile(r"(?:\S*\s+){1,4}|\S+")


class CannotAnswerOffline(UserError):
    """The request is not one for retrieval: there are no tools, or the answer is not text."""


class OfflineModel(Model[None]):
    """Answers by calling the file and history tools and quoting what they found.

    The same messages give the same answer. Ids of tool calls are derived from the question and its time, so
    that they differ between two turns with the same question.
    """

    def __init__(self, *, context_window: int = CONTEXT_WINDOW) -> None:
        # It costs nothing, and it does not read an announcement of made-up tags.
        profile = PricedProfile(
            context_window=context_window,
            supports_inline_system_prompts=True,
            default_framing_announcement="never",
            price_in=0.0,
            price_out=0.0,
        )
        super().__init__(profile=profile)

    @property
    def model_name(self) -> str:
        return MODEL_NAME

    @property
    def system(self) -> str:
        return OFFLINE

    @property
    def provider(self) -> None:
        return None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        yield OfflineStream(
            model_request_parameters=parameters,
            parts=self.respond(messages, parameters),
            input_tokens=input_tokens(messages, parameters),
            model_name=self.model_name,
            pause_s=self.pause_s(parameters),
        )

    def respond(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> list[ModelResponsePart]:
        """The next response to a history: tool calls, or one text.

        Raises:
            CannotAnswerOffline: if there is no tool to search with, or structured output is required.
        """
        tools = {tool.name for tool in parameters.function_tools}
        if not tools or not parameters.allow_text_output:
            raise CannotAnswerOffline(
                f"{OFFLINE_MODEL} finds and quotes passages; it cannot write summaries or structured output."
            )
        turn = read_turn(messages)
        calls: list[ModelResponsePart] = []
        for at, step in enumerate(next_steps(turn, tools)):
            seed = json.dumps([turn.prompt, turn.asked_at, turn.rounds, at, step.tool, step.args])
            id = f"offline_{hashlib.sha256(seed.encode()).hexdigest()[:20]}"
            calls.append(ToolCallPart(step.tool, step.args, id))
        return calls or [TextPart(answer(turn))]

    def pause_s(self, parameters: ModelRequestParameters) -> float:
        """Seconds between two pieces of a streamed answer."""
        return 0.0


@dataclass
class OfflineStream(StreamedResponse):
    """A finished answer, streamed a few words at a time."""

    parts: list[ModelResponsePart]
    input_tokens: int
    pause_s: float = 0.0
    model_name: str = MODEL_NAME
    provider_name: str = OFFLINE
    provider_url: None = None

    def __post_init__(self) -> None:
        self._usage = RequestUsage(input_tokens=self.input_tokens)
        self._created = datetime.now(UTC)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for index, part in enumerate(self.parts):
            if isinstance(part, ToolCallPart):
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=index,
                    tool_name=part.tool_name,
                    args=part.args_as_dict(),
                    tool_call_id=part.tool_call_id,
                )
            elif isinstance(part, TextPart):
                for chunk in _CHUNK.findall(part.content):
                    await asyncio.sleep(self.pause_s)
                    if self.cancelled:
                        return
                    for event in self._parts_manager.handle_text_delta(vendor_part_id=index, content=chunk):
                        yield event
        self._usage = RequestUsage(input_tokens=self.input_tokens, output_tokens=_tokens(self.parts))
        is_text = all(isinstance(part, TextPart) for part in self.parts)
        self.finish_reason = "stop" if is_text else "tool_call"

    async def close_stream(self) -> None:
        """Nothing to close: the iterator stops at its next piece."""

    @property
    def timestamp(self) -> datetime:
        return self._created


def input_tokens(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    """Tokens of a whole request: instructions, tool definitions, and every message part."""
    texts = [part.content for part in parameters.instruction_parts or []]
    if parameters.instruction_parts is None:
        texts += [
            message.instructions or "" for message in messages[-1:] if isinstance(message, ModelRequest)
        ]
    for tool in parameters.function_tools:
        texts += [tool.name, tool.description or "", json.dumps(tool.parameters_json_schema)]
    return sum(map(estimate, texts)) + sum(_tokens(message.parts) for message in messages)


def _tokens(parts: Iterable[object]) -> int:
    """An estimate of one token per four bytes: there is no tokenizer for this model."""
    counter = TextCounter(None)
    return sum(tokens for part in parts for _, tokens in part_costs(part, counter, unknown=""))
