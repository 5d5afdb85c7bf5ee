"""Compactions made by the provider itself."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import CompactionPart, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tui_app.context.compaction.compactor import Compactor, not_written
from tui_app.context.compaction.replacement import key_ranges
from tui_app.context.history import Proposal
from tui_app.context.views.view import is_system
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import CompactionComplete, Notice
from tui_app.wires.library import OutermostCapability

ANTHROPIC_LEAST = 50_000
"""Anthropic starts no compaction below this many tokens."""

PROVIDER_COMPACTION_SEALED = "The provider has encrypted its summary: only the provider can read it."

UNSUPPORTED = "{model} is not known to compact: Plimsoll does it, in spite of provider_compaction."

GIVEN_BACK = "The provider's own compaction can no longer be used: the model is sent the messages themselves."

Kind = Literal["openai", "anthropic"]


def offered(model: object) -> Kind | None:
    """Which kind of provider compaction a model supports; None if unknown.

    A vendor's classes are looked up only in modules already loaded: otherwise the model cannot be one of
    them.
    """
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if _is_a(model, "pydantic_ai.models.openai", "OpenAIResponsesModel"):
        return "openai"
    if isinstance(model, Model) and _is_a(model, "pydantic_ai.models.anthropic", "AnthropicModel"):
        profile = cast("dict[str, object]", model.profile)
        # The profile tells no more about compactions than this; older models refuse the whole request.
        return "anthropic" if profile.get("anthropic_supports_on_demand_compaction") else None
    return None


def _is_a(model: object, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(model, getattr(loaded, name))


def asked_for(kind: Kind, threshold: int) -> ModelSettings:
    """Settings that make the provider compact from ``threshold`` tokens on."""
    if kind == "openai":
        edit: dict[str, object] = {"type": "compaction", "compact_threshold": threshold}
        return cast("ModelSettings", {"openai_context_management": [edit]})
    trigger = {"type": "input_tokens", "value": max(ANTHROPIC_LEAST, threshold)}
    edit = {"type": "compact_20260112", "trigger": trigger}
    return cast("ModelSettings", {"anthropic_context_management": {"edits": [edit]}})


def provider_part(response: ModelResponse) -> CompactionPart | None:
    """The newest provider compaction in an answer."""
    parts = [part for part in response.parts if isinstance(part, CompactionPart) and part.provider_name]
    return parts[-1] if parts else None


class ProviderCompaction(OutermostCapability):
    """Asks one conversation's provider to compact, and records what it did.

    Place it before the governor: before each request, it decides whether the governor compacts itself.

    Args:
        history: The conversation's view and log.
        compactor: Does nothing while the provider compacts.
        wanted: Whether the user turned this on.
    """

    def __init__(self, history: SessionHistory, compactor: Compactor, *, wanted: bool) -> None:
        self.history = history
        self.compactor = compactor
        self.wanted = wanted
        self._told = ""

    def get_model_settings(self) -> Callable[[RunContext[Any]], ModelSettings] | None:
        """Add the compaction settings to requests whose provider supports them."""

        def settings(ctx: RunContext[Any]) -> ModelSettings:
            if (kind := offered(ctx.model)) is None:
                return ModelSettings()
            return asked_for(kind, self.compactor.policy.background_mark(self.history.usage().window))

        return settings if self.wanted else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Decide who compacts, and undo compactions that this model's provider cannot read."""
        model = request_context.model
        kind = offered(model) if self.wanted else None
        self.compactor.stands_back = kind is not None
        if self.wanted and kind is None and self._told != model.model_name:
            self._told = model.model_name
            self.history.report(Notice(text=UNSUPPORTED.format(model=self.history.model)))
        # One provider's compaction cannot be sent to another.
        history, system = self.history, model.system if kind is not None else ""
        while history.view.compactions:
            newest = history.view.compactions[-1]
            item = next((item for item in history.items() if item.key == newest), None)
            made = item.message if item is not None and isinstance(item.message, ModelResponse) else None
            part = provider_part(made) if made is not None else None
            if part is None or part.provider_name == system:
                break
            history.restate(newest, undo=True)
            history.report(Notice(text=GIVEN_BACK))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the provider's compaction; the answer itself is already in the log."""
        part = provider_part(response)
        if part is None or response.state != "complete" or not self.wanted:
            return response
        history = self.history
        items = history.items()
        left = frozenset(item.key for item in items[:-1] if not is_system(item.message))
        if not left:
            return response
        complete = CompactionComplete(
            job=f"provider-{items[-1].key}",
            outcome="success",
            trigger="background",
            policy=self.compactor.policy.name,
            performed_by="provider",
            model=history.model,
            title="by the provider",
            summary=part.content or PROVIDER_COMPACTION_SEALED,
            removed=key_ranges(items, left),
        )
        message = replace(response, parts=[part], usage=RequestUsage())
        # A running job was planned for the previous view.
        self.compactor.cancel()
        try:
            history.commit(Proposal(complete=complete, message=message, left=left))
        except OSError as error:
            # The messages themselves are sent again: only the provider's work is lost.
            reason = not_written(error)
            history.report(replace(complete, outcome="failed", reason=reason, removed=(), summary=""))
        return response
