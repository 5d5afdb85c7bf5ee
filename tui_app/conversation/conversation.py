"""One session being driven: the object that the screen, the commands and other programs hold."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

from tui_app.agent.catalog import why_unavailable
from tui_app.agent.errors import describe_error
from tui_app.context.compaction.compactor import Compactor
from tui_app.context.compaction_range import Span
from tui_app.conversation.agent_setup import Tooling
from tui_app.conversation.compactions import Compactions, SummaryEdits
from tui_app.conversation.file_snapshots import FileKeeper
from tui_app.conversation.hooks import Hooks
from tui_app.conversation.manual_edits import ByHand
from tui_app.conversation.message_actions import Outlook
from tui_app.conversation.model_switch import LoadingCancelled, ModelSwitch
from tui_app.conversation.policy_change import PolicySwitch
from tui_app.conversation.queue import Waiting
from tui_app.conversation.retry_advice import with_way_back
from tui_app.conversation.session_history import EventBus, SessionHistory, Subscription
from tui_app.conversation.turns import Turns
from tui_app.conversation.work import (
    BringBack,
    Change,
    ChangePolicy,
    Clear,
    Compact,
    EditSummary,
    Pin,
    Prompt,
    Relieve,
    Restate,
    Restore,
    RestoreFiles,
    Rewind,
    Switch,
    Work,
)
from tui_app.events import (
    Notice,
    Record,
    SessionClear,
    SessionEnd,
    SessionRewind,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from tui_app.usage import ContextUsage

# What a person does to the view of a conversation without asking a model.


@dataclass(slots=True)
class Changes:
    """Changes one conversation's view; each is one event, and a notice says why something is not done."""

    history: SessionHistory
    compactions: Compactions
    by_hand: ByHand = field(init=False)
    edits: SummaryEdits = field(init=False)

    def __post_init__(self) -> None:
        self.by_hand = ByHand(self.history, self.compactions)
        self.edits = SummaryEdits(self.history, self.compactions)

    async def make(self, change: Change) -> None:
        """Do what was asked for."""
        match change:
            case Restate(undo, compaction):
                self.compactions.restate(undo=undo, compaction=compaction)
            case Restore(rewrite):
                self.compactions.restore(rewrite)
            case Rewind(to):
                self.compactions.rewind(to)
            case EditSummary(compaction, text):
                await self.edits.edit(compaction, text)
            case BringBack(compaction, fact):
                self.edits.bring_back(compaction, fact)
            case Clear():
                self.compactions.cancel()
                self.history.append(SessionClear())
            case _:
                self._one_message(change)

    def _one_message(self, change: Pin | Relieve) -> None:
        match change:
            case Pin(seq, pinned):
                self.by_hand.pin(seq, pinned=pinned)
            case Relieve(seq, stage, others):
                self.by_hand.relieve((seq, *others), stage)


# Sending the last prompt once more, in place of what came of it.


def last_prompt(history: SessionHistory) -> int:
    """Log number of the newest prompt that the context holds, or that failed without an answer; else 0."""
    failed: set[int] = set()
    for head in reversed(list(history.store.heads(history.session))):
        if head.type == SessionRewind.TYPE and head.state == "failed":
            failed.add(head.ref)
        if head.type == UserMessage.TYPE and (head.seq in failed or history.view.can_rewind(head.seq)):
            return head.seq
    return 0


def prompt_at(history: SessionHistory, seq: int) -> Prompt | None:
    """A prompt as it was sent, with the files that went along; None where there is none."""
    record = history.store.record(history.session, seq) if seq else None
    if record is None or not isinstance(record.data, UserMessage):
        return None
    return Prompt(record.data.text, record.data.attachments)


# Going back to before a prompt: the conversation, and the files as well where a person wants that.

NOTHING = "Nothing to try again: there is no earlier prompt."


@dataclass(slots=True)
class GoingBack:
    """Rewinds one conversation, and takes back what a rewind did to files."""

    compactions: Compactions
    files: FileKeeper

    async def do(self, work: Rewind | RestoreFiles) -> None:
        """Do what was asked for; what cannot be done is said."""
        match work:
            case Rewind(to, files):
                if self.compactions.rewind(to) and files != "keep":
                    await self.files.restore(to, overwrite=files == "overwrite")
            case RestoreFiles(seq):
                await self.files.undo(seq)

    async def forward(self, work: Restate | Restore) -> bool:
        """Take back the newest rewind or clear where that is what is asked for, with what it did to files.

        Returns:
            Whether it was asked for; a compaction or a rewrite is taken back otherwise.
        """
        history = self.compactions.history
        asked = (work.rewrite,) if isinstance(work, Restore) else history.view.reversible
        cut = next(iter(history.view.reversible), 0)
        named = isinstance(work, Restate) and (work.compaction or not work.undo)
        if not cut or named or cut not in asked:
            return False
        self.compactions.restore(cut)
        for restored in self.files.restored_since(cut):
            await self.files.undo(restored)
        return True

    async def again(self, work: Rewind) -> Prompt | None:
        """Take back what came of the last prompt; one that nobody answered has left the context by itself.

        Returns:
            What is to be sent now; None where there is no earlier prompt, which is said.
        """
        history = self.compactions.history
        seq = last_prompt(history)
        prompt = prompt_at(history, seq)
        if prompt is None:
            history.append(Notice(text=NOTHING, passing=True))
        elif history.view.can_rewind(seq):
            history.rewind(seq, again=True)
            if work.files != "keep":
                await self.files.restore(seq, overwrite=work.files == "overwrite")
        return None if prompt is None else replace(prompt, above_budget=work.above_budget)


# Doing one piece of work: a turn, or a change of history, model or policy.


@dataclass(slots=True)
class Ends:
    """Which event ends the turn of each prompt that somebody follows."""

    _awaited: dict[int, Record | None] = field(default_factory=dict)

    def expect(self, prompt: Prompt) -> None:
        """Follow a prompt from now on."""
        self._awaited[id(prompt)] = None

    def note(self, prompt: Prompt, end: Record) -> None:
        """A turn has ended."""
        if id(prompt) in self._awaited:
            self._awaited[id(prompt)] = end

    def of(self, prompt: Prompt) -> Record | None:
        """The end of a prompt's turn; None until it has one."""
        return self._awaited[id(prompt)]

    def forget(self, prompt: Prompt) -> Record | None:
        """Follow a prompt no longer; the end of its turn, None where it has none."""
        return self._awaited.pop(id(prompt))


@dataclass(slots=True, kw_only=True)
class Doing:
    """Does what the queue hands out, one piece at a time, and ends it with an event."""

    history: SessionHistory
    turns: Turns
    compactions: Compactions
    changes: Changes
    models: ModelSwitch
    policies: PolicySwitch
    going_back: GoingBack
    waiting: Waiting
    ends: Ends = field(default_factory=Ends)
    under_way: Prompt | None = None
    """The prompt whose turn has begun and has no end yet, whatever led to it."""

    async def do(self, work: Work) -> None:
        """Do one piece of work.

        Raises:
            Exception: what no event can tell, such as a log on a full disk.
        """
        match work:
            case Prompt():
                await self._turn(work)
            case Compact():
                if await self.models.ready():
                    await self.compactions.run(work.trigger, work.focus, review=work.review, span=work.span)
            case ChangePolicy(policy):
                self.policies.change(policy)
            case Switch():
                await self.models.switch(work)
            case Rewind(again=True):
                await self._again(work)
            case Rewind() | RestoreFiles():
                await self.going_back.do(work)
            case Restate() | Restore():
                if not await self.going_back.forward(work):
                    await self.changes.make(work)
            case _:
                await self.changes.make(work)

    def end(self, prompt: Prompt, end: TurnEnd) -> None:
        """End a prompt's turn."""
        self.ends.note(prompt, self.history.append(end))
        self.under_way = None

    async def _again(self, work: Rewind) -> None:
        """Send the last prompt once more; nothing goes back where it may not be sent."""
        if await self.turns.may_spend(agreed=work.above_budget):
            prompt = await self.going_back.again(work)
            if prompt is not None:
                await self._turn(prompt)

    async def _turn(self, prompt: Prompt) -> None:
        self.under_way = prompt
        self.history.append(TurnStart(text=prompt.text))
        with self.turns.stop.turn():
            end = await self._answered(prompt)
        # A cancelled turn was paused by whoever cancelled it, and what was sent since then goes on.
        if end.outcome == "failed":
            self.waiting.pause()
        self.compactions.follow_background()
        self.end(prompt, end)
        if end.outcome == "done":
            await self.compactions.after_turn()

    async def _answered(self, prompt: Prompt) -> TurnEnd:
        try:
            model = await self.models.current()
        except LoadingCancelled:
            return TurnEnd(outcome="cancelled", prompt=prompt.text)
        except Exception as error:  # an SDK may raise anything; the prompt goes back to the editor
            told = why_unavailable(error, model=self.history.model)
            self.history.append(with_way_back(told, handed_back=True))
            return TurnEnd(outcome="failed", prompt=prompt.text)
        try:
            return await self.turns.run(prompt, model)
        finally:
            self.models.measure()


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
