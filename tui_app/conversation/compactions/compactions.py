"""Compactions and their review: started or undone by the user, or run between turns."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic_ai.messages import CompactionPart

from tui_app.context.compaction.compactor import CompactionRefused, Compactor, State
from tui_app.context.compaction.plan import irreducible_floor
from tui_app.context.compaction.reviews import Attempt, Refocus
from tui_app.context.history import Proposal
from tui_app.context.requests.pipeline import compact_at_turn_end
from tui_app.conversation.answers import OpenQuestions
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.threads import log_defect
from tui_app.conversation.work import Compact
from tui_app.events import BranchMerged, CompactionComplete, CompactionProposed, Notice, Payload, Trigger
from tui_app.records import like, picked
from tui_app.references import Span
from tui_app.session.figures.passages import by_origin
from tui_app.settings import ReviewMode

_BY_THE_USER: frozenset[Trigger] = frozenset({"manual", "model_switch"})
"""Compactions the user has just asked for."""
_UNASKED: frozenset[Trigger] = frozenset({"headless", "memory_pressure"})
"""Compactions that are never reviewed: there is no user, or no memory to wait with."""


@dataclass(slots=True)
class Reviews:
    """Asks the user to review summaries. Not thread-safe: use it on one event loop."""

    report: Callable[[Payload], object]
    """Publishes an event."""
    mode: ReviewMode = "never"
    """Which compactions are reviewed. Stays ``never`` where there is no user to decide."""
    _answers: OpenQuestions[str | Refocus | Attempt | None] = field(default_factory=OpenQuestions)

    def of(self, trigger: Trigger) -> "Reviews | None":
        """The reviewer of a summary with that trigger; None to apply it without review."""
        if self.mode == "never" or trigger in _UNASKED:
            return None
        return self if self.mode == "always" or trigger in _BY_THE_USER else None

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | Refocus | Attempt | None:
        done, part = proposal.complete, proposal.message.parts[0]
        assert isinstance(part, CompactionPart)
        shown = like(
            CompactionProposed,
            done,
            problem=problem,
            messages_leave=len(proposal.left),
            messages_stay=done.messages_before - len(proposal.left),
            in_files=proposal.in_files,
            facts_lost=sum(fact.state == "lost" for fact in done.facts),
            passages=tuple(by_origin(str(part.content or ""), part.metadata)),
        )
        return await self._answers.ask(done.job, lambda: self.report(shown))

    def ask_about(self, mode: ReviewMode) -> None:
        """Set which summaries are reviewed. Only call this if there is a user to decide."""
        self.mode = mode

    def decide(self, job: str, summary: str | Refocus | Attempt | None) -> bool:
        """Answer the question about a job's summary.

        Args:
            job: Which job.
            summary: The summary to apply, edited or not; a focus to have it rewritten; None discards it.

        Returns:
            Whether the job was waiting for it.
        """
        return self._answers.answer(job, summary)


_log = logging.getLogger(__name__)
NO_COMPACTION = "Nothing to undo."
BY_ROW = " Mark a row and press u to undo one."
"""Added if other changes freed room: those can be undone as well."""
AS_IT_WAS = "Nothing to undo: these messages are unchanged."
GONE_ON = "The conversation has continued since."
BY_FORK = " /fork continues from what was rewound."
"""Used if the conversation continued after a rewind or clear, which can then no longer be undone."""


@dataclass(slots=True)
class Compactions:
    """The compactions of one conversation that no request waits for."""

    history: SessionHistory
    compactor: Compactor
    reviews: Reviews
    """Asks the user to review summaries."""
    in_run: bool = False
    """Whether a turn is running: its next request applies the summary of a background job."""
    _watcher: "asyncio.Task[None] | None" = field(default=None)

    async def compact(self, work: Compact) -> CompactionComplete | None:
        """Compact now. Wait for the end, or until the user has to review the summary.

        A reviewed summary is applied like that of a background job.

        Returns:
            How it ended; None if it was cancelled, refused with a notice, or is being reviewed.
        """
        trigger = work.trigger
        self.compactor.apply_ready()
        if trigger == "model_switch":
            # A background job was planned for another window.
            self.cancel_job()
        reviewer = self.reviews if work.review else self.reviews.of(trigger)
        how = picked(work, "span extract trial")
        try:
            self.compactor.start(trigger, work.focus, reviewer, **how)
        except CompactionRefused as refusal:
            manual = trigger == "manual"
            self.history.append(Notice(text=str(refusal), passing=manual, refused=manual))
            return None
        if reviewer is not None and trigger != "model_switch":
            await self.compactor.written()
            self.follow_background()
            return None
        return await self.compactor.finish()

    async def after_turn(self) -> None:
        await compact_at_turn_end(self.compactor)
        self.follow_background()

    def restate(self, *, undo: bool, compaction: int = 0) -> bool:
        """Undo the newest compaction or exclusion, or redo the one undone last.

        Args:
            undo: Which of the two.
            compaction: Log number of the expected one; 0 accepts any.

        Returns:
            Whether it was done. If not, a notice tells why.
        """
        view = self.history.view
        # A redone one keeps its number, so the newest step has the highest.
        numbers = sorted([*view.compactions, *view.exclusions]) if undo else view.undone
        if compaction:
            numbers = [seq for seq in numbers if not view.is_exclusion(seq)]
        if not numbers and undo:
            # Rewrites are undone one at a time; rewound messages can only continue in a session of their own.
            merged = any(head.type == BranchMerged.TYPE for head in view.visible())
            how = BY_ROW if view.rewrites or merged else BY_FORK if view.left_behind() else ""
            return self.history.refuse(NO_COMPACTION + how)
        if not numbers:
            return self.history.refuse("Nothing to redo.")
        if compaction not in (0, numbers[-1]):
            again = "undone" if undo else "applied again"
            return self.history.refuse(f"Only the newest compaction can be {again}.")
        # The view changes back, so a job planned for the current one is useless.
        self.cancel_job()
        if not view.is_exclusion(numbers[-1]):
            self.history.restate(numbers[-1], undo=undo)
        elif undo:
            self.history.restore(numbers[-1])
        else:
            self.history.exclude_again(numbers[-1])
        return True

    def restore(self, rewrite: int) -> bool:
        """Undo a stage's rewrite, an exclusion, a summary edit, or a rewind.

        Returns:
            Whether it was still in effect.
        """
        view = self.history.view
        known = (*view.rewrites, *view.exclusions, *view.reversible)
        if rewrite not in known and not view.edited_by(rewrite):
            is_past = rewrite and view.left_behind(rewrite)
            return self.history.refuse(GONE_ON + BY_FORK if is_past else AS_IT_WAS)
        self.cancel_job()
        self.history.restore(rewrite)
        return True

    def rewind(self, to: int) -> bool:
        """Rewind to before a prompt. Returns whether that prompt is part of the conversation.

        A background job continues. Its result is applied if everything it replaces is still there.
        """
        if to in self.history.view.excluded:
            why = f"Nothing to rewind: #{to} is excluded. /include #{to} brings it back first."
            return self.history.refuse(why)
        if not self.history.view.can_rewind(to):
            return self.history.refuse(f"Nothing to rewind: #{to} is not a prompt of this conversation.")
        self.history.rewind(to)
        return True

    def may(self, span: Span) -> bool:
        """Whether a part of the view can be compacted manually now."""
        try:
            self.compactor.preview("manual", span=span)
        except CompactionRefused:
            return False
        return self.compactor.state is State.IDLE

    def floor(self) -> int:
        """Tokens no compaction can remove from the view."""
        history, policy = self.history, self.compactor.policy
        return irreducible_floor(history.items(), history.usage(), history.tokens, policy, history.pinned())

    def stop_automatic(self, *, stop: bool) -> None:
        """Stop automatic compactions, so that requests are cut, or allow them again."""
        self.compactor.breaker.without_progress = self.compactor.policy.breaker_after if stop else 0

    def cancel_job(self) -> None:
        if self.compactor.state is not State.IDLE:
            self.compactor.cancel()

    def cancel_awaited(self, *, with_request: bool) -> bool:
        """Cancel the job that a request waits for. A background job continues.

        Args:
            with_request: Whether to cancel the request too.

        Returns:
            Whether there was such a job.
        """
        return self.compactor.awaited and self.compactor.cancel(with_request=with_request) is not None

    def follow_background(self) -> None:
        """Apply a job started during a turn when it ends after that turn."""

        async def apply_when_done() -> None:
            await self.compactor.settled()
            if not self.in_run:
                self.compactor.apply_ready()

        if self.compactor.state is not State.IDLE and (self._watcher is None or self._watcher.done()):
            self._watcher = asyncio.create_task(apply_when_done())
            self._watcher.add_done_callback(log_defect(_log, "applying a compaction failed"))

    async def settle(self) -> None:
        """Wait for a running job and apply it."""
        await self.compactor.finish()
        if self._watcher is not None:
            await asyncio.wait([self._watcher])

    async def stop_jobs(self) -> None:
        self.cancel_job()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
