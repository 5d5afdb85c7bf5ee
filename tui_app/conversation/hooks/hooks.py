"""The hooks of one conversation: which of them run when, and what they may change."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tui_app.context.compaction.guards import Veto
from tui_app.conversation.hooks.envelope import stdin_of
from tui_app.conversation.hooks.outcomes import Run, before_compaction, judge
from tui_app.conversation.hooks.process import Runner
from tui_app.events import CompactionComplete, CompactionStart, HookName, Payload, Record, SessionEnd
from tui_app.settings.hooks import Hook

END_S = 1.5
"""Seconds that hooks have at the end of a session, all together: nobody who leaves waits any longer."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Hooks:
    """Runs hooks on the conversation's loop; every one that ran is an event."""

    defined: Mapping[str, Sequence[Hook]]
    runner: Runner
    keys: Collection[str]
    """Secrets that no hook is told."""
    session: str
    resumed: bool
    """Whether the session was there before it was opened."""
    report: Callable[[Payload], object]
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _started: bool = False
    _stopped: bool = False

    async def run(self, hook: HookName, trigger: str, event: Payload | Record) -> list[Run]:
        """Run the hooks that are meant for this, one after the other, up to the first veto.

        Cancelling this ends the command that runs, with its children; ``settle`` waits for that.
        """
        runs: list[Run] = []
        for settings in self._meant(hook, trigger):
            run = await self._one(hook, trigger, event, settings, settings.timeout_s)
            runs.append(run)
            if run.ran.outcome == "vetoed":
                break
        return runs

    async def before_compaction(self, start: CompactionStart) -> str | Veto:
        """What the person's preCompact hooks have to say; see ``context.before.Before``."""
        return before_compaction(await self.run("preCompact", start.trigger, start))

    def heard(self, record: Record) -> None:
        """Follow what is published: a compaction that has ended runs hooks, for which nobody waits."""
        if isinstance(record.data, CompactionComplete):
            self._begin("postCompact", record.data.trigger, record)

    def started(self, start: Record) -> None:
        """Run what the person wants when a session is opened; ``start`` is the first event of its log."""
        if not self._started:
            self._started = True
            self._begin("sessionStart", "resume" if self.resumed else "new", start)

    async def settle(self) -> None:
        """Wait for the hooks that nobody waits for."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def stop(self) -> None:
        """Begin no hook by itself any more."""
        self._stopped = True

    async def close(self) -> None:
        """End what still runs, and give the hooks of the session's end their time, all of them at once."""
        self._stopped = True
        for task in self._tasks:
            _cancel(task)
        await self.settle()
        ends = (
            self._one("sessionEnd", "", SessionEnd(), hook, min(hook.timeout_s, END_S))
            for hook in self._meant("sessionEnd", "")
        )
        await asyncio.gather(*ends)

    def _meant(self, hook: HookName, trigger: str) -> list[Hook]:
        return [settings for settings in self.defined.get(hook, ()) if settings.fits(trigger)]

    def _begin(self, hook: HookName, trigger: str, event: Payload | Record) -> None:
        if not self._stopped and self._meant(hook, trigger):
            self._track(self.run(hook, trigger, event)).add_done_callback(_log_defect)

    async def _one(
        self, hook: HookName, trigger: str, event: Payload | Record, settings: Hook, timeout_s: float
    ) -> Run:
        """Run one command, in a task that is known here: whoever waits for it may be cancelled any time."""
        task = self._track(self._reported(hook, trigger, event, settings, timeout_s))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            _cancel(task)
            raise

    async def _reported(
        self, hook: HookName, trigger: str, event: Payload | Record, settings: Hook, timeout_s: float
    ) -> Run:
        if not isinstance(event, Record):
            event = Record(seq=0, time=time.time(), session=self.session, data=event)
        stdin = stdin_of(hook, trigger, event, self.keys)
        run = judge(hook, trigger, settings, await self.runner.run(settings, stdin, timeout_s))
        self.report(run.ran)
        if run.ran.outcome == "cancelled":
            raise asyncio.CancelledError
        return run

    def _track(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name="hook")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _cancel(task: "asyncio.Task[Any]") -> None:
    """Cancel a task once, however often whoever waits for it is: it must see its process end."""
    if not task.cancelling():
        task.cancel()


def _log_defect(task: "asyncio.Task[Any]") -> None:
    """Nobody waits for it: what went wrong in it is written to the program's log."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("running a hook failed", exc_info=error)
