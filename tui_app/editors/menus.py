"""The editor's menus: model, policy and mode."""

from collections.abc import Mapping, Sequence

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from tui_app.agent.catalog import ModelChoice, list_models
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.requests.policies import policy_names
from tui_app.modes import ABOUT, MODES
from tui_app.settings import Settings

MODEL, POLICY = "model", "policy"

Menu = SessionConfigOptionSelect | SessionConfigOptionBoolean
"""A configuration option of the protocol."""


def modes(conversation: Conversation) -> SessionModeState:
    return SessionModeState(
        current_mode_id=conversation.modes.current,
        available_modes=[SessionMode(id=mode, name=mode, description=ABOUT[mode]) for mode in MODES],
    )


def options(conversation: Conversation, settings: Settings, models: Sequence[ModelChoice]) -> list[Menu]:
    """Return the menus for model and policy, with the current choice."""
    labels = {each.name: each.label for each in models if each.available}
    labels.setdefault(conversation.model, conversation.model)
    names = policy_names(settings)
    return [
        _menu(MODEL, "Model", "model", conversation.model, labels),
        _menu(POLICY, "Context policy", None, conversation.policy, dict(zip(names, names, strict=True))),
    ]


async def usable_models(env: Mapping[str, str], settings: Settings) -> list[ModelChoice]:
    """Return the models that can be used now, including local servers and the user's own endpoints."""
    return await list_models(env=env, endpoints=settings.endpoints)


def _menu(
    id: str, name: str, category: str | None, current: str, labels: Mapping[str, str]
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect.model_validate(
        {
            "type": "select",
            "id": id,
            "name": name,
            "category": category,
            "current_value": current,
            "options": [SessionConfigSelectOption(value=key, name=label) for key, label in labels.items()],
        }
    )
