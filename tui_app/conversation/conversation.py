"""One session being driven: the object that the screen, the commands and other programs hold."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from tui_app.agent.errors import describe_error
from tui_app.agent.shelf import ModelShelf
from tui_app.context.compactor import Compactor
from tui_app.context.events import (
    ModelChange,
    Notice,
    QueueChanged,
    Record,
    SessionClear,
    SessionEnd,
    TurnEnd,
)
from tui_app.context.planner import irreducible_floor
from tui_app.context.usage import Breakdown, ContextUsage
from tui_app.conversation.bus import EventBus, Subscription
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switching import SwitchForecast, fits, forecast
from tui_app.conversation.turns import Turns
from tui_app.conversation.work import Clear, Compact, Prompt, Restate, Switch, Work, WorkQueue


class Conversation:
    """Drives one session. All methods belong to one event loop.

    Args:
        history: The session's view and log.
        turns: Runs prompts.
        compactor: Runs compactions.
        shelf: Builds models by name.
        bus: Where events are published.
        carried: Tokens of instructions and tool definitions, which every request carries.
    """

    def __init__(
        self,
        *,
        history: SessionHistory,
        turns: Turns,
        compactor: Compactor,
        shelf: ModelShelf,
        bus: EventBus,
        carried: Breakdown,
    ) -> None:
        self.history = history
        self.compactor = compactor
        self._turns = turns
        self._shelf = shelf
        self._bus = bus
        self._carried = carried
        self._queue = WorkQueue()
        self._driver: asyncio.Task[None] | None = None
        self._compactions = Compactions(history, compactor, idle=lambda: not turns.runner.running)

    @property
    def session(self) -> str:
        """Id of the session."""
        return self.history.session

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        return self.history.model

    @property
    def usage(self) -> ContextUsage:
        """The estimate of the next request."""
        return self.history.usage()

    @property
    def busy(self) -> bool:
        """Whether a turn or a command is under way."""
        return self._driver is not None and not self._driver.done()

    def watch(self) -> Subscription:
        """Listen to everything that happens from now on."""
        return self._bus.subscribe()

    async def send(self, text: str) -> AsyncIterator[Record]:
        """Send a prompt and yield everything that happens until its turn ends.

        Closing the iterator early cancels the turn.
        """
        subscription = self._bus.subscribe()
        self.submit(Prompt(text))
        finished = False
        try:
            async with aclosing(aiter(subscription)) as records:  # type: ignore[type-var]
                async for record in records:
                    finished = isinstance(record.data, TurnEnd)
                    yield record
                    if finished:
                        return
        finally:
            if not finished:
                self.cancel()

    def submit(self, work: Work) -> None:
        """Do something as soon as what was asked for before is done."""
        self._queue.add(work)
        self._queue.paused = False
        self._wake()
        self._show_queue()

    def resume_queue(self) -> None:
        """Go on with what waits after a cancelled turn."""
        self._queue.paused = False
        self._wake()
        self._show_queue()

    def take_back(self) -> str:
        """Take the newest waiting prompt or command out of the queue and return its text."""
        work = self._queue.take_last()
        self._show_queue()
        return work.label if work is not None else ""

    def cancel(self) -> None:
        """Stop the turn or compaction under way at once; what waits stays, paused."""
        self._queue.pause()
        if self._turns.runner.running:
            if self.compactor.trigger in ("blocking", "overflow"):
                self._compactions.cancel()
            self._turns.runner.cancel()
        else:
            self._compactions.cancel()
        self._show_queue()

    async def forecast(self, model: str) -> SwitchForecast:
        """What changing to another model would mean; nothing is changed.

        Raises:
            Exception: if the model is unknown or its key is missing.
        """
        target = await self._shelf.get(model)
        window = self._shelf.limits.window(target)
        return forecast(self.history, window, target=model, summary_model=self.model)

    def floor(self) -> int:
        """Tokens no compaction can remove from the view."""
        history, policy = self.history, self.compactor.policy
        return irreducible_floor(history.items(), self.usage, lambda item: history.weigh(item).total, policy)

    async def prepare(self) -> None:
        """Build the current model and measure the view against its window."""
        try:
            model = await self._shelf.get(self.model)
        except Exception as error:  # noqa: BLE001 - an SDK may raise anything; the person is told and can choose another
            self.history.append(describe_error(error, model=self.model))
            return
        limits = self._shelf.limits
        self.history.fix(limits.window(model), self._carried, self.model, limits.factor(model))

    async def settle(self) -> None:
        """Wait until nothing is under way and nothing waits, background compactions included."""
        while self.busy and self._driver is not None:
            await asyncio.wait([self._driver])
        if await self.compactor.finish() is not None:
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Stop everything and end the session's log; the conversation cannot be used afterwards."""
        self.cancel()
        if self._driver is not None:
            await asyncio.gather(self._driver, return_exceptions=True)
        await self._compactions.close()
        self.history.append(SessionEnd())
        self._bus.close()

    def _wake(self) -> None:
        if not self.busy:
            self._driver = asyncio.create_task(self._drive(), name="conversation")

    def _show_queue(self) -> None:
        self.history.append(QueueChanged(prompts=self._queue.labels, paused=self._queue.paused))

    async def _drive(self) -> None:
        while (work := self._queue.next()) is not None:
            self._show_queue()
            match work:
                case Prompt(text):
                    await self._turn(text)
                case Compact(focus):
                    await self._compactions.run("manual", focus)
                case Restate(undo):
                    self._compactions.restate(undo=undo)
                case Clear():
                    self._compactions.cancel()
                    self.history.append(SessionClear())
                case Switch():
                    await self._switch(work)

    async def _turn(self, text: str) -> None:
        try:
            model = await self._shelf.get(self.model)
        except Exception as error:  # noqa: BLE001 - an SDK may raise anything; the prompt goes back to the editor
            self.history.append(describe_error(error, model=self.model))
            self.history.append(TurnEnd(outcome="failed", prompt=text))
            return
        end = await self._turns.run(text, model)
        if end.outcome != "done":
            self._queue.pause()
            self._show_queue()
        self._compactions.follow_background()
        self.history.append(end)

    async def _switch(self, work: Switch) -> None:
        """Change the model; a compaction that fails or is cancelled leaves the old one."""
        history, limits, old = self.history, self._shelf.limits, self.model
        try:
            target = await self._shelf.get(work.model)
        except Exception as error:  # noqa: BLE001 - an SDK may raise anything; the old model stays
            history.append(describe_error(error, model=work.model))
            return
        window = limits.window(target)
        if work.way == "compact" and not fits(self.usage, window):
            before = self.usage.window
            history.fix(window, self._carried, old)
            complete = await self._compactions.run("model_switch")
            if complete is None or complete.outcome != "success" or not fits(self.usage, window):
                history.fix(before, self._carried, old)
                history.append(Notice(text=f"Stayed on {old}: the conversation does not fit {work.model}."))
                return
        history.model = work.model
        history.append(ModelChange(old=old, new=work.model, limit=window.limit))
        history.store.set_model(self.session, work.model)
        history.fix(window, self._carried, work.model, limits.factor(target))
        history.show_gauge()
