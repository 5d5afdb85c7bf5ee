"""Compactions as a state machine: one job at a time, and nothing changes until it is applied.

``idle → running → ready → applied``, or ``failed``, ``cancelled``, ``discarded``, ``vetoed``. Every trigger
leads here.
"""

import asyncio
import errno
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from time import monotonic
from typing import Protocol

from tui_app.context.compaction.guards import (
    NO_PROGRESS,
    SENT_ANYWAY,
    Breaker,
    Veto,
    gain_of,
    keys_between,
    refuse_asked,
    refuse_gain,
)
from tui_app.context.compaction.plan import FORCED, Addition, Plan, plan_of
from tui_app.context.compaction.proposal import ProposalWriter
from tui_app.context.compaction.replacement import WAY_BACK, key_ranges
from tui_app.context.compaction.reviews import Reviewer, priced, review
from tui_app.context.counting.expenses import Ledger
from tui_app.context.history import History, Proposal, original_view
from tui_app.context.policy import Policy
from tui_app.context.summaries.extractive import MarkerSummariser
from tui_app.context.summaries.writer import Summariser
from tui_app.events import (
    CompactionAwaited,
    CompactionComplete,
    CompactionProgress,
    CompactionStart,
    Notice,
    Trigger,
)
from tui_app.events.base import Outcome as Ending
from tui_app.records import frozen, like
from tui_app.references import WHOLE, Span
from tui_app.refusals import Refusal

WITHOUT_MODEL = frozenset({"heuristic", "marker"})
"""Writers that cost nothing."""
Outcome = Proposal | Veto | CompactionComplete | str
"""Result of a job: a proposal, a veto, the event of a declined one, or the reason of a failure."""


class State(StrEnum):
    """State of the current job."""

    IDLE = "idle"
    RUNNING = "running"
    READY = "ready"


@frozen(kw_only=True)
class Job:
    """A running or finished job."""

    blank: CompactionComplete
    """The event for an unsuccessful end, with everything known at the start."""
    started: float
    """Monotonic seconds."""
    replaces: frozenset[int]
    """Keys of the part of the view it replaces, including kept messages in between."""
    task: asyncio.Task[Outcome]
    written: asyncio.Event
    """Set once no more model requests are needed; the user may still have to review the summary."""
    ledger: Ledger

    def ended(self, complete: CompactionComplete) -> CompactionComplete:
        """Add duration, tokens and cost to the job's last event."""
        spent, free = self.ledger.spent, complete.performed_by in WITHOUT_MODEL
        return replace(
            complete,
            duration_s=complete.duration_s or round(monotonic() - self.started, 3),
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=0.0 if free and not self.ledger.requests else spent.cost_usd,
            request_id=self.ledger.request_id,
            refused_notes=self.ledger.refused,
        )

    def abort(self) -> None:
        """Cancel the task, even if its event loop runs in another thread or is closed."""
        # Retrieve its outcome, so that asyncio does not warn about it.
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        if self.is_here():
            self.task.cancel()
            return
        with suppress(RuntimeError):  # a closed loop has dropped its tasks
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    def is_here(self) -> bool:
        try:
            return self.task.get_loop() is asyncio.get_running_loop()
        except RuntimeError:
            return False


def without_effect(complete: CompactionComplete, ending: Ending, reason: str) -> CompactionComplete:
    """Return the last event of a job whose summary is not applied: the view keeps its size."""
    return replace(
        complete,
        outcome=ending,
        reason=reason,
        tokens_after=complete.tokens_before,
        messages_after=complete.messages_before,
        tokens_removed=0,
        messages_removed=0,
    )


def start_event(blank: CompactionComplete, plan: Plan, *, reviewed: bool = False) -> CompactionStart:
    leaving = key_ranges((*plan.split.head, *plan.split.old, *plan.split.recent), plan.leaving_keys)
    return like(CompactionStart, blank, reviewed=reviewed, leaving=leaving, tokens_leaving=plan.old)


@frozen
class Asked:
    """A compaction requested by the model; it runs before the next request."""

    reason: str = ""
    """The boundary, in its own words."""
    focus: str = ""
    """What the summary should keep above all."""


class CompactionHost(Protocol):
    """Environment of a compaction: writers, additional texts, hooks, a reviewer."""

    fallback: Summariser | None
    """Writes the summary of an automatic compaction when the model fails."""

    def summarisers(self, trigger: Trigger) -> Sequence[Summariser]:
        """Return the writers of a summary, best first; a manual compaction may use another model."""
        ...

    def describe(self, error: BaseException) -> str:
        """Describe why a summary request failed, in one sentence without its full stop."""
        return str(error)

    def additions(self) -> Sequence[Addition]:
        """Return texts to keep word for word next to the summary; called when a compaction starts."""
        return ()

    def alive(self) -> Sequence[str] | None:
        """Return what is running when a replacement is made, one line each; None if only the log knows."""
        return None

    def file(self, path: str) -> str | None:
        """Return a file as a tool shows it now, in numbered lines; None if it cannot be read."""
        return None

    async def before(self, start: CompactionStart) -> str | Veto:
        """Return additional instructions for the summary, or a veto; called once per job.

        It may take its time, is cancelled with the job, and must not raise anything else.
        """
        return ""

    def reviewer(self, trigger: Trigger) -> Reviewer | None:
        """Return the reviewer of jobs started without one; None applies summaries without review."""
        return None


@dataclass(slots=True)
class PlainHost(CompactionHost):
    """A host with fixed writers and nothing else."""

    writers: Sequence[Summariser] = ()
    fallback: Summariser | None = None

    def summarisers(self, trigger: Trigger) -> Sequence[Summariser]:
        return self.writers


def writers_for(
    policy: Policy, trigger: Trigger, host: CompactionHost, *, extract: bool = False
) -> Sequence[Summariser]:
    """Return the writers of one compaction, best first; only extraction if the user asked for it.

    After a failed manual compaction the user decides again; a request that is waiting must proceed.
    """
    without_model = host.fallback
    if without_model is not None and (extract or policy.summary_by == "heuristic"):
        return (without_model,)
    models = tuple(host.summarisers(trigger))
    if policy.fallback == "none" or trigger == "manual":
        return models
    return (*models, *filter(None, (MarkerSummariser() if policy.fallback == "marker" else without_model,)))


class CompactionRefused(Refusal):
    """There is nothing to compact, or a job is already running; the message states which."""


@dataclass(slots=True)
class Compactor:
    """Running the compactions of one conversation, one at a time."""

    history: History
    policy: Policy
    host: CompactionHost
    timeout_s: float = 120.0
    breaker: Breaker = field(default_factory=Breaker)
    way_back: str = WAY_BACK
    """How the model can retrieve removed messages; empty if it cannot."""
    pressed: bool = False
    """Whether memory is short: the next request compacts before it is sent."""
    stands_back: bool = False
    """Whether the provider compacts: then the view's size starts nothing here."""
    asked: Asked | None = None
    """The model's request in this turn, until the next model request."""
    _left: int = 0
    """Tokens after the last compaction; 0 for none."""
    _job: Job | None = None
    _count: int = 0
    _waiting: int = 0
    _writer: str = ""
    """Model name of the current writer."""

    @property
    def state(self) -> State:
        """``running`` while the summary is written, ``ready`` until it is applied or declined."""
        if self._job is None:
            return State.IDLE
        return State.READY if self._job.written.is_set() or self._job.task.done() else State.RUNNING

    @property
    def trigger(self) -> Trigger | None:
        return self._job.blank.trigger if self._job else None

    @property
    def awaited(self) -> bool:
        """Whether a request is waiting for the current job."""
        return self._waiting > 0

    def should_start(self, trigger: Trigger) -> bool:
        """Whether an automatic compaction may start now: none is running, and the last ones made progress."""
        if self.stands_back and trigger not in FORCED:
            return False
        return self._job is None and self.breaker.allows(self.history.usage(), self.policy, trigger)

    def start(
        self,
        trigger: Trigger,
        focus: str = "",
        reviewer: Reviewer | None = None,
        span: Span = WHOLE,
        *,
        extract: bool = False,
        trial: bool = False,
        asked: str = "",
    ) -> None:
        """Start a job.

        Args:
            trigger: Cause of the compaction.
            focus: What the summary should keep above all.
            reviewer: Decides on the summary before it can be applied; None uses the host's.
            span: The part of the view to replace, if the user selected one.
            extract: Whether it is written by extraction, without a model.
            trial: Whether the model that will read the view is tested with questions.
            asked: The model's reason if it requested the compaction.

        Raises:
            CompactionRefused: if one is running, or nothing can be gained according to the plan.
        """
        if self._job is not None:
            raise CompactionRefused("A compaction is already running.")
        plan, reviewer = self.preview(trigger, focus, span), reviewer or self.host.reviewer(trigger)
        self._count += 1
        writers = writers_for(self.policy, trigger, self.host, extract=extract)
        job = f"{self.history.version}-{self._count}"
        blank = CompactionComplete(
            job=job,
            outcome="failed",
            trigger=trigger,
            focus=focus,
            tokens_before=plan.tokens_before,
            tokens_after=plan.tokens_before,
            messages_before=plan.messages_before,
            messages_after=plan.messages_before,
            policy=self.policy.name,
            asked=asked,
            model=writers[0].model_name,
            breakdown=self.history.usage().breakdown,
            from_message=span.first,
            up_to_message=span.last,
        )
        ledger, written, self._writer = Ledger(), asyncio.Event(), blank.model
        work = self._work(plan, blank, writers, reviewer, written, ledger, trial=trial)
        replaces = keys_between(self.history.items(), plan.leaving_keys)
        task = asyncio.create_task(work, name=f"compaction-{job}")
        task.add_done_callback(lambda _: written.set())
        self._job = Job(
            blank=blank, started=monotonic(), replaces=replaces, task=task, written=written, ledger=ledger
        )
        self.history.report(start_event(blank, plan, reviewed=reviewer is not None))

    def refuse_asked(self) -> str:
        """Return why a compaction requested by the model now would be refused; empty if it would not."""
        if self._job is not None or self.asked is not None:
            return "a compaction is already running."
        if not self.should_start("model"):
            return "the last attempts did not help, or the provider compacts itself. Continue without it."
        plan = plan_of(self.history, self.policy, "model", "", WHOLE, self.host.additions())
        return refuse_asked(plan, self.history.usage(), self._left)

    def preview(self, trigger: Trigger, focus: str = "", span: Span = WHOLE) -> Plan:
        """Return the plan of a job without starting it.

        Raises:
            CompactionRefused: as ``start`` would.
        """
        additions = self.host.additions()
        plan = plan_of(self.history, self.policy, trigger, focus, span, additions, read=self.host.file)
        if isinstance(plan, str):
            raise CompactionRefused(plan)
        return plan

    async def finish(self) -> CompactionComplete | None:
        """Wait for the current job and apply it; return None if there is none.

        Cancelling the caller while it waits does not cancel the job.
        """
        if self._job is None:
            return None
        await self.settled()
        return self.apply_ready()

    async def finish_for(self, trigger: Trigger) -> CompactionComplete | None:
        """Wait as ``finish`` does, for a request that cannot proceed without it.

        A job that nothing was waiting for so far is reported as awaited: one in the background, or under
        review.
        """
        job = self._job
        if job is not None and not job.task.done():
            name, began_as = job.blank.job, job.blank.trigger
            if began_as == "background" or job.written.is_set():
                self.history.report(
                    CompactionAwaited(job=name, trigger=trigger, began_as=began_as, model=self._writer)
                )
        self._waiting += 1
        try:
            return await self.finish()
        finally:
            self._waiting -= 1

    async def written(self) -> None:
        """Wait until the current job, if any, needs no more model requests."""
        if self._job is not None:
            await self._job.written.wait()

    async def settled(self) -> None:
        """Wait until the current job, if any, is ready to be applied."""
        if self._job is not None and not self._job.task.done():
            await asyncio.wait([self._job.task])

    def apply_ready(self) -> CompactionComplete | None:
        """Apply the job if it is ready; a result is discarded when what it replaces has changed."""
        job = self._job
        if job is None or not job.task.done():
            return None
        self._job = None
        if job.task.cancelled():
            return self._settle(job.ended(replace(job.blank, outcome="cancelled")))
        result = job.task.result()
        if not isinstance(result, Proposal):
            return self._unwanted(job, result)
        complete = job.ended(result.complete)
        now = keys_between(self.history.items(), result.left)
        if not result.left <= now <= job.replaces:
            reason = "the conversation changed meanwhile"
            return self._settle(without_effect(complete, "discarded", reason))
        if reason := refuse_gain(complete, self.policy):
            self._postpone(job)
            return self._settle(without_effect(complete, "failed", reason))
        gained = gain_of(self.history, result)
        try:
            applied = self.history.commit(replace(result, complete=complete))
        except OSError as error:
            return self._failed(job, not_written(error))
        self._left = applied.tokens_after
        was_tripped = self.breaker.tripped(self.policy)
        self.breaker.succeeded(applied.tokens_before, gained, self.policy)
        if self.breaker.tripped(self.policy) and not was_tripped:
            self.history.report(Notice(text=NO_PROGRESS))
        return applied

    def cancel(self, *, with_request: bool = False) -> CompactionComplete | None:
        """Stop the current job at once; the HTTP request is closed and a late result is ignored.

        Args:
            with_request: Whether a request that is waiting for it is stopped too; otherwise the event states
                that it is sent.
        """
        job, awaited = self._job, self.awaited
        if job is None:
            return None
        self._job = None
        job.abort()
        self.breaker.stopped(self.history.usage(), awaited=awaited)
        reason = SENT_ANYWAY if awaited and not with_request else ""
        stopped = replace(job.blank, outcome="cancelled", reason=reason, model=self._writer)
        return self._settle(job.ended(stopped))

    def strand(self) -> None:
        """Abandon a job of another event loop, such as ``run_sync`` in a thread leaves behind."""
        if (job := self._job) is not None and not job.task.done() and not job.is_here():
            self.cancel()

    async def aclose(self) -> None:
        """Stop the current job and wait until its connection is closed."""
        self.strand()
        job = self._job
        self.cancel()
        if job is not None and not job.task.done():
            await asyncio.wait([job.task])

    async def _work(
        self,
        plan: Plan,
        blank: CompactionComplete,
        writers: Sequence[Summariser],
        reviewer: Reviewer | None,
        written: asyncio.Event,
        ledger: Ledger,
        *,
        trial: bool = False,
    ) -> Outcome:
        wishes = await self.host.before(start_event(blank, plan))
        if isinstance(wishes, Veto):
            return wishes
        wishes = "\n".join(filter(None, (self.policy.summary_instructions.strip(), wishes)))
        started = monotonic()

        def progress(event: CompactionProgress) -> None:
            if self._job is not None and self._job.blank.job == event.job:
                self._writer = event.model
                self.history.report(event)

        writing = ProposalWriter(
            history=self.history,
            plan=replace(plan, instructions=wishes),
            whole=original_view(self.history, plan.leaving_keys),
            blank=replace(blank, instructions=wishes),
            job=blank.job,
            timeout_s=self.timeout_s,
            describe=self.host.describe,
            way_back=self.way_back,
            progress=progress,
            ledger=ledger,
            verify=self.policy.verify == "model",
            least_answered=self.policy.least_answered,
            reader=next(iter(self.host.summarisers("manual")), None),
            alive=self.host.alive,
        )
        result = await writing.write(writers)
        if trial and isinstance(result, Proposal):
            result = await writing.tried(result)
        # A result that frees too little is refused regardless of the review.
        if reviewer is None or isinstance(result, str) or refuse_gain(result.complete, self.policy):
            return result
        # The user's time for the review is not part of the duration.
        result = priced(result, writing, round(monotonic() - started, 3))
        return await review(result, writing, writers, self.policy, reviewer, written)

    def _unwanted(self, job: Job, result: Veto | CompactionComplete | str) -> CompactionComplete:
        if isinstance(result, str):
            return self._failed(job, result)
        if isinstance(result, CompactionComplete):
            if job.blank.trigger not in FORCED:
                # The user declined, so the next request must not ask again.
                self.breaker.stopped(self.history.usage(), awaited=self.awaited)
            return self._settle(job.ended(result))
        self.breaker.veto = job.blank.tokens_before, self.history.usage().window.limit
        return self._settle(job.ended(replace(job.blank, outcome="vetoed", reason=result.reason)))

    def _failed(self, job: Job, reason: str) -> CompactionComplete:
        self._postpone(job)
        return self._settle(job.ended(replace(job.blank, reason=reason)))

    def _postpone(self, job: Job) -> None:
        self.breaker.failed(job.blank.tokens_before, self.history.usage().window.limit)

    def _settle(self, complete: CompactionComplete) -> CompactionComplete:
        self.history.report(complete)
        return complete


def not_written(error: OSError) -> str:
    """Return why a compaction failed whose files could not be written."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"its files could not be written ({'the disk is full' if is_full else error.strerror or error})"
