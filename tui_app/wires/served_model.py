"""Wrapper of a model for one request: with or without streaming, with limited pauses, and measured."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from tui_app.wires.answer_end import with_context

MOST_PAUSES = 8
"""Maximum times that a provider may pause an answer and be asked to continue."""


class ServedModel(WrapperModel):
    """Serves one request, within which a paused answer is continued by further requests."""

    def __init__(self, wrapped: Model[Any], *, streams: bool) -> None:
        super().__init__(unserved(wrapped))
        self._streams = streams
        self._pauses = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await super().request(messages, model_settings, model_request_parameters)
        self._end(messages, response)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        if not self._streams:
            response = await self.request(messages, model_settings, model_request_parameters)
            yield CompletedStreamedResponse(
                response, model_request_parameters=model_request_parameters, replay_events=True
            )
            return
        async with super().request_stream(
            messages, model_settings, model_request_parameters, run_context
        ) as stream:
            yield stream
            self._end(messages, stream)

    def _end(self, messages: list[ModelMessage], answer: ModelResponse | StreamedResponse) -> None:
        """Record the size of each continuation alone: pydantic-ai adds up the usage of all."""
        if messages and isinstance(messages[-1], ModelResponse):
            answer.metadata = with_context(answer.metadata, answer.usage)
        if answer.state == "suspended":
            self._pauses += 1
            answer.state = "complete" if self._pauses >= MOST_PAUSES else answer.state


def unserved(model: Model[Any]) -> Model[Any]:
    """Return the model without this wrapper."""
    return model.wrapped if isinstance(model, ServedModel) else model
