"""What differs between the supported versions of pydantic-ai, and what of it has no public name."""

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
    """A capability before those that an agent has of its own, in the order in which they are given."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="outermost")


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


FRAMES: bool = "framing_announcement" in ModelSettings.__annotations__
"""Whether pydantic-ai says in system messages of its own which text is whose: after 2.66."""


def without_system_messages(model: Model[Any]) -> Model[Any]:
    """The same model, known to take no system message in the middle of a conversation."""
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
    """Let a provider own the client it was given, and close and make it anew; one of its own is changed."""
    if client is None:
        its: Any = provider._own_http_client  # noqa: SLF001
        own: Any = provider._http_client_factory  # noqa: SLF001
        if not isinstance(its, httpx2.AsyncClient) or own is None:
            return
        client, make = change(its), lambda: change(own())
        provider._set_http_client(client)  # noqa: SLF001
    provider._own_http_client, provider._http_client_factory = client, make  # noqa: SLF001


def new_messages_from(result: AgentRunResult[Any], place: int) -> None:
    """Say where the messages of a run begin whose history was rewritten."""
    result._new_message_index = place  # noqa: SLF001
