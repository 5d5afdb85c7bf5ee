"""One run under governance: the hooks of pydantic-ai, passed on to the pipeline of its conversation."""

from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from tui_app.context.fitting.overflow import detect_overflow
from tui_app.context.requests.pipeline import Pipeline
from tui_app.context.windows.limits import ContextTooLarge


class Pipelines(Protocol):
    """Whoever knows which pipeline a run belongs to."""

    async def take(self, ctx: RunContext[Any]) -> Pipeline:
        """The pipeline for a run, which has it for itself."""
        ...

    def give_back(self, ctx: RunContext[Any], pipeline: Pipeline) -> None:
        """The run is over."""
        ...

    async def aclose(self) -> None:
        """Stop what runs in the background."""
        ...


class GovernedRun(AbstractCapability[Any]):
    """Governs the requests of a single run."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._pipeline: Pipeline | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline of this run.

        Raises:
            RuntimeError: outside the run.
        """
        if self._pipeline is None:
            raise RuntimeError("the run has not started or is over")
        return self._pipeline

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Hold the conversation's pipeline while the run lasts."""
        pipeline = self._pipeline = await self._pipelines.take(ctx)
        try:
            return await handler()
        finally:
            self._pipeline = None
            self._pipelines.give_back(ctx, pipeline)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Measure, relieve and build the request; one that only resumes a paused answer goes as it is."""
        if _resumes(request_context):
            return request_context
        return await self.pipeline.first(ctx, request_context)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Build the request again for a second attempt, or when another capability has changed the model."""
        unchanged = request_context.attempt == 1 and request_context.model is self.pipeline.model
        if unchanged or _resumes(request_context):
            return request_context
        return self.pipeline.again(request_context)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Learn from the reported usage."""
        self.pipeline.answered(request_context, response)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Recover once from "too long"; everything else is passed on.

        Raises:
            RetryModelRequest: to try again with a smaller request.
            ContextTooLarge: if the second attempt was too long as well.
        """
        overflow = detect_overflow(error, request_context.messages)
        if overflow is None:
            raise error
        try:
            await self.pipeline.refused(ctx, request_context, overflow)
        except ContextTooLarge as too_large:
            raise too_large from error
        raise RetryModelRequest from error


def _resumes(request: ModelRequestContext) -> bool:
    """Whether the provider goes on with an answer of its own: the history ends with that."""
    return bool(request.messages) and isinstance(request.messages[-1], ModelResponse)
