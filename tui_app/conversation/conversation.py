"""One session being driven: the object that the screen, the commands and other programs hold."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable

from tui_app.agent.errors import describe_error
from tui_app.agent.shelf import why_unavailable
from tui_app.context.compactor import Compactor
from tui_app.context.events import QueueChanged, Record, SessionEnd, TurnEnd, TurnStart
from tui_app.context.review import Refocus
from tui_app.context.usage import ContextUsage
from tui_app.conversation.bus import EventBus, Subscription
from tui_app.conversation.changing import Changes
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.going_back import GoingBack
from tui_app.conversation.hooks.hooks import Hooks
from tui_app.conversation.outlook import Outlook
from tui_app.conversation.policy_change import PolicySwitch
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switching import Fit, LoadingCancelled, ModelSwitch, SwitchForecast
from tui_app.conversation.tooling import Tooling
from tui_app.conversation.turns import Turns
from tui_app.conversation.work import (
    ChangePolicy,
    Compact,
    Prompt,
    RestoreFiles,
    Rewind,
    Switch,
    Work,
    WorkQueue,
)
from tui_app.settings import ReviewMode


class Conversation:
    """Drives one session. All methods belong to one event loop.

    Args:
        history: The session's view and log.
        turns: Runs prompts.
        compactions: Runs compactions.
        models, policies: Load and change the model, change the policy.
        hooks: Runs the person's own commands.
        tooling: The tools that change something, and who is asked before.
        bus: Where events are published.
    """

    def __init__(
        self,
        *,
        history: SessionHistory,
        turns: Turns,
        compactions: Compactions,
        models: ModelSwitch,
        policies: PolicySwitch,
        hooks: Hooks,
        tooling: Tooling,
        bus: EventBus,
    ) -> None:
        self.history = history
        self._turns = turns
        self._compactions = compactions
        self._changes = Changes(history, compactions)
        self._models = models
        self._policies = policies
        self._hooks = hooks
        self.tooling = tooling
        self._going_back = GoingBack(compactions, tooling.files)
        self._bus = bus
        self._queue = WorkQueue()
        self._driver: asyncio.Task[None] | None = None
        self._ends: dict[int, Record | None] = {}

    @property
    def compactor(self) -> Compactor:
        """Runs the compactions, one at a time."""
        return self._compactions.compactor

    @property
    def session(self) -> str:
        """Id of the session."""
        return self.history.session

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        return self.history.model

    @property
    def policy(self) -> str:
        """Name of the policy in force."""
        return self._policies.current

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

    async def send(self, text: str) -> AsyncGenerator[Record]:
        """Send a prompt and yield everything that happens until its own turn ends.

        Closing the iterator early cancels the turn, or takes the prompt out of the queue.
        """
        subscription, prompt = self._bus.subscribe(), Prompt(text)
        self._ends[id(prompt)] = None
        self.submit(prompt)
        try:
            async for record in subscription:
                yield record
                if record is self._ends[id(prompt)]:
                    return
        finally:
            subscription.close()
            if self._ends.pop(id(prompt)) is None:
                if not self._queue.remove(prompt):
                    self.cancel()
                self._show_queue()

    def submit(self, work: Work) -> None:
        """Do something as soon as what was asked for before is done."""
        self._queue.add(work)
        self.resume_queue(held=self._queue.paused and not isinstance(work, Prompt))

    def resume_queue(self, *, held: bool = False) -> None:
        """Go on with what waits after a cancelled turn; ``held`` prompts stay where they are."""
        self._queue.paused = held
        if not self.busy:
            self._driver = asyncio.create_task(self._drive(), name="conversation")
        self._show_queue()

    def steer(self) -> None:
        """Let what waits go on as soon as the step under way is done, or at once if nothing is under way."""
        if self._turns.attempts.running and not self._queue.paused and self._queue.labels:
            self._turns.attempts.steer()
        else:
            self.resume_queue()

    def take_back(self) -> str:
        """Take the newest waiting prompt or command out of the queue and return its text."""
        work = self._queue.take_last()
        self._show_queue()
        return work.label if work is not None else ""

    def take(self, place: int, label: str) -> str:
        """Take what was shown at a place out of the queue; its text, empty when it has left since."""
        work = self._queue.take(place, label)
        self._show_queue()
        return work.label if work is not None else ""

    def move(self, place: int, label: str, step: int) -> None:
        """Let what was shown at a place of the queue come earlier or later."""
        self._queue.move(place, label, step)
        self._show_queue()

    def cancel(self) -> None:
        """Stop the turn or compaction under way at once; what waits stays, paused."""
        self._queue.pause()
        self._models.cancel()
        if self._turns.attempts.running:
            self._compactions.cancel_awaited()
            self._turns.attempts.cancel()
        else:
            self._compactions.cancel()
        self._show_queue()

    def decide(self, job: str, summary: str | None) -> bool:
        """Apply the summary a job has proposed, as it was or edited, or discard it with None.

        Returns:
            Whether the job was waiting for it; else nothing happens.
        """
        return self._compactions.reviews.decide(job, summary)

    def refocus(self, job: str, focus: str) -> bool:
        """Have the summary a job has proposed written once more, keeping something else above all.

        Returns:
            Whether the job was waiting for a decision; else nothing happens.
        """
        return self._compactions.reviews.decide(job, Refocus(focus))

    def ask_about(self, mode: ReviewMode) -> None:
        """Say which summaries a person wants to see before they are applied: there is one to decide."""
        self._compactions.reviews.mode = mode

    async def forecast(self, model: str) -> SwitchForecast:
        """What changing to another model would mean; nothing is changed.

        Raises:
            Exception: if the model is unknown or its key is missing.
        """
        return await self._models.forecast(model)

    def fit_of(self, limits: Iterable[int]) -> dict[int, Fit]:
        """Whether the present conversation fits windows of so many tokens."""
        return self._models.fit_of(limits)

    def outlook(self, *seqs: int) -> Outlook:
        """What may be done with one message of the next request, or some; nothing is changed."""
        return self._changes.by_hand.outlook(*seqs)

    async def prepare(self) -> None:
        """Build the current model and measure the view against its window."""
        await self._models.prepare()

    async def settle(self) -> None:
        """Wait until nothing is under way and nothing waits, background compactions and hooks included."""
        while self.busy and self._driver is not None:
            await asyncio.wait([self._driver])
        await self._compactions.settle()
        await self._hooks.settle()

    async def close(self) -> None:
        """Stop everything and end the session's log; the conversation cannot be used afterwards."""
        self._hooks.stop()
        self.cancel()
        if self._driver is not None:
            await asyncio.gather(self._driver, return_exceptions=True)
        await self._compactions.close()
        await self._hooks.close()
        self.history.append(SessionEnd())
        self._bus.close()

    def _show_queue(self) -> None:
        self.history.append(QueueChanged(prompts=self._queue.labels, paused=self._queue.paused))

    async def _drive(self) -> None:
        while (work := self._queue.next()) is not None:
            self._show_queue()
            try:
                await self._do(work)
            except Exception as error:  # a full disk, a defect: said once, and what waits is kept
                logging.getLogger(__name__).exception("%s failed", type(work).__name__)
                self._queue.pause()
                self._give_up(work, error)

    async def _do(self, work: Work) -> None:
        match work:
            case Prompt():
                await self._turn(work)
            case Compact():
                if await self._models.ready():
                    await self._compactions.run(work.trigger, work.focus, review=work.review, span=work.span)
            case ChangePolicy(policy):
                self._policies.change(policy)
            case Switch():
                await self._models.switch(work)
            case Rewind() | RestoreFiles():
                if (prompt := await self._going_back.do(work)) is not None:
                    await self._turn(prompt)
            case _:
                await self._changes.make(work)

    async def _turn(self, prompt: Prompt) -> None:
        self.history.append(TurnStart(text=prompt.text))
        end = await self._answered(prompt)
        # A cancelled turn was paused by whoever cancelled it, and what was sent since then goes on.
        if end.outcome == "failed":
            self._queue.pause()
            self._show_queue()
        self._compactions.follow_background()
        self._end(prompt, end)
        if end.outcome == "done":
            await self._compactions.after_turn()

    async def _answered(self, prompt: Prompt) -> TurnEnd:
        try:
            model = await self._models.current()
        except LoadingCancelled:
            return TurnEnd(outcome="cancelled", prompt=prompt.text)
        except Exception as error:  # an SDK may raise anything; the prompt goes back to the editor
            self.history.append(why_unavailable(error, model=self.model))
            return TurnEnd(outcome="failed", prompt=prompt.text)
        try:
            return await self._turns.run(prompt, model)
        finally:
            self._models.measure()

    def _end(self, prompt: Prompt, end: TurnEnd) -> None:
        record = self.history.append(end)
        if id(prompt) in self._ends:
            self._ends[id(prompt)] = record

    def _give_up(self, work: Work, error: Exception) -> None:
        """Show an error that may be the log's own, so it is not written there."""
        self._bus.tell(self.session, describe_error(error, model=self.model))
        self._show_queue()
        if isinstance(work, Prompt):
            self._end(work, TurnEnd(outcome="failed", prompt=work.text))
