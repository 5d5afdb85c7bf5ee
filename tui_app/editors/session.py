"""One session in an editor: prompts go in, updates come out in the order of the events."""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from acp.interfaces import Client
from acp.schema import StopReason

from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.open_request import Opening
from tui_app.conversation.work import ChangePolicy, Prompt, Switch, Work
from tui_app.editors.context_text import context_text
from tui_app.editors.permissions import Permissions
from tui_app.editors.prompts import Asked, ShowContext
from tui_app.editors.questions import Question
from tui_app.editors.troubles import failed, refused, told
from tui_app.editors.updates import Update, Updates
from tui_app.events import ApprovalDecided, ApprovalRequested, Error, Notice, Record, TurnEnd

_BUSY = "The last prompt is still being answered. Cancel it first, or wait for its end."
_ANYWHERE = 1_000_000
"""A place behind everything that may wait."""


@dataclass(slots=True)
class EditorSession:
    """Drives one conversation for an editor. Belongs to one event loop."""

    opened: OpenSession
    opening: Opening
    client: Client
    updates: Updates
    _permissions: Permissions = field(init=False)
    _outbox: "asyncio.Queue[Update | Question]" = field(default_factory=asyncio.Queue)
    _sender: "asyncio.Task[None] | None" = None
    _ended: "asyncio.Future[TurnEnd] | None" = None
    _trouble: Error | None = None
    _notice: str = ""
    _prompt: str = ""
    """The prompt under way, as the queue shows it."""
    _cancelled: bool = False
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._permissions = Permissions(self.client, self.id, self.opened.conversation.tooling.approvals)

    @property
    def id(self) -> str:
        """Id of the session."""
        return self.opened.conversation.session

    async def start(self) -> None:
        """Follow the conversation, and make it ready."""
        self.opened.bus.listen(self._happened)
        await self.opened.prepare()

    def speak(self) -> None:
        """Send what has happened, from now on: the editor knows the session."""
        if self._sender is None:
            self._sender = asyncio.create_task(self._send(), name="acp updates")

    async def replay(self) -> None:
        """Send everything that was said before, so that the editor can show it."""
        self.speak()
        past = Updates(self.updates.cwd, replaying=True)
        for record, _ in self.opened.store.records(self.id):
            self._put(past.of(record.data))
        self.updates.spending = past.spending
        self.opened.conversation.history.show_gauge()
        await self.sent()

    async def prompt(self, asked: Asked) -> StopReason:
        """Do what was asked for, and follow it to its end.

        Raises:
            RequestError: if a turn is under way, or this one fails.
        """
        if self._gate.locked() and not self._cancelled:
            raise refused(_BUSY)
        async with self._gate:
            self._cancelled, self._trouble, self._notice = False, None, ""
            try:
                return await self._done(asked)
            finally:
                self._cancelled = False
                await self.sent()

    async def _done(self, asked: Asked) -> StopReason:
        match asked:
            case ShowContext():
                self._say(context_text(self.opened.conversation))
            case Prompt():
                return await self._turn(asked)
            case _:
                await self._work(asked)
                if self._trouble is not None:
                    raise failed(self._trouble)
        return "cancelled" if self._cancelled else "end_turn"

    async def _turn(self, prompt: Prompt) -> StopReason:
        self._ended, self._prompt = asyncio.get_running_loop().create_future(), prompt.label
        self.opened.conversation.submit(prompt)
        try:
            end = await self._ended
        except asyncio.CancelledError:
            self.opened.conversation.cancel()
            raise
        finally:
            self._ended, self._prompt = None, ""
        if self._trouble is not None:
            if end.outcome == "failed":
                raise failed(self._trouble)
            self._say(told(self._trouble))
        return "cancelled" if end.outcome == "cancelled" else "end_turn"

    async def choose_model(self, name: str) -> None:
        """Go on with another model.

        Raises:
            RequestError: if it cannot be used, or the conversation does not fit it.
        """
        self._trouble, self._notice = None, ""
        await self._work(Switch(name))
        if self.opened.conversation.model != name:
            if self._trouble is not None:
                raise failed(self._trouble)
            raise refused(self._notice or f"The model is still {self.opened.conversation.model}.")

    async def choose_policy(self, name: str) -> None:
        """Go on under another policy; RequestError if there is none of that name."""
        if name == self.opened.conversation.policy:
            return
        self._notice = ""
        await self._work(ChangePolicy(name))
        if self.opened.conversation.policy != name:
            raise refused(self._notice)

    async def _work(self, work: Work) -> None:
        """Have something done that is no prompt, behind what is under way."""
        self.opened.conversation.submit(work)
        await self.opened.conversation.settle()

    def cancel(self) -> None:
        """Stop what is under way."""
        self._cancelled = self._gate.locked()
        conversation = self.opened.conversation
        conversation.cancel()
        # A prompt that has not begun would wait for somebody to send it on.
        if self._prompt and conversation.waiting.take(_ANYWHERE, self._prompt) and self._ended is not None:
            self._ended.set_result(TurnEnd(outcome="cancelled"))

    async def sent(self) -> None:
        """Wait until the editor has been told everything that has happened, or nobody tells it more."""
        if self._sender is None:
            return
        told = asyncio.ensure_future(self._outbox.join())
        try:
            await asyncio.wait((told, self._sender), return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()

    async def close(self) -> None:
        """End the session, and tell the editor what happened on the way if it still listens."""
        try:
            await self.opened.close()
        finally:
            try:
                await self._permissions.close()
                await self.sent()
            finally:
                await self._fall_silent()

    async def _fall_silent(self) -> None:
        if self._sender is not None:
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender

    def _happened(self, record: Record) -> None:
        match record.data:
            case TurnEnd() as end:
                if self._ended is not None and not self._ended.done():
                    self._ended.set_result(end)
            case Error() as error:
                self._trouble = error
            case Notice(text=text):
                self._notice = text
            case ApprovalRequested() as asked:
                self._ask(asked)
            case ApprovalDecided(id=id):
                self._permissions.withdraw(id)
        self._put(self.updates.of(record.data))

    def _ask(self, asked: ApprovalRequested) -> None:
        """Have the editor ask, behind the call it is about: that must be known there."""
        if self._permissions.opens(asked.id):
            self._put([self.updates.question(asked)])

    def _say(self, text: str) -> None:
        self._put(self.updates.of(Notice(text=text)))

    def _put(self, updates: Iterable[Update | Question]) -> None:
        for update in updates:
            self._outbox.put_nowait(update)

    async def _send(self) -> None:
        while True:
            update = await self._outbox.get()
            try:
                if isinstance(update, Question):
                    self._permissions.show(update)
                    continue
                # The editor has gone: what is said into the void is taken out of the queue all the same.
                with contextlib.suppress(ConnectionError):
                    await self.client.session_update(session_id=self.id, update=update)
            finally:
                self._outbox.task_done()
