"""Attempts at one request of a model, in all supported versions of pydantic-ai."""

from typing import Any

from pydantic_ai import RunContext, exceptions
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

PREPARES_ATTEMPTS: bool = hasattr(exceptions, "RetryModelRequest")
"""Whether pydantic-ai prepares each attempt with hooks of its own, and makes another one where asked to: from
2.64 on. Before, a request is prepared once, and who wants another attempt makes it."""


class PreparesAttempts(AbstractCapability[Any]):
    """A capability that sees each attempt as it is sent, or before 2.64 the request."""

    if not PREPARES_ATTEMPTS:

        async def before_model_request(
            self, ctx: RunContext[Any], request_context: ModelRequestContext
        ) -> ModelRequestContext:
            """Stand in for the hook that is not there."""
            return await self.prepare_model_request(ctx, request_context)
