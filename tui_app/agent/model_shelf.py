"""The models of a conversation, each built on first use."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_ai.models import Model

from tui_app.agent.error_sentences import OTHER
from tui_app.agent.errors import describe_error
from tui_app.agent.model_lists import NoAnswer
from tui_app.agent.models import ModelNotReady, UnknownModel, ask_window, build_model, keep_library_quiet
from tui_app.api_keys import KeyringTrouble
from tui_app.context.windows.window_limits import Limits
from tui_app.events import Error, ErrorKind
from tui_app.settings import Endpoint


@dataclass(slots=True)
class ModelShelf:
    """Builds models by name and keeps them. A vendor's SDK is loaded with its first model."""

    env: Mapping[str, str]
    endpoints: Mapping[str, Endpoint]
    limits: Limits
    ready: Mapping[str, Model] = field(default_factory=dict)
    """Models built elsewhere, by name."""
    _unanswered: set[str] = field(default_factory=set)
    """Names of models whose server did not answer the last time."""
    _models: dict[str, Model] = field(default_factory=dict)
    _building: dict[str, "asyncio.Task[Model]"] = field(default_factory=dict)

    async def get(self, name: str) -> Model:
        """Return the model of that name, asking its server for the window the first time.

        A server that did not answer is asked again on each call. Concurrent callers share one build;
        cancelling one caller does not cancel it for the others.

        Raises:
            UnknownModel: if there is no such model.
            Exception: whatever the vendor's SDK raises for a missing key.
        """
        if (model := self._models.get(name)) is not None:
            if name in self._unanswered:
                await self._learn_window(name, model)
            return model
        building = self._building.get(name)
        if building is None:
            building = self._building[name] = asyncio.create_task(self._build(name), name=f"model {name}")
            # Retrieve the exception even if no caller waits any more, or asyncio would log it.
            building.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(building)

    def built(self, name: str) -> Model | None:
        """The model of that name, if it was built before."""
        return self._models.get(name)

    async def _build(self, name: str) -> Model:
        keep_library_quiet()
        try:
            if (model := self.ready.get(name)) is None:
                model = await asyncio.to_thread(build_model, name, endpoints=self.endpoints, env=self.env)
            await self._learn_window(name, model)
            self._models[name] = model
            return model
        finally:
            del self._building[name]

    async def _learn_window(self, name: str, model: Model) -> None:
        try:
            endpoint = self.endpoints.get(name.partition(":")[0])
            own = endpoint.window if endpoint else None
            window = own or await ask_window(model, endpoint, self.env)
        except NoAnswer:
            self._unanswered.add(name)
            return
        self._unanswered.discard(name)
        if window:
            self.limits.server[self.limits.model_key(model)] = window
        if own:
            self.limits.own.add(self.limits.model_key(model))


def why_unavailable(error: Exception, *, model: str) -> Error:
    """Describe why a model could not be built.

    Args:
        error: What building it raised.
        model: Its name.
    """
    if not isinstance(error, KeyringTrouble | UnknownModel):
        return describe_error(error, model=model)
    kind: ErrorKind = "auth" if isinstance(error, KeyringTrouble | ModelNotReady) else "input"
    return Error(kind=kind, message=str(error), actions=OTHER)
