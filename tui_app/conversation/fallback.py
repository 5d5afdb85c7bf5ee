"""Other models to go on with while the session's own cannot answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.models import Model

from tui_app.agent.shelf import why_unavailable
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switching import LoadingCancelled, ModelSwitch
from tui_app.conversation.work import Switch
from tui_app.events import Error, Notice

_OUT_OF_REACH = frozenset({"rate_limit", "network", "provider"})


@dataclass(slots=True)
class Fallback:
    """A chain of models, tried in order; a change is recorded, said, and lasts until a person changes it."""

    history: SessionHistory
    models: ModelSwitch
    names: Sequence[str] = ()

    async def next(self, told: Error, tried: set[str]) -> Model | None:
        """Change to the next model that can take over.

        Args:
            told: Why the present one does not answer.
            tried: Models that have failed in this turn; those that are looked at here are added.

        Returns:
            The model; None where there is none left, or another one would not help.
        """
        if told.kind not in _OUT_OF_REACH or not (told.retryable or told.kind == "rate_limit"):
            return None
        tried.add(self.history.model)
        for name in self.names:
            if name in tried:
                continue
            tried.add(name)
            if (model := await self._taken(name, told)) is not None:
                return model
        return None

    async def _taken(self, name: str, told: Error) -> Model | None:
        old = self.history.model
        try:
            forecast = await self.models.forecast(name)
        except Exception as error:  # an SDK may raise anything; the next one is tried
            self._say(f"{name} cannot take over: {why_unavailable(error, model=name).message}")
            return None
        if not forecast.fits:
            sizes = f"{forecast.tokens:,} tokens of conversation, {forecast.window.limit:,} of window"
            self._say(f"{name} cannot take over: {sizes}.")
            return None
        await self.models.switch(Switch(name))
        if self.history.model != name:
            return None
        self._say(f"{told.message} {name} answers from now on; /model {old} goes back.")
        try:
            return await self.models.current()
        except LoadingCancelled:
            return None

    def _say(self, text: str) -> None:
        self.history.append(Notice(text=text))
