"""Compactions that the provider makes by itself: asked for where it offers them, and shown like all others.

OpenAI's Responses API and Anthropic can replace old history by a part of their own, which comes with an
answer. In the agent view that part takes the place of what came before it, as a summary of ours would, and it
is sent back instead. Taking it back is the usual event: the part is no longer sent, the originals are.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import CompactionPart, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tui_app.context.compaction.compactor import Compactor
from tui_app.context.compaction.replacement import key_ranges
from tui_app.context.history import Proposal
from tui_app.context.view import Item, is_system
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import CompactionComplete, Notice

ANTHROPIC_LEAST = 50_000
"""Tokens below which Anthropic lets no compaction start."""
SEALED = "The provider has encrypted its summary: only the provider can read it."
UNSUPPORTED = "{model} is not known to compact by itself: in spite of provider_compaction, this is done here."
GIVEN_BACK = (
    "The provider's own compaction cannot be used any more: the model is sent the messages themselves."
)
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


class ProviderCompaction(AbstractCapability[Any]):
    """Asks for, stands back for, and records the compactions of one conversation's provider.

    Place it in front of the governor: it decides before each request whether that compacts by itself.

    Args:
        history: The conversation's view and log.
        compactor: Stands back while the provider compacts.
        wanted: Whether the person has switched this on.
    """

    def __init__(self, history: SessionHistory, compactor: Compactor, *, wanted: bool) -> None:
        self.history = history
        self.compactor = compactor
        self.wanted = wanted
        self._told = ""

    def get_model_settings(self) -> Callable[[RunContext[Any]], ModelSettings] | None:
        """Add what the provider must be told, to the requests it understands."""
        return self._settings if self.wanted else None

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
        self._give_back(model.system if kind is not None else "")
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record what the provider has compacted; the answer itself is in the log by now."""
        part = provider_part(response)
        if part is not None and response.state == "complete" and self.wanted:
            self._record(response, part)
        return response

    def _settings(self, ctx: RunContext[Any]) -> ModelSettings:
        kind = offered(ctx.model)
        if kind is None:
            return ModelSettings()
        return asked_for(kind, self.compactor.policy.background_mark(self.history.usage().window))

    def _give_back(self, system: str) -> None:
        """Take a provider's compaction back that ``system`` has not made; empty takes back any."""
        history = self.history
        while history.view.compactions:
            newest = history.view.compactions[-1]
            item = next((item for item in history.items() if item.key == newest), None)
            made_by = _maker(item) if item is not None else ""
            if not made_by or made_by == system:
                return
            history.restate(newest, undo=True)
            history.report(Notice(text=GIVEN_BACK))

    def _record(self, response: ModelResponse, part: CompactionPart) -> None:
        history = self.history
        items = history.items()
        left = frozenset(item.key for item in items[:-1] if not is_system(item.message))
        if not left:
            return
        complete = CompactionComplete(
            job=f"provider-{items[-1].key}",
            outcome="success",
            trigger="background",
            policy=self.compactor.policy.name,
            performed_by="provider",
            model=history.model,
            title="by the provider",
            summary=part.content or SEALED,
            removed=key_ranges(items, left),
        )
        message = replace(response, parts=[part], usage=RequestUsage())
        # What would be applied later was made for the view as it was.
        self.compactor.cancel()
        try:
            history.commit(Proposal(complete=complete, message=message, left=left))
        except OSError as error:
            # The messages themselves are sent on: nothing is lost but the provider's work.
            reason = f"its files could not be written ({error.strerror or error})"
            history.report(replace(complete, outcome="failed", reason=reason, removed=(), summary=""))


def _maker(item: Item) -> str:
    """The provider that made a compaction; empty for a summary of ours."""
    if not isinstance(item.message, ModelResponse):
        return ""
    part = provider_part(item.message)
    return (part.provider_name or "") if part is not None else ""
