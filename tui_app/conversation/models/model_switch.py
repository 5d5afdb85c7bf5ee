"""Switch of a conversation's model, with a forecast for a smaller window."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model

from tui_app.agent.model_shelf import ModelShelf, why_unavailable
from tui_app.context.compaction.plan import Plan, irreducible_floor, plan_compaction
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.prices import request_price
from tui_app.context.policy import Policy
from tui_app.context.truncator import truncate
from tui_app.context.views.view import Item, is_prompt
from tui_app.context.windows.windows import resolve_window
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.requests.request_overhead import RequestOverhead
from tui_app.conversation.stoppable_step import StoppableStep, Stopped
from tui_app.conversation.work import Compact, Switch
from tui_app.events import ModelChange, Notice, data_of
from tui_app.records import frozen
from tui_app.usage import ContextUsage, ContextWindow, Overhead

Fit = Literal["fits", "compact", "too small"]
"""Whether a conversation fits a window: as it is, after a compaction, or not at all."""


@frozen(kw_only=True)
class SwitchForecast:
    """The effect of switching the conversation to another model. Sizes in tokens."""

    target: str
    window: ContextWindow
    tokens: int
    """Size of the conversation in the target's tokens."""
    tokens_now: int
    """Size of the conversation in the current model's tokens."""
    fits: bool
    can_compact: bool
    """Whether a compaction could make it fit: what must stay fits in the window without its reserve."""
    after_compaction: int
    """Estimated size after a compaction; if none can help, the size of what must stay."""
    summary_model: str
    summary_usd: float | None
    """Estimated cost of the summary; ``None`` if the price is unknown."""
    can_truncate: bool
    """Whether cutting each request could make it fit."""
    drops: int
    """Tokens left out of each request if it is cut."""
    keeps_turns: int
    """Prompts kept in each request if it is cut."""


def as_counted_by(usage: ContextUsage, window: ContextWindow, factor: float) -> ContextUsage:
    """The same conversation in another model's tokens, as far as known: never less than now.

    Args:
        usage: Its size by the current model.
        window: The other model's.
        factor: Its real tokens per counted token; 1.0 may only mean that nothing was learned about it.
    """
    factor = max(factor, usage.scale)
    parts = usage.parts.scaled(factor / usage.scale)
    return replace(usage, parts=parts, window=window, exact=False, scale=factor)


def fit_of(history: SessionHistory, usage: ContextUsage, policy: Policy) -> tuple[Fit, int]:
    """Whether the conversation fits a window, and the size after a compaction."""
    if usage.total <= usage.window.effective:
        return "fits", 0
    left, _ = _after_compaction(history, usage, policy)
    return "compact" if left <= usage.window.effective else "too small", left


def forecast(history: SessionHistory, usage: ContextUsage, policy: Policy, *, target: str) -> SwitchForecast:
    """Compare the conversation with another window.

    Args:
        history: The conversation.
        usage: Its size in the target's tokens, with the target's window.
        policy: Its policy.
        target: Full name of the model.
    """
    window, now = usage.window, history.usage().total
    carried = usage.parts.system + usage.parts.tools + usage.parts.memory
    # Cutting depends on the next prompt: existing answers rank lower than a new prompt.
    items = [*history.items(), Item(0, ModelRequest(parts=[UserPromptPart("?")]))]
    safe = min(window.effective, int(window.limit * (1 - policy.safety_margin)))
    weigh = partial(_weight, history, usage.scale)
    cut = truncate(items, safe - carried, lambda message: weigh(Item(0, message)))
    after, written = _after_compaction(history, usage, policy)
    return SwitchForecast(
        target=target,
        window=window,
        tokens=usage.total,
        tokens_now=now,
        fits=usage.total <= window.effective,
        can_compact=after <= window.effective,
        after_compaction=after,
        summary_model=history.model,
        summary_usd=request_price(history.model, input_tokens=now, cached_tokens=0, output_tokens=written),
        can_truncate=cut.fits,
        drops=max(0, usage.total - cut.tokens - carried),
        keeps_turns=sum(is_prompt(item.message) for item in cut.items) - 1,
    )


def _after_compaction(history: SessionHistory, usage: ContextUsage, policy: Policy) -> tuple[int, int]:
    """Tokens after a compaction for the window of ``usage``, and the tokens of the summary among them."""
    pinned, weigh = history.pinned(), partial(_weight, history, usage.scale)
    plan = plan_compaction(history.items(), usage, weigh, policy, trigger="model_switch", pinned=pinned)
    if isinstance(plan, Plan):
        added = plan.summary_budget + plan.prompts_budget + plan.facts_budget
        return min(usage.total, plan.floor + added), plan.summary_budget
    floor = irreducible_floor(history.items(), usage, weigh, policy, pinned)
    # Below that size, a refusal means that nothing is left to compact, not that there is no room.
    return floor if floor >= usage.window.effective else usage.total, 0


def _weight(history: SessionHistory, factor: float, item: Item) -> int:
    return history.counter.message(item.message).scaled(factor).total


@dataclass(slots=True)
class ModelSwitch:
    """The model of one conversation: loaded on first use, measured, and switched."""

    history: SessionHistory
    shelf: ModelShelf
    text: TextCounter
    compactions: Compactions
    overhead: RequestOverhead
    recorded: str
    """Name of the model in the log and the list of sessions; empty if they name none."""
    loading: StoppableStep = field(default_factory=StoppableStep)
    """Loading of the model."""

    async def prepare(self, *, tokenizer: bool) -> None:
        """Load the model, and optionally the tokenizer, and measure the view.

        A model that cannot be built is reported.
        """
        history = self.history
        record = history.store.last_of(history.session, ModelChange.TYPE)
        change, compactions = data_of(record, ModelChange), history.view.compactions
        is_cut = change is not None and change.cut and change.new == history.model
        if record is not None and is_cut and not any(number > record.seq for number in compactions):
            # The user of a resumed session chose to have requests cut, until a compaction.
            self.compactions.stop_automatic(stop=True)
        try:
            await (self._load if tokenizer else self.shelf.get)(history.model)
        except Exception as error:  # an SDK may raise anything; the user can choose another
            history.append(why_unavailable(error, model=history.model))
        else:
            self._note_chosen()
        self.measure()
        if not history.window_known:
            assumed = resolve_window(setting=self.shelf.limits.setting)
            history.set_overhead(Overhead(assumed, self.overhead.tokens(history.counter)), history.model)

    async def current(self) -> Model:
        """The loaded model. From then on, tokens are counted by a real tokenizer.

        Raises:
            Stopped: if the user stopped waiting.
            Exception: whatever the vendor's SDK raises, for example for a missing key.
        """
        model = await self.loading.wait_for(self._load(self.history.model))
        self._note_chosen()
        self.measure()
        return model

    async def ready(self) -> bool:
        try:
            await self.current()
        except Stopped:
            return False
        except Exception as error:  # as in ``prepare``
            self.history.append(why_unavailable(error, model=self.history.model))
        return True

    def measure(self) -> None:
        """Measure the view with what is known by now of the model's window and tokenizer."""
        model, limits, history = self.shelf.built(self.history.model), self.shelf.limits, self.history
        if model is not None:
            carried = self.overhead.tokens(history.counter)
            history.set_overhead(limits.overhead(model, carried), history.model)

    async def forecast(self, model: str) -> SwitchForecast:
        """The effect of switching to another model. Nothing is changed.

        Raises:
            Exception: if the model is unknown or its key is missing.
        """
        limits, target = self.shelf.limits, await self.shelf.get(model)
        usage = as_counted_by(self.history.usage(), limits.window(target), limits.factor(target))
        return forecast(self.history, usage, self.compactions.compactor.policy, target=model)

    def fit_of(self, windows: Mapping[str, int]) -> dict[str, tuple[Fit, int, int]]:
        """Whether the conversation fits models with these windows.

        Returns:
            By name: the fit, the size after a compaction, and the current size in that model's tokens.
        """
        usage, policy, limits = self.history.usage(), self.compactions.compactor.policy, self.shelf.limits
        found, known = dict[str, tuple[Fit, int, int]](), dict[tuple[int, float], tuple[Fit, int]]()
        for name, limit in windows.items():
            built = self.shelf.built(name)
            anywhere = limits.learnt.factor_anywhere(name.partition(":")[2])
            factor = limits.factor(built) if built is not None else anywhere
            # For the current model, use the gauge's count, whatever was learned since.
            factor = usage.scale if name == self.history.model else factor
            there = as_counted_by(usage, resolve_window(model=limit), factor)
            if (same := (limit, there.scale)) not in known:
                known[same] = fit_of(self.history, there, policy)
            found[name] = *known[same], there.total
        return found

    async def switch(self, work: Switch) -> None:
        """Switch the model. If a required compaction fails or is cancelled, the old one stays."""
        history, old = self.history, self.history.model
        try:
            target = await self.loading.wait_for(self._load(work.model))
        except Stopped:
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
        """Record the model a session was opened with, once it has been built."""
        model = self.shelf.built(self.history.model)
        if model is not None and self.recorded != self.history.model:
            self._record(self.shelf.limits.window(model))

    def _record(self, window: ContextWindow, *, cut: bool = False) -> None:
        history, old, self.recorded = self.history, self.recorded, self.history.model
        if old:
            history.append(ModelChange(old=old, new=history.model, limit=window.stated, cut=cut))
        history.store.set_model(history.session, history.model)

    async def _compacted(self, target: Model, window: ContextWindow) -> bool:
        """Compact to fit another window; on failure everything is restored."""
        history, before = self.history, self.history.overhead
        if history.usage().total <= window.effective:
            return True
        carried = self.overhead.tokens(history.counter)
        factor = max(before.factor, self.shelf.limits.factor(target))
        history.set_overhead(Overhead(window, carried, factor), history.model)
        complete = await self.compactions.compact(Compact(trigger="model_switch"))
        done = complete is not None and complete.outcome == "success"
        if done and history.usage().total <= window.effective:
            return True
        if done:
            self.compactions.restate(undo=True)
        history.set_overhead(replace(before, fixed=carried), history.model)
        return False

    async def load_tokenizer(self) -> None:
        """Load the tokenizer, so that tokens are counted instead of estimated."""
        if not self.text.loaded:
            await asyncio.to_thread(self.text.load)
            self.measure()

    async def _load(self, name: str) -> Model:
        await self.load_tokenizer()
        return await self.shelf.get(name)
