"""Compactions a person starts or takes back, and background ones that end while nothing else runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.context.compactor import CompactionRefused, Compactor, State
from tui_app.context.events import CompactionComplete, Notice, Trigger
from tui_app.conversation.session_history import SessionHistory


@dataclass(slots=True)
class Compactions:
    """The compactions of one conversation, as far as no request waits for them."""

    history: SessionHistory
    compactor: Compactor
    idle: Callable[[], bool]
    """Whether no turn runs; a background result is applied at once then, else by the next request."""
    _watcher: "asyncio.Task[None] | None" = field(default=None)

    async def run(self, trigger: Trigger, focus: str = "") -> CompactionComplete | None:
        """Compact now and wait for the end.

        Returns:
            How it ended; None when it was cancelled, or refused with a notice.
        """
        if self.compactor.state is State.READY:
            self.compactor.apply_ready()
        try:
            self.compactor.start(trigger, focus)
        except CompactionRefused as refusal:
            self.history.append(Notice(text=str(refusal)))
            return None
        return await self.compactor.finish()

    def restate(self, *, undo: bool) -> bool:
        """Undo the newest compaction that stands, or redo the one undone last.

        Returns:
            Whether there was one; a notice says so otherwise.
        """
        view = self.history.view
        numbers = view.compactions if undo else view.undone
        if not numbers:
            self.history.append(Notice(text="Nothing to undo." if undo else "Nothing to redo."))
            return False
        # The view goes back to what it was before: a job made for the other view is of no use.
        self.cancel()
        self.history.restate(numbers[-1], undo=undo)
        return True

    def cancel(self) -> bool:
        """Stop a running job; whether there was one."""
        return self.compactor.state is not State.IDLE and self.compactor.cancel() is not None

    def follow_background(self) -> None:
        """See to it that a job started during a turn is applied when it ends after the turn."""
        if self.compactor.state is not State.IDLE and (self._watcher is None or self._watcher.done()):
            self._watcher = asyncio.create_task(self._apply_when_done())

    async def _apply_when_done(self) -> None:
        await self.compactor.settled()
        if self.idle():
            self.compactor.apply_ready()

    async def close(self) -> None:
        """Stop what is running."""
        self.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
