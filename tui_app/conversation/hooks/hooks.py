"""Hooks: the user's commands, run on events of a session."""

import asyncio
import logging
import time
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tui_app.context.compaction.guards import Veto
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.hooks.hook_outcomes import PROMPT_CHARS, Run, before_compaction, judge, stdin_of
from tui_app.conversation.hooks.hook_process import Runner
from tui_app.conversation.threads import log_defect
from tui_app.events import (
    ApprovalRequested,
    CompactionComplete,
    CompactionProposed,
    CompactionStart,
    HookName,
    Payload,
    Record,
    ServerAsked,
    SessionEnd,
    TurnEnd,
    UserMessage,
)
from tui_app.settings.tables import Hook
from tui_app.text import cut

END_S = 1.5
"""Total seconds for hooks at the end of a session, so that leaving never takes longer."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Hooks:
    """Runs hooks on the conversation's loop and logs each run."""

    history: SessionHistory
    defined: Mapping[str, Sequence[Hook]]
    runner: Runner
    keys: Collection[str]
    """Secrets to mask in the input of hooks."""
    resumed: bool
    """Whether the session existed before it was opened."""
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _waited: set[str] = field(default_factory=set)
    """Ids of questions already reported to hooks."""
    _started: bool = False
    _stopped: bool = False

    async def run_hooks(self, hook: HookName, trigger: str, event: Payload | Record) -> list[Run]:
        """Run the matching hooks one at a time, up to the first veto.

        Cancelling this kills the running command with its children; ``settle`` waits for that.
        """
        runs: list[Run] = []
        for settings in self._meant(hook, trigger):
            runs.append(await self._one(hook, trigger, event, settings, settings.timeout_s))
            if runs[-1].refuses:
                break
        return runs

    async def before_prompt(self, text: str, files: Sequence[str]) -> tuple[str, str]:
        """Text that hooks add to a prompt, and why it must not be sent; each may be empty."""
        runs = await self.run_hooks("userPrompt", "", UserMessage(text=text, attachments=tuple(files)))
        for run in runs:
            if run.refuses:
                why = run.said.rstrip(".")
                return "", f"The userPrompt hook {run.ran.command} refused the prompt: {why}."
        return cut("\n".join(run.said for run in runs if run.said), PROMPT_CHARS), ""

    async def before_stop(self, end: TurnEnd) -> str:
        """What to tell the model if a hook wants it to continue; empty if the turn may end."""
        runs = await self.run_hooks("stop", "", end)
        return next((run.said for run in runs if run.refuses), "")

    def notify_waiting(self, trigger: str, event: Payload | Record) -> None:
        """Run the ``waiting`` hooks: something waits for the user."""
        self._begin("waiting", trigger, event)

    async def before_compaction(self, start: CompactionStart) -> str | Veto:
        return before_compaction(await self.run_hooks("preCompact", start.trigger, start))

    def on_record(self, record: Record) -> None:
        match record.data:
            case CompactionComplete(trigger=trigger):
                self._begin("postCompact", trigger, record)
            case TurnEnd(outcome=outcome):
                self._begin("turnEnd", outcome, record)
            case ApprovalRequested(id=id) | ServerAsked(id=id) if id not in self._waited:
                # The event is published again when more calls wait.
                self._waited.add(id)
                asks = isinstance(record.data, ApprovalRequested)
                self.notify_waiting("approval" if asks else "question", record)
            case CompactionProposed():
                self.notify_waiting("review", record)

    def started(self, start: Record) -> None:
        """Run the ``sessionStart`` hooks once; ``start`` is the first event of the log."""
        if not self._started:
            self._started = True
            self._begin("sessionStart", "resume" if self.resumed else "new", start)

    async def settle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def stop(self) -> None:
        """Start no more hooks on events."""
        self._stopped = True

    async def end(self) -> None:
        """Stop running hooks, then run the ``sessionEnd`` hooks, all at the same time."""
        self._stopped = True
        for task in self._tasks:
            _cancel(task)
        await self.settle()
        name: HookName = "sessionEnd"
        hooks = self._meant(name, "")
        ends = (self._one(name, "", SessionEnd(), each, min(each.timeout_s, END_S)) for each in hooks)
        await asyncio.gather(*ends)

    def _meant(self, hook: HookName, trigger: str) -> list[Hook]:
        return [settings for settings in self.defined.get(hook, ()) if settings.fits(trigger)]

    def _begin(self, hook: HookName, trigger: str, event: Payload | Record) -> None:
        if not self._stopped and self._meant(hook, trigger):
            task = self._track(self.run_hooks(hook, trigger, event))
            task.add_done_callback(log_defect(_log, "running a hook failed"))

    async def _one(
        self, hook: HookName, trigger: str, event: Payload | Record, settings: Hook, timeout_s: float
    ) -> Run:
        """Run one command in a tracked task, because the waiting caller may be cancelled at any time."""
        if not isinstance(event, Record):
            event = Record(seq=0, time=time.time(), session=self.history.session, data=event)
        stdin = stdin_of(hook, trigger, event, self.keys)

        async def reported() -> Run:
            run = judge(hook, trigger, settings, await self.runner.run_command(settings, stdin, timeout_s))
            self.history.report(run.ran)
            if run.ran.outcome == "cancelled":
                raise asyncio.CancelledError
            return run

        task = self._track(reported())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            _cancel(task)
            raise

    def _track(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name="hook")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _cancel(task: "asyncio.Task[Any]") -> None:
    """Cancel a task only once: it must see its process end."""
    if not task.cancelling():
        task.cancel()
