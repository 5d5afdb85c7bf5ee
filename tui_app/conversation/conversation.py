"""One session being driven: the object that the screen, the commands and other programs hold."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from tui_app.agent.errors import describe_error
from tui_app.context.compaction.compactor import Compactor
from tui_app.context.compaction_range import Span
from tui_app.context.counting.usage import ContextUsage
from tui_app.conversation.bus import EventBus, Subscription
from tui_app.conversation.changing import Changes
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.doing import Doing
from tui_app.conversation.going_back import GoingBack
from tui_app.conversation.hooks.hooks import Hooks
from tui_app.conversation.outlook import Outlook
from tui_app.conversation.policy_change import PolicySwitch
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switching import ModelSwitch
from tui_app.conversation.tooling import Tooling
from tui_app.conversation.turns import Turns
from tui_app.conversation.waiting import Waiting
from tui_app.conversation.way_back import with_way_back
from tui_app.conversation.work import Prompt, Work
from tui_app.events import Record, SessionEnd, TurnEnd


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
        self.models = models
        self.tooling = tooling
        self.reviews = compactions.reviews
        self.waiting = Waiting(history)
        self._turns = turns
        self._compactions = compactions
        self._changes = Changes(history, compactions)
        self._policies = policies
        self._hooks = hooks
        self._bus = bus
        self._doing = Doing(
            history=history,
            turns=turns,
            compactions=compactions,
            changes=self._changes,
            models=models,
            policies=policies,
            going_back=GoingBack(compactions, tooling.files),
            waiting=self.waiting,
        )
        self._driver: asyncio.Task[None] | None = None

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
        subscription, prompt, ends = self._bus.subscribe(), Prompt(text), self._doing.ends
        ends.expect(prompt)
        self.submit(prompt)
        try:
            async for record in subscription:
                yield record
                if record is ends.of(prompt):
                    return
        finally:
            subscription.close()
            if ends.forget(prompt) is None and not self.waiting.drop(prompt):
                self.cancel()

    def submit(self, work: Work) -> None:
        """Do something as soon as what was asked for before is done."""
        self.waiting.add(work, held=self.waiting.queue.paused and not isinstance(work, Prompt))
        self._start()

    def resume_queue(self) -> None:
        """Go on with what waits after a cancelled turn."""
        self.waiting.go_on()
        self._start()

    def steer(self) -> None:
        """Let what waits go on as soon as the step under way is done, or at once if nothing is under way."""
        queue = self.waiting.queue
        if self._turns.attempts.running and not queue.paused and queue.labels:
            self._turns.attempts.steer()
        else:
            self.resume_queue()

    def cancel(self) -> None:
        """Stop the turn or compaction under way at once; what waits stays, paused."""
        self.waiting.queue.pause()
        self.models.cancel()
        if self._turns.stop.under_way:
            self._compactions.cancel_awaited(with_request=True)
            self._turns.cancel()
        else:
            self._compactions.cancel()
        self.waiting.show()

    def cancel_step(self) -> None:
        """Stop the compaction that a request waits for, and the turn goes on; else as ``cancel`` does."""
        if not self._compactions.cancel_awaited(with_request=False):
            self.cancel()

    def cancel_compaction(self) -> None:
        """Stop a compaction, in the background or not, and nothing else: a turn goes on."""
        if not self._compactions.cancel_awaited(with_request=False):
            self._compactions.cancel()

    def outlook(self, *seqs: int) -> Outlook:
        """What may be done with one message of the next request, or some; nothing is changed."""
        return self._changes.by_hand.outlook(*seqs)

    def may_compact(self, span: Span) -> bool:
        """Whether a part of the view can be compacted by hand, as things are now."""
        return self._compactions.may(span)

    async def prepare(self) -> None:
        """Build the current model and measure the view against its window."""
        await self.models.prepare()

    async def settle(self) -> None:
        """Wait until nothing is under way and nothing waits, background compactions and hooks included."""
        while self.busy and self._driver is not None:
            await asyncio.wait([self._driver])
        await self._compactions.settle()
        await self._hooks.settle()

    async def close(self) -> None:
        """Stop everything and end the session's log; the conversation cannot be used afterwards."""
        self._hooks.stop()
        # A command behind the cancelled turn would still be done, and a model asked for its sake.
        self.waiting.queue.clear()
        self.cancel()
        if self._driver is not None:
            await asyncio.gather(self._driver, return_exceptions=True)
        await self._compactions.close()
        await self._hooks.close()
        self.history.append(SessionEnd())
        self._bus.close()

    def _start(self) -> None:
        if not self.busy:
            self._driver = asyncio.create_task(self._drive(), name="conversation")

    async def _drive(self) -> None:
        while (work := self.waiting.next()) is not None:
            try:
                await self._doing.do(work)
            except Exception as error:  # a full disk, a defect: said once, and what waits is kept
                logging.getLogger(__name__).exception("%s failed", type(work).__name__)
                self.waiting.queue.pause()
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Show an error that may be the log's own, so it is not written there; end the turn it ended."""
        told, prompt = describe_error(error, model=self.model), self._doing.under_way
        self._bus.tell(self.session, told if prompt is None else with_way_back(told, handed_back=True))
        self.waiting.show()
        if prompt is not None:
            self._doing.end(prompt, TurnEnd(outcome="failed", prompt=prompt.text))
