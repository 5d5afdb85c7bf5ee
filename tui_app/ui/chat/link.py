"""Between the screen's event loop and the engine's thread."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from tui_app.conversation.engine import Engine, EngineStopped
from tui_app.conversation.open_request import Opening
from tui_app.conversation.queue import WorkQueue
from tui_app.conversation.work import Work
from tui_app.events import AssistantDelta, Record
from tui_app.session.lock import SessionLocked
from tui_app.settings import ReviewMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_app.conversation.approvals import Decision
    from tui_app.conversation.assembly import OpenSession
    from tui_app.settings.approvals import ApprovalRule

T = TypeVar("T")
GATHER_S = 1 / 40
"""Streamed text is gathered for so many seconds: one frame of the transcript."""


class Inbox:
    """Records on their way from the engine's thread; the screen's loop is woken once for many."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._records: list[Record] = []
        self._arrived = asyncio.Event()
        self._woken = False

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the loop to wake, before the engine starts."""
        self._loop = loop

    def put(self, record: Record) -> None:
        """Hand a record over; called on the engine's thread."""
        with self._lock:
            self._records.append(record)
            wake, self._woken = not self._woken, True
        if wake and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def take(self) -> list[Record]:
        """Wait for records and return all there are; streamed text is gathered for a moment first."""
        await self._arrived.wait()
        if isinstance(self._records[0].data, AssistantDelta):
            await asyncio.sleep(GATHER_S)
        with self._lock:
            batch, self._records, self._woken = self._records, [], False
        self._arrived.clear()
        return batch


class Link:
    """One session's engine as the screen uses it. Belongs to the screen's loop.

    What is asked for before the agent side has loaded waits here, where it can still be taken back. While
    another process writes the session, whatever is asked for starts another attempt to open it.

    Args:
        opening: Which session.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._inbox = Inbox()
        self._engine = Engine(opening, self._inbox.put)
        self._early = WorkQueue()
        self._ready = False
        self._locked: SessionLocked | None = None
        """Why the session could not be opened, while another process writes it."""
        self._wanted = asyncio.Event()
        self._review = opening.settings.review

    @property
    def ready(self) -> bool:
        """Whether the agent side has loaded."""
        return self._ready

    @property
    def early(self) -> tuple[str, ...]:
        """What waits for the agent side."""
        return self._early.labels

    async def open(self) -> tuple[str, str, str]:
        """Start the engine and send what waits once it is there.

        Returns:
            Id of the session, name of its model and of its policy.

        Raises:
            SessionLocked: if another process writes it; this may be called again once :meth:`wanted` returns.
            Exception: why the session could not be opened.
        """
        self._inbox.bind(asyncio.get_running_loop())
        try:
            opened = await asyncio.wrap_future(self._engine.start())
        except SessionLocked as locked:
            self._locked = locked
            await self._engine.stop()
            raise
        self._ready = True
        self.ask_about(self._review)
        while (work := self._early.next()) is not None:
            self.submit(work)
        conversation = opened.conversation
        return conversation.session, conversation.model, conversation.policy

    async def wanted(self) -> None:
        """Wait until something is asked for although another process wrote the session."""
        await self._wanted.wait()
        self._wanted.clear()

    def _try_again(self) -> None:
        """Have the session opened anew where another process wrote it before."""
        if self._locked is not None:
            self._engine, self._locked = Engine(self._opening, self._inbox.put), None
            self._wanted.set()

    def submit(self, work: Work) -> None:
        """Ask for something that changes the conversation."""
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.submit(work))
        else:
            self._try_again()
            self._early.add(work)

    def cancel(self) -> None:
        """Stop what is under way, one step at a time."""
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.cancel_step())

    def cancel_compaction(self) -> None:
        """Stop the compaction that is under way, and nothing else."""
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.cancel_compaction())

    def ask_about(self, review: ReviewMode) -> None:
        """Say which summaries wait for a decision: on a screen there is somebody to decide."""
        self._review = review
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.reviews.ask_about(review))

    def decide(self, job: str, summary: str | None) -> None:
        """Apply the summary a job has proposed, or discard it with None."""
        self._engine.tell(lambda opened: opened.conversation.reviews.decide(job, summary))

    def refocus(self, job: str, focus: str) -> None:
        """Have the summary a job has proposed written once more, keeping something else above all."""
        self._engine.tell(lambda opened: opened.conversation.reviews.refocus(job, focus))

    def answer(self, id: str, decision: "Decision") -> None:
        """Answer what a tool asks."""
        self._engine.tell(lambda opened: opened.conversation.tooling.approvals.decide(id, decision))

    def use_rules(self, rules: "Sequence[ApprovalRule]") -> None:
        """Put other rules about tools into force."""
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.tooling.approvals.use(rules))

    def resume_queue(self) -> None:
        """Go on with what waits after a cancelled turn."""
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.steer())

    def take_back_early(self) -> str:
        """Take back the newest of what waits for the agent side; empty when nothing does."""
        return self._early.take_last()

    async def take_back(self) -> str:
        """Take the newest waiting prompt back; empty when none waits."""

        async def take(opened: "OpenSession") -> str:
            return opened.conversation.queue.take_last()

        return await self.ask(take)

    async def take(self, place: int, label: str) -> str:
        """Take what was shown at a place out of the queue; its text, empty when it has left since."""
        if not self._ready:
            return self._early.take(place, label)

        async def take(opened: "OpenSession") -> str:
            return opened.conversation.queue.take(place, label)

        return await self.ask(take)

    def move(self, place: int, label: str, step: int) -> None:
        """Let what was shown at a place of the queue come earlier or later."""
        if self._ready:
            self._engine.tell(lambda opened: opened.conversation.queue.move(place, label, step))
        else:
            self._early.move(place, label, step)

    async def ask(self, request: "Callable[[OpenSession], Awaitable[T]]") -> T:
        """Run a coroutine on the engine's loop and wait for its outcome.

        Raises:
            SessionLocked: if another process writes the session.
            EngineStopped: if the session is closed first.
        """
        self._try_again()
        try:
            return await asyncio.wrap_future(self._engine.ask(request))
        except EngineStopped:
            if self._locked is not None:
                raise self._locked from None
            raise

    async def records(self) -> AsyncIterator[list[Record]]:
        """Everything that happens, in batches of what has arrived meanwhile."""
        while True:
            yield await self._inbox.take()

    async def close(self) -> None:
        """Close the session."""
        await self._engine.stop()
