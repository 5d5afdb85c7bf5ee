"""Compactions that the provider makes itself."""

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
"""Tokens below which Anthropic lets no compaction start."""

PROVIDER_COMPACTION_SEALED = "The provider has encrypted its summary: only the provider can read it."

UNSUPPORTED = "{model} is not known to compact: Plimsoll does it, in spite of provider_compaction."

GIVEN_BACK = "The provider's own compaction can no longer be used: the model is sent the messages themselves."

Kind = Literal["openai", "anthropic"]


def offered(model: object) -> Kind | None:
    """Who compacts for a model when asked to; None where that is not known.

    A vendor's classes are looked up only where they are loaded already: a model of it is there then.
    """
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if _is_a(model, "pydantic_ai.models.openai", "OpenAIResponsesModel"):
        return "openai"
    if isinstance(model, Model) and _is_a(model, "pydantic_ai.models.anthropic", "AnthropicModel"):
        profile = cast("dict[str, object]", model.profile)
        # All that is known of a model's compactions; older models refuse the whole request.
        return "anthropic" if profile.get("anthropic_supports_on_demand_compaction") else None
    return None


def _is_a(model: object, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(model, getattr(loaded, name))


def asked_for(kind: Kind, threshold: int) -> ModelSettings:
    """What a request says so that the provider compacts from ``threshold`` tokens on."""
    if kind == "openai":
        edit: dict[str, object] = {"type": "compaction", "compact_threshold": threshold}
        return cast("ModelSettings", {"openai_context_management": [edit]})
    trigger = {"type": "input_tokens", "value": max(ANTHROPIC_LEAST, threshold)}
    edit = {"type": "compact_20260112", "trigger": trigger}
    return cast("ModelSettings", {"anthropic_context_management": {"edits": [edit]}})


def provider_part(response: ModelResponse) -> CompactionPart | None:
    """The newest compaction that a provider reports in an answer."""
    parts = [part for part in response.parts if isinstance(part, CompactionPart) and part.provider_name]
    return parts[-1] if parts else None


class ProviderCompaction(OutermostCapability):
    """Asks one conversation's provider to compact, and records what it did.

    Place it before the governor: it decides before each request whether that compacts by itself.

    Args:
        history: The conversation's view and log.
        compactor: Does nothing while the provider compacts.
        wanted: Whether the user has switched this on.
    """

    def __init__(self, history: SessionHistory, compactor: Compactor, *, wanted: bool) -> None:
        self.history = history
        self.compactor = compactor
        self.wanted = wanted
        self._told = ""

    def get_model_settings(self) -> Callable[[RunContext[Any]], ModelSettings] | None:
        """Add what the provider must be told, to the requests it understands."""

        def settings(ctx: RunContext[Any]) -> ModelSettings:
            if (kind := offered(ctx.model)) is None:
                return ModelSettings()
            return asked_for(kind, self.compactor.policy.background_mark(self.history.usage().window))

        return settings if self.wanted else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Settle who compacts, and stop sending what this model's provider cannot read."""
        model = request_context.model
        kind = offered(model) if self.wanted else None
        self.compactor.stands_back = kind is not None
        if self.wanted and kind is None and self._told != model.model_name:
            self._told = model.model_name
            self.history.report(Notice(text=UNSUPPORTED.format(model=self.history.model)))
        # A provider's compaction that another one has made cannot be sent.
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
        """Record what the provider has compacted; the answer itself is in the log by now."""
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
        # What would be applied later was made for the view as it was.
        self.compactor.cancel()
        try:
            history.commit(Proposal(complete=complete, message=message, left=left))
        except OSError as error:
            # The messages themselves are sent on: nothing is lost but the provider's work.
            reason = not_written(error)
            history.report(replace(complete, outcome="failed", reason=reason, removed=(), summary=""))
        return response
