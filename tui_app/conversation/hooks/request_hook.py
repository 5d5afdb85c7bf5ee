"""A hook before each model request, before the governor builds it."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models import ModelRequestContext

from tui_app.wires.library import OutermostCapability


class RequestHook(OutermostCapability):
    """Calls a function before each request."""

    def __init__(self, call: Callable[[ModelRequestContext], Awaitable[None]]) -> None:
        self._call = call

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        await self._call(request_context)
        return request_context
