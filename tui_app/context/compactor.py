"""Compaction as a state machine: one job at a time, and nothing changes until it is applied.

``idle → running → ready → applied``, or ``failed``, ``cancelled``, ``discarded``. Every trigger ends here.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from time import monotonic

from tui_app.context.events import CompactionComplete, CompactionProgress, CompactionStart, Trigger
from tui_app.context.guards import Breaker, refuse_result
from tui_app.context.history import History, Proposal
from tui_app.context.items import Item
from tui_app.context.planner import Plan, Refusal, plan_compaction
from tui_app.context.policy import Policy
from tui_app.context.proposing import propose, summary_task
from tui_app.context.summary import Summariser, Summary, SummaryFailed


class State(StrEnum):
    """Where the current job stands."""

    IDLE = "idle"
    RUNNING = "running"
    READY = "ready"


class CompactionRefused(Exception):
    """There is nothing to compact, or a job is already running; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A running or finished job."""

    id: str
    trigger: Trigger
    started: float
    """Monotonic seconds."""
    task: "asyncio.Task[Proposal | CompactionComplete]"


@dataclass(slots=True)
class Compactor:
    """Runs the compactions of one conversation, one after the other."""

    history: History
    policy: Policy
    summariser: Callable[[Trigger], Summariser]
    """Who writes the summary: manual ones may use another model than automatic ones."""
    fallback: Summariser | None = None
    """Writes the summary of an automatic compaction when the model fails."""
    timeout_s: float = 120.0
    describe: Callable[[BaseException], str] = str
    """Says in one sentence, without its full stop, why a summary request failed."""
    breaker: Breaker = field(default_factory=Breaker)
    pinned: frozenset[int] = frozenset()
    _job: Job | None = None
    _count: int = 0

    @property
    def state(self) -> State:
        """``running`` while the summary is written, ``ready`` until it is applied."""
        if self._job is None:
            return State.IDLE
        return State.READY if self._job.task.done() else State.RUNNING

    @property
    def trigger(self) -> Trigger | None:
        """Why the current job runs."""
        return self._job.trigger if self._job else None

    def wanted(self, trigger: Trigger) -> bool:
        """Whether an automatic compaction may start now: none under way, and the last ones got somewhere."""
        return self._job is None and self.breaker.allows(self.history.usage().total, self.policy, trigger)

    def start(self, trigger: Trigger, focus: str = "") -> None:
        """Begin a job.

        Raises:
            CompactionRefused: if one is running, or the plan says that nothing can be gained.
        """
        if self._job is not None:
            raise CompactionRefused("A compaction is already running.")
        plan = self._plan(trigger, focus)
        self._count += 1
        job_id = f"{self.history.version}-{self._count}"
        writer = self.summariser(trigger)
        started = monotonic()
        task = asyncio.create_task(self._run(job_id, plan, writer, started), name=f"compaction-{job_id}")
        self._job = Job(id=job_id, trigger=trigger, started=started, task=task)
        self.history.report(
            CompactionStart(
                job=job_id,
                trigger=trigger,
                tokens_before=plan.tokens_before,
                messages_before=plan.messages_before,
                model=writer.model_name,
                policy=self.policy.name,
                focus=focus,
            )
        )

    def preview(self, trigger: Trigger, focus: str = "") -> Plan:
        """The plan a job would follow, without starting it.

        Raises:
            CompactionRefused: as ``start`` would.
        """
        return self._plan(trigger, focus)

    async def finish(self) -> CompactionComplete | None:
        """Wait for the current job and apply it; None when there is none.

        Cancelling the caller while it waits does not cancel the job.
        """
        if self._job is None:
            return None
        await self.settled()
        return self.apply_ready()

    async def settled(self) -> None:
        """Wait until the current job, if any, has nothing more to do but be applied."""
        if self._job is not None:
            await asyncio.wait([self._job.task])

    def apply_ready(self) -> CompactionComplete | None:
        """Apply the job if it is ready; a result made for another view is discarded."""
        job = self._job
        if job is None or not job.task.done():
            return None
        self._job = None
        if job.task.cancelled():
            return None
        result = job.task.result()
        if isinstance(result, CompactionComplete):
            return self._settle(result)
        duration = round(monotonic() - job.started, 3)
        complete = replace(result.complete, duration_s=duration)
        visible = {item.key for item in self.history.items()}
        if result.version != self.history.version or not result.left <= visible:
            return self._settle(replace(complete, outcome="discarded", reason="the conversation changed meanwhile"))
        try:
            applied = self.history.commit(replace(result, complete=complete))
        except OSError as error:
            reason = f"its files could not be written ({error.strerror or error})"
            return self._settle(replace(complete, outcome="failed", reason=reason))
        self.breaker.note(applied, self.policy)
        return applied

    def cancel(self) -> CompactionComplete | None:
        """Stop the current job at once; the HTTP request is closed and a late result is ignored."""
        job = self._job
        if job is None:
            return None
        self._job = None
        job.task.cancel()
        job.task.add_done_callback(_swallow)
        complete = CompactionComplete(
            job=job.id,
            outcome="cancelled",
            trigger=job.trigger,
            policy=self.policy.name,
            duration_s=round(monotonic() - job.started, 3),
        )
        self.history.report(complete)
        return complete

    def _plan(self, trigger: Trigger, focus: str) -> Plan:
        plan = plan_compaction(
            self.history.items(),
            self.history.usage(),
            self._tokens,
            self.policy,
            trigger=trigger,
            focus=focus,
            pinned=self.pinned,
        )
        if isinstance(plan, Refusal):
            raise CompactionRefused(plan.reason)
        return plan

    def _tokens(self, item: Item) -> int:
        return self.history.weigh(item).total

    def _settle(self, complete: CompactionComplete) -> CompactionComplete:
        self.breaker.note(complete, self.policy)
        self.history.report(complete)
        return complete

    async def _run(
        self, job_id: str, plan: Plan, writer: Summariser, started: float
    ) -> Proposal | CompactionComplete:
        """The job itself: ends in a proposal or in a stated failure, never in an exception."""
        blank = CompactionComplete(
            job=job_id,
            outcome="failed",
            trigger=plan.trigger,
            policy=self.policy.name,
            focus=plan.focus,
            model=writer.model_name,
            tokens_before=plan.tokens_before,
            messages_before=plan.messages_before,
        )
        try:
            summary = await self._summarise(job_id, plan, writer)
            proposal = await propose(self.history, plan, summary, blank)
            if reason := refuse_result(proposal.complete, plan, self.policy):
                return replace(blank, reason=reason, duration_s=monotonic() - started)
        except SummaryFailed as error:
            return replace(blank, reason=str(error), duration_s=monotonic() - started)
        except TimeoutError:
            reason = f"the model did not finish within {self.timeout_s:.0f} s"
            return replace(blank, reason=reason, duration_s=monotonic() - started)
        except Exception as error:  # noqa: BLE001 - whatever a provider raises, the view must stay as it is
            return replace(blank, reason=self.describe(error), duration_s=monotonic() - started)
        return proposal

    async def _summarise(self, job_id: str, plan: Plan, writer: Summariser) -> Summary:
        def progress(part: int, parts: int, written: int) -> None:
            self.history.report(CompactionProgress(job=job_id, part=part, parts=parts, tokens_written=written))

        task = summary_task(plan)
        try:
            async with asyncio.timeout(self.timeout_s):
                return await writer.summarise(task, progress)
        except Exception:
            # A person who asked for this summary decides again; a request that waits must go on.
            may_fall_back = plan.trigger != "manual" and self.policy.heuristic_fallback
            if self.fallback is None or not may_fall_back:
                raise
            return await self.fallback.summarise(task, progress)


def _swallow(task: "asyncio.Task[Proposal | CompactionComplete]") -> None:
    """Fetch the outcome of a cancelled job, so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
