"""Differences between supported versions of pydantic-ai, and access to its private names."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, cast

import httpx2
from pydantic_ai import RunContext, exceptions
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers import Provider
from pydantic_ai.run import AgentRunResult
from pydantic_ai.settings import ModelSettings


class OutermostCapability(AbstractCapability[Any]):
    """A capability outside of those that an agent has itself, in the order given."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="outermost")


PREPARES_ATTEMPTS: bool = hasattr(exceptions, "RetryModelRequest")
"""Whether pydantic-ai prepares each attempt with hooks and repeats one on request (2.64 and later).

Before, a request is prepared once, and repeating it is up to the caller.
"""


class PreparesAttempts(AbstractCapability[Any]):
    """A capability with a hook for each attempt; before 2.64, for the request."""

    if not PREPARES_ATTEMPTS:

        async def before_model_request(
            self, ctx: RunContext[Any], request_context: ModelRequestContext
        ) -> ModelRequestContext:
            """Replace the missing hook."""
            return await self.prepare_model_request(ctx, request_context)


FRAMES: bool = "framing_announcement" in ModelSettings.__annotations__
"""Whether pydantic-ai adds system messages that tell whose text is whose (after 2.66)."""


def without_system_messages(model: Model[Any]) -> Model[Any]:
    """Return a copy of the model that is known to accept no system message within a conversation."""
    same: Any = copy(model)
    if isinstance(model, WrapperModel):
        same.wrapped = without_system_messages(model.wrapped)
    elif isinstance(getattr(type(model), "profile", None), cached_property):
        same.profile = {**model.profile, "supports_inline_system_prompts": False}
    return cast("Model[Any]", same)


def own_client(
    provider: Provider[Any],
    change: Callable[[httpx2.AsyncClient], httpx2.AsyncClient],
    client: httpx2.AsyncClient | None = None,
    make: Callable[[], httpx2.AsyncClient] | None = None,
) -> None:
    """Make a provider own the given client, to close and recreate it; without one, change its own client."""
    if client is None:
        its: Any = provider._own_http_client  # noqa: SLF001
        own: Any = provider._http_client_factory  # noqa: SLF001
        if not isinstance(its, httpx2.AsyncClient) or own is None:
            return
        client, make = change(its), lambda: change(own())
        provider._set_http_client(client)  # noqa: SLF001
    provider._own_http_client, provider._http_client_factory = client, make  # noqa: SLF001


def new_messages_from(result: AgentRunResult[Any], place: int) -> None:
    """Set where the new messages of a run begin whose history was rewritten."""
    result._new_message_index = place  # noqa: SLF001
