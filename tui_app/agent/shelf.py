"""The models of a conversation: built when first used, with the window their server lists."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_ai.models import Model

from tui_app.agent.models import build_model, server_window
from tui_app.context.limits import Limits
from tui_app.settings import Endpoint


@dataclass(slots=True)
class ModelShelf:
    """Builds models by name and keeps them; a vendor's SDK is loaded with its first model."""

    env: Mapping[str, str]
    endpoints: Mapping[str, Endpoint]
    limits: Limits
    _models: dict[str, Model] = field(default_factory=dict)

    async def get(self, name: str) -> Model:
        """Return the model of that name, asking its server for the window the first time.

        Raises:
            UnknownModel: if there is no such model.
            Exception: whatever the vendor's SDK raises for a missing key.
        """
        model = self._models.get(name)
        if model is None:
            model = await asyncio.to_thread(build_model, name, endpoints=self.endpoints, env=self.env)
            window = self._configured(name) or await server_window(model)
            if window:
                self.limits.server[self.limits.model_key(model)] = window
            self._models[name] = model
        return model

    def built(self, name: str) -> Model | None:
        """The model of that name if it was built before."""
        return self._models.get(name)

    def _configured(self, name: str) -> int | None:
        endpoint = self.endpoints.get(name.partition(":")[0])
        return endpoint.window if endpoint else None
