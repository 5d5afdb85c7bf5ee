"""Compactions a person starts or takes back, and background ones that end while nothing else runs."""

import asyncio
import logging
from dataclasses import dataclass, field

from tui_app.agent.turn import TurnRunner
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, State
from tui_app.context.compaction.plan import irreducible_floor
from tui_app.context.compaction_range import WHOLE, Span
from tui_app.context.requests.pipeline import compact_at_turn_end
from tui_app.conversation.reviews import Reviews
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import CompactionComplete, Notice, Trigger

_log = logging.getLogger(__name__)
NO_COMPACTION = "No compaction to undo."
BY_ROW = " Mark a row and press u to take one back."
"""Said where something else has made room: that can be taken back as well."""
AS_IT_WAS = "Nothing to take back: these messages are as they were."
GONE_ON = "The conversation has gone on since."
BY_FORK = " /fork takes up what was left behind."
"""Said where a rewind or a clear was gone on from: nothing takes that back any more."""


@dataclass(slots=True)
class Compactions:
    """The compactions of one conversation, as far as no request waits for them."""

    history: SessionHistory
    compactor: Compactor
    runner: TurnRunner
    """While it runs a turn, a background result is applied by the turn's next request."""
    reviews: Reviews = field(init=False)
    """Asks the person about summaries that are not to be applied unseen."""
    _watcher: "asyncio.Task[None] | None" = field(default=None)

    def __post_init__(self) -> None:
        self.reviews = Reviews(self.history.report)
        self.compactor.reviewers = self.reviews.of

    async def run(
        self, trigger: Trigger, focus: str = "", *, review: bool = False, span: Span = WHOLE
    ) -> CompactionComplete | None:
        """Compact now and wait for the end, or until a person has to decide.

        Args:
            trigger: Why.
            focus: What the summary should keep above all.
            review: Whether a person decides on the summary whatever the settings say; what they want is
                applied as that of a job in the background.
            span: The part of the view to replace, where a person has named one.

        Returns:
            How it ended; None when it was cancelled, refused with a notice, or is being reviewed.
        """
        self.compactor.apply_ready()
        if trigger == "model_switch":
            # A job in the background was planned for another window.
            self.cancel()
        reviewer = self.reviews if review else self.reviews.of(trigger)
        try:
            self.compactor.start(trigger, focus, reviewer, span)
        except CompactionRefused as refusal:
            self.history.append(Notice(text=str(refusal), passing=trigger == "manual"))
            return None
        if reviewer is not None and trigger != "model_switch":
            await self.compactor.written()
            self.follow_background()
            return None
        return await self.compactor.finish()

    async def after_turn(self) -> None:
        """Compact where the policy does that when a turn has ended."""
        await compact_at_turn_end(self.compactor)
        self.follow_background()

    def restate(self, *, undo: bool, compaction: int = 0) -> bool:
        """Undo the newest compaction that stands, or redo the one undone last.

        Args:
            undo: Which of the two.
            compaction: Log number of the one that is meant; 0 is whichever comes next.

        Returns:
            Whether it was done; a notice says why not.
        """
        view = self.history.view
        numbers = view.compactions if undo else view.undone
        if not numbers:
            return self._refuse(self._nothing_to_undo() if undo else "Nothing to redo.")
        if compaction not in (0, numbers[-1]):
            again = "taken back" if undo else "applied again"
            return self._refuse(f"Only the newest compaction can be {again}.")
        # The view goes back to what it was before: a job made for the other view is of no use.
        self.cancel()
        self.history.restate(numbers[-1], undo=undo)
        return True

    def restore(self, rewrite: int) -> bool:
        """Take back what a stage has rewritten, an edit of a summary, or a rewind; whether it still stood."""
        view = self.history.view
        if rewrite not in (*view.rewrites, *view.reversible) and not view.edited_by(rewrite):
            return self._refuse(GONE_ON + BY_FORK if rewrite and view.left_behind(rewrite) else AS_IT_WAS)
        self.cancel()
        self.history.restore(rewrite)
        return True

    def rewind(self, to: int) -> bool:
        """Go back to before a prompt; whether that prompt is part of the conversation.

        A job in the background goes on: its result is applied if all that it replaces is still there.
        """
        if not self.history.view.can_rewind(to):
            return self._refuse(f"Nothing to rewind: #{to} is no prompt of this conversation.")
        self.history.rewind(to)
        return True

    def _nothing_to_undo(self) -> str:
        """Rewrites are taken back one by one; what a rewind left behind goes on as a session of its own."""
        view = self.history.view
        return NO_COMPACTION + (BY_ROW if view.rewrites else BY_FORK if view.left_behind() else "")

    def _refuse(self, why: str) -> bool:
        self.history.append(Notice(text=why, passing=True))
        return False

    def may(self, span: Span) -> bool:
        """Whether a person may have a part of the view compacted, as things are now."""
        try:
            self.compactor.preview("manual", span=span)
        except CompactionRefused:
            return False
        return self.compactor.state is State.IDLE

    def floor(self) -> int:
        """Tokens no compaction can remove from the view."""
        history = self.history
        return irreducible_floor(
            history.items(),
            history.usage(),
            lambda item: history.weigh(item).total,
            self.compactor.policy,
            history.pinned(),
        )

    def stop_automatic(self, *, stop: bool) -> None:
        """Leave requests to be cut, because a person chose that, or go back to compacting by itself."""
        self.compactor.breaker.without_progress = self.compactor.policy.breaker_after if stop else 0

    def cancel(self) -> bool:
        """Stop a running job; whether there was one."""
        return self.compactor.state is not State.IDLE and self.compactor.cancel() is not None

    def cancel_awaited(self, *, with_request: bool) -> bool:
        """Stop the job that a request waits for, or both; one in the background goes on.

        Args:
            with_request: Whether the request is stopped too.

        Returns:
            Whether there was such a job.
        """
        return self.compactor.awaited and self.compactor.cancel(with_request=with_request) is not None

    def follow_background(self) -> None:
        """See to it that a job started during a turn is applied when it ends after the turn."""
        if self.compactor.state is not State.IDLE and (self._watcher is None or self._watcher.done()):
            self._watcher = asyncio.create_task(self._apply_when_done())
            self._watcher.add_done_callback(_log_defect)

    async def settle(self) -> None:
        """Wait for a job under way and apply it."""
        await self.compactor.finish()
        if self._watcher is not None:
            await asyncio.wait([self._watcher])

    async def _apply_when_done(self) -> None:
        await self.compactor.settled()
        if not self.runner.running:
            self.compactor.apply_ready()

    async def close(self) -> None:
        """Stop what is running."""
        self.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)


def _log_defect(watcher: "asyncio.Task[None]") -> None:
    """Nobody may ever wait for a watcher: what went wrong in it is written to the program's log."""
    if not watcher.cancelled() and (error := watcher.exception()) is not None:
        _log.error("applying a compaction failed", exc_info=error)
