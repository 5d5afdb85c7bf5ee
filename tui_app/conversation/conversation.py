"""A running session, as the screen, the commands and other programs use it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from tui_app.agent.errors import describe_error
from tui_app.context.counting.attachments import PIPED, piped_in
from tui_app.conversation.agents.session_tools import Tooling
from tui_app.conversation.agents.subagents import SubAgents
from tui_app.conversation.compactions.manual_edits import ManualEdits
from tui_app.conversation.compactions.summary_edits import SummaryEdits
from tui_app.conversation.consent.modes import ModeSwitch
from tui_app.conversation.files.file_snapshots import pending_restores
from tui_app.conversation.history.event_bus import EventBus
from tui_app.conversation.hooks.hooks import Hooks
from tui_app.conversation.models.effort_switch import EffortSwitch
from tui_app.conversation.models.retry_advice import with_retry_step
from tui_app.conversation.requests.policies import PolicySwitch
from tui_app.conversation.turns.shell import UserShell
from tui_app.conversation.turns.turns import Turns
from tui_app.conversation.work import (
    AcceptPlan,
    BringBack,
    ChangeEffort,
    ChangeMode,
    ChangePolicy,
    Clear,
    Compact,
    EditSummary,
    Exclude,
    GoOn,
    Merge,
    Pin,
    Prompt,
    Pursue,
    Relieve,
    Restate,
    Restore,
    RestoreFiles,
    Rewind,
    Shell,
    Switch,
    VerifySummary,
    Work,
)
from tui_app.events import SessionClear, SessionEnd, SessionRewind, UserMessage, data_of
from tui_app.usage import ContextUsage

NOTHING = "Nothing to send again: there is no earlier prompt."
_log = logging.getLogger(__name__)


@dataclass
class Conversation:
    """A session that does its queued work one piece at a time; each piece ends with an event.

    Not thread-safe: use it on one event loop.
    """

    turns: Turns
    modes: ModeSwitch
    shell: UserShell
    bus: EventBus
    hooks: Hooks
    """Runs the user's hook commands."""
    tooling: Tooling
    """The tools that change something, and their approvals."""
    agents: SubAgents
    """The subagents it starts."""

    def __post_init__(self) -> None:
        turns, compactions, history = self.turns, self.turns.compactions, self.turns.history
        self.history, self.session = history, history.session
        self.models, self.queue = turns.models, turns.queue
        self.compactions, self.reviews = compactions, compactions.reviews
        self.compactor = compactions.compactor
        self.policies = PolicySwitch(history, compactions, turns.opening.settings)
        self.efforts = EffortSwitch(turns.models, turns.runner)
        self.edits = edits = ManualEdits(history, compactions, SummaryEdits(history, compactions))
        self._driver: asyncio.Task[None] | None = None
        self._does: dict[type[Any], Callable[[Any], Any]] = {
            Prompt: turns.run_turn,
            Shell: self.shell.run,
            Compact: self.compact,
            Switch: self.models.switch,
            Pursue: self.pursue,
            GoOn: lambda _work: turns.go_on(),
            ChangePolicy: lambda work: self.policies.change(work.policy),
            ChangeEffort: lambda work: self.efforts.change(work.effort),
            ChangeMode: lambda work: self.modes.change(work.mode),
            AcceptPlan: self.accept_plan,
            Clear: self.clear,
            Rewind: self.rewind,
            RestoreFiles: lambda work: self.tooling.files.undo(work.restored),
            Merge: self.tooling.files.merge,
            Restate: self.restate,
            Restore: self.restore,
            Pin: lambda work: edits.pin(work.seq, pinned=work.pinned),
            Exclude: lambda work: (
                edits.exclude(work.seqs, turn=work.turn) if work.excluded else edits.include(work.seqs)
            ),
            Relieve: lambda work: edits.relieve((work.seq, *work.others), work.stage),
            EditSummary: lambda work: edits.summaries.edit_summary(work.compaction, work.text),
            VerifySummary: lambda work: edits.summaries.verify_summary(work.compaction),
            BringBack: lambda work: edits.summaries.bring_back(work.compaction, work.fact),
        }

    @property
    def model(self) -> str:
        return self.history.model

    @property
    def policy(self) -> str:
        return self.policies.current

    @property
    def usage(self) -> ContextUsage:
        return self.history.usage()

    @property
    def busy(self) -> bool:
        return self._driver is not None and not self._driver.done()

    def submit(self, work: Work) -> None:
        """Queue work, to be done after all earlier work."""
        self.queue.enqueue(work)
        self._wake()

    def resume_queue(self) -> None:
        """Resume the queue after a cancelled turn."""
        self.queue.resume()
        self._wake()

    def steer(self) -> None:
        """Start queued work after the current step, or at once if nothing is running."""
        if self.turns.is_answering and not self.queue.paused and self.queue.labels:
            self.turns.steer()
        else:
            self.resume_queue()

    def cancel(self) -> None:
        """Stop the running turn or compaction at once. Queued work stays, paused."""
        self.queue.pause()
        self.queue.is_left = False
        self.models.loading.interrupt()
        if self.shell.is_running:
            self.shell.cancel()
        else:
            self.turns.halt()
        self.queue.announce()

    def cancel_step(self) -> None:
        """Stop the compaction a request waits for, so that the turn continues; otherwise cancel."""
        if not self.compactions.cancel_awaited(with_request=False):
            self.cancel()

    def cancel_compaction(self) -> None:
        if not self.compactions.cancel_awaited(with_request=False):
            self.compactions.cancel_job()

    async def finish_work(self) -> None:
        """Wait until all submitted work is done. Background jobs may still run."""
        while self.busy and self._driver is not None:
            await asyncio.wait([self._driver])

    async def settle(self) -> None:
        await self.finish_work()
        await self.compactions.settle()
        await self.hooks.settle()

    async def close(self) -> None:
        """Stop everything and log the end of the session. The conversation cannot be used afterwards."""
        self.hooks.stop()
        # Work queued after the cancelled turn would otherwise still run, and call a model.
        self.queue.clear()
        self.cancel()
        if self._driver is not None:
            await asyncio.gather(self._driver, return_exceptions=True)
        await self.agents.close()
        if self.tooling.tasks is not None:
            await self.tooling.tasks.close()
        if self.tooling.diagnostics is not None:
            await self.tooling.diagnostics.found.close()
        await self.compactions.stop_jobs()
        await self.hooks.end()
        self.history.append(SessionEnd())

    def _wake(self) -> None:
        if not self.busy:
            self._driver = asyncio.create_task(self._drive(), name="conversation")

    async def _drive(self) -> None:
        while (work := self.queue.next()) is not None:
            try:
                if not isinstance(work, Prompt):  # a prompt is logged before anything is loaded for it
                    await self.models.load_tokenizer()
                if isawaitable(done := self._does[type(work)](work)):
                    await done
            except Exception as error:  # a full disk or a defect: reported once, and the queue is kept
                _log.exception("%s failed", type(work).__name__)
                self.queue.pause()
                report = describe_error(error, model=self.model)
                if self.turns.prompt is not None:
                    report = with_retry_step(report, handed_back=True)
                # The log itself may have failed, so the error is only shown.
                self.bus.publish_live(self.session, report)
                self.queue.announce()
                self.turns.abort()

    async def compact(self, work: Compact) -> None:
        """Compact the conversation, unless its model cannot be loaded."""
        if work.extract or await self.models.ready():
            await self.compactions.compact(work)

    async def accept_plan(self, work: AcceptPlan) -> None:
        """Start work on the plan, if there is one and the budget allows its prompt."""
        if await self.turns.may_spend(agreed=False) and (prompt := self.modes.accept(work.mode)):
            await self.turns.run_turn(Prompt(prompt))

    async def pursue(self, work: Pursue) -> None:
        """Set a goal and start on it, if the budget allows its first prompt."""
        if self.turns.goals is not None and await self.turns.may_spend(agreed=False):
            await self.turns.run_turn(self.turns.goals.set(work.goal))

    def clear(self, _work: Clear) -> None:
        self.compactions.cancel_job()
        self.history.append(SessionClear())

    async def rewind(self, work: Rewind) -> None:
        """Rewind to before a prompt, with its files if requested, or send the last prompt again."""
        files, overwrite = self.tooling.files, work.files == "overwrite"
        if not work.again:
            if self.compactions.rewind(work.to) and work.files != "keep":
                await files.restore(work.to, overwrite=overwrite)
            return
        # Check the budget before anything is rewound.
        if not await self.turns.may_spend(agreed=work.above_budget):
            return
        history, seq = self.history, self._last_prompt()
        prompt = data_of(history.store.record(self.session, seq), UserMessage) if seq else None
        if prompt is None:
            history.refuse(NOTHING)
            return
        # A prompt without an answer has already left the context.
        if history.view.can_rewind(seq):
            history.rewind(seq, again=True)
            if work.files != "keep":
                await files.restore(seq, overwrite=overwrite)
        message = history.message(seq)
        piped = piped_in(message) if message is not None else ""
        attached = tuple(path for path in prompt.attachments if not (piped and path == PIPED))
        await self.turns.run_turn(Prompt(prompt.text, attached, piped, work.above_budget))

    def _last_prompt(self) -> int:
        """Log number of the newest prompt that is in the context or failed without an answer; else 0."""
        failed: set[int] = set()
        history = self.history
        for head in history.store.newest(history.session, (SessionRewind.TYPE, UserMessage.TYPE)):
            if head.type == SessionRewind.TYPE and head.state == "failed":
                failed.add(head.ref)
            if head.type == UserMessage.TYPE and (head.seq in failed or history.view.can_rewind(head.seq)):
                return head.seq
        return 0

    async def restate(self, work: Restate) -> None:
        cut = self.history.view.reversible
        if cut and work.undo and not work.compaction:
            await self.restore(Restore(*cut))
        else:
            self.compactions.restate(undo=work.undo, compaction=work.compaction)

    async def restore(self, work: Restore) -> None:
        """Undo a rewrite, an exclusion, a summary edit, or the newest rewind, clear or merge.

        Undoing one of the last three also undoes its changes to files.
        """
        is_cut = work.rewrite in self.history.view.reversible
        self.compactions.restore(work.rewrite)
        files = self.tooling.files
        for restored in pending_restores(files.restorings(work.rewrite)) if is_cut else ():
            await files.undo(restored)
