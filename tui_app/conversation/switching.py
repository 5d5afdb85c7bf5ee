"""Changing the model of a conversation: what a smaller window means, in numbers, and the change itself."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic_ai.models import Model

from tui_app.agent.shelf import ModelShelf, why_unavailable
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.usage import ContextWindow
from tui_app.context.windows import resolve_window
from tui_app.conversation.carried import Carried
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switch_forecast import Fit, SwitchForecast, as_counted_by, fit_of, fits, forecast
from tui_app.conversation.work import Switch
from tui_app.events import ModelChange, Notice


class LoadingCancelled(Exception):
    """The wait for a model was given up."""


@dataclass(slots=True)
class ModelSwitch:
    """The model of one conversation: loaded when it is first needed, measured, and changed."""

    history: SessionHistory
    shelf: ModelShelf
    text: TextCounter
    compactions: Compactions
    carried: Carried
    recorded: str
    """Name of the model by the log and the list of sessions; empty where they name none."""
    _loading: "asyncio.Task[Model] | None" = field(default=None)

    async def prepare(self) -> None:
        """Load tokenizer and model and measure the view; a model that cannot be built is reported."""
        self._remember_choice()
        history = self.history
        try:
            await self._load(history.model)
        except Exception as error:  # an SDK may raise anything; the person is told and can choose another
            history.append(why_unavailable(error, model=history.model))
        else:
            self._note_chosen()
        self.measure()
        if not history.window_known:
            assumed = resolve_window(setting=self.shelf.limits.setting)
            history.fix(assumed, self.carried.tokens(history.counter), history.model)

    async def current(self) -> Model:
        """The model that answers; what is counted from now on is counted by a real tokenizer.

        Raises:
            LoadingCancelled: if a person gave up waiting.
            Exception: whatever the vendor's SDK raises, for example for a missing key.
        """
        model = await self._cancellable(self.history.model)
        self._note_chosen()
        self.measure()
        return model

    async def ready(self) -> bool:
        """Prepare, unless a person gives up waiting; then False."""
        try:
            await self.current()
        except LoadingCancelled:
            return False
        except Exception as error:  # as in ``prepare``
            self.history.append(why_unavailable(error, model=self.history.model))
        return True

    def cancel(self) -> None:
        """Stop waiting for a model."""
        if self._loading is not None:
            self._loading.cancel()

    def measure(self) -> None:
        """Compare the view with what is known by now about the model's window and tokenizer."""
        model, limits, history = self.shelf.built(self.history.model), self.shelf.limits, self.history
        if model is not None:
            carried = self.carried.tokens(history.counter)
            history.fix(limits.window(model), carried, history.model, limits.factor(model))

    async def forecast(self, model: str) -> SwitchForecast:
        """What changing to another model would mean; nothing is changed.

        Raises:
            Exception: if the model is unknown or its key is missing.
        """
        limits, target = self.shelf.limits, await self.shelf.get(model)
        usage = as_counted_by(self.history.usage(), limits.window(target), limits.factor(target))
        return forecast(self.history, usage, self.compactions.compactor.policy, target=model)

    def fit_of(self, limits: Iterable[int]) -> dict[int, Fit]:
        """Whether the present conversation fits windows of so many tokens, each asked once."""
        return fit_of(self.history, self.compactions.compactor.policy, limits)

    async def switch(self, work: Switch) -> None:
        """Change the model; a compaction that fails or is cancelled leaves the old one."""
        history, old = self.history, self.history.model
        try:
            target = await self._cancellable(work.model)
        except LoadingCancelled:
            return
        except Exception as error:  # an SDK may raise anything; the old model stays
            history.append(why_unavailable(error, model=work.model))
            return
        window = self.shelf.limits.window(target)
        if work.way == "compact" and not await self._compacted(target, window):
            history.append(Notice(text=f"Stayed on {old}: the conversation does not fit {work.model}."))
            return
        history.model = work.model
        cut = work.way == "anyway"
        self._record(window, cut=cut)
        self.compactions.stop_automatic(stop=cut)
        self.measure()
        history.show_gauge()

    def _note_chosen(self) -> None:
        """Write down the model a session was opened with, once it is known to exist."""
        model = self.shelf.built(self.history.model)
        if model is not None and self.recorded != self.history.model:
            self._record(self.shelf.limits.window(model))

    def _record(self, window: ContextWindow, *, cut: bool = False) -> None:
        """Let log and list name the present model."""
        history, old, self.recorded = self.history, self.recorded, self.history.model
        if old:
            history.append(ModelChange(old=old, new=history.model, limit=window.stated, cut=cut))
        history.store.set_model(history.session, history.model)

    def _remember_choice(self) -> None:
        """Go on cutting requests in a resumed session whose person chose that, until they compacted it."""
        history = self.history
        change = history.store.last_of(history.session, ModelChange.TYPE)
        if change is None or not isinstance(change.data, ModelChange) or change.data.new != history.model:
            return
        compacted = any(number > change.seq for number in history.view.compactions)
        if change.data.cut and not compacted:
            self.compactions.stop_automatic(stop=True)

    async def _compacted(self, target: Model, window: ContextWindow) -> bool:
        """Make the conversation fit another window; when that fails everything is as it was."""
        history, before, factor = self.history, self.history.usage().window, self.history.factor
        if fits(history.usage(), window):
            return True
        carried = self.carried.tokens(history.counter)
        history.fix(window, carried, history.model, max(factor, self.shelf.limits.factor(target)))
        complete = await self.compactions.run("model_switch")
        done = complete is not None and complete.outcome == "success"
        if done and fits(history.usage(), window):
            return True
        if done:
            self.compactions.restate(undo=True)
        history.fix(before, carried, history.model, factor)
        return False

    async def _load(self, name: str) -> Model:
        if not self.text.loaded:
            await asyncio.to_thread(self.text.load)
        return await self.shelf.get(name)

    async def _cancellable(self, name: str) -> Model:
        loading = self._loading = asyncio.create_task(self._load(name))
        try:
            await asyncio.wait([loading])
        finally:
            self._loading = None
            loading.cancel()
        if loading.cancelled():
            raise LoadingCancelled
        return loading.result()
