"""The models of a conversation: built when first used, with the window their server lists."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_ai.models import Model

from tui_app.agent.discovery import NoAnswer
from tui_app.agent.errors import describe_error
from tui_app.agent.models import ModelNotReady, UnknownModel, ask_window, build_model
from tui_app.context.window_limits import Limits
from tui_app.events import Error, ErrorKind
from tui_app.settings import Endpoint
from tui_app.system_keyring import KeyringTrouble


@dataclass(slots=True)
class ModelShelf:
    """Builds models by name and keeps them; a vendor's SDK is loaded with its first model."""

    env: Mapping[str, str]
    endpoints: Mapping[str, Endpoint]
    limits: Limits
    ready: Mapping[str, Model] = field(default_factory=dict)
    """Models that somebody else has made, by name."""
    _unanswered: set[str] = field(default_factory=set)
    """Names of models whose server did not answer when it was asked last."""
    _models: dict[str, Model] = field(default_factory=dict)
    _building: dict[str, "asyncio.Task[Model]"] = field(default_factory=dict)

    async def get(self, name: str) -> Model:
        """Return the model of that name, asking its server for the window the first time.

        A server that did not answer is asked again each time; each turn gets its model once.
        Who asks while it is being built waits for the same one; giving up waiting does not stop the others.

        Raises:
            UnknownModel: if there is no such model.
            Exception: whatever the vendor's SDK raises for a missing key.
        """
        model = self._models.get(name)
        if model is not None:
            if name in self._unanswered:
                await self._learn_window(name, model)
            return model
        building = self._building.get(name)
        if building is None:
            building = self._building[name] = asyncio.create_task(self._build(name), name=f"model {name}")
            building.add_done_callback(_seen)
        return await asyncio.shield(building)

    def built(self, name: str) -> Model | None:
        """The model of that name if it was built before."""
        return self._models.get(name)

    async def _build(self, name: str) -> Model:
        try:
            model: Model = (
                self.ready[name]
                if name in self.ready
                else await asyncio.to_thread(build_model, name, endpoints=self.endpoints, env=self.env)
            )
            await self._learn_window(name, model)
            self._models[name] = model
            return model
        finally:
            del self._building[name]

    async def _learn_window(self, name: str, model: Model) -> None:
        try:
            window = self._configured(name) or await ask_window(model)
        except NoAnswer:
            self._unanswered.add(name)
            return
        self._unanswered.discard(name)
        if window:
            self.limits.server[self.limits.model_key(model)] = window

    def _configured(self, name: str) -> int | None:
        endpoint = self.endpoints.get(name.partition(":")[0])
        return endpoint.window if endpoint else None


def why_unavailable(error: Exception, *, model: str) -> Error:
    """Say for a person why a model could not be built.

    Args:
        error: What building it raised.
        model: Its name.
    """
    if isinstance(error, KeyringTrouble):
        return Error(kind="auth", message=str(error), hint="Choose another model with /model.")
    if not isinstance(error, UnknownModel):
        return describe_error(error, model=model)
    kind: ErrorKind = "auth" if isinstance(error, ModelNotReady) else "input"
    return Error(kind=kind, message=str(error), hint="Choose another model with /model.")


def _seen(building: "asyncio.Task[Model]") -> None:
    """Fetch the outcome also when nobody waits any more, so that asyncio does not complain about it."""
    if not building.cancelled():
        building.exception()
